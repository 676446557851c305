"""Every baseline as a method: problem in, fitted model out, to disk and back; and what is chosen on validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from models.baselines.autoregression import VAR, Autoregression, orders_with_rows
from models.baselines.echo_state import EchoState
from models.baselines.kalman import Kalman, KalmanFilter, fit_kalman
from models.baselines.networks import GRU, LSTM, MinGRU
from models.baselines.persistence import LastValue, Persistence
from models.baselines.seasonal_naive import Seasonal
from models.forecasting.filtering import MaskedSequences, filter_sequences, one_step_error, scored_steps
from models.forecasting.fitting import Method, Problem
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.start_up import maps_of_each
from models.numerics.ridge import AffineMap, masked_mse
from small_problems import oscillation, small_problem, with_gap, without_scores

FITTED: list[tuple[Method, set[str]]] = [
    (VAR(orders=[1, 2], ridges=[1e-2, 1.0]), {"order", "ridge"}),
    (KalmanFilter(blocks=[2, 3], orders=[2, 3]), {"block", "order"}),
    (EchoState(units=30), {"readout.ridge"}),
    (LSTM(units=6), {"readout.ridge"}),
    (GRU(units=6), {"readout.ridge"}),
    (MinGRU(units=6), {"readout.ridge"}),
]
EVERY = [*FITTED, (LastValue(), set()), (Seasonal(season=16), {"season"})]


def name_of(value: object) -> str | None:
    return None if isinstance(value, set | torch.dtype) else type(value).__name__


@torch.no_grad()
def error_of(model: nn.Module, part: MaskedSequences) -> float:
    predictions = filter_sequences(model, part.values, part.mask).predictions  # pyright: ignore[reportArgumentType]
    return float(masked_mse(predictions, part.values, part.scored))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize(("method", "chosen"), EVERY, ids=name_of)
def test_fitted_model_comes_back_from_disk_unchanged(
    method: Method, chosen: set[str], dtype: torch.dtype, tmp_path: Path
) -> None:
    found = method.fit(small_problem(dtype=dtype))
    assert set(found.chosen) == chosen
    assert {tensor.dtype for tensor in found.model.state_dict().values()} == {dtype}
    mean, scale = torch.tensor([10.0, -3.0]), torch.tensor([2.0, 0.5])
    first = Forecaster(found.model, mean=mean, scale=scale, feature_names=("a", "b"))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    series = oscillation(3).values[0].numpy() * [2.0, 0.5] + [10.0, -3.0]
    series[5:8, 0] = np.nan
    assert type(second.model) is type(found.model)
    assert np.isfinite(first.predict(series)).all()
    assert np.array_equal(first.predict(series), second.predict(series))
    assert np.array_equal(first.forecast(series, 4), second.forecast(series, 4))


@pytest.mark.parametrize("change", [MaskedSequences._make, with_gap], ids=["complete", "gaps"])
@pytest.mark.parametrize("method", [method for method, _ in FITTED], ids=name_of)
def test_fit_beats_the_last_value_and_repeats_itself(method: Method, change) -> None:
    def fit() -> nn.Module:
        problem = small_problem()
        return method.fit(problem._replace(train=change(problem.train), validation=change(problem.validation))).model

    model, test = fit(), oscillation(3)
    assert error_of(model, test) < 0.6 * error_of(LastValue().fit(small_problem()).model, test)
    again = fit().state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in model.state_dict().items())


def test_only_the_networks_go_on_to_refinement() -> None:
    assert {type(method).__name__ for method, _ in EVERY if method.trained} == {"LSTM", "GRU", "MinGRU"}


@torch.no_grad()
def test_last_value_repeats_the_observation_before() -> None:
    model, chosen = LastValue().fit(small_problem())
    assert isinstance(model, Persistence)
    assert chosen == {}
    values, mask, _ = oscillation(3)
    predictions = filter_sequences(model, values, mask).predictions
    assert torch.equal(predictions[:, 1:], values[:, :-1])
    assert not bool(predictions[:, 0].any())


def second_order(seed: int, *, steps: int) -> MaskedSequences:
    """o_t = 0.2 o_{t−1} + 0.7 o_{t−2} + 0.3 e_t."""
    noise = torch.randn(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    values = [0.0, 0.0]
    for shock in noise.tolist():
        values.append(0.2 * values[-1] + 0.7 * values[-2] + 0.3 * shock)
    tensor = torch.tensor(values, dtype=torch.float64)[None, :, None]
    mask = torch.ones_like(tensor, dtype=torch.bool)
    return MaskedSequences(tensor, mask, scored_steps(mask, first_step=2))


def autoregressive_problem(train: MaskedSequences, validation: MaskedSequences) -> Problem:
    return small_problem()._replace(train=train, validation=validation)


def test_var_finds_the_order_and_ridge_of_the_process() -> None:
    problem = autoregressive_problem(second_order(0, steps=2000), second_order(1, steps=1000))
    model, chosen = VAR(orders=[1, 2], ridges=[1e6, 1e-2]).fit(problem)
    assert chosen == {"order": 2, "ridge": 1e-2}
    assert isinstance(model, Autoregression)
    truth = torch.tensor([[0.7, 0.2]], dtype=torch.float64)
    torch.testing.assert_close(model.weight.detach(), truth, rtol=0, atol=0.05)
    short = VAR(orders=[1], ridges=[1e-2]).fit(problem)
    assert short.chosen == {"order": 1, "ridge": 1e-2}
    test = second_order(2, steps=1000)
    assert error_of(model, test) < 0.8 * error_of(short.model, test)


def test_var_shrinks_where_there_is_nothing_to_predict() -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(1, 40, 3, generator=generator, dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    noise = MaskedSequences(values, mask, mask)
    held_out = noise._replace(values=torch.randn(1, 40, 3, generator=generator, dtype=torch.float64))
    _, chosen = VAR(orders=[4], ridges=[1e-2, 1e4]).fit(autoregressive_problem(noise, held_out))
    assert chosen == {"order": 4, "ridge": 1e4}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_of_orders_whose_errors_are_rounding_var_takes_the_first(dtype: torch.dtype) -> None:
    angles = 0.3 * torch.arange(120, dtype=torch.float64)
    values = torch.stack([angles.sin(), angles.cos()], 1)[None].to(dtype)
    mask = torch.ones_like(values, dtype=torch.bool)
    part = MaskedSequences(values, mask, scored_steps(mask, first_step=20))
    var = VAR(orders=[2, 4, 8, 16], ridges=[1e-12])
    problem = autoregressive_problem(part, part)
    errors = [one_step_error(fitted.model, part) for fitted in var.candidates(problem)]  # pyright: ignore[reportArgumentType]
    assert errors[0] > min(errors)
    assert var.fit(problem).chosen["order"] == 2


def test_of_orders_whose_errors_are_rounding_a_kalman_filter_takes_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for first, expected in ((1e-20, 2), (1e-3, 4)):
        errors = iter([first, 1e-22])
        monkeypatch.setattr("models.baselines.kalman.one_step_error", lambda *_, errors=errors: next(errors))
        problem = autoregressive_problem(second_order(0, steps=200), second_order(1, steps=100))
        assert KalmanFilter(blocks=[4], orders=[2]).fit(problem).chosen["order"] == expected


def test_of_several_orders_each_lower_one_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, fitted = small_problem(), []

    def noted(orders: list[int], *rows: Any, **settings: Any) -> list[AffineMap]:
        fitted.extend(orders)
        return maps_of_each(orders, *rows, **settings)

    singles = [VAR(orders=[order], ridges=[1e-2, 1.0]).fit(problem) for order in (1, 8, 3, 20)]
    monkeypatch.setattr("models.baselines.autoregression.maps_of_each", noted)
    several = VAR(orders=[1, 8, 3, 20], ridges=[1e-2, 1.0]).candidates(problem)
    assert sorted(fitted) == list(range(1, 17))
    for single, one in zip(singles, several, strict=True):
        assert one.chosen == single.chosen
        own = one.model.state_dict()
        assert all(torch.equal(own.pop(name), tensor) for name, tensor in single.model.state_dict().items())
        assert not own


def test_every_ridge_of_every_order_is_a_candidate_the_largest_first() -> None:
    problem = small_problem()
    found = VAR(orders=[1, 3], ridges=[1e-2, 1.0]).candidates_of_every_ridge(problem)
    pairs = [(1, 1.0), (1, 1e-2), (3, 1.0), (3, 1e-2)]
    assert [fitted.chosen for fitted in found] == [{"order": order, "ridge": ridge} for order, ridge in pairs]
    for fitted, (order, ridge) in zip(found, pairs, strict=True):
        single: Any = VAR(orders=[order], ridges=[ridge]).fit(problem).model
        torch.testing.assert_close(fitted.model.weight, single.weight, rtol=0, atol=0)
        torch.testing.assert_close(fitted.model.bias, single.bias, rtol=0, atol=0)
    several = VAR(orders=[1, 3], ridges=[1e-2, 1.0]).candidates(problem)
    for own, other in zip(found[::2], several, strict=True):  # the start-up is that of a choice among the ridges
        assert all(map(torch.equal, own.model.start_up.buffers(), other.model.start_up.buffers()))


def test_orders_are_looked_through_without_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "models.baselines.autoregression.lag_rows", lambda *_: pytest.fail("rows of an order are built")
    )
    whole, short = oscillation(0), oscillation(1, steps=9)
    short.mask[:, 2] = False  # 5 observed steps before the last one
    with pytest.warns(UserWarning, match=r"training and validation: 6, 9, 50; skipped$"):
        assert orders_with_rows([1, 5, 6, 9, 50], [whole, short]) == [1, 5]


def test_an_autoregression_that_diverges_counts_as_the_worst() -> None:
    model = Autoregression(dimension=2, order=1).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1e200, -1e200], [1e200, 1e200]]))
    assert one_step_error(model, with_gap(oscillation(0))) == torch.inf


def test_one_order_or_block_needs_no_validation_and_several_do() -> None:
    problem = small_problem()
    unscored = problem._replace(validation=without_scores(problem.validation))
    assert VAR(orders=[2], ridges=[1.0]).fit(unscored).chosen == {"order": 2, "ridge": 1.0}
    with pytest.raises(ValueError, match=r"^several orders to choose from and no validation step"):
        VAR(orders=[1, 2], ridges=[1.0]).fit(unscored)
    with pytest.raises(ValueError, match="several ridges to choose from and no validation step"):
        VAR(orders=[2], ridges=[1.0, 2.0]).fit(unscored)
    assert KalmanFilter(blocks=[2], orders=[]).fit(unscored).chosen == {"block": 2, "order": 4}
    for several in (KalmanFilter(blocks=[2], orders=[1]), KalmanFilter(blocks=[2, 3], orders=[])):
        with pytest.raises(
            ValueError, match=r"^several blocks or orders .* step to choose by; give a longer validation"
        ):
            several.fit(unscored)


def test_kalman_takes_the_block_and_order_with_the_least_one_step_error() -> None:
    problem = small_problem()
    model, chosen = KalmanFilter(blocks=[1, 3], orders=[1, 2, 50]).fit(problem)
    assert isinstance(model, Kalman)
    errors = {}
    for block, orders in ((1, [1, 2]), (3, [1, 2, 6])):
        for order in orders:
            single = fit_kalman(problem.train, orders=[order], block=block)[order]
            errors[block, order] = one_step_error(single, problem.validation)
    assert (chosen["block"], chosen["order"]) == min(errors, key=lambda key: errors[key])
    assert one_step_error(model, problem.validation) == pytest.approx(min(errors.values()))


def test_a_kalman_filter_s_candidates_are_scored_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[nn.Module] = []

    def noted(model: Any, part: MaskedSequences) -> float:
        scored.append(model)
        return one_step_error(model, part)

    monkeypatch.setattr("models.baselines.kalman.one_step_error", noted)
    method = KalmanFilter(blocks=[1, 3], orders=[1, 50])
    found = method.candidates(small_problem())
    assert [fitted.chosen for fitted in found] == [
        {"block": block, "order": order} for block, order in ((1, 1), (1, 2), (3, 1), (3, 6))
    ]
    assert not scored
    assert method.fit(small_problem()).model in scored
    assert len(scored) == len(set(scored)) == 4


def test_empty_choices_are_refused() -> None:
    for wrong in ({"orders": []}, {"ridges": []}):
        with pytest.raises(ValueError, match=r"^orders and ridges need at least one value each"):
            VAR(**wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^blocks needs at least one value"):
        KalmanFilter(blocks=[])
    with pytest.raises(ValueError, match="order of at least 1, got 0"):
        VAR(orders=[0]).fit(small_problem())


@pytest.mark.parametrize("model", [Autoregression(dimension=2, order=3), Persistence(dimension=2)], ids=["var", "last"])
@torch.no_grad()
def test_observed_sequences_are_filtered_at_once_as_step_by_step(model: Any) -> None:
    """From a state in the middle of a sequence too, and without a start-up."""
    model, values = model.double(), oscillation(0).values
    for parameter in model.parameters():
        parameter.copy_(torch.linspace(-0.3, 0.3, parameter.numel()).view_as(parameter))
    start = model.update(model.initial_state(len(values)), values[:, 0])
    found, state = model.filter_observed(start, values[:, 1:]), start
    for t, value in enumerate(values[:, 1:].unbind(1)):
        torch.testing.assert_close(found.predictions[:, t], model.predict(state), rtol=1e-12, atol=1e-12)
        for part, expected in zip(found.states, state, strict=True):
            assert torch.equal(part[:, t], expected)
        state = model.update(state, value)
