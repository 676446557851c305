"""Carbon monoxide from sensors: the gas turbine set, and the GAS SENSOR set that it stands in for.

gas_turbine: hourly means of eleven sensors of a turbine in 2011 to 2015 (H. Kaya, P. Tüfekci and E. Uzun 2019, UCI data
set 551); nine of them are inputs, the target is CO (mg/m³). Published protocol: 2011 and 2012 for training, 2013 for
validation, 2014 and 2015 for test.

gas_sensor: 4 million rows of 14 metal-oxide sensors under temperature modulation (J. Burgués, J. M. Jiménez-Soto and
S. Marco 2018, UCI data set 487), from files that a person has put into gas_sensor/; the target is CO (ppm).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from data.base import DataError
from data.files.download import data_root
from data.files.exact_numbers import EXACT
from data.files.published import Published
from data.points import Points, check_points, random_split, some_of
from data.ranges import Count, Seed

# Public copies over https, pinned to a commit.
PUBLISHED = Published(
    "gas_turbine", "uci",
    "https://raw.githubusercontent.com/StudentDaNewb/SP-Assignment-5/19b30ec309c2eca26e0536339366579afc572654/",
    {
        "gt_2011.csv": "ab4b6b905cc261fa62554574ba97b6c4b53c82e6c826cb8f629ee09bf82f9e50",
        "gt_2012.csv": "216a3bd68d003fa832fb229f37b5ec8a5acae7441118d5f8e7ff08aa18290819",
        "gt_2013.csv": "20ff9736d776db88cc197c5b32c9745ea3741079f4cfac8a2ab76a76223aa1e6",
        "gt_2014.csv": "eff8aead04c107c305455b338e128b5ff5382ad81521c3e323bedc98264e126b",
        "gt_2015.csv": "8c13f655a3e9164c1d192fb756c609190562e04cb110f16add476c4d95b4c615",
    },
)  # fmt: skip
SENSOR = "gas_sensor"  # a source, and the folder of its files
INPUTS = ("AT", "AP", "AH", "AFDP", "GTEP", "TIT", "TAT", "TEY", "CDP")
COLUMNS = (*INPUTS, "CO", "NOX")
STAND_IN_HOURS = 1000  # of each year
SENSOR_INPUTS = (
    "Humidity (%r.h.)", "Temperature (C)", "Flow rate (mL/min)", "Heater voltage (V)",
    *(f"R{i} (MOhm)" for i in range(1, 15)),
)  # fmt: skip
SENSOR_TARGET = "CO (ppm)"
TEST_SHARE, VALIDATION_SHARE = 0.2, 0.1  # of GAS SENSOR's rows; the thesis divides training and test 8 to 2


def stand_in_years(*, seed: int) -> list[pd.DataFrame]:
    """Generates a load that follows day and season, and sensors that follow the load; nothing in it is real."""
    generator = np.random.default_rng(seed)
    mixing = generator.normal(0, 1, (3, len(INPUTS)))
    years = []
    for _ in PUBLISHED.checksums:
        hour = np.arange(STAND_IN_HOURS)
        noise = generator.normal(0, 0.3, STAND_IN_HOURS).cumsum() * 0.1
        state = np.stack([np.sin(hour * 2 * np.pi / 24), np.cos(hour * 2 * np.pi / STAND_IN_HOURS), noise], axis=1)
        sensors = state @ mixing + generator.normal(0, 0.1, (STAND_IN_HOURS, len(INPUTS)))
        co = np.exp(0.8 - state[:, 0] + 0.3 * state[:, 1] ** 2) + generator.normal(0, 0.1, STAND_IN_HOURS)
        years.append(pd.DataFrame(sensors, columns=list(INPUTS)).assign(CO=co))
    return years


def read_sensors(folder: Path) -> pd.DataFrame:
    """Reads every CSV file of the folder, as UCI publishes them. Raises DataError for none, and for a column that
    lacks."""
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise DataError(
            f"gas_sensor: {folder} holds no CSV file; unpack the archive of UCI data set 487 there, or choose",
            give={"source": "uci"},
        )
    tables = []
    for file in files:
        header = pd.read_csv(file, nrows=0)
        lacking = [name for name in (*SENSOR_INPUTS, SENSOR_TARGET) if name not in header]
        if lacking:
            raise DataError(f"{file}: no column {lacking[0]!r}; put the original files there")
        try:
            tables.append(pd.read_csv(file, usecols=[*SENSOR_INPUTS, SENSOR_TARGET], dtype=np.float64, **EXACT))
        except ValueError as error:
            raise DataError(f"{file}: cannot be read ({error}); put the original files there") from error
    return pd.concat(tables, ignore_index=True)


def load(
    *,
    points: Count | None = None,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Points:
    """Returns gas_turbine by the published protocol; with source=gas_sensor that set, its rows split 7 to 1 to 2 at
    random.

    points: keep as many rows of each part at most, drawn under the seed; None: all.
    Raises DataError for an argument out of range, and for files that are damaged or missing and cannot be fetched.
    """
    check_points(points)
    if source == SENSOR:
        return gas_sensor(read_sensors(data_root(root) / SENSOR), points=points, seed=seed)
    files = PUBLISHED.find(root, source=source, others=(SENSOR,))
    real = [pd.read_csv(file, header=None, names=list(COLUMNS), **EXACT) for file in files or []]
    return gas_turbine(real or stand_in_years(seed=seed), points=points, seed=seed, stand_in=not real)


def gas_turbine(years: Sequence[pd.DataFrame], *, points: int | None, seed: int, stand_in: bool) -> Points:
    table = pd.concat(years, ignore_index=True)
    rows, generator = torch.arange(len(table)), torch.Generator().manual_seed(seed)
    bounds = np.cumsum([len(year) for year in years])
    parts = rows[: bounds[1]], rows[bounds[1] : bounds[2]], rows[bounds[2] :]
    split = [some_of(part, points, generator) for part in parts]
    return Points(
        "gas_turbine", torch.from_numpy(table[list(INPUTS)].to_numpy(dtype=float).copy()),
        torch.from_numpy(table["CO"].to_numpy(dtype=float).copy()), *split,
        input_names=INPUTS, target_name="CO, mg/m³", source="stand-in" if stand_in else "uci", stand_in=stand_in,
    )  # fmt: skip


def gas_sensor(table: pd.DataFrame, *, points: int | None, seed: int) -> Points:
    counts = {"validation": int(VALIDATION_SHARE * len(table)), "test": int(TEST_SHARE * len(table))}
    generator = torch.Generator().manual_seed(seed)
    split = [some_of(part, points, generator) for part in random_split(len(table), **counts, seed=seed)]
    return Points(
        "gas_sensor", torch.from_numpy(table[list(SENSOR_INPUTS)].to_numpy(dtype=float).copy()),
        torch.from_numpy(table[SENSOR_TARGET].to_numpy(dtype=float).copy()), *split,
        input_names=SENSOR_INPUTS, target_name="CO, ppm", source="uci",
    )  # fmt: skip
