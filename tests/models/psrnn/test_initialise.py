"""From sequences to a filtering model, on a system that has a signal to find."""

from __future__ import annotations

import pytest
import torch

from models.baselines.autoregression import Autoregression, fit_autoregressions
from models.baselines.persistence import Persistence
from models.forecasting.filtering import MaskedSequences, SequenceModel, filter_sequences, has_gaps, scored_steps
from models.forecasting.readout import LagShares, ReadoutFit, ReadoutSettings, fit_readout
from models.numerics.ridge import AffineMap, masked_mse
from models.psrnn.initialise import Frequencies, feature_stream, random_parameters
from models.psrnn.windows import extract_windows
from small_problems import train_psrnn


def oscillation(seed: int, *, sequences: int = 6, steps: int = 120) -> MaskedSequences:
    """A noisy rotation in the plane, seen with little noise, of variance about 1."""
    generator = torch.Generator().manual_seed(seed)
    angle = torch.rand(sequences, 1, generator=generator, dtype=torch.float64) * 6.3
    noise = 0.1 * torch.randn(sequences, steps, generator=generator, dtype=torch.float64)
    phase = angle + 0.4 * torch.arange(steps) + noise.cumsum(1)
    values = 2**0.5 * torch.stack([phase.cos(), phase.sin()], 2)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, scored_steps(mask, first_step=4))


def with_gaps(part: MaskedSequences) -> MaskedSequences:
    mask = part.mask.clone()
    mask[:, 30:40] = False
    mask[0, 60, 1] = False
    return MaskedSequences(torch.where(mask, part.values, 0.0), mask, scored_steps(mask, first_step=4))


@torch.no_grad()
def error(model: SequenceModel, part: MaskedSequences) -> float:
    return float(masked_mse(filter_sequences(model, part.values, part.mask).predictions, part.values, part.scored))


@pytest.mark.parametrize("update", ["paper", "bayes"])
@pytest.mark.parametrize("gaps", [False, True])
def test_two_stage_regression_beats_the_last_value(update: str, gaps: bool) -> None:
    change = with_gaps if gaps else MaskedSequences._make
    train, test = change(oscillation(1)), change(oscillation(2))
    last = error(Persistence(dimension=2).double(), test)
    found = error(train_psrnn(train, update=update), test)
    assert found < (0.8 if update == "paper" else 0.4) * last


def test_lags_help_and_are_used() -> None:
    train, test = oscillation(1), oscillation(2)
    assert error(train_psrnn(train, update="bayes", lags=2), test) < error(train_psrnn(train, update="bayes"), test)


def test_has_gaps() -> None:
    mask = torch.ones(2, 5, 2, dtype=torch.bool)
    mask[1, 3:] = False
    assert not has_gaps(mask)
    mask[0, 2, 1] = False
    assert has_gaps(mask)


def test_random_parameters_are_drawn_from_the_generator_only() -> None:
    def draw(seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        return random_parameters(state=4, features=6, generator=generator).update

    assert torch.equal(draw(0), draw(0))
    assert not torch.equal(draw(0), draw(1))


def test_autoregression_recovers_its_coefficients() -> None:
    generator = torch.Generator().manual_seed(0)
    truth = torch.tensor([[0.5, 0.2], [-0.3, 0.4]], dtype=torch.float64)
    values = torch.zeros(1, 4000, 2, dtype=torch.float64)
    for t in range(1, 4000):
        values[0, t] = truth @ values[0, t - 1] + 0.1 * torch.randn(2, generator=generator, dtype=torch.float64) + 0.05
    mask = torch.ones_like(values, dtype=torch.bool)
    part = (values, mask, scored_steps(mask, first_step=1))
    model, ridge = next(fit_autoregressions(part, part, orders=[1], ridges=[1e-3, 1e6], scale="none"))
    assert ridge == 1e-3
    torch.testing.assert_close(model.weight.detach(), truth, atol=0.05, rtol=0)
    torch.testing.assert_close(model.bias.detach(), torch.full((2,), 0.05, dtype=torch.float64), atol=0.02, rtol=0)


def test_lags_of_an_autoregression_are_in_order_oldest_first() -> None:
    model = Autoregression(dimension=1, order=2).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[10.0, 1.0]]))
        values = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
        found = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool)).predictions
    assert found.flatten().tolist() == [0.0, 1.0, 12.0]


def test_baseline_errors() -> None:
    part = tuple(oscillation(0, steps=3))
    with pytest.raises(ValueError, match="order of at least 1, got 0"):
        Autoregression(dimension=1, order=0)
    with pytest.raises(ValueError, match="3 steps are too short for an autoregression of order 4"):
        next(fit_autoregressions(part, part, orders=[4], ridges=[1.0], scale="none"))
    values = torch.zeros(1, 9, 1)
    mask = (torch.arange(9) % 2 == 0)[None, :, None]
    with pytest.raises(ValueError, match="no training step has 2 observed steps before it; take a lower order"):
        next(fit_autoregressions((values, mask, mask), (values, mask, mask), orders=[2], ridges=[1.0], scale="none"))


