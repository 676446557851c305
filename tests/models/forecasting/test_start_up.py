"""Forecasts from few rows of history: no worse than the last value; against autoregressions fitted one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from models.baselines.autoregression import VAR, fit_autoregressions
from models.baselines.echo_state import EchoState
from models.baselines.networks import LSTM
from models.baselines.seasonal_naive import seasonal_naive
from models.forecasting.burn_in import STEPS, rows_until_read, settle_start_up
from models.forecasting.filtering import MaskedSequences, State, filter_sequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.lag_shares import LagShares, few_have_all, lagged_rows
from models.forecasting.online import OnlineForecaster
from models.forecasting.readout import ReadoutFit, ReadoutSettings, fit_readout
from models.forecasting.recurrent import Recurrent
from models.forecasting.rolling import roll
from models.forecasting.start_up import StartUp, fit_start_up, lag_rows, last_value, start_up_orders
from models.numerics.ridge import RegressionData, centred_moments, masked_mse
from small_problems import train_psrnn

SEASON, LAGS = 12, 5
NAMES = ["psrnn", "lstm", "echo_state", "var"]


def seasonal(seed: int, *, sequences: int = 1, steps: int = 600) -> MaskedSequences:
    """A daily round with a harmonic on a level that wanders, and a second feature that follows it."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    angle = 2 * torch.pi * (torch.arange(steps) + 3 * normal(sequences, 1)) / SEASON
    level = 0.97 ** torch.arange(steps, dtype=torch.float64)
    wander = (0.1 * normal(sequences, steps) / level).cumsum(1) * level
    first = angle.sin() + 0.4 * (2 * angle + 1).sin() + wander + 0.1 * normal(sequences, steps)
    second = 0.8 * (angle - 1).sin() + 0.5 * wander + 0.3 * normal(sequences, steps)
    values = torch.stack([first, second], 2)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, scored_steps(mask, first_step=LAGS))


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    train, validation = seasonal(1), seasonal(2, steps=200)
    settings = ReadoutSettings(LAGS, [1e-4, 1e-2, 1.0, 100.0], "none", [1e-4, 1e-2, 1.0, 100.0])
    problem = Problem(train, validation, settings, torch.Generator().manual_seed(0))
    psrnn = train_psrnn(train, update="bayes", lags=LAGS)
    psrnn.start_up = None
    fit_readout(psrnn, train, validation, settings)
    found = {
        "psrnn": psrnn,
        "lstm": LSTM(units=8).fit(problem).model,
        "echo_state": EchoState(units=60).fit(problem).model,
        "var": VAR(orders=[LAGS]).fit(problem).model,
    }
    for name in NAMES[:3]:
        settle_start_up(found[name], train)
    return found


@torch.no_grad()
def errors(model: Any, values: Tensor, rows: int, horizon: int) -> tuple[float, float]:
    """Mean squared errors over `horizon` steps after `rows` rows, from every place; ours and the last value's."""
    windows = values[0].unfold(0, rows + horizon, 1).transpose(1, 2)
    seen, truth = windows[:, :rows], windows[:, rows:]
    state = model.initial_state(len(windows))
    for value in seen.unbind(1):
        state = model.update(state, value)
    last = seen[:, -1:].expand_as(truth)
    return tuple(float((found - truth).square().mean()) for found in (roll(model, state, horizon), last))  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("horizon", [1, 5])
