"""What a claim is, the words that say what was found of it, and when each of them is said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

THESIS, HERE = "thesis", "here"  # whose a claim is: of the thesis, or of this project
ALPHA = 0.05  # a p-value below it, after Holm's adjustment, is significant
HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
NO_CLAIM = "no claim (stand-in data)"
VERDICTS = (HOLDS, DOES_NOT_HOLD, UNDECIDED, NO_CLAIM)  # in the order in which tables show them
NOWHERE = "–"
# Of one seed cases alone are drawn, which tells two trained networks apart and not two ways to train them; of two seeds
# half of the draws have the same one twice.
FEW = {1: "one seed", 2: "two seeds"}
FEW_SEEDS = f"three seeds are few, and of fewer the verdict is *{UNDECIDED}*"  # of a caption


class Claim(NamedTuple):
    """Holds a claim in words, that the arm `challenger` has a lower error than `against`. whose: `THESIS` or `HERE`."""

    words: str
    challenger: str
    against: str
    whose: str = THESIS


def verdict(*, supported: bool, contradicted: bool, stand_in: bool = False) -> str:
    """Returns the verdict on a claim that the data support, contradict, both or neither.

    It is *holds* where they support it alone, *does not hold* where they contradict it alone, else *undecided*.
    Stand-in data, generated in place of real ones, give no claim whatever they show.
    """
    if stand_in:
        return NO_CLAIM
    if supported == contradicted:
        return UNDECIDED
    return HOLDS if supported else DOES_NOT_HOLD


def of_seeds(known: str, seeds: int) -> str:
    """Returns a verdict, or that it is undecided where it is of one or two seeds. seeds: of the arm that has fewest; 0
    of simple models, which have none. Stand-in data give no claim whatever the seeds are."""
    return undecided_for(known, FEW.get(seeds, ""))


def undecided_for(known: str, reason: str) -> str:
    """Returns a verdict, or that it is undecided for a reason; "" is no reason. That of stand-in data stays."""
    return f"{UNDECIDED}: {reason}" if reason and known != NO_CLAIM else known


def places_of(verdicts: Iterable[str], places: Iterable[object]) -> dict[str, str]:
    """Returns for each of the four verdicts the places where it was found, as words with commas between them; a dash
    where it was found nowhere.

    Raises ValueError when verdicts and places are not equally many.
    """
    by_verdict: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for word, place in zip(verdicts, places, strict=True):
        by_verdict[word].append(str(place))
    return {word: ", ".join(names) or NOWHERE for word, names in by_verdict.items()}
