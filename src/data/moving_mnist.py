"""The moving MNIST data set: two digits of 28 × 28 pixels that bounce in a box of 64 × 64.

Srivastava, Mansimov and Salakhutdinov, "Unsupervised learning of video representations using LSTMs", 2015. The digits
are the 10,000 test digits of MNIST (LeCun, Cortes, Burges; derived from NIST's special databases 1 and 3); the videos
are generated here, none is a published one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from scipy.ndimage import zoom
from tqdm import tqdm

from data.base import DataError, Dataset, Sequences
from data.files.download import Opener, open_https
from data.files.idx import read_idx
from data.files.mnist import ADDRESS, FOLDER, IMAGES, SHA_256
from data.files.published import Published
from data.ranges import Count, Seed
from data.source import Source

CHECKSUMS = {IMAGES: SHA_256[IMAGES]}
PUBLISHED = Published("moving_mnist", "mnist", ADDRESS, CHECKSUMS, FOLDER, "scikit-learn's small digits")
BOX, DIGIT = 64, 28
ROOM = BOX - DIGIT
SPEED = 0.1 * ROOM  # pixels a frame: a tenth of the way from wall to wall, as in the paper's program
# What the generators of different draws under one seed are told apart by.
SHUFFLE, TRAINING, TEST = range(3)


@dataclass(frozen=True, kw_only=True)
class MovingMnist(Source):
    """Is the section `data=moving_mnist`: `videos` videos of `steps` frames under `seed`; pixels go from 0 (black) to
    1, without unit, row by row.

    Two different digits start anywhere in the box, move in random directions at 3.6 pixels a frame and are reflected
    at the walls; where they overlap the brighter pixel is seen. The digit images are halved under `seed`: the `test`
    videos show images of one half, all others images of the other. Of those others the first `validation` are held out
    (they may show images that training videos show too). Every video has a generator of its own: the test videos depend
    on `seed`, `test` and `steps` only, a shorter request gives the first of a longer one, and so do the training videos
    as long as `validation` stays the same.
    All pixels share one scale when standardised.

    root: folder that holds `mnist/`; None: $PIPELINE_DATA_ROOT, else a cache of the user's own.
    source: "mnist": the recorded digits, fetched over https where the file is missing; "stand_in": scikit-learn's
        8 × 8 digits, enlarged; "auto": MNIST, or without file and network the stand-in, with a warning.

    Memory: 8 bytes a pixel and 1 for its mask: 0.74 GB for 1000 videos of 20 frames, and as much again in a copy that
    is standardised. The videos are drawn in place: besides them only the digit images, 16 MB, are held.

    Raises DataError for an argument out of range, for a missing file that cannot be fetched, and always for a file
    that is damaged or cut short.
    """

    root: str | None
    source: str = "auto"
    seed: Seed = 0
    videos: Count = 1000
    test: Count = 500
    validation: Count = 100
    steps: Count = 20

    def load(self, opener: Opener = open_https) -> Dataset:
        """Returns the data. Raises DataError as the class says.

        opener: opens web addresses, as `data.files.download.open_https` does.
        """
        check_videos(
            source=self.source,
            seed=self.seed,
            videos=self.videos,
            test=self.test,
            validation=self.validation,
            steps=self.steps,
        )
        files = PUBLISHED.find(self.root, source=self.source, opener=opener)
        others, tested = halve(read_digits(files[0]) if files else stand_in_digits(), seed=self.seed)

        def part(digits: np.ndarray, numbers: range, draw: int) -> Sequences:
            return as_sequences(
                draw_videos(digits, numbers=numbers, steps=self.steps, seed=self.seed, draw=draw), numbers, draw
            )

        return Dataset(
            name="moving_mnist",
            train=part(others, range(self.validation, self.videos - self.test), TRAINING),
            validation=part(others, range(self.validation), TRAINING),
            test=part(tested, range(self.test), TEST),
            feature_names=tuple(f"pixel_{row:02d}_{column:02d}" for row in range(BOX) for column in range(BOX)),
            units=("",) * BOX**2,
            source="mnist" if files else "stand-in",
            stand_in=not files,
            common_scale=True,
            image_shape=(BOX, BOX),
        )


def check_videos(*, source: str, seed: int, videos: int, test: int, validation: int, steps: int) -> None:
    PUBLISHED.check_source(source)
    if seed < 0:
        raise DataError(f"moving_mnist: seed must be at least 0, got {seed}")
    if test < 1 or validation < 1 or videos - test - validation < 1:
        raise DataError(
            f"moving_mnist: {videos} videos cannot be split into {test} for test, {validation} for validation and the "
            "rest for training, each at least one; change videos, test or validation"
        )
    if steps < 1:
        raise DataError(f"moving_mnist: steps must be at least 1, got {steps}")


def read_digits(path: Path) -> np.ndarray:
    """Reads images (digit, 28, 28) uint8. Raises DataError as `read_idx`, and for another shape or type or fewer
    than 4 digits."""
    digits = read_idx(path)
    if digits.shape[1:] != (DIGIT, DIGIT) or digits.dtype != np.uint8 or len(digits) < 4:
        raise DataError(
            f"{path}: holds {digits.dtype} of shape {digits.shape}, not at least 4 images of 28 × 28 bytes; "
            "put the original file there"
        )
    return digits


def stand_in_digits() -> np.ndarray:
    """Returns scikit-learn's 1797 digits of 8 × 8 pixels (0 to 16), enlarged linearly: (digit, 28, 28) uint8."""
    from sklearn.datasets import load_digits

    small, _ = load_digits(return_X_y=True)
    enlarged = np.asarray(zoom(np.reshape(small, (-1, 8, 8)) / 16, (1, DIGIT / 8, DIGIT / 8), order=1))
    return np.round(255 * enlarged.clip(0, 1)).astype(np.uint8)


