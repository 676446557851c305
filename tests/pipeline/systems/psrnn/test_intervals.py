"""The table of intervals: what share of the test forecasts lies inside."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from data.base import Dataset, Sequences
from models.baselines.autoregression import Autoregression
from models.baselines.seasonal_naive import SeasonalNaive
from models.forecasting.filtering import MaskedSequences, State, filter_sequences
from models.forecasting.intervals import Intervals, calibrate
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.rolling import roll
from models.forecasting.start_up import StartUp
from oracles import final_state
from pipeline.systems.psrnn.evaluate import evaluate, validate
from pipeline.systems.psrnn.evaluation import Evaluation
from pipeline.systems.psrnn.intervals import (
    SHOWN_COVERAGE,
    Calibration,
    calibrated_horizons,
    coverage_table,
    intervals_of,
    log_forecast,
    log_intervals,
)  # fmt: skip
from pipeline.systems.psrnn.load import OwnUnits, forecaster_of


class Recorder:
    """A run that keeps its metrics."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def tags(self, values: dict[str, str]) -> None:
        assert values == {"intervals": "2 steps"}

    def metric(self, key: str, value: float) -> None:
        self.metrics[key] = value


def metres(names: list[str], *, scale: torch.Tensor) -> OwnUnits:
    return OwnUnits(tuple(names), ("m",) * len(names), torch.zeros_like(scale).double(), scale.double())


def test_a_horizon_that_the_test_part_never_scores_has_no_share() -> None:
    """Calibrated on |residuals| 1, …, 99 at both horizons; one of two forecasts lies within 90."""
    intervals = calibrate(np.arange(1.0, 100.0)[:, None, None] * np.ones((2, 1)))
    squared = {1: torch.tensor([[[89.0**2], [91.0**2]]]), 2: torch.full((1, 2, 1), math.nan)}
    evaluation = Evaluation({"psrnn": squared}, torch.zeros(1, 2, 1))
    own = metres(["x"], scale=torch.ones(1))
    table: Any = coverage_table(intervals, evaluation, own)
    shown = table[table["coverage"] == 0.9]
    assert shown["radius"].tolist() == [90.0, 90.0]
    assert shown["inside"].tolist() == pytest.approx([0.5, math.nan], nan_ok=True)
    run: Any = Recorder()
    log_intervals(run, Calibration(intervals), evaluation, own, full=False)
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


def intervals_on(
    model: Autoregression, part: MaskedSequences, own: OwnUnits, asked: Any, *, further: bool = False
) -> Intervals | None:
    """Those of a model on a part whose sequences are as long as it is."""
    longest, most = calibrated_horizons(part, asked, further=further)
    lengths = torch.full((len(part.values),), part.values.shape[1])
    errors = evaluate({"model": model}, part, lengths, asked, every=most).squared["model"]
    return intervals_of([errors[horizon] for horizon in range(1, most + 1)], own, longest=longest).intervals


@pytest.fixture
def _three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_three_threads")
def test_a_small_model_is_calibrated_and_forecasts_its_figure_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    series = torch.randn(80, 1, generator=torch.Generator().manual_seed(0)).double().numpy()
    test = Sequences.from_arrays([series], ["a"])
    dataset = Dataset("drawn", test, test, test, ("x",), ("",), "drawn")
    own, model = OwnUnits(("x",), ("",), torch.ones(1).double(), torch.full((1,), 2.0).double()), Watched()
    values = ((test.values - own.mean) / own.scale).float()
    part = MaskedSequences(values, test.mask, test.mask)
    intervals = intervals_on(model, part, own, SimpleNamespace(horizons=[3], first_step=2))
    assert intervals is not None
    assert model.threads == {1}
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(
        "pipeline.systems.psrnn.figures.forecast", lambda *arguments, **named: drawn.update(named, ahead=arguments[1])
    )
    model.threads.clear()
    run: Any = SimpleNamespace(figure=lambda *_: None)
    log_forecast(run, forecaster_of(model, own, intervals), dataset, most=3, title="t")
    assert model.threads == {1}
    expected = roll(model, final_state(model, values[:, :77], test.mask[:, :77]), 3)[0].double() * 2 + 1
    np.testing.assert_allclose(drawn["ahead"].forecast, expected.detach(), rtol=1e-6)
    np.testing.assert_array_equal(drawn["ahead"].radii, intervals.radius(SHOWN_COVERAGE, 3))


