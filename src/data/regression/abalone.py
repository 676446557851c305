"""Abalone (W. J. Nash and others 1994, UCI Machine Learning Repository, data set 1): a point is an animal.

Inputs are its sex (three indicators) and seven sizes and weights, scaled as published (lengths in 200 mm, weights in
200 g); the target is the number of rings on its shell, its age in years less 1.5.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from data.files.exact_numbers import EXACT
from data.files.published import Published
from data.points import Points, cut_split
from data.ranges import Count, Held, Seed

# A public copy over https, pinned to a commit.
PUBLISHED = Published(
    "abalone", "uci", "https://raw.githubusercontent.com/msalibian/STAT547O/e80ca158a5cc92b951c7f0eb90a71b7f459dc0ae/",
    {"abalone.data": "7b140a2fadb9d91226d34b905589c5f4a36370d4dce059b36daaa8060d7ae665"},
)  # fmt: skip
SEXES = ("M", "F", "I")
SIZES = ("length", "diameter", "height", "whole", "shucked", "viscera", "shell")
COLUMNS = ("sex", *SIZES, "rings")
INPUTS = (*(f"sex_{sex}" for sex in SEXES), *SIZES)
ROWS, TRAIN = 4177, 3133  # the customary split: the first 3133 rows for training, the last 1044 for test


def stand_in_table(*, seed: int) -> pd.DataFrame:
    """Generates animals that grow towards a largest size, with weights that go with its cube; nothing in it is real."""
    generator = np.random.default_rng(seed)
    rings = 1 + generator.gamma(6.0, 1.5, ROWS).round()
    length = 0.75 * (1 - np.exp(-0.22 * rings)) * generator.normal(1, 0.08, ROWS)
    sizes = [length, 0.8 * length, 0.28 * length, *(share * length**3 for share in (5.5, 2.4, 1.2, 1.6))]
    noisy = [size * generator.normal(1, 0.06, ROWS) for size in sizes]
    sex = np.where(rings < 7, "I", generator.choice(["M", "F"], ROWS))
    return pd.DataFrame({"sex": sex} | dict(zip(SIZES, noisy, strict=True)) | {"rings": rings})


def load(
    *,
    points: Count | None = None,
    sex: bool = True,
    validation: Held = 500,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Points:
    """Returns abalone by the customary split; `validation` rows are drawn from the 3133 training rows under the seed.

    points: keep as many rows of each part at most, drawn under the seed; None: all. sex: whether its indicators are
    among the inputs; without them there are the seven sizes and weights.
    Raises DataError for an argument out of range, and for a missing file that cannot be fetched with source=uci.
    """
    files = PUBLISHED.find(root, source=source)
    table = pd.read_csv(files[0], header=0, names=list(COLUMNS), **EXACT) if files else stand_in_table(seed=seed)
    indicators = [(table["sex"] == one).to_numpy(dtype=float) for one in SEXES] if sex else []
    inputs = np.stack([*indicators, *(table[name].to_numpy(dtype=float) for name in SIZES)], axis=1)
    split = cut_split(len(table), train=TRAIN, validation=validation, points=points, seed=seed)
    return Points(
        "abalone", torch.from_numpy(inputs), torch.from_numpy(table["rings"].to_numpy(dtype=float).copy()), *split,
        input_names=INPUTS if sex else SIZES, target_name="rings", source="uci" if files else "stand-in",
        stand_in=not files,
    )  # fmt: skip
