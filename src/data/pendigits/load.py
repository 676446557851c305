"""The handwriting data set: pen movements of the UCI pen digits, original strokes, one row every 100 ms.

Choromanski, Downey and Boots (2018), section 6.1, use x, y and pressure. The public set has no pressure (its
description says that the pressure level was ignored), so the third feature here is pen down (1) or up (0).

Source: E. Alpaydin and F. Alimoglu (1998), Pen-Based Recognition of Handwritten Digits, UCI Machine Learning
Repository; the training file: 30 writers, 7494 digits, coordinates in a box of 500 × 500 tablet units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.base import DataError, Dataset, Sequences
from data.files.download import Opener, open_https
from data.files.published import Published
from data.pendigits.unipen import Digit, read_digits
from data.ranges import Count, Seed
from data.sigma_lognormal import DIGITS, draw_hand, write_digit
from data.source import Source

TRAJECTORIES = ("writer", "digit")
FOLDER = "pendigits_orig"
FILE = "pendigits-orig.tra.Z"
CHECKSUMS = {FILE: "ceae25d05f1ccfed4d27ca2e5766370fb32ddd685a647567e84cf7685aa7ac8b"}
# A public copy over https, pinned to a commit.
PUBLISHED = Published(
    "handwriting", "uci",
    "https://raw.githubusercontent.com/amknguyen/sigKerForPenDigits/e2bf050902126fa2705def44658f3192a2d2895e/data/",
    CHECKSUMS, FOLDER, "the generated stand-in",
)  # fmt: skip
FEATURE_NAMES = ("x", "y", "pen")
UNITS = ("tablet unit", "tablet unit", "")
STAND_IN_WRITERS, STAND_IN_DIGITS = 30, 40


@dataclass(frozen=True, kw_only=True)
class Handwriting(Source):
    """Is the section `data=handwriting`: a trajectory of each of `trajectories` writers (of 30, drawn under `seed`),
    split by writer.

    A row is x and y in tablet units, and pen: 1 down, 0 up (no pressure, the public set has none). Between strokes and
    after a digit comes one row with pen 0 at the place where the pen left.

    root: folder that holds `pendigits_orig/`; None: $PIPELINE_DATA_ROOT, else a cache of the user's own.
    source: "uci": the recorded strokes, fetched over https where the file is missing. "stand_in": generated strokes
        (see `data.sigma_lognormal`); nothing in them is real. "auto": the recorded ones, or, where the file
        is missing and there is no network, the stand-in with a warning. The two never mix.
    trajectory: "writer": all digits of a writer in the file's order, joined. "digit": one digit of each writer, drawn
        under `seed`.
    seed: draws the writers, which part each is in, the digits, and, for the stand-in, the strokes.
    test, validation: how many of the trajectories these parts have; the rest is training.
    steps: keep the first `steps` rows of each trajectory; None keeps all (about 10,000 of a writer).

    Raises DataError for an argument out of range, for a missing file that cannot be fetched, and always for a file
    that is damaged or cut short.
    """

    root: str | None
    source: str = "auto"
    trajectory: str = "writer"
    seed: Seed = 0
    trajectories: Count = 25
    test: Count = 5
    validation: Count = 4
    steps: Count | None = 1000

    def load(self, opener: Opener = open_https) -> Dataset:
        """Returns the data. Raises DataError as the class says.

        opener: opens web addresses, as `data.files.download.open_https` does.
        """
        check_arguments(source=self.source, trajectory=self.trajectory, seed=self.seed, steps=self.steps)
        check_sizes(trajectories=self.trajectories, test=self.test, validation=self.validation)
        files = PUBLISHED.find(self.root, source=self.source, opener=opener)
        digits = read_digits(files[0]) if files else stand_in_digits(seed=self.seed)
        arrays, names = draw_trajectories(
            digits, trajectory=self.trajectory, count=self.trajectories, steps=self.steps, seed=self.seed
        )
        return split_by_writer(arrays, names, test=self.test, validation=self.validation, stand_in=not files)


def check_arguments(*, source: str, trajectory: str, seed: int, steps: int | None) -> None:
    PUBLISHED.check_source(source)
    if trajectory not in TRAJECTORIES:
        raise DataError(f"handwriting: trajectory={trajectory!r} is unknown; choose one of {', '.join(TRAJECTORIES)}")
    if seed < 0:
        raise DataError(f"handwriting: seed must be at least 0, not {seed}")
    if steps is not None and steps < 1:
        raise DataError(
            f"handwriting: steps must be at least 1, not {steps}; for all of them give", give={"steps": None}
        )


def check_sizes(*, trajectories: int, test: int, validation: int) -> None:
    if test < 1 or validation < 1 or trajectories - test - validation < 1:
        raise DataError(
            f"handwriting: trajectories={trajectories} with test={test} and validation={validation} "
            f"leaves {trajectories - test - validation} for training; each of the three parts needs at least one"
        )


def stand_in_digits(*, seed: int) -> list[Digit]:
    """Generates digits of as many writers as the recorded ones, in random order."""
    generator = np.random.default_rng([seed, 1])
    digits = []
    for writer in range(STAND_IN_WRITERS):
        hand = draw_hand(generator)
        for label in generator.choice(list(DIGITS), size=STAND_IN_DIGITS):
            digits.append(Digit(str(label), f"stand_in_{writer:02d}", write_digit(str(label), hand, generator)))
    return digits


def trajectory_rows(digit: Digit) -> np.ndarray:
    """Returns rows (row, 3): every stroke's points with pen 1, then one row with pen 0 at its last point."""
    parts = []
    for stroke in digit.strokes:
        pen = np.append(np.ones(len(stroke)), 0.0)
        parts.append(np.column_stack([np.concatenate([stroke, stroke[-1:]]), pen]))
    return np.concatenate(parts)


def draw_trajectories(
    digits: Sequence[Digit], *, trajectory: str, count: int, steps: int | None, seed: int
) -> tuple[list[np.ndarray], list[str]]:
    """Returns arrays (row, 3) of `count` writers, and their names, in the order drawn. Raises DataError for too few
    writers."""
    own: dict[str, list[Digit]] = {}
    for digit in digits:
        own.setdefault(digit.writer, []).append(digit)
    if count > len(own):
        raise DataError(f"handwriting: there are {len(own)} writers, trajectories={count} asks for more; lower it")
    generator = np.random.default_rng(seed)
    arrays, names = [], []
    for writer in generator.permutation(sorted(own))[:count]:
        written = own[str(writer)]
        if trajectory == "digit":
            written = [written[generator.integers(len(written))]]
        arrays.append(np.concatenate([trajectory_rows(digit) for digit in written])[:steps])
        names.append(f"writer_{writer}")
    return arrays, names


def split_by_writer(
    arrays: Sequence[np.ndarray], names: Sequence[str], *, test: int, validation: int, stand_in: bool
) -> Dataset:
    """Splits the trajectories. The writers were drawn in random order: the last ones are test, those before them
    validation."""
    training = len(arrays) - test - validation

    def part(begin: int, end: int) -> Sequences:
        return Sequences.from_arrays(arrays[begin:end], names[begin:end])

    return Dataset(
        name="handwriting",
        train=part(0, training),
        validation=part(training, training + validation),
        test=part(training + validation, len(arrays)),
        feature_names=FEATURE_NAMES,
        units=UNITS,
        source="stand-in" if stand_in else "uci",
        stand_in=stand_in,
    )
