"""Training, validation and test part: whole sequences by chance or in order, or every sequence cut in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.base import DataError, Sequences, check_whole_numbers

SPLITS = ("time", "fraction", "group")
Parts = tuple[Sequences, Sequences, Sequences]


def check_fractions(validation: float, test: float) -> None:
    if not (0 < validation < 1 and 0 < test < 1 and validation + test < 1):
        raise DataError(f"validation={validation} and test={test} must lie between 0 and 1 and leave a training part")


def split_whole(sequences: Sequences, order: np.ndarray, *, validation: float, test: float) -> Parts:
    """Splits whole sequences: the last of `order` are the test part, those before them the validation part; at
    least one sequence each."""
    held_out = max(1, round(test * len(order)))
    chosen = max(1, round(validation * len(order)))
    training = len(order) - held_out - chosen
    if training < 1:
        sequences_there = f"{len(order)} sequence{'s' * (len(order) != 1)}"
        raise DataError(
            f"{sequences_there} cannot be split three ways; give more of them, or choose", give={"split": "time"}
        )
    pieces = np.split(order, [training, training + chosen])
    return tuple(sequences.pick(np.sort(piece)) for piece in pieces)  # pyright: ignore[reportReturnType]


def split_in_time(sequences: Sequences, *, validation: float, test: float) -> Parts:
    """Cuts each sequence: its begin is training, its middle validation, its end test; each part is filtered afresh."""
    pieces: list[list[slice]] = [[], [], []]
    arrays = sequences.to_arrays()
    for name, array in zip(sequences.names, arrays, strict=True):
        ends = [round((1 - validation - test) * len(array)), round((1 - test) * len(array)), len(array)]
        starts = [0, *ends[:2]]
        if any(end - start < 1 for start, end in zip(starts, ends, strict=True)):
            enough = math.ceil(1 / min(validation, test, 1 - validation - test)) + 1
            raise DataError(
                f"{name}: {len(array)} steps are too few to be cut into training, validation and test; give at least "
                f"{enough}, or larger validation and test"
            )
        for piece, start, end in zip(pieces, starts, ends, strict=True):
            piece.append(slice(start, end))
    return tuple(_cut(sequences, arrays, piece) for piece in pieces)  # pyright: ignore[reportReturnType]


def _cut(sequences: Sequences, arrays: list[np.ndarray], rows: list[slice]) -> Sequences:
    """Returns the rows of each sequence that are in its slice, with their times."""
    cut = Sequences.from_arrays([array[own] for array, own in zip(arrays, rows, strict=True)], sequences.names)
    if sequences.times is None:
        return cut
    times = tuple(times[own] for times, own in zip(sequences.times, rows, strict=True))
    return replace(cut, times=times, zone=sequences.zone)


def split_sequences(sequences: Sequences, *, how: str, validation: float, test: float, seed: int) -> Parts:
    """Returns three parts, in order training, validation, test.

    how "time": every sequence is cut in order (the way for one long sequence). "fraction": whole sequences, the last
    ones are test, those before them validation. "group": whole sequences, drawn under `seed`.
    Raises DataError for an unknown way, fractions out of range, and too few sequences or steps.
    """
    check_fractions(validation, test)
    if how == "time":
        return split_in_time(sequences, validation=validation, test=test)
    if how == "fraction":
        return split_whole(sequences, np.arange(len(sequences)), validation=validation, test=test)
    if how == "group":
        order = np.random.default_rng(seed).permutation(len(sequences))
        return split_whole(sequences, order, validation=validation, test=test)
    raise DataError(f"split={how!r} is unknown; choose one of {', '.join(SPLITS)}")


def check_trajectories(data_set: str, *, trajectories: int, validation: int, test: int) -> None:
    """Raises DataError, naming data set and parameter, for numbers of trajectories that leave a part empty."""
    check_whole_numbers(data_set, {"trajectories": trajectories, "test": test, "validation": validation})
    if trajectories - test - validation < 1:
        raise DataError(
            f"{data_set}: {trajectories} trajectories cannot give {test} for test, {validation} for validation "
            "and at least one for training; change trajectories, test or validation"
        )


def split_trajectories(
    arrays: Sequence[np.ndarray], *, word: str, validation: int, test: int, generator: np.random.Generator
) -> Parts:
    """Returns simulated trajectories in three parts, in order training, validation, test.

    The last `test` are the test part, and `validation` of the others are drawn. The i-th is named by `word` and i, as
    in "swim_03".
    """
    training = len(arrays) - test
    held_out = set(generator.choice(training, size=validation, replace=False).tolist())

    def part(members: Sequence[int]) -> Sequences:
        return Sequences.from_arrays([arrays[i] for i in members], [f"{word}_{i:02d}" for i in members])

    fitted = [i for i in range(training) if i not in held_out]
    return part(fitted), part(sorted(held_out)), part(range(training, len(arrays)))
