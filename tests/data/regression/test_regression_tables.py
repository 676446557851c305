"""Tables for regression: the customary splits, what stands in for a missing file, and the published files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from data.base import DataError
from data.points import cut_split
from data.regression import abalone, gas_turbine


def files() -> Path:
    beside = Path(__file__).parents[4] / "shared" / "data"
    return Path(os.environ.get("PIPELINE_DATA_ROOT") or beside)


def test_the_first_rows_are_for_training_and_validation_is_drawn_from_them() -> None:
    train, validation, test = cut_split(20, train=15, validation=4, points=None, seed=1)
    assert sorted(torch.cat([train, validation]).tolist()) == list(range(15))
    assert (len(validation), test.tolist()) == (4, [15, 16, 17, 18, 19])
    assert cut_split(20, train=15, validation=4, points=None, seed=2)[1].tolist() != validation.tolist()
    small = cut_split(20, train=15, validation=4, points=3, seed=1)
    assert [len(part) for part in small] == [3, 3, 3]
    assert set(small[2].tolist()) <= set(test.tolist())
    with pytest.raises(DataError, match=r"^validation=15 of 15 training rows leaves none"):
        cut_split(20, train=15, validation=15, points=None, seed=0)
    with pytest.raises(DataError, match=r"^points=0 must be at least 1; for all of them give points=None$"):
        cut_split(20, train=15, validation=1, points=0, seed=0)


def test_the_stand_in_of_abalone_is_named_and_looks_like_it() -> None:
    points = abalone.load(source="stand_in", seed=1)
    assert (points.stand_in, points.source, points.inputs.shape) == (True, "stand-in", (4177, 10))
    assert torch.equal(points.inputs[:, :3].sum(1), torch.ones(4177, dtype=torch.float64))
    assert points.checksum != abalone.load(source="stand_in", seed=2).checksum
    with pytest.raises(DataError, match="choose one of auto, uci, stand_in"):
        abalone.load(source="web")
    measured = abalone.load(source="stand_in", seed=1, sex=False)
    assert measured.input_names == points.input_names[3:]
    assert torch.equal(measured.inputs, points.inputs[:, 3:])


def test_a_missing_file_is_said_aloud_and_a_damaged_one_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="abalone: NOT REAL DATA"):
        assert abalone.load(root=str(tmp_path)).stand_in
    with pytest.raises(DataError, match="put it there"):
        abalone.load(root=str(tmp_path), source="uci")
    (tmp_path / "abalone").mkdir()
    (tmp_path / "abalone" / "abalone.data").write_text("Sex\n")
    with pytest.raises(DataError, match="damaged or cut short"):
        abalone.load(root=str(tmp_path))


def test_columns_of_abalone_keep_their_order(tmp_path: Path, monkeypatch) -> None:
    rows = [["M", *[i / 10 for i in range(7)], 15], ["I", *[i / 20 for i in range(7)], 7]]
    path = tmp_path / "abalone" / "abalone.data"
    path.parent.mkdir()
    pd.DataFrame(rows).to_csv(path, index=False)
    known = replace(abalone.PUBLISHED, checksums={path.name: hashlib.sha256(path.read_bytes()).hexdigest()})
    monkeypatch.setattr(abalone, "PUBLISHED", known)
    monkeypatch.setattr(abalone, "TRAIN", 1)
    points = abalone.load(root=str(tmp_path), validation=0)
    assert points.inputs[1].tolist() == pytest.approx([0, 0, 1, *[i / 20 for i in range(7)]])
    assert points.targets.tolist() == [15, 7]


@pytest.mark.skipif(
    not (files() / "abalone" / "abalone.data").exists(),
    reason="abalone.data is not at hand; set PIPELINE_DATA_ROOT to the folder that holds abalone/",
)
def test_the_published_abalone_file() -> None:
    points = abalone.load(root=str(files()))
    assert [len(part) for part in (points.train, points.validation, points.test)] == [2633, 500, 1044]
    assert points.targets.mean().item() == pytest.approx(9.9337, abs=1e-4)
    assert not points.stand_in


def test_the_stand_in_of_the_gas_turbine_is_split_by_years() -> None:
    points = gas_turbine.load(source="stand_in", points=300)
    assert (points.stand_in, points.name, points.inputs.shape[1]) == (True, "gas_turbine", 9)
    assert [len(part) for part in (points.train, points.validation, points.test)] == [300, 300, 300]
    assert int(points.train.max()) < 2000 <= int(points.validation.min())
    assert int(points.validation.max()) < 3000 <= int(points.test.min())
    with pytest.raises(DataError, match=r"^points=0 must be at least 1; for all of them give points=None$"):
        gas_turbine.load(source="stand_in", points=0)
    with pytest.raises(DataError, match="choose one of auto, uci, stand_in, gas_sensor"):
        gas_turbine.load(source="web")


def test_one_missing_year_is_enough_for_the_stand_in_alone(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="gas_turbine: NOT REAL DATA"):
        assert gas_turbine.load(root=str(tmp_path)).source == "stand-in"


def test_files_of_gas_sensor_are_read_as_published(tmp_path: Path) -> None:
    folder = tmp_path / gas_turbine.SENSOR
    folder.mkdir()
    with pytest.raises(DataError, match="holds no CSV file; unpack the archive of UCI data set 487"):
        gas_turbine.load(source="gas_sensor", root=str(tmp_path))
    columns = ["Time (s)", gas_turbine.SENSOR_TARGET, *gas_turbine.SENSOR_INPUTS]
    for day in (0, 1):
        rows = [[i + 0.5, 10 * day + i, *range(18)] for i in range(10)]
        pd.DataFrame(rows, columns=columns).to_csv(folder / f"2016093{day}.csv", index=False)
    points = gas_turbine.load(source="gas_sensor", root=str(tmp_path))
    assert (points.name, points.stand_in, points.inputs.shape) == ("gas_sensor", False, (20, 18))
    assert points.targets.tolist() == [*range(10), *range(10, 20)]
    assert [len(part) for part in (points.train, points.validation, points.test)] == [14, 2, 4]
    pd.DataFrame({"Time (s)": [1]}).to_csv(folder / "other.csv", index=False)
    with pytest.raises(DataError, match=r"other\.csv: no column 'Humidity"):
        gas_turbine.load(source="gas_sensor", root=str(tmp_path))
    pd.DataFrame([["0.5", "10", *["word"] * 18]], columns=columns).to_csv(folder / "other.csv", index=False)
    with pytest.raises(DataError, match=r"other\.csv: .*'word'.*; put the original files there"):
        gas_turbine.load(source="gas_sensor", root=str(tmp_path))


@pytest.mark.skipif(
    not (files() / "gas_turbine" / "gt_2015.csv").exists(),
    reason="gt_2011.csv to gt_2015.csv are not at hand; set PIPELINE_DATA_ROOT to the folder that holds gas_turbine/",
)
def test_the_published_gas_turbine_files() -> None:
    points = gas_turbine.load(root=str(files()))
    assert [len(part) for part in (points.train, points.validation, points.test)] == [15039, 7152, 14542]
    assert 100 < points.inputs[:, 7].mean() < 180
    assert not points.stand_in
