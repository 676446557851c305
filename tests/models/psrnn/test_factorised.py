"""The factorised cell against the full cell whose tensor is the sum written out; the decomposition that makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.forecasting.recurrent import Recurrent
from models.numerics.canonical import Factors, balanced, canonical_decomposition
from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN, decompose_update, empty_factorised
from models.psrnn.kronecker import KroneckerPreconditioner, of_unit_mean
from models.psrnn.method import FactorisedPsrnn
from small_problems import oscillation

BATCH, STEPS, DIMENSION, STATE, RANK = 3, 7, 2, 4, 5
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-4}
SETTINGS = [
    {"keep_sign": True}, {"keep_sign": False}, {"projected": 3}, {"lags": 2}, {"learn_frequencies": True},
    {"keep_sign": False, "projected": 3, "lags": 1, "learn_frequencies": True},
]  # fmt: skip


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def written_out(factors: Factors) -> Tensor:
    return torch.einsum("ar,br,cr->abc", *factors)


def random_factors(*sizes: int, rank: int, seed: int = 0) -> Factors:
    first, second, third = (normal(size, rank, seed=seed + i) for i, size in enumerate(sizes))
    return first, second, third


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pair(dtype: torch.dtype = torch.float64, **settings: Any) -> tuple[FactorisedPSRNN, PSRNN]:
    """A random factorised cell, and the full cell of the same numbers."""
    model = FactorisedPSRNN(frequencies=3, dimension=DIMENSION, state=STATE, rank=RANK, **settings).double()
    with torch.no_grad():
        for i, tensor in enumerate(model.state_dict().values()):
            tensor.copy_(normal(*tensor.shape, seed=10 + i))
    architecture = {key: value for key, value in model.architecture.items() if key != "rank"}
    full = PSRNN(**architecture).double()
    shared = {key: value for key, value in model.state_dict().items() if key in full.state_dict()}
    update = written_out((model.left, model.of_state, model.of_features))
    full.load_state_dict({**shared, "update_tensor": update})
    return model.to(dtype), full.to(dtype)


def values_and_mask(*, gaps: bool) -> tuple[Tensor, Tensor]:
    values, mask = normal(BATCH, STEPS, DIMENSION, seed=1), torch.ones(BATCH, STEPS, DIMENSION, dtype=torch.bool)
    if gaps:
        mask[0, 3:5], mask[1, 2, 1] = False, False
    return torch.where(mask, values, 0.0), mask


# --- the decomposition ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sizes", "rank"), [((6, 5, 4), 3), ((4, 6, 7), 1), ((3, 8, 9), 5)])
def test_a_sum_of_outer_products_is_found_again(sizes: tuple[int, int, int], rank: int) -> None:
    tensor = written_out(random_factors(*sizes, rank=rank))
    found = canonical_decomposition(tensor, rank, generator=generator(), sweeps=2000)
    assert found.converged
    assert found.error < 1e-3
    assert found.error == pytest.approx(float((written_out(found.factors) - tensor).norm() / tensor.norm()), abs=1e-6)
    assert [factor.shape for factor in found.factors] == [(size, rank) for size in sizes]


def test_more_terms_than_rows_leave_no_error_and_fewer_terms_leave_more() -> None:
    tensor = normal(4, 3, 5)
    errors = [canonical_decomposition(tensor, rank, generator=generator()).error for rank in (1, 3, 6, 15)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-2
    best_of_one = float(torch.linalg.matrix_norm(tensor.flatten(1), 2)) / float(tensor.norm())
    assert errors[0] >= (1 - best_of_one**2) ** 0.5


def test_scales_are_shared_evenly_and_the_product_is_kept() -> None:
    factors = random_factors(4, 3, 5, rank=2)
    even = balanced((1e3 * factors[0], factors[1] / 1e3, factors[2]))
    torch.testing.assert_close(written_out(even), written_out(factors))
    norms = torch.stack([factor.norm(dim=0) for factor in even])
    torch.testing.assert_close(norms, norms[:1].expand(3, -1))


def test_sweeps_that_end_too_early_are_said() -> None:
    found = canonical_decomposition(normal(5, 5, 5), 4, generator=generator(), sweeps=2)
    assert not found.converged
    assert 0 < found.error < 1


def test_the_same_generator_gives_the_same_decomposition() -> None:
    first, second, other = (canonical_decomposition(normal(4, 3, 5), 2, generator=generator(s)) for s in (0, 0, 1))
    assert torch.equal(first.factors[0], second.factors[0])
    assert not torch.equal(first.factors[0], other.factors[0])


def test_what_cannot_be_decomposed_is_refused() -> None:
    with pytest.raises(ValueError, match="the rank must be at least 1, got 0"):
        canonical_decomposition(normal(2, 2, 2), 0, generator=generator())
    with pytest.raises(ValueError, match="a tensor of norm 0 has no decomposition"):
        canonical_decomposition(torch.zeros(2, 2, 2), 1, generator=generator())
    with pytest.raises(ValueError, match="a tensor of norm nan has no decomposition"):
        canonical_decomposition(torch.full((2, 2, 2), torch.nan), 1, generator=generator())


# --- the cell ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@torch.no_grad()
def test_it_filters_as_the_full_cell_with_the_sum_written_out(
    settings: dict[str, Any], gaps: bool, dtype: torch.dtype
) -> None:
    (model, full), (values, mask) = pair(dtype, **settings), values_and_mask(gaps=gaps)
    found, expected = (filter_sequences(m, values.to(dtype), mask) for m in (model, full))
    for ours, theirs in zip((found.predictions, *found.states), (expected.predictions, *expected.states), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_its_gradient_is_the_full_cell_s_by_the_chain_rule(settings: dict[str, Any]) -> None:
    (model, full), (values, mask) = pair(**settings), values_and_mask(gaps=False)
    for each in (model, full):
        (filter_sequences(each, values, mask).predictions - values).square().sum().backward()
    of_w = full.update_tensor.grad
    assert of_w is not None
    a, b, c = model.left.detach(), model.of_state.detach(), model.of_features.detach()
    expected = {name: parameter.grad for name, parameter in full.named_parameters() if name != "update_tensor"}
    expected["left"] = torch.einsum("abc,br,cr->ar", of_w, b, c)
    expected["of_state"] = torch.einsum("abc,ar,cr->br", of_w, a, c)
    expected["of_features"] = torch.einsum("abc,ar,br->cr", of_w, a, b)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected.pop(name), rtol=1e-9, atol=1e-10)
    assert not expected


@pytest.mark.parametrize("steps", [1, 2, STEPS])
def test_the_gradient_by_hand_is_that_of_the_cell_step_by_step(steps: int) -> None:
    model, _ = pair(learn_frequencies=True)
    values, weights = normal(BATCH, steps, DIMENSION, seed=2), normal(BATCH, steps, STATE, seed=3)
    trained = [p for name, p in model.named_parameters() if not name.startswith("readout")]
    along = (model.beliefs_along, lambda *parts: Recurrent.beliefs_along(model, *parts))
    states = [function(model.initial_belief(BATCH), values)[0] for function in along]
    torch.testing.assert_close(*states, rtol=1e-12, atol=1e-12)
    ours, theirs = (
        torch.autograd.grad((part * weights).sum(), trained, allow_unused=True, materialize_grads=True)
        for part in states
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)
    assert steps == 1 or all(bool(gradient.any()) for gradient in theirs)


def test_a_rank_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^rank must be at least 1, got 0"):
        FactorisedPSRNN(frequencies=1, dimension=1, state=2, rank=0)
    with pytest.raises(ValueError, match=r"^rank must be at least 1, got -3"):
        FactorisedPsrnn(rank=-3)
    with pytest.raises(ValueError, match=r"^window must be at least 1, got 0"):
        FactorisedPsrnn(window=0)
    assert FactorisedPsrnn(rank=7).terms == 7


@pytest.mark.parametrize("settings", [{"lags": 1}, {"projected": 3, "learn_frequencies": True}], ids=str)
def test_round_trip_through_files_changes_nothing(settings: dict[str, Any], tmp_path: Path) -> None:
    model, _ = pair(**settings)
    mean, scale = torch.tensor([3.0, -1.0]), torch.tensor([2.0, 0.5])
    first = Forecaster(model, mean=mean, scale=scale, feature_names=("a", "b"))
    save_forecaster(first, tmp_path)
    second = load_forecaster(tmp_path)
    assert isinstance(second.model, FactorisedPSRNN)
    series = normal(9, DIMENSION, seed=4).numpy()
    assert np.array_equal(first.predict(series), second.predict(series))
    assert np.array_equal(first.forecast(series, 3), second.forecast(series, 3))
    online = second.online()
    np.testing.assert_allclose([online.prediction, *map(online.update, series)][:-1], first.predict(series), rtol=1e-4)


# --- from the full cell -----------------------------------------------------------------------------------------------


def fitted_full(part: MaskedSequences) -> PSRNN:
    _, full = pair()
    fit_readout(full, part, part, ReadoutSettings(0, [1e-3], "samples"))
    return full


def test_with_enough_terms_the_cell_is_the_full_one() -> None:
    part, rank = oscillation(1), STATE**2
    full = fitted_full(part)
    with torch.no_grad():
        full.bias.zero_()
    filtered = filter_sequences(full, part.values, part.mask)
    found = decompose_update(full, filtered, part.scored, rank=rank, generator=generator())
    assert found.error < 1e-3
    model = empty_factorised(full, rank)
    model.set_update(found.factors, full.initial)
    full.set_update(full.update_tensor.detach().clone(), full.initial)
    assert torch.equal(model.reference, full.reference)
    ours, theirs = (filter_sequences(m, part.values, part.mask).states[0].detach() for m in (model, full))
    assert float((ours - theirs).norm() / theirs.norm()) < 0.01


def test_the_error_is_weighted_by_what_occurs_and_by_the_readout() -> None:
    part = oscillation(1)
    full = fitted_full(part)
    filtered = filter_sequences(full, part.values, part.mask)
    found = decompose_update(full, filtered, part.scored, rank=2, generator=generator())
    used = part.scored.any(2)
    belief, omega = filtered.states[0][used].detach(), full.features(part.values[used]).detach()
    readout = full.readout_weight.detach()
    moments = readout.T @ readout, belief.T @ belief / len(belief), omega.T @ omega / len(omega)
    eye = [torch.eye(len(moment), dtype=torch.float64) for moment in moments]
    dense = [moment / moment.diagonal().mean() + 0.01 * one for moment, one in zip(moments, eye, strict=True)]

    def size(tensor: Tensor) -> float:
        return float(torch.einsum("abc,ai,bj,ck,ijk->", tensor, *dense, tensor)) ** 0.5

    update = full.update_tensor.detach()
    assert found.error == pytest.approx(size(update - written_out(found.factors)) / size(update), rel=1e-6)
    plain = canonical_decomposition(update, 2, generator=generator())
    assert size(update - written_out(plain.factors)) > found.error * size(update)


def test_the_preconditioner_takes_the_cell_s_own_factors() -> None:
    part = oscillation(1)
    model, _ = pair(lags=1)
    fit_readout(model, part, part, ReadoutSettings(1, [1e-3], "samples"))
    objective = TruncatedBPTT(model, part, horizon=5, batch_size=4)
    objective.refresh()
    preconditioner = KroneckerPreconditioner(damping=0.1)
    preconditioner.refresh(objective)
    objective.loss(torch.arange(4)).mean.backward()
    before = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    preconditioner.apply(model)
    used = part.scored.any(2)
    q, omega = objective.states[0][used], model.features(part.values[used]).detach()
    a, u, c = model.left.detach(), q @ model.of_state.detach(), omega @ model.of_features.detach()
    readout = model.readout_weight[:, :STATE].detach()
    metric, count = readout.T @ readout, len(q)
    onto = a.T @ metric @ a
    factors = {
        "left": (metric, (u * c).T @ (u * c) / count),
        "of_state": (q.T @ q / count, onto * (c.T @ c / count)),
        "of_features": (omega.T @ omega / count, onto * (u.T @ u / count)),
    }
    for name, pairs in factors.items():
        first, second = (of_unit_mean(p) + 0.1 * torch.eye(len(p)) for p in pairs)
        found = model.get_parameter(name).grad
        assert found is not None
        torch.testing.assert_close(found, torch.linalg.inv(first) @ before[name] @ torch.linalg.inv(second))
    handled = {id(p) for p in preconditioner.handles(model)}
    names = {name for name, p in model.named_parameters() if id(p) in handled}
    assert names == {"left", "of_state", "of_features", "bias", "initial"}
