"""Which modalities an arm or a baseline reads, and which others it learns from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from data.utterances import Utterances
from models.mctn.arms import ARMS, MODALITIES, Plan, plan_of
from models.mctn.baselines import NAMES, reads


class Roles(NamedTuple):
    """Holds the names of the modalities that are read, and of those that are translated into. plan: of a network, None
    for a simple baseline."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    plan: Plan | None

    @property
    def letters(self) -> str:
        """Returns the letters of what is read, in the order of the plan."""
        letters = {name: letter for letter, name in MODALITIES.items()}
        return "".join(letters[name] for name in self.sources)

    @property
    def needed(self) -> tuple[str, ...]:
        """Returns the names of the modalities of which a training sample needs a step: of an arm with two encodings,
        that of the first."""
        return self.sources if self.plan is None else tuple(MODALITIES[letter] for letter in self.plan.source)

    @property
    def learned(self) -> str:
        """Returns the letters of all that a network learns from; none for a baseline."""
        return "" if self.plan is None else self.plan.letters


def roles_of(arm: str) -> Roles:
    """Returns the roles of an arm, or of a baseline of that name."""
    if arm in NAMES:
        return Roles(reads(arm), (), None)
    plan = plan_of(arm)
    names = [MODALITIES[letter] for letter in plan.letters]
    return Roles(tuple(names[: len(plan.read)]), tuple(names[len(plan.read) :]), plan)


def arms_advised(data: Utterances, arm: str) -> str:
    """Returns the advice where the data lack a modality of an arm: up to three arms of which they have all, as they are
    typed. These are of the same kind, as `cyclic`, where there is one, else of the kind without translation.

    An arm that reads features which were trained on labels is left out, unless the data allow these.
    """
    barred = frozenset[str]() if data.allow_contaminated else data.contaminated
    fit = [other for other in ARMS if fits(roles_of(other), data.modalities, barred)]
    kinds = (arm.partition("-")[0], "none")
    own = next(filter(None, ([other for other in fit if other.partition("-")[0] == kind] for kind in kinds)), [])
    if not own:
        return "choose other data"
    *first, last = own[:3]
    return f"give mctn.arm={', '.join(first)}{' or ' if first else ''}{last}, or choose other data"


def fits(roles: Roles, there: Sequence[str], barred: Collection[str]) -> bool:
    """Returns whether data have all modalities of an arm and it reads none of those that are barred."""
    return {*roles.sources, *roles.targets} <= {*there} and not {*roles.sources} & {*barred}
