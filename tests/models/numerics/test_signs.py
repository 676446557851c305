"""The rule for signs, and that every decomposition whose sign reaches a result goes by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from code_paths import normal, oscillators
from models.baselines.subspace import canonical_states, complete_windows, principal_components, window_moment
from models.numerics.signs import column_signs, with_fixed_signs
from models.psrnn import projection
from models.psrnn.projection import leading_singular_vectors
from models.trace.basis import orthonormal_rows


@pytest.mark.parametrize(
    ("column", "sign"),
    [
        ([0.1, -3.0, 2.0], -1),
        ([-0.1, 3.0, -2.0], 1),
        ([-1.0, 1.0, 1.0], -1),  # the first of equal ones
        ([-1.0, 1.0 + 1e-9, 0.0], -1),  # which rounding does not change
        ([-0.98, 1.0, 0.0], 1),
        ([0.0, 0.0, 0.0], 1),
        ([-2.0], -1),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_first_of_the_largest_entries_is_positive(column: list[float], sign: int, dtype: torch.dtype) -> None:
    vectors = torch.tensor([column, column[::-1]], dtype=dtype).unsqueeze(-1)
    signs = column_signs(vectors)
    assert (signs.shape, signs.dtype) == ((2, 1), dtype)
    assert signs[0].item() == sign


def test_a_turned_column_is_turned_back() -> None:
    vectors = normal(2, 9, 4)
    fixed = with_fixed_signs(vectors)
    largest = fixed.gather(1, fixed.abs().argmax(1, keepdim=True))
    assert bool((largest > 0).all())
    assert torch.equal(fixed.abs(), vectors.abs())
    assert torch.equal(with_fixed_signs(vectors * torch.tensor([1.0, -1.0, -1.0, 1.0])), fixed)


def turned(vectors: Tensor) -> Tensor:
    return vectors * (-1.0) ** torch.arange(vectors.shape[-1], device=vectors.device)


def turn_every_second_vector(patch: pytest.MonkeyPatch) -> None:
    """What another code path of the library may find, for all that a decomposition says."""
    svd, eigh, qr, svds = torch.linalg.svd, torch.linalg.eigh, torch.linalg.qr, projection.svds

    def other_svd(matrix: Tensor, **settings: Any) -> tuple[Tensor, Tensor, Tensor]:
        left, values, right = svd(matrix, **settings)
        return turned(left), values, turned(right.mT).mT

    def other_qr(matrix: Tensor, **settings: Any) -> tuple[Tensor, Tensor]:
        q, factor = qr(matrix, **settings)
        return turned(q), turned(factor.mT).mT

    def other_svds(*arguments: Any, **settings: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found: Any = svds(*arguments, **settings)
        left, values, right = found
        return turned(torch.tensor(left)).numpy(), values, turned(torch.tensor(right.T.copy())).mT.numpy()

    patch.setattr(torch.linalg, "svd", other_svd)
    patch.setattr(torch.linalg, "eigh", lambda matrix: (*(values := eigh(matrix))[:1], turned(values[1])))
    patch.setattr(torch.linalg, "qr", other_qr)
    patch.setattr(projection, "svds", other_svds)


def dependent_rows() -> Tensor:
    rows = normal(4, 30)
    rows[2] = rows[0] - rows[1]
    return rows


def states() -> Tensor:
    part = oscillators(0)
    moment = window_moment(part.values, complete_windows(part.mask, 6), 6)
    moment.diagonal().add_(1e-6)
    return canonical_states(moment, 4)


@pytest.mark.parametrize(
    "found",
    [
        lambda: leading_singular_vectors(normal(12, 20), 3),
        lambda: leading_singular_vectors(normal(12, 20), 9),
        lambda: principal_components(normal(3, 40, 30), torch.ones(3, 40, 30, dtype=torch.bool), 4),
        states,
        lambda: orthonormal_rows(dependent_rows())[0][:2],
    ],
    ids=["lanczos", "singular vectors", "principal components", "canonical states", "orthonormal rows"],
)
def test_a_library_that_turns_vectors_changes_nothing(
    found: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found()
    turn_every_second_vector(monkeypatch)
    torch.testing.assert_close(found(), expected, rtol=1e-9, atol=1e-9)