@pytest.mark.parametrize(("rows", "empty", "drawn"), [(13, 0, False), (14, 0, True), (14, 1, False)])
def test_a_forecast_from_fewer_rows_than_a_season_is_not_drawn(
    monkeypatch: pytest.MonkeyPatch, rows: int, empty: int, drawn: bool
) -> None:
    """Four rows are forecast from the rows before them by the value of ten rows ago."""
    series = np.random.default_rng(0).normal(size=(rows, 1))
    series[:empty] = np.nan
    test = Sequences.from_arrays([series], ["a"])
    dataset = Dataset("drawn", test, test, test, ("x",), ("",), "drawn")
    own = metres(["x"], scale=torch.ones(1))
    forecaster = forecaster_of(SeasonalNaive(dimension=1, season=10), own, calibrate(np.ones((30, 4, 1))))
    monkeypatch.setattr("pipeline.systems.psrnn.figures.forecast", lambda *_, **__: None)
    logged: list[str] = []
    run: Any = SimpleNamespace(figure=lambda _, path: logged.append(path))
    log_forecast(run, forecaster, dataset, most=4, title="t")
    assert logged == ["figures/forecast"] * drawn


def calibrated(model: Autoregression, length: int, horizons: list[int], *, further: bool) -> Intervals | None:
    """On one sequence of noise, (1, length, 2), scored from its third step on."""
    values = torch.randn(1, length, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    own, asked = metres(["x", "y"], scale=torch.tensor([2.0, 0.5])), SimpleNamespace(horizons=horizons, first_step=2)
    part = MaskedSequences(values, mask, mask)
    return intervals_on(model, part, own, asked, further=further)


def growing(factor: float) -> Autoregression:
    """Predicts the last value times a factor."""
    model = Autoregression(dimension=2, order=1).double()
    with torch.no_grad():
        model.weight.copy_(factor * torch.eye(2, dtype=torch.float64))
    return model


@pytest.mark.parametrize(("length", "known"), [(120, 10), (9, 7), (5, 3)])
def test_intervals_of_a_table_reach_twice_as_far_and_the_others_stay(length: int, known: int) -> None:
    short, long = (calibrated(growing(0.9), length, [1, 5], further=further) for further in (False, True))
    assert short is not None
    assert long is not None
    assert (short.radii.shape[1], long.radii.shape[1]) == (min(known, 5), known)
    np.testing.assert_array_equal(long.radii[:, : short.radii.shape[1]], short.radii)


def drawn(length: int) -> Any:
    """Loaded data whose validation part is one sequence of noise, (1, length, 2)."""
    values = torch.randn(1, length, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    dataset = SimpleNamespace(source="drawn", validation=SimpleNamespace(lengths=torch.tensor([length])))
    parts = SimpleNamespace(validation=MaskedSequences(values, mask, mask))
    return SimpleNamespace(parts=parts, dataset=dataset, own=metres(["x", "y"], scale=torch.ones(2)))


def seasonal(*, beneath_readout: bool) -> Any:
    """A seasonal naive model of 24 rows, by itself or until a readout of 30 lags is read."""
    model = SeasonalNaive(dimension=2, season=24).double()
    return (
        GroupedReadout(model, dimension=2, lags=30, traces=[], count=0, horizons=1).double()
        if beneath_readout
        else model
    )


@pytest.mark.parametrize("beneath_readout", [False, True])
def test_a_seasonal_naive_model_is_calibrated_on_forecasts_a_season_after_the_start(beneath_readout: bool) -> None:
    loaded, asked = drawn(29), SimpleNamespace(horizons=[1, 3, 20], first_step=2)
    _, (found, _) = validate({"seasonal_naive": seasonal(beneath_readout=beneath_readout)}, loaded, asked)
    values = loaded.parts.validation.values[0].numpy()
    expected = np.abs(values[24:] - values[:5])
    assert found is not None
    assert found.scored[:, 0].tolist() == [5, 4, 3, 2, 1]
    np.testing.assert_allclose(found.radius(0.8, 1)[0], np.sort(expected, 0)[4], rtol=1e-12)


def test_a_seasonal_naive_model_has_no_intervals_where_no_row_has_a_season_before_it() -> None:
    loaded, asked = drawn(24), SimpleNamespace(horizons=[1, 3], first_step=2)
    _, calibration = validate({"seasonal_naive": seasonal(beneath_readout=False)}, loaded, asked)
    tags: dict[str, str] = {}
    run: Any = SimpleNamespace(tags=tags.update)
    said = "no scored row of the validation part has the 24 rows before it that the model wants"
    with pytest.warns(UserWarning, match=f"^{said}, so the model has no intervals$"):
        log_intervals(run, calibration, Evaluation({}, torch.zeros(0)), loaded.own, full=True)
    assert (calibration.intervals, tags) == (None, {"intervals": f"none: {said}"})


def test_a_model_for_which_lower_autoregressions_stand_in_is_calibrated_from_the_first_scored_row() -> None:
    model = Autoregression(dimension=2, order=24).double()
    model.start_up = StartUp(dimension=2, orders=[0, 1], history=24).double()
    _, (found, _) = validate({"var": model}, drawn(29), SimpleNamespace(horizons=[1], first_step=2))
    assert found is not None
    assert found.scored.tolist() == [[27, 27]]


@pytest.mark.parametrize("main", ["psrnn", "last_value"])
def test_each_model_filters_the_validation_part_once(main: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For intervals and divergence alike; a naive model that is not the run's own does not."""
    filtered: list[Autoregression] = []

    def counted(model: Autoregression, *given: Any) -> Any:
        filtered.append(model)
        return filter_sequences(model, *given)

    monkeypatch.setattr("pipeline.systems.psrnn.evaluate.filter_sequences", counted)
    models = {main: growing(3.0), "var": growing(0.5), "persistence": growing(1.0)}
    diverged, (intervals, _) = validate(models, drawn(60), SimpleNamespace(horizons=[1, 5], first_step=2))
    assert filtered == [models[main], models["var"]]
    assert diverged == ({"psrnn": [1, 5]} if main == "psrnn" else {})
    assert intervals is not None
    assert intervals.radii.shape[1] == 5


@pytest.mark.parametrize(("factor", "known"), [(1e30, 5), (1e40, 3), (1e70, None)])
def test_intervals_of_a_table_end_before_the_first_horizon_that_diverges(factor: float, known: int | None) -> None:
    """Squares of doubles are infinite from 1e154 on: 1e30 to the power of 6 steps, 1e40 of 4, 1e70 of 3."""
    found = calibrated(growing(factor), 120, [1, 3], further=True)
    assert (None if found is None else found.radii.shape[1]) == known


def test_forecasts_too_many_to_be_made_at_once_are_not_made_for_more_horizons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.systems.psrnn.intervals.FORECAST_BYTES", 120 * 2 * 8 * 7)
    found = calibrated(growing(0.9), 120, [1, 5], further=True)
    assert found is not None
    assert found.radii.shape[1] == 7


def many(features: int) -> tuple[Any, ...]:
    """Intervals and errors of some features at two horizons, feature j in units of 1/(j + 1) standard deviations."""
    draws = np.random.default_rng(4)
    scale = 1 / torch.arange(1.0, features + 1)
    intervals = calibrate(draws.normal(size=(60, 2, features)) * scale.numpy())
    squared = {h: torch.from_numpy(draws.normal(size=(3, 40, features)) ** 2) for h in (1, 2)}
    squared[2][:, ::3, ::2] = math.nan  # not scored
    own = metres([f"x{j}" for j in range(features)], scale=scale)
    return intervals, Evaluation({"psrnn": squared}, torch.zeros(1, 2, features)), own


def test_many_features_share_a_row_and_the_metric_is_that_of_all_of_them(monkeypatch) -> None:
    intervals, evaluation, own = many(21)
    table, joined = Recorder(), Recorder()
    log_intervals(cast("Any", joined), Calibration(intervals), evaluation, own, full=False)
    one: Any = coverage_table(intervals, evaluation, own)
    monkeypatch.setattr("pipeline.systems.psrnn.intervals.MOST_FEATURES", 21)
    each: Any = coverage_table(intervals, evaluation, own)
    log_intervals(cast("Any", table), Calibration(intervals), evaluation, own, full=False)
    assert (len(one), len(each)) == (4 * 2, 4 * 2 * 21)
    assert table.metrics == pytest.approx(joined.metrics, rel=1e-12)
    assert 0.7 < joined.metrics["evaluate/coverage_90_horizon_2"] < 1
    rows = each[(each["coverage"] == 0.8) & (each["horizon"] == 2)]
    (shown,) = one[(one["coverage"] == 0.8) & (one["horizon"] == 2)].itertuples()
    assert (shown.feature, shown.unit, shown.calibrated_on) == ("all 21", "standard deviations", 60)
    assert shown.scored == rows["scored"].sum() < 21 * 120
    assert shown.inside == pytest.approx(np.average(rows["inside"], weights=rows["scored"]))
    assert shown.radius == pytest.approx(np.mean(rows["radius"] * np.arange(1, 22)), rel=1e-6)


def test_features_whose_radius_is_not_known_do_not_count() -> None:
    """With 21 features of 3 forecasts, but 4 in the first, 0.8 is known for that one alone, 0.9 for none."""
    residuals = np.ones((4, 1, 21))
    residuals[3, :, 1:] = math.nan
    squared = {1: torch.full((1, 5, 21), 0.25, dtype=torch.float64)}
    evaluation = Evaluation({"psrnn": squared}, torch.zeros(1, 2, 21))
    table: Any = coverage_table(calibrate(residuals), evaluation, metres(["x"] * 21, scale=torch.ones(21)))
    assert table["radius"].tolist() == [1.0, 1.0, math.inf, math.inf]
    assert table["calibrated_on"].tolist() == [3, 4, 3, 3]
    assert table["scored"].tolist() == [105, 5, 0, 0]
