"""The number of lags: models with another one, and the one that validation prefers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.baselines.echo_state import EchoState
from models.baselines.networks import GRU, LSTM, MinGRU
from models.baselines.no_state import NoState
from models.forecasting import lags as lags_module
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.lags import (
    choose_lags,
    reachable_lags,
    recent_observations,
    settle_lags,
    takes_lags,
    with_lags,
)
from models.forecasting.readout import FittedReadout, ReadoutFit, ReadoutSettings, fit_readout
from models.forecasting.recurrent import Recurrent
from models.numerics.ridge import masked_mse
from models.psrnn.cell import PSRNN
from small_problems import oscillation, small_problem, with_gap

SETTINGS = ReadoutSettings(lags=0, ridges=[1e-4, 1.0], scale="none", state_ridges=[1e-2, 1e2])
METHODS = [EchoState(units=20), LSTM(units=4), GRU(units=4), MinGRU(units=4)]


def fourth_order(seed: int, *, steps: int = 400) -> MaskedSequences:
    """o_t = 0.9 o_{t−4} + noise: nothing but the fourth last observation tells of the next."""
    noise = torch.randn(1, steps, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rows: list[Tensor] = []
    for t in range(steps):
        rows.append(noise[:, t] + (0.9 * rows[t - 4] if t >= 4 else 0.0))
    values = torch.stack(rows, 1)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, mask)


def random_psrnn() -> PSRNN:
    model, generator = PSRNN(frequencies=3, dimension=2, state=4).double(), torch.Generator().manual_seed(3)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator))
    return model


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_with_other_lags_the_belief_is_the_same_and_the_readout_that_of_a_fit_with_them(method) -> None:
    alone, joined = (method.fit(small_problem(lags=lags)).model for lags in (0, 3))
    assert isinstance(alone, Recurrent)
    problem = small_problem(lags=3)
    changed = with_lags(alone, 3)
    fit_readout(changed, problem.train, problem.validation, problem.readout)
    expected, found = joined.state_dict(), changed.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())
    assert changed.architecture["lags"] == 3


def test_a_psrnn_keeps_its_belief_too() -> None:
    model = random_psrnn()
    values = oscillation(1).values
    before = model.beliefs_along(model.initial_belief(len(values)), values)
    changed = with_lags(model, 2)
    after = changed.beliefs_along(changed.initial_belief(len(values)), values)
    assert torch.equal(before[0], after[0])
    assert not bool(changed.readout_weight.any())


class Centred(PSRNN):
    """Has a buffer that its `__init__` makes only without lags, and may get one from outside."""

    def __init__(self, *, lags: int = 0, **sizes: int) -> None:
        super().__init__(**sizes, lags=lags)
        self.architecture = {**sizes, "lags": lags}
        self.register_buffer("readout_centre" if lags else "centre", torch.zeros(2))


def test_a_model_that_is_not_built_again_with_all_that_it_has_is_refused() -> None:
    model = Centred(frequencies=3, dimension=2, state=4)
    with pytest.raises(
        ValueError, match=r"^Centred built again with other lags .* buffers: centre, readout_centre; make"
    ):
        with_lags(model, 2)
    model = random_psrnn()
    model.register_buffer("late", torch.ones(2))
    with pytest.raises(ValueError, match=r"^PSRNN built again with .* buffers: late; make them in __init__"):
        with_lags(model, 2)


def test_recent_observations_are_those_that_the_filter_keeps() -> None:
    model, part = with_lags(random_psrnn(), 3), oscillation(2)
    states = filter_sequences(model, part.values, part.mask).states
    assert torch.equal(recent_observations(part.values, 3), model.recent(states))
    assert recent_observations(part.values, 0).shape == (4, 80, 0)


def test_the_lags_that_tell_of_the_next_observation_are_chosen() -> None:
    train, validation = fourth_order(0), fourth_order(1)
    model = random_psrnn()
    fit_readout(model, train, validation, SETTINGS)
    tried = choose_lags(model, train, validation, SETTINGS, [0, 1, 2, 3, 4, 8])
    assert tried.lags == 4
    assert list(tried.errors) == [0, 1, 2, 3, 4, 8]
    assert tried.errors[4] < 0.5 * min(tried.errors[lags] for lags in (0, 1, 2, 3))


@torch.no_grad()
@pytest.mark.parametrize("lags", [0, 2, 4])
def test_each_error_is_that_of_a_fit_with_these_lags_alone(lags: int) -> None:
    train, validation = (part._replace(scored=part.scored.clone()) for part in (fourth_order(0), fourth_order(1)))
    for part in (train, validation):
        part.scored[:, :4] = False
    model = random_psrnn()
    fit_readout(model, train, validation, SETTINGS)
    tried = choose_lags(model, train, validation, SETTINGS, [0, 2, 4])
    by_itself = with_lags(model, lags)
    fit_readout(by_itself, train, validation, SETTINGS._replace(lags=lags))
    predictions = filter_sequences(by_itself, validation.values, validation.mask).predictions
    error = float(masked_mse(predictions, validation.values, validation.scored))
    assert tried.errors[lags] == pytest.approx(error, rel=1e-8)


def test_gaps_are_filled_by_the_model_and_noise_has_no_use_for_lags() -> None:
    train, validation = (with_gap(oscillation(seed)) for seed in (1, 2))
    model = random_psrnn()
    fit_readout(model, train, validation, SETTINGS)
    tried = choose_lags(model, train, validation, SETTINGS, [0, 2])
    assert tried.lags == 2
    draws = torch.Generator().manual_seed(5)
    noise, other = (
        part._replace(values=torch.randn(part.values.shape, generator=draws, dtype=torch.float64))
        for part in (fourth_order(0), fourth_order(1))
    )
    fit_readout(model, noise, other, SETTINGS)
    assert choose_lags(model, noise, other, SETTINGS, [0, 16]).lags == 0


def test_candidates_are_those_that_the_part_is_long_enough_for() -> None:
    part = oscillation(1, steps=20)
    assert reachable_lags([24, 8, 0, 10, 11], part, inputs=1000) == [0, 8, 10]
    assert reachable_lags([0, 1, 2, 4], part, inputs=5) == [0, 1, 2]
    with pytest.raises(ValueError, match="at least one number of lags"):
        choose_lags(random_psrnn(), part, part, SETTINGS, [])


def test_no_candidate_leaves_a_feature_without_a_step() -> None:
    """Feature 1 is observed in the first 6 steps alone."""
    part = oscillation(1, steps=20)
    part.scored[:, 6:, 1] = False
    assert reachable_lags([0, 2, 5, 6, 8], part, inputs=1000) == [0, 2, 5]
    reached = reachable_lags([0, 2, 6], part, inputs=1000)
    assert choose_lags(random_psrnn(), part, part, SETTINGS, reached).errors.keys() == {0, 2}


def test_rows_before_the_first_observation_are_none_to_look_back_on() -> None:
    part = oscillation(1, steps=20)
    part.mask[:, :12] = part.scored[:, :12] = False
    assert reachable_lags([0, 2, 7, 8, 10], part, inputs=1000) == [0, 2, 7]


def test_models_of_a_person_s_own_may_take_no_lags() -> None:
    class Own(PSRNN):
        """Says nothing of lags."""

        def __init__(self) -> None:
            super().__init__(frequencies=3, dimension=2, state=4)
            self.architecture = {}

    assert takes_lags(random_psrnn())
    assert not takes_lags(Own())
    assert not takes_lags(torch.nn.Linear(1, 1))


def test_a_model_without_a_state_chooses_among_lags_none_of_which_is_none_at_all() -> None:
    problem = small_problem(lags=0)
    settings = ReadoutSettings(0, [1e-4, 1.0], "none", [1e-4, 1.0], choices=[0, 1, 2])
    alone = NoState().fit(problem._replace(readout=settings))
    solve = ReadoutFit(problem.train, problem.validation, settings)
    settled = settle_lags(alone.model, FittedReadout(alone.chosen, None, None), solve)
    assert settled.tried is not None
    assert settled.tried.errors[0] > 10 * settled.tried.errors[2]
    assert settled.model.lags == settled.tried.lags > 0


def test_of_errors_that_are_rounding_the_fewest_lags_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    model, train, validation = random_psrnn(), fourth_order(0), fourth_order(1)
    fit_readout(model, train, validation, SETTINGS)
    for first, expected in ((1e-20, 2), (1e-3, 4)):
        errors = iter([first, 1e-22])
        monkeypatch.setattr(lags_module, "validation_error", lambda *_, errors=errors: next(errors))
        assert choose_lags(model, train, validation, SETTINGS, [2, 4]).lags == expected