def test_chunk_must_be_positive() -> None:
    windows = extract_windows(*oscillation(0)[:2], length=2)
    frequencies = Frequencies(*(torch.ones(1, d, dtype=torch.float64) for d in (4, 4, 2)))
    with pytest.raises(ValueError, match=r"^chunk must be at least 1, got 0"):
        feature_stream(windows, frequencies, chunk=0)


def test_what_the_readout_hands_on_is_what_filtering_anew_gives() -> None:
    train, validation = oscillation(1), oscillation(2)
    model = train_psrnn(train, update="bayes", lags=1)
    found = fit_readout(model, train, validation, ReadoutSettings(0, [1e-2, 1.0], "none"))
    for part, handed in ((train, found.train), (validation, found.validation)):
        assert handed is not None
        anew = filter_sequences(model, part.values, part.mask)
        torch.testing.assert_close(handed.predictions, anew.predictions, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(handed.states, anew.states, rtol=1e-12, atol=1e-12)
    assert fit_readout(model, train, validation, ReadoutSettings(0, [1.0], "none")).validation is None
    assert fit_readout(model, with_gaps(train), validation, ReadoutSettings(0, [1.0], "none")).train is None


def test_gaps_of_the_validation_part_alone_are_filled_by_a_solved_readout_before_a_ridge_is_chosen() -> None:
    train, validation = oscillation(1), oscillation(2)
    missing = torch.rand(validation.mask.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    observed = validation.mask & ~missing
    gappy = MaskedSequences(torch.where(observed, validation.values, 0.0), observed, validation.scored & observed)
    settings = ReadoutSettings(0, [1e-4, 1e-2, 1.0, 100.0], "none")
    model = train_psrnn(train, update="bayes")
    with torch.no_grad():
        model.set_readout(AffineMap(torch.zeros_like(model.readout_weight), torch.zeros_like(model.readout_bias)))
    chosen = fit_readout(model, train, gappy, settings).chosen
    errors = {}
    for ridge in settings.ridges:
        fit_readout(model, train, gappy, ReadoutSettings(0, [ridge], "none"))
        errors[ridge] = error(model, gappy)
    assert chosen == {"readout.ridge": min(errors, key=lambda ridge: errors[ridge])}, errors


@pytest.mark.parametrize("state_ridges", [None, [1e-3, 1.0]])
def test_lags_whose_share_is_computed_once_change_nothing(state_ridges: list[float] | None) -> None:
    train, validation = oscillation(1), oscillation(2)
    settings = ReadoutSettings(2, [1e-2, 1.0], "none", state_ridges)
    quick, slow = (ReadoutFit(train, validation, settings) for _ in range(2))
    slow.gaps = True  # takes the way of data with gaps, one solve of everything
    model, other = (train_psrnn(train, update="bayes", lags=2) for _ in range(2))
    for _ in range(2):
        assert quick(model).chosen == slow(other).chosen
        for found, expected in zip(model.readout_parameters, other.readout_parameters, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)
        for part in (train, validation):
            anew = filter_sequences(model, part.values, part.mask).predictions
            torch.testing.assert_close(quick.filtered(model, part).predictions, anew, rtol=1e-8, atol=1e-9)
        with torch.no_grad():  # another epoch: the states move, the lags stay
            for changed in (model, other):
                changed.bias += 0.1


def test_a_readout_that_was_not_solved_last_is_read_as_it_is() -> None:
    train, other = oscillation(1), oscillation(2)
    fit = ReadoutFit(train, other, ReadoutSettings(2, [1e-2], "none"))
    model = train_psrnn(train, update="bayes", lags=2)
    fit(model)
    before = fit.filtered(model, other).predictions
    with torch.no_grad():
        model.readout_weight[0, -1] += 0.5
    after = fit.filtered(model, other).predictions
    assert not torch.allclose(before, after, atol=1e-3)
    assert torch.equal(after, filter_sequences(model, other.values, other.mask).predictions)


def test_fits_along_the_same_sequences_share_what_the_lags_say_and_no_others_do() -> None:
    shared = LagShares()
    first, second, held_out = oscillation(1), oscillation(3), oscillation(2)
    for train, lags in ((first, 2), (first, 2), (second, 2), (second, 1), (first, 2)):
        settings = ReadoutSettings(lags, [1e-2, 1.0], "none")
        model, other = (train_psrnn(train, update="bayes", lags=lags) for _ in range(2))
        found = fit_readout(model, train, held_out, settings, shared)
        expected = fit_readout(other, train, held_out, settings)
        assert found.chosen == expected.chosen
        torch.testing.assert_close(found.train, expected.train)
        torch.testing.assert_close(found.validation, expected.validation)
