"""Splits of sentence pairs in which no part tells what stands in another, by either side and across tasks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from data.base import DataError
from data.text_pairs import PARTS, Pair, Pairs, Part, Removed, Side, Task, texts_in

HELD = ("test", "validation")  # in the order in which they are filled
REPEATED, TWICE = "a side stands there already", "stands twice"
Place = tuple[int, int]  # the number of a task, and of a pair in it


def connected(tasks: Sequence[Task], pairs: Sequence[Pairs]) -> list[list[Place]]:
    """Returns the places of all pairs in groups: two pairs with a text of one language in common, directly or by way of
    others, are in one group. Groups are in the order of their first pairs."""
    parents: dict[Side, Side] = {}

    def root(side: Side) -> Side:
        while (above := parents.setdefault(side, side)) != side:
            parents[side] = parents[above]
            side = parents[side]
        return side

    for task, own in zip(tasks, pairs, strict=True):
        for pair in own:
            first, second = task.sides(pair)
            parents[root(second)] = root(first)
    groups: dict[Side, list[Place]] = defaultdict(list)
    for i, (task, own) in enumerate(zip(tasks, pairs, strict=True)):
        for j, pair in enumerate(own):
            groups[root(task.sides(pair)[0])].append((i, j))
    return list(groups.values())


def deal(groups: Sequence[Sequence[Place]], left: Mapping[str, list[int]]) -> dict[str, set[Place]]:
    """Returns the places of each part: a group goes where all of its tasks have room for it, else to training.

    left: how many pairs of each task still have room, by part; it is counted down.
    """
    places: dict[str, set[Place]] = {part: set() for part in PARTS}
    for group in groups:
        sizes = Counter(task for task, _ in group)
        roomy = (part for part, room in left.items() if all(room[task] >= size for task, size in sizes.items()))
        part = next(roomy, "train")
        places[part].update(group)
        for task, size in sizes.items() if part != "train" else ():
            left[part][task] -= size
    return places


def split_connected(
    tasks: Sequence[Task], pairs: Sequence[Pairs], shares: Mapping[str, float], *, name: str, seed: Sequence[int]
) -> dict[str, Part]:
    """Returns training, validation and test part, drawn under the seed so that no text of a language is in two of them.

    shares: of "validation" and "test" in the pairs of each task; a part has one pair at least. Groups of connected
    pairs are dealt as wholes, those of small tasks first; one that is larger than a part goes to training. Pairs keep
    their order.
    Raises DataError, beginning with `name`, for a task that does not reach all parts.
    """
    groups = connected(tasks, pairs)
    order = [groups[i] for i in np.random.default_rng(seed).permutation(len(groups))]
    order.sort(key=lambda group: min(len(pairs[task]) for task, _ in group))
    left = {part: [max(1, round(shares[part] * len(own))) for own in pairs] for part in HELD}
    places = deal(order, left)
    parts = {
        part: tuple(tuple(pair for j, pair in enumerate(own) if (i, j) in places[part]) for i, own in enumerate(pairs))
        for part in PARTS
    }
    for i, task in enumerate(tasks):
        lacking = next((part for part in PARTS if not parts[part][i]), None)
        if lacking:
            raise DataError(
                f"{name}: of {len(pairs[i])} pairs of {task.name} none can go to the {lacking} part, as pairs "
                "that share a text stay together; give more pairs or leave the task out"
            )
    return parts


def apart(task: Task, pairs: Pairs) -> tuple[Pairs, int]:
    """Returns the pairs of which neither side stands in one before them, and how many others there are."""
    seen: set[Side] = set()
    kept: list[Pair] = []
    for pair in pairs:
        sides = task.sides(pair)
        if seen.isdisjoint(sides):
            kept.append(pair)
            seen.update(sides)
    return tuple(kept), len(pairs) - len(kept)


def scored_once(tasks: Sequence[Task], parts: Mapping[str, Part]) -> tuple[dict[str, Part], tuple[Removed, ...]]:
    """Returns the parts with one translation of a text alone in validation and test, and what was removed for it."""
    kept, removed = dict(parts), []
    for part in (name for name in parts if name != "train"):
        thinned = [apart(task, pairs) for task, pairs in zip(tasks, parts[part], strict=True)]
        kept[part] = tuple(pairs for pairs, _ in thinned)
        removed += counted(tasks, part, [Counter({REPEATED: lost}) for _, lost in thinned])
    return kept, tuple(removed)


def counted(tasks: Sequence[Task], part: str, reasons: Sequence[Counter[str]]) -> list[Removed]:
    """Returns what was removed from a part, by task and reason; what was not is not listed."""
    return [
        Removed(task, part, reason, pairs)
        for task, own in zip(tasks, reasons, strict=True)
        for reason, pairs in own.items()
        if pairs
    ]


def sift(task: Task, pairs: Pairs, held: Mapping[str, set[str]]) -> tuple[Pairs, Counter[str]]:
    """Returns the pairs of which no side is held out, and how many others there are by the language of that side.

    held: by language the texts that are held out.
    """
    reasons = [
        next((f"{language} side held out" for language, text in task.sides(pair) if text in held[language]), None)
        for pair in pairs
    ]
    kept = tuple(pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None)
    return kept, Counter(reason for reason in reasons if reason is not None)


def without_overlaps(tasks: Sequence[Task], parts: Mapping[str, Part]) -> tuple[dict[str, Part], tuple[Removed, ...]]:
    """Returns the parts without what tells of another, and what was removed.

    The training part loses every pair with a side that is in any other part of any task, in the same language; the
    validation part those with a side of a test part. Test parts stay whole. A pair is counted under its English side
    where that is held out, else under the other one.
    """
    kept, removed = dict(parts), []
    for name in ("validation", "train"):
        held = texts_in(tasks, kept, [part for part in parts if part not in ("train", name)])
        sifted = [sift(task, pairs, held) for task, pairs in zip(tasks, parts[name], strict=True)]
        kept[name] = tuple(pairs for pairs, _ in sifted)
        removed += counted(tasks, name, [reasons for _, reasons in sifted])
    return kept, tuple(removed)
