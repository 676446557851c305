"""Models with units, to disk and back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from models.baselines.autoregression import Autoregression
from models.baselines.persistence import Persistence
from models.forecaster import ARCHITECTURE, Forecaster, load_forecaster, save_forecaster
from models.psrnn.cell import PSRNN


def forecaster(kind: str) -> Forecaster:
    model = {
        "psrnn": lambda: PSRNN(frequencies=3, dimension=2, state=4, lags=1),
        "autoregression": lambda: Autoregression(dimension=2, order=2),
        "persistence": lambda: Persistence(dimension=2),
    }[kind]()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.4)
    mean, scale = torch.tensor([10.0, -3.0], dtype=torch.float64), torch.tensor([2.0, 0.5], dtype=torch.float64)
    return Forecaster(model.double(), mean=mean, scale=scale, feature_names=("a", "b"))


def series() -> np.ndarray:
    values = np.random.default_rng(0).normal(size=(12, 2)) * [2.0, 0.5] + [10.0, -3.0]
    values[5] = np.nan
    values[7, 0] = np.nan
    return values


@pytest.mark.parametrize("kind", ["psrnn", "autoregression", "persistence"])
def test_round_trip_through_files_changes_nothing(kind: str, tmp_path: Path) -> None:
    first = forecaster(kind)
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    assert np.array_equal(first.predict(series()), second.predict(series()))
    assert np.array_equal(first.forecast(series(), 4), second.forecast(series(), 4))
    assert second.feature_names == ("a", "b")


def test_predictions_are_in_own_units_and_gaps_are_filled_by_prediction() -> None:
    found = forecaster("persistence").predict(series())
    assert np.allclose(found[1:5], series()[:4])
    assert np.allclose(found[6], series()[4])
    assert np.allclose(found[8], [series()[6, 0], series()[7, 1]])
    assert np.allclose(forecaster("persistence").forecast(series(), 3), series()[[-1] * 3])


def test_bad_input_is_named() -> None:
    model = forecaster("persistence")
    with pytest.raises(ValueError, match=r"expected \(time, 2\) values of a, b, got shape \(3, 3\)"):
        model.predict(np.zeros((3, 3)))
    infinite = series()
    infinite[2, 1] = np.inf
    with pytest.raises(ValueError, match="infinite value in row 2 of column b"):
        model.predict(infinite)
    with pytest.raises(ValueError, match="horizon must be at least 1, got 0"):
        model.forecast(series(), 0)


def test_only_our_own_classes_are_built(tmp_path: Path) -> None:
    save_forecaster(forecaster("persistence"), tmp_path)
    description = json.loads((tmp_path / ARCHITECTURE).read_text())
    (tmp_path / ARCHITECTURE).write_text(json.dumps({**description, "class": "subprocess.Popen"}))
    with pytest.raises(ValueError, match=r"names subprocess\.Popen, which is not a model of this project"):
        load_forecaster(tmp_path)
