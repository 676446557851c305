"""The recursion of one sequence by NumPy against the equations, entry by entry."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from models.psrnn import fused, one_sequence
from models.psrnn.one_sequence import recursion_of_one, suits
from oracles import recursion_by_entries

STEPS, STATE = 30, 5


def parts(*, seed: int = 0, batch: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (STEPS, batch, STATE, STATE), (STATE,), (batch, STATE), (STATE,)
    return tuple(torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("keep_sign", [True, False])
def test_states_and_signed_norms_are_those_of_the_equations(keep_sign: bool) -> None:
    matrices, bias, initial, reference = parts()
    kept = reference if keep_sign else None
    expected = recursion_by_entries(matrices[:, 0], bias, initial[0], kept)
    for found in (recursion_of_one(matrices, bias, initial, kept), fused.recursion(matrices, bias, initial, kept)):
        torch.testing.assert_close(found[0][:, 0], expected[0], rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(found[1][:, 0, 0], expected[1], rtol=1e-10, atol=1e-12)
    assert bool((expected[1] < 0).any()) == keep_sign


@pytest.mark.parametrize("keep_sign", [True, False])
def test_several_sequences_walk_as_each_alone(keep_sign: bool) -> None:
    matrices, bias, initial, reference = parts(batch=3)
    kept = reference if keep_sign else None
    states, norms = fused.recursion(matrices, bias, initial, kept)
    for i in range(3):
        alone = recursion_by_entries(matrices[:, i], bias, initial[i], kept)
        torch.testing.assert_close(states[:, i], alone[0], rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(norms[:, i, 0], alone[1], rtol=1e-10, atol=1e-12)


def test_which_matrices_suit() -> None:
    matrices = parts()[0]
    large = torch.zeros(1, 1, one_sequence.LARGEST_STATE + 1, one_sequence.LARGEST_STATE + 1, dtype=torch.float64)
    with FakeTensorMode():
        without_numbers = torch.zeros(1, 1, 2, 2, dtype=torch.float64)
    assert suits(matrices)
    for other in (matrices.float(), parts(batch=2)[0], large, without_numbers):
        assert not suits(other)


def test_no_product_is_large_enough_for_the_library_s_threads() -> None:
    """OpenBLAS takes one thread for a matrix times a vector of fewer than 2304 · 4 entries."""
    assert one_sequence.LARGEST_STATE**2 < 2304 * 4


def test_the_choice_is_the_recursions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways give the same; the one for one sequence is really taken, and only for one."""
    taken: list[int] = []

    def counted(*given: Tensor) -> tuple[Tensor, Tensor]:
        taken.append(given[0].shape[1])
        return recursion_of_one(*given)

    monkeypatch.setattr(fused, "recursion_of_one", counted)
    one, several = parts(), parts(batch=2)
    by_numpy = fused.recursion(*one)
    fused.recursion(*several)
    assert taken == [1]
    monkeypatch.setattr(fused, "suits", lambda _: False)
    torch.testing.assert_close(by_numpy, fused.recursion(*one), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("value", [math.inf, math.nan, 1e200])
def test_a_filter_that_diverges_gives_numbers_that_are_not_finite_and_no_warning(value: float) -> None:
    matrices, bias, initial, reference = parts()
    matrices[4] = value
    found, norms = recursion_of_one(matrices, bias, initial, reference)
    assert bool(found[:5].isfinite().all())
    assert not bool(norms[4:].isfinite().all())


def test_a_state_of_no_length_is_divided_by_the_smallest_number() -> None:
    matrices, bias, initial, reference = parts()
    states, norms = recursion_of_one(0 * matrices[:2], 0 * bias, initial, reference)
    assert not bool(states[1:].any())
    assert norms.flatten().tolist() == [torch.finfo(torch.float64).tiny] * 2
