"""The rows of the tables: which modality is read, which others it is translated into while learning, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MODALITIES = {"t": "text", "v": "video", "a": "audio"}
Back = Literal["", "cycle", "bothways", "double"]

ROWS: dict[str, tuple[str, ...]] = {
    "cyclic": ("v-a", "t-a", "t-v", "v-a-t", "t-a-v", "t-v-a"),
    "simple": ("v-a", "t-a", "t-v", "v-t-a", "v-a-t", "a-v-t", "a-t-v", "t-a-v", "t-v-a"),
    "bothways": ("v-a", "t-a", "t-v"),
    "double": ("v-a", "t-a", "t-v", "t-v-a"),
    "concat": ("va-t", "at-v", "tv-a", "a-tv", "t-av", "ta-tv", "tv-ta"),
    "paired": ("t-av",),
    "none": ("t", "v", "a", "tva"),
    "shuffled": ("t-a", "t-v"),
}
ARMS = tuple(f"{kind}-{rest}" for kind, rows in ROWS.items() for rest in rows)


@dataclass(frozen=True)
class Plan:
    """Says what a model of an arm reads and learns from. A stream is one modality, or several joined step by step,
    named by their letters.

    source: the stream that is read. targets: the streams that its encoding is translated into. back: what is made of
    the target: "cycle" translates the translation back into the source, by the same model unless weights are not
    shared; "bothways" translates the true target into the source, by the same model; "double" by another model, whose
    encoding is read beside the first one; "" nothing. second: the stream that a second level translates the encoding
    into. shuffled: whether targets are those of other samples.
    """

    arm: str
    source: str
    targets: tuple[str, ...] = ()
    back: Back = ""
    second: str = ""
    shuffled: bool = False

    @property
    def read(self) -> str:
        """Returns the letters of the modalities that are read to predict, in order."""
        return self.source + (self.targets[0] if self.back == "double" else "")

    @property
    def letters(self) -> str:
        """Returns the letters of all modalities that are learned from, each once, those that are read first."""
        return "".join(dict.fromkeys(self.read + "".join(self.targets) + self.second))

    @property
    def streams(self) -> tuple[str, ...]:
        """Returns the source and the targets of the first level."""
        return self.source, *self.targets


def plan_of(arm: str) -> Plan:
    """Returns the plan of an arm, KIND-SOURCE, KIND-SOURCE-TARGET or KIND-SOURCE-TARGET-SECOND, as `cyclic-t-v-a`.

    Raises ValueError for what is no row of the tables, and names kinds, letters and the rows of the kind.
    """
    if arm not in ARMS:
        raise ValueError(unknown(arm))
    kind, source, *others = arm.split("-")
    if kind == "none":
        return Plan(arm, source)
    targets = tuple(others[0]) if kind == "paired" else (others[0],)
    second = others[1] if len(others) > 1 else ""
    backs: dict[str, Back] = {"cyclic": "cycle", "shuffled": "cycle", "bothways": "bothways", "double": "double"}
    return Plan(arm, source, targets, backs.get(kind, ""), second, kind == "shuffled")


def unknown(arm: str) -> str:
    """Returns what is said of an arm that does not exist."""
    kind = arm.split("-")[0] if isinstance(arm, str) else ""
    letters = ", ".join(f"{letter} {name}" for letter, name in MODALITIES.items())
    if kind in ROWS:
        return f"arm {arm!r} is no row of {kind}: give {', '.join(f'{kind}-{rest}' for rest in ROWS[kind])} ({letters})"
    return (
        f"arm {arm!r} is not known: give KIND-SOURCE-TARGET, as cyclic-t-a, with kind {', '.join(ROWS)} and letters "
        f"{letters}"
    )