def halve(digits: np.ndarray, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns two disjoint halves of the images, drawn under `seed`: for training and validation, and for test."""
    order = np.random.default_rng([seed, SHUFFLE]).permutation(len(digits))
    middle = len(digits) // 2
    return digits[order[:middle]], digits[order[middle:]]


def draw_videos(digits: np.ndarray, *, numbers: range, steps: int, seed: int, draw: int) -> np.ndarray:
    """Draws videos (video, step, 64·64) float64; a video is determined by `seed`, `draw` and its number."""
    videos = np.zeros((len(numbers), steps, BOX, BOX))
    for number, frames in zip(tqdm(numbers, desc="moving digits", unit="video", disable=None), videos, strict=True):
        draw_video(frames, digits, np.random.default_rng([seed, draw, number]))
    return videos.reshape(len(numbers), steps, -1)


def draw_video(frames: np.ndarray, digits: np.ndarray, generator: np.random.Generator) -> None:
    """Draws two different ones of `digits` (digit, 28, 28) on their way through black `frames` (step, 64, 64), in
    place."""
    for index in generator.choice(len(digits), size=2, replace=False):
        image = digits[index] / 255
        angle = generator.uniform(0, 2 * np.pi)
        velocity = SPEED * np.array([np.cos(angle), np.sin(angle)])
        places = bounce(generator.uniform(0, ROOM, size=2), velocity, steps=len(frames))
        for frame, (row, column) in zip(frames, places.round().astype(int), strict=True):
            window = frame[row : row + DIGIT, column : column + DIGIT]
            np.maximum(window, image, out=window)


def bounce(start: np.ndarray, velocity: np.ndarray, *, steps: int) -> np.ndarray:
    """Returns the places (step, axis), in pixels, of a point in [0, 36]² that moves at constant speed between
    reflecting walls.

    On each axis, with w = 36 the way from wall to wall: start + t · velocity, folded by x ↦ w − |x mod 2w − w|.
    """
    unfolded = start + np.arange(steps)[:, None] * velocity
    return ROOM - np.abs(np.mod(unfolded, 2 * ROOM) - ROOM)


def as_sequences(videos: np.ndarray, numbers: range, draw: int) -> Sequences:
    """Returns the videos as sequences, all observed and of one length; the values share the array's memory."""
    values = torch.from_numpy(videos)
    lengths = torch.full((len(videos),), videos.shape[1], dtype=torch.int64)
    kind = "test" if draw == TEST else "training"
    names = tuple(f"{kind}_{number:04d}" for number in numbers)
    return Sequences(values, torch.ones(values.shape, dtype=torch.bool), lengths, names)