@pytest.mark.parametrize("name", NAMES)
def test_a_forecast_from_any_history_is_no_worse_than_the_last_value(
    name: str, horizon: int, fitted: dict[str, Any]
) -> None:
    test = seasonal(3, steps=400).values
    table = {rows: errors(fitted[name], test, rows, horizon) for rows in range(1, LAGS + 5)}
    assert all(ours <= last for ours, last in table.values()), table
    assert table[LAGS + 4][0] < 0.5 * table[LAGS + 4][1]  # all there, it is much better


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_without_a_row_the_forecast_is_the_mean(name: str, fitted: dict[str, Any]) -> None:
    forecast = roll(fitted[name], fitted[name].initial_state(1), 1)[0, 0]
    torch.testing.assert_close(forecast, seasonal(1).values[0, LAGS:].mean(0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_forecaster_says_how_many_rows_it_wants_and_answers_from_one(
    name: str, fitted: dict[str, Any], tmp_path: Path
) -> None:
    mean, scale = torch.tensor([500.0, 10.0]), torch.tensor([70.0, 6.0])
    first = Forecaster(fitted[name], mean=mean, scale=scale, feature_names=("load", "temperature"))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    assert LAGS <= first.history == second.history == fitted[name].history <= LAGS + 3
    series = [seasonal(3).values[0, :rows].numpy() * [70.0, 6.0] + [500.0, 10.0] for rows in (1, 2, 30)]
    for ours, theirs in zip(first.forecast_all(series, 24), second.forecast_all(series, 24), strict=True):
        assert np.array_equal(ours, theirs)
        assert (np.abs(ours[:, 0] - 500) < 4 * 70).all(), ours


def test_a_model_that_was_saved_before_forecasts_as_it_did(fitted: dict[str, Any], tmp_path: Path) -> None:
    model = fitted["psrnn"]
    forecaster = Forecaster(model, mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    save_forecaster(forecaster, tmp_path)
    description = json.loads((tmp_path / "architecture.json").read_text())
    assert description.pop("start_up") == {"orders": list(model.start_up.orders), "history": model.history}
    (tmp_path / "architecture.json").write_text(json.dumps(description))
    arrays = dict(np.load(tmp_path / "parameters.npz"))
    kept = {name: array for name, array in arrays.items() if "start_up" not in name}
    assert len(kept) < len(arrays)
    np.savez(tmp_path / "parameters.npz", **kept)  # pyright: ignore[reportArgumentType]
    old = load_forecaster(tmp_path).model
    assert isinstance(old, Recurrent)
    assert old.start_up is None
    values = seasonal(3).values[:, :9]
    with torch.no_grad():
        inputs = torch.cat([old.exposed(old.beliefs_along(old.initial_belief(1), values)), torch.zeros(1, 9, 10)], 2)
        for t in range(9):
            recent = values[:, max(0, t - LAGS) : t].flatten(1)
            inputs[0, t, inputs.shape[2] - recent.shape[1] :] = recent[0]
        expected = inputs @ old.readout_weight.T + old.readout_bias
        found = filter_sequences(old, values, torch.ones_like(values, dtype=torch.bool)).predictions
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def ridge_by_hand(x: Tensor, y: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Σ‖y − Mx − c‖² + ridge ‖M‖², as least squares on rows appended."""
    x_mean, y_mean = x.mean(0), y.mean(0)
    rows = torch.cat([x - x_mean, ridge**0.5 * torch.eye(x.shape[1], dtype=x.dtype)])
    targets = torch.cat([y - y_mean, x.new_zeros(x.shape[1], y.shape[1])])
    weight = torch.linalg.lstsq(rows, targets).solution.T
    return weight, y_mean - weight @ x_mean


@pytest.mark.parametrize("order", [4, 16, 32])
@torch.no_grad()
def test_lower_orders_are_autoregressions_of_their_own(order: int) -> None:
    """Each against a separate fit with each ridge, and against the last value, chosen by their validation errors."""
    train, validation, ridges = seasonal(1), seasonal(2, steps=200), [1e-2, 1.0, 1e3]
    model, _ = next(fit_autoregressions(train, validation, orders=[order], ridges=ridges, scale="none"))
    assert model.start_up is not None
    assert model.start_up.orders == tuple(start_up_orders(order)[:-1])
    for i, lower in enumerate(model.start_up.orders[1:], start=1):
        rows, held_out = lag_rows(*train, lower), lag_rows(*validation, lower)
        fits = [ridge_by_hand(rows.inputs[:, -2 * lower :], rows.targets, ridge) for ridge in ridges]
        fits.append((torch.eye(2, 2 * lower, dtype=torch.float64).roll(2 * lower - 2, 1), torch.zeros(2).double()))
        errors = [(held_out.inputs @ weight.T + bias - held_out.targets).square().sum() for weight, bias in fits]
        weight, bias = fits[int(torch.stack(errors).argmin())]
        torch.testing.assert_close(model.start_up.weight(lower), weight, rtol=1e-7, atol=1e-8)
        torch.testing.assert_close(model.start_up.bias[i], bias, rtol=1e-7, atol=1e-8)


@torch.no_grad()
def test_an_autoregression_reads_the_largest_order_whose_rows_it_has() -> None:
    train, test = seasonal(1), seasonal(3, steps=20)
    model, _ = next(fit_autoregressions(train, train, orders=[4], ridges=[1e-2], scale="none"))
    predictions = filter_sequences(model, test.values, test.mask).predictions[0]
    for seen in range(1, 12):
        order = min(seen, 4)
        rows = lag_rows(*train, order)
        weight, bias = ridge_by_hand(rows.inputs[:, -2 * order :], rows.targets, 1e-2)
        expected = test.values[0, seen - order : seen].flatten() @ weight.T + bias
        torch.testing.assert_close(predictions[seen], expected, rtol=1e-7, atol=1e-8)


def test_orders_are_dense_at_first_and_then_a_quarter_apart() -> None:
    assert start_up_orders(3) == [0, 1, 2, 3]
    assert start_up_orders(24) == [*range(17), 20, 24]
    assert sum(start_up_orders(168)) < 6 * 168


def test_the_last_value_stands_in_where_ridges_lose_against_it() -> None:
    train = seasonal(1)
    moments = centred_moments(lag_rows(*train, 2))
    maps = fit_start_up(moments, lag_rows(*train, 2), orders=[0, 1, 2], ridges=[1e9], scale="none")
    assert torch.equal(maps[1].weight, torch.eye(2, dtype=torch.float64))
    assert torch.equal(maps[2].weight, torch.eye(2, 4, dtype=torch.float64).roll(2, 1))


@pytest.mark.parametrize("rows", [3, 5, 40])
def test_moments_of_the_last_inputs_are_those_of_a_regression_on_them(rows: int) -> None:
    """With more rows than inputs, with fewer than all inputs, and with fewer than the last of them."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(rows, n, generator=generator, dtype=torch.float64) for n in (8, 2))
    data = RegressionData(x, y, torch.ones_like(y, dtype=torch.bool))
    (found,) = (part.of_last(4) for part in centred_moments(data))
    (expected,) = centred_moments(data._replace(inputs=x[:, 4:]))
    for ridge in (0.1, torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)):
        torch.testing.assert_close(found.weights(ridge), expected.weights(ridge), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_rows_missing_before_the_first_do_not_count_and_those_after_it_do(name: str, fitted: dict[str, Any]) -> None:
    model, values = fitted[name], seasonal(3).values[:, :20]
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[0, :3] = False  # nothing seen
    mask[0, 3, 1] = False  # one of two features: a row
    mask[0, 5:8] = False  # a gap: its stand-ins count
    found = filter_sequences(model, torch.where(mask, values, 0.0), mask)
    expected = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6]
    counts = found.states[-1][0, :10, 0]
    assert counts.tolist() == [min(count, model.history) for count in expected]
    mean = model.start_up.bias[0].expand(4, -1)
    assert torch.equal(found.predictions[0, :4], mean)
    order = model.start_up.orders.index(2)
    rows = found.filled[0, 3:5].flatten()
    assert not bool(mask[0, 5].any())
    expected_fill = model.start_up.weight(2) @ rows + model.start_up.bias[order]
    torch.testing.assert_close(found.filled[0, 5], expected_fill, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_rows_missing_before_the_first_leave_the_state_as_it_is(name: str, fitted: dict[str, Any]) -> None:
    forecaster = Forecaster(fitted[name], mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    series = seasonal(3).values[0, :60].numpy()
    padded = np.concatenate([np.full((7, 2), np.nan), series])
    np.testing.assert_array_equal(forecaster.predict(padded)[7:], forecaster.predict(series))
    np.testing.assert_array_equal(forecaster.forecast(padded, 5), forecaster.forecast(series, 5))
    online, begun = forecaster.online(), forecaster.online()
    found = [online.update(row) for row in padded][7:]
    np.testing.assert_allclose(found, [begun.update(row) for row in series], rtol=1e-9)


def first_at_the_mean(forecaster: Forecaster) -> np.ndarray:
    """Returns rows the first of which is what is predicted where nothing was seen, two of them missing."""
    rows = seasonal(3).values[0, :6].numpy().copy()
    rows[0] = forecaster.predict(rows[:1])[0]
    rows[1:3] = np.nan
    return rows


@pytest.mark.parametrize("name", [*NAMES, "seasonal_naive"])
def test_a_first_row_at_the_mean_is_a_row(name: str, fitted: dict[str, Any]) -> None:
    """Counted in whatever company it is filtered, at once and one reading at a time."""
    model = seasonal_naive(seasonal(1), 3) if name == "seasonal_naive" else fitted[name]
    forecaster = Forecaster(model, mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    series, other = first_at_the_mean(forecaster), seasonal(4).values[0, :6].numpy().copy()
    other[[0, 4]] = np.nan
    alone, together = forecaster.forecast(series, 4), forecaster.forecast_all([series, other, other[1:]], 4)
    np.testing.assert_allclose(together, [alone, *[forecaster.forecast(other, 4)] * 2], rtol=1e-9)
    online = forecaster.online()
    np.testing.assert_allclose([online.update(row) for row in series][-1], alone[0], rtol=1e-9)
    values, mask = (part.unsqueeze(0) for part in forecaster.standardised(series))
    assert filter_sequences(forecaster.model, values, mask).states[-1][0, :, 0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_was_seen_every_step_ahead_is_the_mean(name: str, fitted: dict[str, Any]) -> None:
    forecaster = Forecaster(fitted[name], mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    found = forecaster.forecast(np.full((3, 2), np.nan), 6)
    np.testing.assert_array_equal(found, [fitted[name].start_up.bias[0].numpy()] * 6)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_at_once_and_step_by_step_are_one(name: str, fitted: dict[str, Any]) -> None:
    model, values = fitted[name], seasonal(3, sequences=3, steps=20).values
    state = model.initial_state(3)
    found = model.filter_observed(state, values)
    for t, value in enumerate(values.unbind(1)):
        torch.testing.assert_close(model.predict(state), found.predictions[:, t], rtol=1e-10, atol=1e-10)
        assert torch.equal(state[-1], found.states[-1][:, t])
        state = model.update(state, value)


def test_one_reading_at_a_time_begins_as_the_forecaster_does(fitted: dict[str, Any]) -> None:
    forecaster = Forecaster(fitted["psrnn"], mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    series = seasonal(3).values[0, :15].numpy().copy()
    series[:2] = series[4, 0] = np.nan
    online = OnlineForecaster(forecaster)
    found = [online.prediction, *(online.update(reading) for reading in series[:-1])]
    np.testing.assert_allclose(np.stack(found), forecaster.predict(series), rtol=1e-9, atol=1e-10)


class SlowMean(Recurrent):
    """Σ_j 0.9^{j−1} o_{t−j}, which needs many rows to be what it will be."""

    def __init__(self, *, lags: int) -> None:
        super().__init__(dimension=2, exposed=2, lags=lags)

    def initial_belief(self, batch: int) -> State:
        return (self.readout_bias.new_zeros(batch, 2),)

    def advance(self, belief: State, observation: Tensor) -> State:
        return (0.9 * belief[0] + observation,)


@torch.no_grad()
def test_a_state_that_has_to_see_more_rows_is_not_read_before() -> None:
    """The readout is the autoregression with an error that goes as 0.9ⁿ after n rows, and with it as the state does."""
    train = seasonal(1)
    train = train._replace(values=train.values + 2.0)
    model = SlowMean(lags=1).double()
    fit_readout(model, train, train, ReadoutSettings(1, [1e-6], "none"))
    assert isinstance(model.start_up, StartUp)
    level = model.beliefs_along(model.initial_belief(1), train.values)[0][0, 100:].mean(0)
    model.readout_weight[:, :2] = torch.diag(torch.tensor([0.1, 0.0]))
    model.readout_weight[:, 2:] = model.start_up.weight(1)
    model.readout_bias.copy_(model.start_up.bias[1] - 0.1 * level * torch.tensor([1.0, 0.0]))
    rows, still_worse = rows_until_read(model, train)
    assert 5 < rows < 30
    assert not still_worse
    assert not settle_start_up(model, train)
    assert model.history == rows
    assert model.start_up.orders == (0, 1)
    predictions = filter_sequences(model, train.values[:, :50], train.mask[:, :50]).predictions[0]
    autoregression = train.values[0, :49] @ model.start_up.weight(1).T + model.start_up.bias[1]
    torch.testing.assert_close(predictions[1:rows], autoregression[: rows - 1], rtol=1e-12, atol=1e-12)
    assert not torch.allclose(predictions[rows:], autoregression[rows - 1 :])


def of_last_value(times: float) -> SlowMean:
    """A readout that says the last value, this many times."""
    train = seasonal(1)
    model = SlowMean(lags=1).double()
    fit_readout(model, train, train, ReadoutSettings(1, [1e-6], "none"))
    with torch.no_grad():
        model.readout_weight.zero_()
        model.readout_weight[:, 2:] = times * torch.eye(2, dtype=torch.float64)
        model.readout_bias.zero_()
    return model


@pytest.mark.parametrize("rounded", [-1e-9, 0.0, 1e-9])
def test_a_near_tie_with_the_last_value_is_not_left_to_rounding(rounded: float) -> None:
    assert rows_until_read(of_last_value(1.0 + rounded), seasonal(1)) == (1, False)


def test_a_readout_that_stays_worse_than_the_last_value_is_said_to() -> None:
    model, train = of_last_value(-1.0), seasonal(1)
    assert rows_until_read(model, train) == (1 + STEPS + 1, True)
    assert settle_start_up(model, train)
    assert model.history == STEPS + 2


def test_a_readout_that_is_good_at_once_is_read_at_once(fitted: dict[str, Any]) -> None:
    assert fitted["psrnn"].history == LAGS
    assert fitted["psrnn"].start_up.orders == tuple(start_up_orders(LAGS)[:-1])


def test_refinement_keeps_the_start_up(fitted: dict[str, Any]) -> None:
    model, train = fitted["psrnn"], seasonal(1)
    before = {name: tensor.clone() for name, tensor in model.start_up.state_dict().items()}
    ReadoutFit(train, train, ReadoutSettings(LAGS, [0.5], "none"))(model)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.start_up.state_dict().items())


@torch.no_grad()
def gappy_model(missing: float) -> Recurrent:
    """Of a training part where a feature in turn is missing in this share of the rows."""
    train = seasonal(1)
    gone = torch.rand(train.mask.shape[:2], generator=torch.Generator().manual_seed(0)) < missing
    turn = torch.arange(600) % 2
    mask = torch.stack([~(gone & (turn == i)) for i in (0, 1)], 2)
    part = MaskedSequences(torch.where(mask, train.values, 0.0), mask, train.scored & mask)
    model = train_psrnn(train, update="bayes", lags=2)
    model.start_up = None
    fit_readout(model, part, part, ReadoutSettings(2, [1.0], "none"))
    return model


def test_data_with_gaps_have_a_start_up_too() -> None:
    for rows in (1, 2, 3):
        ours, last = errors(gappy_model(0.3), seasonal(3).values, rows, 1)
        assert ours <= last


def test_data_without_a_row_whose_lags_are_all_observed_have_one_as_well() -> None:
    model = gappy_model(1.0)
    assert isinstance(model.start_up, StartUp)
    assert all(bool(tensor.isfinite().all()) for tensor in model.start_up.state_dict().values())
    assert bool(model.start_up.weight(1).any())


def test_var_chooses_a_long_order_and_says_which_ones_it_cannot_fit() -> None:
    train, validation = seasonal(1, sequences=3, steps=120), seasonal(2, steps=60)
    settings = ReadoutSettings(1, [1.0], "none")
    problem = Problem(train, validation, settings, torch.Generator().manual_seed(0))
    found = VAR(orders=[1, 2, 16]).fit(problem)
    assert found.chosen["order"] == 16
    with pytest.warns(UserWarning, match=r"^orders of the autoregression: .*: 64; skipped"):
        assert VAR(orders=[1, 64]).fit(problem).chosen["order"] == 1


def short_with_gaps(seed: int, *, asked: int = 2) -> MaskedSequences:
    """Sequences of 12 to 30 rows with a twentieth of the entries missing; the first `asked` features are scored."""
    whole = seasonal(seed, sequences=40, steps=30)
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(12, 31, (40, 1, 1), generator=generator)
    mask = (torch.rand(whole.values.shape, generator=generator) > 0.05) & (torch.arange(30).view(1, -1, 1) < ends)
    scored = scored_steps(mask, first_step=2) & (torch.arange(2) < asked)
    return MaskedSequences(torch.where(mask, whole.values, 0.0), mask, scored)


@pytest.mark.parametrize("asked", [1, 2])
@torch.no_grad()
def test_orders_of_short_sequences_with_gaps_are_fitted_to_all_rows_that_have_their_lags(asked: int) -> None:
    """Few rows have all lags here; the last value is not taken for it in the orders that many rows have. A feature that
    validation does not ask for, as one known ahead, changes nothing of that."""
    train, validation = short_with_gaps(1), short_with_gaps(2, asked=asked)
    settings = ReadoutSettings(16, [1e-2, 1.0, 1e2], "none", [1e-2, 1.0, 1e2])
    assert few_have_all(train, settings.lags)
    maps = LagShares().start_up(train, validation, settings)
    test = short_with_gaps(3, asked=asked)
    for order in range(2, 9):
        rows = lag_rows(*test, order)
        ours, last = (
            masked_mse(each(rows.inputs), rows.targets, rows.mask)
            for each in (maps[order], last_value(order, rows.targets))
        )
        assert ours < 0.9 * last
    model, _ = next(fit_autoregressions(train, validation, orders=[8], ridges=settings.ridges, scale="none"))
    if asked == 2:
        torch.testing.assert_close(maps[4].weight, model.start_up.weight(4))


def test_long_sequences_have_rows_enough_with_all_lags() -> None:
    assert not few_have_all(seasonal(1), LAGS)
    assert not few_have_all(seasonal(1), 290)
    assert few_have_all(seasonal(1), 310)
    assert few_have_all(seasonal(1), 600)


def test_a_feature_that_is_scored_nowhere_does_not_let_rows_with_gaps_in() -> None:
    part = short_with_gaps(2, asked=1)
    found, whole = lagged_rows(part, 4), lag_rows(*part, 4)
    assert 0 < len(found.inputs) == len(whole.inputs)
    assert torch.equal(found.inputs, whole.inputs)
