"""What the names of arms say, as `recipe.arm_of` writes them: what a network attends to, and with which settings."""

from __future__ import annotations

import re
from typing import NamedTuple

WORDS = re.compile(
    r"(?P<pattern>.+?)(?P<noise>( jitter \d+)?( shuffled)?)(?P<most>( @\d+)?)(?P<encoder>( base| large)?)"
    r"(?P<guessing>( no pretraining)?)"
)
SAME = {  # a choice of attention= and the variant of reader= that has it
    "sliding_window": "sliding window", "window_random": "window + random", "distance_window": "distance + window",
    "distance_keys_window_values": "distance keys, window values", "distance_approximate": "distance, approximate",
}  # fmt: skip


class Arm(NamedTuple):
    """Holds the parts of an arm's name: what it attends to, or a simple model; how badly it reads, how many tokens at
    most, with which encoder, and whether it guessed no hidden words. Each is "" where it is as usual."""

    pattern: str
    noise: str
    most: str
    encoder: str
    guessing: str


def parts_of(name: str) -> Arm:
    """Returns the parts of an arm's name, the pattern as a variant of reader= calls it."""
    found = WORDS.fullmatch(name)
    if found is None:
        raise ValueError(f"an arm has a name without line breaks, not {name!r}")
    parts = {key: words.strip() for key, words in found.groupdict().items()}
    return Arm(**parts | {"pattern": SAME.get(parts["pattern"], parts["pattern"])})


def most_tokens(name: str) -> int | None:
    """Returns how many tokens an arm reads of a document; None where it reads all."""
    most = parts_of(name).most
    return int(most.removeprefix("@")) if most else None


def without_most(name: str) -> str:
    """Returns what arms are called that differ in how many tokens they read alone."""
    return " ".join(part for part in parts_of(name)._replace(most="") if part)
