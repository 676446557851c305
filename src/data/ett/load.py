"""ETTh1: oil temperature and six loads of an electricity transformer, hourly from July 2016, by the field's protocol.

H. Zhou et al. (2021), Informer, section 5.1: of 20 months of 30 days the first 12 are for training, the next 4 for
validation and the last 4 for test; each column is standardised by its training rows. A forecast of the test part may
look back at rows before it, so each part is given with rows before it that are not to be scored.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from data.base import DataError, Dataset, Sequences
from data.files.exact_numbers import EXACT
from data.files.published import Published
from data.ranges import Count, Held, Seed

# A public copy over https, pinned to a commit; the original is github.com/zhouhaoyi/ETDataset, CC BY-ND 4.0.
PUBLISHED = Published(
    "ett_h1", "etdataset",
    "https://raw.githubusercontent.com/mojnouran/Datasets/32e6f7f106fe3b289ce3ba3cca2f8fa4edf120aa/",
    {"ETTh1.csv": "be6220016c0f062e7a71ee5164c4aec5d93bf396cf29a63481e4db7872c7b3a5"},
)  # fmt: skip
COLUMNS = ("HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT")
START, HOURS, DAYS = "2016-07-01", 24, 600
SHARES = 3, 1, 1  # of training, validation and test: fifths of the days
LAYOUTS = ("apart", "joint")


def stand_in_table(*, seed: int) -> pd.DataFrame:
    """Generates columns with a daily and a weekly rhythm about a level that drifts; nothing in it is real."""
    generator = np.random.default_rng(seed)
    hour = np.arange(DAYS * HOURS)[:, np.newaxis]
    phase, weight = generator.uniform(0, 2 * np.pi, (2, len(COLUMNS))), generator.uniform(0.5, 1.5, (3, len(COLUMNS)))
    daily, weekly = np.sin(2 * np.pi * hour / HOURS + phase[0]), np.sin(2 * np.pi * hour / (7 * HOURS) + phase[1])
    level = generator.normal(0, 0.01, (len(hour), len(COLUMNS))).cumsum(0)
    noise = generator.normal(0, 0.5, level.shape)
    return pd.DataFrame(weight[0] * daily + weight[1] * weekly + weight[2] * level + noise, columns=list(COLUMNS))


def load(
    *,
    columns: str = "apart",
    history: Held = 504,
    days: Count = DAYS,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Dataset:
    """Returns the first `days` days of the table: the first three fifths are for training, one fifth each for
    validation and test.

    columns "apart": seven sequences of one feature, each in standard deviations from the mean of its training rows, so
    that one model serves all; "joint": one sequence of seven features in their own units.
    history: rows before the validation and the test part that are put in front of them; what scores them begins at
    step `history`. The training part has none. days: 600 is the published protocol. seed: of the stand-in.
    Raises DataError for an argument out of range, and for a missing file that cannot be fetched with
    source=etdataset.
    """
    if columns not in LAYOUTS:
        raise DataError(f"columns={columns} is unknown; choose one of {', '.join(LAYOUTS)}")
    if not sum(SHARES) <= days <= DAYS:
        raise DataError(f"days={days} must lie from {sum(SHARES)} to {DAYS}")
    files = PUBLISHED.find(root, source=source)
    table = pd.read_csv(files[0], usecols=list(COLUMNS), **EXACT) if files else stand_in_table(seed=seed)
    values = table[list(COLUMNS)].to_numpy(dtype=np.float64)[: days * HOURS]
    return dataset(
        values, columns=columns, history=history, source="etdataset" if files else "stand-in", stand_in=not files
    )


def dataset(values: np.ndarray, *, columns: str, history: int, source: str, stand_in: bool) -> Dataset:
    """Returns the parts of the rows (hour, column), each with `history` rows before it. Raises DataError where there
    are not so many."""
    ends = np.cumsum(SHARES) * (len(values) // HOURS) // sum(SHARES) * HOURS
    if not 0 <= history <= ends[0]:
        raise DataError(f"history={history} must lie from 0 to {ends[0]}, the rows of the training part")
    apart = columns == "apart"
    if apart:
        train = values[: ends[0]]
        values = (values - train.mean(0)) / train.std(0)
    times = pd.date_range(START, periods=len(values), freq="h").to_numpy()
    parts = [
        sequences(values[begin:end], times[begin:end], apart=apart)
        for begin, end in ((0, ends[0]), (ends[0] - history, ends[1]), (ends[1] - history, ends[2]))
    ]
    return Dataset(
        "ett", *parts, feature_names=("standardised",) if apart else COLUMNS,
        units=("",) * (1 if apart else len(COLUMNS)), source=source, stand_in=stand_in, time_name="time",
    )  # fmt: skip


def sequences(values: np.ndarray, times: np.ndarray, *, apart: bool) -> Sequences:
    """Returns the rows (hour, column) as one sequence, or as one of each column."""
    arrays, names = ([*values.T[..., np.newaxis]], COLUMNS) if apart else ([values], ("ETTh1",))
    return replace(Sequences.from_arrays(arrays, names), times=(times,) * len(arrays))
