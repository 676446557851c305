"""The table of intervals: what share of the test forecasts lies inside."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from models.baselines.autoregression import Autoregression
from models.filtering import MaskedSequences, State, final_state, roll
from models.intervals import calibrate
from pipeline.stages.evaluate import Evaluation
from pipeline.stages.intervals import coverage_table, intervals_of, log_forecast, log_intervals


class Recorder:
    """A run that keeps its metrics."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def tags(self, values: dict[str, str]) -> None:
        assert values == {"intervals": "2 steps"}

    def metric(self, key: str, value: float) -> None:
        self.metrics[key] = value


def test_a_horizon_that_the_test_part_never_scores_has_no_share() -> None:
    """Calibrated on |residuals| 1, …, 99 at both horizons; one of two forecasts lies within 90."""
    intervals = calibrate(np.arange(1.0, 100.0)[:, None, None] * np.ones((2, 1)))
    squared = {1: torch.tensor([[[89.0**2], [91.0**2]]]), 2: torch.full((1, 2, 1), math.nan)}
    evaluation = Evaluation({"psrnn": squared}, torch.zeros(1, 2, 1))
    dataset = SimpleNamespace(feature_names=("x",), units=("",), image_shape=None)
    loaded: Any = SimpleNamespace(dataset=dataset, standardiser=SimpleNamespace(scale=torch.ones(1).double()))
    table: Any = coverage_table(intervals, evaluation, loaded)
    shown = table[table["coverage"] == 0.9]
    assert shown["radius"].tolist() == [90.0, 90.0]
    assert shown["inside"].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    run: Any = Recorder()
    log_intervals(run, intervals, evaluation, loaded, full=False)
    assert run.metrics == {"evaluate/coverage_90": 0.5}


class Watched(Autoregression):
    """Notes how many threads it forecasts with."""

    def __init__(self) -> None:
        super().__init__(dimension=1, order=2)
        self.threads: set[int] = set()
        with torch.no_grad():
            self.weight.copy_(torch.tensor([[-0.5, 1.2]]))

    def predict(self, state: State) -> torch.Tensor:
        self.threads.add(torch.get_num_threads())
        return super().predict(state)


@pytest.fixture
def _three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


class Part(MaskedSequences):
    """Of a data set too."""

    lengths = torch.tensor([80])
    times, names = None, ("a",)

    def to_arrays(self, count: int) -> list[np.ndarray]:
        return list(self.values[:count].numpy())


@pytest.mark.usefixtures("_three_threads")
def test_a_small_model_is_calibrated_and_forecasts_its_figure_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.randn(1, 80, 1, generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(values, dtype=torch.bool)
    part, model = Part(values, mask, mask), Watched()
    standardiser = SimpleNamespace(scale=torch.full((1,), 2.0).double(), mean=torch.ones(1).double())
    dataset = SimpleNamespace(validation=part, test=part, image_shape=None, feature_names=("x",), units=("",))
    loaded: Any = SimpleNamespace(validation=part, test=part, dataset=dataset, standardiser=standardiser)
    intervals = intervals_of(model, loaded, SimpleNamespace(horizons=[3], first_step=2))
    assert intervals is not None
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(
        "pipeline.figures.forecast", lambda *arguments, **named: drawn.update(named, ahead=arguments[1])
    )
    log_forecast(SimpleNamespace(figure=lambda *_: None), model, loaded, intervals, title="t")  # pyright: ignore
    assert model.threads == {1}
    expected = roll(model, final_state(model, values[:, :77], mask[:, :77]), 3)[0].double() * 2 + 1
    np.testing.assert_allclose(drawn["ahead"], expected.detach(), rtol=1e-6)
