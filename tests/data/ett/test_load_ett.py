"""ETTh1: the published split, rows that reach back, columns apart or joint, what stands in for the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from data.base import DataError, Standardiser
from data.ett.load import COLUMNS, DAYS, PUBLISHED, dataset, load

BESIDE = Path(__file__).parents[4] / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT") or BESIDE)


def rows(days: int) -> np.ndarray:
    hour = np.arange(days * 24.0)[:, np.newaxis]
    return np.sin(hour * np.arange(1, 8)) + hour * np.arange(7)


def split(days: int, *, columns: str, history: int):
    return dataset(rows(days), columns=columns, history=history, source="made", stand_in=True)


def test_parts_are_three_fifths_and_a_fifth_each_with_the_rows_before_them() -> None:
    made, values = split(10, columns="joint", history=30), rows(10)
    arrays = [part.to_arrays()[0] for part in made.parts.values()]
    np.testing.assert_array_equal(arrays[0], values[:144])
    np.testing.assert_array_equal(arrays[1], values[144 - 30 : 192])
    np.testing.assert_array_equal(arrays[2], values[192 - 30 : 240])
    assert made.feature_names == COLUMNS
    assert made.test.times is not None
    assert made.test.times[0][30] == np.datetime64("2016-07-09T00:00")


def test_columns_apart_are_sequences_in_the_units_of_their_training_rows() -> None:
    made, values = split(10, columns="apart", history=0), rows(10)
    train = values[:144]
    expected = (values[192:] - train.mean(0)) / train.std(0)
    np.testing.assert_allclose(np.hstack(made.test.to_arrays()), expected)
    assert made.test.names == COLUMNS
    assert made.feature_names == ("standardised",)
    units = Standardiser.fit(made.train, made.feature_names)
    torch.testing.assert_close(units.mean, torch.zeros(1, dtype=torch.float64), atol=1e-12, rtol=0)
    torch.testing.assert_close(units.scale, torch.ones(1, dtype=torch.float64))


def test_parts_of_days_that_do_not_divide_by_five_keep_whole_days() -> None:
    made = split(11, columns="joint", history=0)
    assert [int(part.lengths[0]) for part in made.parts.values()] == [6 * 24, 2 * 24, 3 * 24]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": "both"}, r"^columns=both is unknown; choose one of apart, joint"),
        ({"days": 4}, r"^days=4 must lie from 5 to 600"),
        ({"days": 601}, r"^days=601 must lie from 5 to 600"),
        ({"days": 5, "history": 73}, r"^history=73 must lie from 0 to 72, the rows of the training part"),
        ({"source": "web"}, "choose one of auto, etdataset, stand_in"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message) -> None:
    with pytest.raises(DataError, match=message):
        load(**{"source": "stand_in", **arguments})


def test_the_stand_in_is_named_and_has_the_shape_of_the_table() -> None:
    made = load(source="stand_in", seed=1)
    assert (made.stand_in, made.source, len(made.train)) == (True, "stand-in", 7)
    assert [int(part.lengths[0]) for part in made.parts.values()] == [8640, 2880 + 504, 2880 + 504]
    assert made.checksum == load(source="stand_in", seed=1).checksum != load(source="stand_in", seed=2).checksum


def test_a_missing_file_is_said_aloud_and_a_damaged_one_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="ett_h1: NOT REAL DATA"):
        assert load(root=str(tmp_path)).stand_in
    with pytest.raises(DataError, match="put it there"):
        load(root=str(tmp_path), source="etdataset")
    (tmp_path / "ett_h1").mkdir()
    (tmp_path / "ett_h1" / "ETTh1.csv").write_text("OT\n")
    with pytest.raises(DataError, match="damaged or cut short"):
        load(root=str(tmp_path))


@pytest.mark.skipif(not (ROOT / "ett_h1" / "ETTh1.csv").is_file(), reason="the published file is not there")
def test_the_last_value_has_the_published_error_on_the_published_file() -> None:
    made = load(root=str(ROOT), source=PUBLISHED.source, history=1)
    assert [int(part.lengths[0]) for part in made.parts.values()] == [8640, 2881, 2881]
    assert DAYS * 24 == 14400
    test = np.hstack(made.test.to_arrays())
    windows = np.lib.stride_tricks.sliding_window_view(test[1:], 96, axis=0)
    last = test[: len(windows), :, np.newaxis]
    assert float(np.square(windows - last).mean()) == pytest.approx(1.295, abs=2e-3)
