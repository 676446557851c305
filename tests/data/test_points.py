"""Points for regression: the record's checks, the split, and the precipitation table with its swapped headers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from data.base import DataError
from data.points import random_split
from data.regression import precipitation


@pytest.fixture
def points():
    return precipitation.load(source="stand_in", points=50, validation=10, test=15, seed=3)


def test_the_split_is_disjoint_and_covers_all_rows(points) -> None:
    rows = torch.cat([points.train, points.validation, points.test])
    assert sorted(rows.tolist()) == list(range(50))
    assert (len(points.validation), len(points.test)) == (10, 15)
    inputs, targets = points.part(points.test)
    assert inputs.shape == (15, 3)
    assert torch.equal(targets, points.targets[points.test])


def test_equal_settings_give_equal_checksums_and_other_seeds_other_ones(points) -> None:
    again = precipitation.load(source="stand_in", points=50, validation=10, test=15, seed=3)
    other = precipitation.load(source="stand_in", points=50, validation=10, test=15, seed=4)
    assert points.checksum == again.checksum != other.checksum


def test_bad_points_are_named(points) -> None:
    inputs = points.inputs.clone()
    inputs[7, 1] = torch.nan
    with pytest.raises(DataError, match="column latitude, row 7: not a finite number"):
        replace(points, inputs=inputs)
    with pytest.raises(DataError, match="do not belong together"):
        replace(points, targets=points.targets[:-1])
    with pytest.raises(DataError, match="a row is in two of"):
        replace(points, test=points.train[:2])


def test_a_split_that_leaves_nothing_for_training_is_refused() -> None:
    with pytest.raises(DataError, match="5 validation and 5 test rows of 10 leave none"):
        random_split(10, validation=5, test=5, seed=0)


def test_the_published_headers_of_the_coordinates_are_put_right(tmp_path: Path, monkeypatch) -> None:
    ((file, checksum),) = precipitation.PUBLISHED.checksums.items()
    (tmp_path / "precipitation").mkdir()
    rows = {"station_id": [1, 1], "latitude": [-85.2, -85.2], "longitude": [31.6, 31.6], "time": [25568, 25569],
            "precipitation": [0, 20]}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "precipitation" / file, index=False)
    monkeypatch.setattr("data.files.download.sha256_of", lambda _: checksum)
    found = precipitation.load(root=str(tmp_path), source="noaa")
    assert found.input_names == ("longitude", "latitude", "day")
    assert sorted(found.inputs[:, 2].tolist()) == [25568, 25569]
    assert found.inputs[:, 0].tolist() == [-85.2, -85.2]
    assert not found.stand_in


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match=r"^points=99999: there are 12400 points"):
        precipitation.load(source="stand_in", points=99999)
    with pytest.raises(DataError, match="choose one of auto, noaa, stand_in"):
        precipitation.load(source="web")
