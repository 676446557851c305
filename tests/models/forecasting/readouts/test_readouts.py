"""Grouped readouts: written out step by step, on every kind of base, with gaps, saved and loaded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from models.baselines.autoregression import VAR
from models.baselines.echo_state import EchoState
from models.baselines.kalman import KalmanFilter
from models.baselines.networks import LSTM
from models.baselines.no_state import NoState
from models.baselines.persistence import LastValue, Persistence
from models.features.maps import random_features
from models.forecasting.averaged import Averaged
from models.forecasting.errors_ahead import error_ahead_of
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.fitting import Problem
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.horizons import horizon_errors
from models.forecasting.known_ahead import KnownAhead
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.readouts.fit import Compared, can_be_fed_back, compare_direct, fit_grouped, reachable
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.naive import naive_errors
from models.forecasting.readouts.parts import late_rows, part_of, targets_ahead
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.rolling import iterated, roll_to
from models.runtime.seeding import generators_of

RIDGES = (1e-4, 1e-2, 1.0)
KERNEL = GroupedSettings(lags=3, traces=(2.0, 6.0), count=12, bandwidth=1.5, whiten=0.5, direct=6)


@pytest.fixture(autouse=True)
def _no_gradient():
    with torch.no_grad():
        yield


METHODS = {
    "no_state": NoState(),
    "echo_state": EchoState(units=12),
    "lstm": LSTM(units=6),
    "kalman": KalmanFilter(blocks=[2], orders=[3]),
    "last_value": LastValue(),
    "var": VAR(orders=[3]),
}


def sequences(count: int, *, seed: int, steps: int = 80, gaps: bool = False) -> MaskedSequences:
    """Noisy circles whose speed depends on where they are, seen through two features."""
    noise = np.random.default_rng(seed)
    angle = np.cumsum(0.3 + 0.2 * np.sin(np.cumsum(0.1 * np.ones((count, steps)), 1)), 1)
    angle += noise.uniform(0, 6, (count, 1))
    values = np.stack([np.cos(angle), np.sin(2 * angle)], 2) + 0.05 * noise.normal(size=(count, steps, 2))
    mask = np.ones(values.shape, bool)
    if gaps:
        mask[:, 20:26, 0] = False
        mask[0, 40] = False
    tensors = torch.from_numpy(np.where(mask, values, 0.0)), torch.from_numpy(mask)
    return MaskedSequences(*tensors, scored_steps(tensors[1], first_step=4))


def base(name: str, train: MaskedSequences, validation: MaskedSequences):
    readout = ReadoutSettings(3, RIDGES, "none", RIDGES)
    return METHODS[name].fit(Problem(train, validation, readout, generators_of(0)("weights"))).model


def fitted(name: str, settings: GroupedSettings = KERNEL, *, gaps: bool = False):
    train, validation = sequences(6, seed=0, gaps=gaps), sequences(3, seed=1, gaps=gaps)
    return fit_grouped(base(name, train, validation), train, validation, settings, generators_of(0))


def model_of(name: str, settings: GroupedSettings = KERNEL):
    return fitted(name, settings).model


@pytest.mark.parametrize("name", METHODS)
def test_filtering_at_once_is_filtering_step_by_step(name):
    model, values = model_of(name), sequences(2, seed=2).values
    state, predictions = model.initial_state(2), []
    for row in values.unbind(1):
        predictions.append(model.predict(state))
        state = model.update(state, row)
    filtered = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool))
    torch.testing.assert_close(filtered.predictions, torch.stack(predictions, 1))
    torch.testing.assert_close(model.update(tuple(part[:, -1] for part in filtered.states), values[:, -1]), state)


def test_predictions_are_the_map_of_the_inputs_written_out():
    model, values = model_of("echo_state"), sequences(1, seed=2).values
    filtered = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool))
    t, traces = 30, []
    for tau in KERNEL.traces:
        c, trace = np.exp(-1 / tau), torch.zeros(2, dtype=torch.float64)
        for row in values[0, :t]:
            trace = c * trace + (1 - c) * row
        traces.append(trace)
    history = torch.cat([*values[0, t - 3 : t], *traces])
    features = random_features(history - model.features.centre, model.features.frequencies)
    inputs = torch.cat([filtered.states[0][0, t], history, features])
    torch.testing.assert_close(filtered.predictions[0, t], model.weight[0] @ inputs + model.bias[0])
    assert model.group_sizes == (12, 6, 4, 24)


@pytest.mark.parametrize(("difference", "gaps"), [(False, False), (True, False), (True, True)])
def test_a_map_that_is_fed_back_has_the_larger_ridges_that_forecast_better(difference, gaps):
    train, validation = sequences(2, seed=0, gaps=gaps), sequences(3, seed=1, gaps=gaps)
    beneath, settings = base("no_state", train, validation), GroupedSettings(lags=6, difference=difference)
    by_one_step, ahead = (
        fit_grouped(beneath, train, validation, settings, generators_of(0), leads=leads) for leads in (None, 0)
    )
    assert ahead.chosen["readout.ridge.lags"] == pytest.approx(10 * by_one_step.chosen["readout.ridge.lags"])
    errors = [error_ahead_of(fit.model, validation, leads=0) for fit in (by_one_step, ahead)]
    assert errors[1] < 0.991 * errors[0]


def test_before_enough_rows_were_seen_the_base_predicts():
    model, values = model_of("echo_state"), sequences(2, seed=2).values
    mask = torch.ones_like(values, dtype=torch.bool)
    ours, bases = (filter_sequences(each, values, mask).predictions for each in (model, model.base))
    torch.testing.assert_close(ours[:, : model.history], bases[:, : model.history])
    assert not torch.allclose(ours[:, model.history :], bases[:, model.history :])


def test_the_first_map_is_no_worse_than_the_base_on_training_rows():
    train = sequences(6, seed=0)
    model = model_of("no_state")
    errors = [
        float((filter_sequences(each, *train[:2]).predictions - train.values)[:, 4:].square().mean())
        for each in (model, model.base)
    ]
    assert errors[0] < errors[1]


def test_horizons_are_direct_or_iterated_as_was_chosen():
    model, values = model_of("echo_state"), sequences(2, seed=2).values
    model.direct[:] = torch.tensor([True, False, True, False, True, True])
    states = model.states_observed(model.initial_state(2), values)
    state = tuple(part[:, 50] for part in states)
    ahead, fed_back = (
        roll_to(model, state, [1, 2, 3, 4, 5, 6, 8]),
        iterated(model, state, [1, 2, 3, 4, 5, 6, 8]),
    )
    inputs = model.inputs(state)
    for place, horizon in enumerate([1, 2, 3, 4, 5, 6]):
        own = inputs @ model.weight[horizon - 1].T + model.bias[horizon - 1]
        expected = own if bool(model.direct[horizon - 1]) else fed_back[:, place]
        torch.testing.assert_close(ahead[:, place], expected)
    torch.testing.assert_close(ahead[:, -1], fed_back[:, -1])


def start_up_fed_back(base, values, horizons):
    """By hand: the autoregression of as many rows as there are, fed with its own predictions."""
    order, rows = values.shape[1], list(values.unbind(1))
    place = base.start_up.orders.index(order)
    for _ in range(max(horizons)):
        rows.append(torch.cat(rows[-order:], 1) @ base.start_up.weight(order).T + base.start_up.bias[place])
    return torch.stack([rows[order + horizon - 1] for horizon in horizons], 1)


def test_sequences_that_are_not_read_yet_are_forecast_by_the_start_up():
    model, values = model_of("echo_state"), sequences(2, seed=2).values
    early = tuple(part[:, 1] for part in model.states_observed(model.initial_state(2), values))
    late = tuple(part[:, 40] for part in model.states_observed(model.initial_state(2), values))
    mixed = tuple(torch.cat([a[:1], b[1:]]) for a, b in zip(early, late, strict=True))
    base: Any = model.base
    for direct in (True, False):
        model.direct[:] = direct
        ahead = roll_to(model, mixed, [2, 5])
        torch.testing.assert_close(ahead[:1], start_up_fed_back(base, values[:1, :1], [2, 5]))
        torch.testing.assert_close(ahead[1:], roll_to(model, tuple(part[1:] for part in late), [2, 5]))


@pytest.mark.parametrize(("name", "weight"), [("lstm", "readout_weight"), ("var", "weight")])
def test_a_readout_beneath_that_grows_when_it_is_fed_back_gives_no_forecast_from_few_rows(name, weight):
    model, values = model_of(name), sequences(2, seed=2).values
    base: Any = model.base
    state = tuple(part[:, 2] for part in model.states_observed(model.initial_state(2), values))
    before = roll_to(model, state, [1, 9])
    getattr(base, weight).mul_(100.0)
    assert torch.equal(roll_to(model, state, [1, 9]), before)
    assert float(iterated(base, state[:-3], [9]).abs().max()) > 1e3


def test_a_base_without_a_start_up_forecasts_few_rows_as_it_does_alone():
    model, values = model_of("kalman"), sequences(2, seed=2).values
    base: Any = model.base
    state = tuple(part[:, 2] for part in model.states_observed(model.initial_state(2), values))
    assert torch.equal(roll_to(model, state, [1, 4]), iterated(base, state[:-3], [1, 4]))


@pytest.mark.parametrize("members", [1, 2])
def test_few_rows_are_forecast_alike_where_columns_are_known_ahead(members):
    model, values = model_of("lstm"), sequences(2, seed=2).values
    model.weight[0] *= 100.0
    whole = model if members == 1 else Averaged([model, model])
    state = whole.initial_state(2)
    for row in values[:, :2].unbind(1):
        state = whole.update(state, row)
    ahead = KnownAhead(whole, 1)
    rolled = roll_to(ahead, ahead.with_known(state, values[:, 2:8, 1:]), [6])
    assert float(rolled.abs().max()) < 10.0


@pytest.mark.parametrize("rows", range(4))
def test_a_map_that_is_not_to_be_fed_back_makes_no_forecast_from_few_rows_grow(rows):
    model, values = model_of("echo_state"), sequences(2, seed=2).values
    state = tuple(part[:, rows] for part in model.states_observed(model.initial_state(2), values))
    model.direct[:] = True
    before = roll_to(model, state, [1, 6])
    model.weight[0] *= 100.0  # fed back it grows by orders of magnitude a step
    after = roll_to(model, state, [1, 6])
    assert (float(iterated(model, state, [6]).abs().max()) > 1e3) == (rows >= model.history)
    assert rows < model.history or torch.equal(after[:, 1], before[:, 1])
    assert rows >= model.history or torch.equal(after, before)
    assert float(after[:, 1].abs().max()) < 10.0


def test_direct_maps_are_regressions_of_later_rows():
    train, validation = sequences(6, seed=0), sequences(3, seed=1)
    settings = GroupedSettings(lags=2, direct=4)
    fit = fit_grouped(base("no_state", train, validation), train, validation, settings, generators_of(0))
    ridge = fit.horizons[3].ridges["lags"]
    rows, targets, every = [], [], []
    for sequence in train.values.numpy():
        every += [sequence[t - 2 : t].ravel() for t in range(4, len(sequence))]
        for t in range(4, len(sequence) - 3):
            rows.append(sequence[t - 2 : t].ravel())
            targets.append(sequence[t + 3])
    deviations = np.std(every, 0)
    z, outputs = (np.array(rows) - np.mean(rows, 0)) / deviations, np.array(targets)
    gram = z.T @ z / len(z) + ridge * np.eye(4)
    weight = np.linalg.solve(gram, z.T @ (outputs - outputs.mean(0)) / len(z)).T / deviations
    np.testing.assert_allclose(fit.model.weight[3].numpy(), weight, rtol=1e-8)


def test_gaps_are_filled_and_fitted_around():
    fit = fitted("echo_state", gaps=True)
    part = sequences(3, seed=3, gaps=True)
    filtered = filter_sequences(fit.model, part.values, part.mask)
    assert bool(filtered.filled.isfinite().all())
    scored = (filtered.predictions - part.values)[part.scored].square().mean()
    assert float(scored) < float(part.values[part.scored].square().mean())


@pytest.mark.parametrize("name", METHODS)
def test_a_saved_model_forecasts_the_same(name, tmp_path):
    model = model_of(name)
    units = torch.ones(2, dtype=torch.float64)
    first = Forecaster(model, mean=0.5 * units, scale=2 * units, feature_names=("a", "b"))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    series = sequences(1, seed=4, gaps=True)
    table = np.where(series.mask[0], series.values[0], np.nan)
    np.testing.assert_array_equal(first.predict(table), second.predict(table))
    np.testing.assert_array_equal(first.forecast(table, 9), second.forecast(table, 9))


def test_errors_of_horizons_are_those_of_direct_forecasts():
    model, part = model_of("no_state"), sequences(3, seed=1)
    model.direct[:] = True
    filtered = filter_sequences(model, part.values, part.mask)
    errors = horizon_errors(model, filtered, part, [1, 5], first_step=4)
    states = tuple(part_[:, 10] for part_ in filtered.states)
    expected = (roll_to(model, states, [5])[:, 0] - part.values[:, 14]).square()
    torch.testing.assert_close(errors[5][:, 10], expected)


def test_the_choice_is_that_of_the_validation_part():
    fit = fitted("echo_state")
    for each in fit.horizons:
        assert each.direct == (not each.iterated_error < (1 - 1e-4) * each.direct_error)  # none grows here
    assert fit.chosen["readout.direct.used"] == sum(each.direct for each in fit.horizons)
    assert fit.horizons[0].direct_error == pytest.approx(fit.horizons[0].iterated_error)


@pytest.mark.parametrize(
    ("iterated_errors", "usable"),
    [
        ([0.1, 0.2, 0.3, 0.4, 3.9], [True] * 5),  # of no use, but it does not grow
        ([0.1, 0.2, 0.3, 0.4, 4.1], [True, True, False, False, False]),  # two steps reach to the fourth, three beyond
        ([0.1, 0.2, 4.1, 0.4, 0.5], [True, False, False, False, False]),
        ([0.1, math.inf, math.inf, math.inf, math.inf], [False] * 5),
        ([math.nan] * 5, [False] * 5),
    ],
)
def test_forecasts_are_fed_back_where_twice_as_many_steps_do_not_grow(iterated_errors, usable):
    assert can_be_fed_back(Compared([0.1] * 5, iterated_errors, [1.0] * 5)) == usable


def test_a_map_that_grows_is_not_fed_back_though_its_first_steps_are_better(monkeypatch):
    errors = Compared([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.1, 0.1, 1.0, 9.0, 99.0], [1.0] * 6)
    monkeypatch.setattr("models.forecasting.readouts.fit.compare_direct", lambda *_: errors)
    fit = fitted("no_state")
    assert fit.model.direct.tolist() == [True, False, True, True, True, True]
    assert [each.iterated_error for each in fit.horizons] == errors.iterated


def test_errors_are_compared_with_the_means_over_the_same_rows():
    model, part = model_of("no_state"), sequences(3, seed=1)
    errors = compare_direct(model, part_of(model, part, part.values))
    naive = naive_errors(part, history=model.history, horizons=6)
    assert errors.mean == pytest.approx([each.mean for each in naive])
    model.weight[0] *= 100.0
    grown = compare_direct(model, part_of(model, part, part.values))
    assert grown.direct[1:] == errors.direct[1:]
    assert can_be_fed_back(grown) == [False] * 6


def test_horizons_too_long_for_the_data_are_left_out():
    train, validation = sequences(6, seed=0), sequences(3, seed=1, steps=12)
    fit = fit_grouped(
        base("no_state", train, validation), train, validation, GroupedSettings(lags=3, direct=30), generators_of(0)
    )
    assert len(fit.horizons) == 8
    assert fit.left_out == 22
    assert reachable(train, validation, history=3, most=30) == 8


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_decays_of_traces_are_kept_with_the_model_and_not_saved(dtype, monkeypatch: pytest.MonkeyPatch):
    sizes = {"dimension": 2, "lags": 1, "count": 0, "horizons": 1}
    model = GroupedReadout(Persistence(dimension=2), traces=[4.0, 16.0], **sizes).to(dtype)
    expected = torch.tensor([math.exp(-1 / 4), math.exp(-1 / 16)], dtype=torch.float64).to(dtype)
    monkeypatch.setattr("models.forecasting.traces.decays", lambda _: pytest.fail("the decays are computed anew"))
    state = model.update(model.initial_state(1), torch.ones(1, 2, dtype=dtype))
    torch.testing.assert_close(state[-2].view(2, 2), (1 - expected).unsqueeze(1).expand(-1, 2))
    assert not [name for name in model.state_dict() if "decay" in name]  # models of older versions have none
    with pytest.raises(ValueError, match="time constants of traces must be positive"):
        GroupedReadout(Persistence(dimension=2), traces=[0.0], **sizes)


@pytest.mark.parametrize("gaps", [False, True])
def test_the_reach_is_that_of_the_rows_ahead(gaps: bool, monkeypatch: pytest.MonkeyPatch):
    train, validation = sequences(2, seed=0, steps=15), sequences(2, seed=1, steps=12)
    if gaps:
        train.mask[:, ::4, 1] = train.scored[:, ::4, 1] = False
    parts, horizons = (train, validation), range(1, 40)
    keeps = [[targets_ahead(p.values, p.scored, h, late_rows(p, 3))[1] for p in parts] for h in horizons]
    usable = [bool(own.any(0).any(0).all()) and bool(held_out.any()) for own, held_out in keeps]
    looked: list[MaskedSequences] = []
    monkeypatch.setattr("models.forecasting.readouts.fit.late_rows", lambda p, n: looked.append(p) or late_rows(p, n))
    assert reachable(*parts, history=3, most=39) == usable.index(False) > 0
    assert len(looked) == 2  # one look at each part, however many horizons


def test_data_that_are_too_short_are_refused():
    train = sequences(2, seed=0, steps=12)
    with pytest.raises(ValueError, match=r"20 rows before it; lower lags$"):
        fit_grouped(base("lstm", train, train), train, train, GroupedSettings(lags=20), generators_of(0))


def test_nothing_to_see_is_refused():
    train = sequences(2, seed=0)
    with pytest.raises(ValueError, match="a readout needs inputs"):
        fit_grouped(base("last_value", train, train), train, train, GroupedSettings(lags=0), generators_of(0))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"lags": -1}, r"^lags must be a whole number of at least 0, got -1$"),
        ({"lags": "3"}, r"^lags must be a whole number of at least 0, got '3'$"),
        ({"lags": 2.5}, r"^lags must be a whole number of at least 0, got 2.5$"),
        ({"lags": True}, r"^lags must be a whole number of at least 0, got True$"),
        ({"lags": 1_000_000}, r"^lags must be at most 10000, got 1000000$"),
        ({"count": 20.0}, r"^count must be a whole number of at least 0, got 20.0$"),
        ({"count": 1_000_000}, r"^count must be at most 10000, got 1000000$"),
        ({"bandwidth": 0.0}, r"^bandwidth must be a number above 0, got 0.0$"),
        ({"bandwidth": math.nan}, r"^bandwidth must be a number above 0, got nan$"),
        ({"whiten": 1.5}, r"^whiten must be a number of 0 or more and at most 1, got 1.5$"),
        ({"direct": 0}, r"^direct must be a whole number of at least 1, got 0$"),
        ({"direct": 2.5}, r"^direct must be a whole number of at least 1, got 2.5$"),
        ({"lags": 0, "count": 5}, "features of recent observations"),
        ({"traces": (0.0,)}, r"^traces must be a number above 0, got 0.0$"),
        ({"traces": ("4",)}, r"^traces must be a number above 0, got '4'$"),
        ({"traces": 4.0}, r"^traces must be a list of numbers above 0, got 4.0$"),
        ({"shared": "yes"}, r"^shared must be True or False, got 'yes'$"),
        ({"difference": 1}, r"^difference must be True or False, got 1$"),
        ({"kernel": "gaussian"}, r"^kernel must be one of models.features.kernels, as Gaussian\(\), got 'gaussian'$"),
        ({"sampler": "orthogonal"}, r"^sampler must be one of models.features.samplers, as Orthogonal\(\), got 'ortho"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, said):
    with pytest.raises((ValueError, TypeError), match=said):
        GroupedSettings(**wrong)


def test_settings_may_be_numbers_of_numpy_and_lists():
    taken = GroupedSettings(lags=np.int64(10_000), count=np.int32(10_000), whiten=1, traces=np.array([2.0, 6.0]))
    assert taken.traces == GroupedSettings(traces=[2, 6]).traces == (2.0, 6.0)
    assert GroupedSettings(shared=np.bool_(True), bandwidth=np.float32(2), direct=np.int64(3)).shared


def test_one_reading_at_a_time_gives_the_same_predictions():
    model, units = model_of("echo_state"), torch.ones(2, dtype=torch.float64)
    whole = Forecaster(model, mean=0.5 * units, scale=2 * units, feature_names=("a", "b"))
    series = sequences(1, seed=4, gaps=True)
    table = np.where(series.mask[0], series.values[0], np.nan)
    online = whole.online()
    found = [online.prediction, *map(online.update, table)]
    np.testing.assert_allclose(found[:-1], whole.predict(table), rtol=1e-9)


def after_gap(series: MaskedSequences, missing: int) -> np.ndarray:
    """Returns the first sequence as a table, behind so many rows without a value."""
    rows = series.values[0].numpy()
    return np.concatenate([np.full((missing, rows.shape[1]), np.nan), rows])


@pytest.mark.parametrize("rows", [2, 30])
@pytest.mark.parametrize("names", [*([name] for name in METHODS), ["echo_state", "lstm"]])
def test_rows_missing_before_the_first_change_nothing(names, rows):
    models, units = [model_of(name) for name in names], torch.ones(2, dtype=torch.float64)
    model = models[0] if len(models) == 1 else Averaged(models)
    whole = Forecaster(model, mean=0.5 * units, scale=2 * units, feature_names=("a", "b"))
    series = sequences(1, seed=4, steps=rows)
    table, padded = after_gap(series, 0), after_gap(series, 12)
    np.testing.assert_array_equal(whole.forecast(padded, 8), whole.forecast(table, 8))
    np.testing.assert_array_equal(whole.predict(padded)[12:], whole.predict(table))
    both = whole.forecast_all([table, padded, padded[3:]], 8)
    np.testing.assert_allclose(both[1:], [both[0]] * 2, rtol=1e-9)
    online, begun = whole.online(), whole.online()
    found = [online.update(row) for row in padded][12:]
    np.testing.assert_allclose(found, [begun.update(row) for row in table], rtol=1e-9)


def test_rows_missing_before_the_first_are_no_history_of_a_fit():
    part = sequences(2, seed=3, steps=40)
    mask = part.mask.clone()
    mask[0, :9] = False
    gappy = part._replace(mask=mask, values=torch.where(mask, part.values, 0.0))
    model = model_of("echo_state")
    ours = part_of(model, gappy, torch.where(mask, part.values, 7.0)).states
    alone = filter_sequences(model, part.values[:1, 9:], mask[:1, 9:]).states
    for found, expected in zip(ours, alone, strict=True):
        torch.testing.assert_close(found[:1, 9:], expected)
