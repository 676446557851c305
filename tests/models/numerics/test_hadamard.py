"""The fast Walsh–Hadamard transform against the dense matrix."""

import pytest
import torch
from torch import Tensor

from models.numerics.hadamard import next_power_of_two, transform_in_place
from oracles import hadamard_matrix, walsh_hadamard_by_butterflies


def transformed(x: Tensor) -> Tensor:
    """The transform of x (…, p) along its last axis."""
    rows = x.reshape(-1, x.shape[-1]).clone()
    transform_in_place(rows)
    return rows.view(x.shape)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
@pytest.mark.parametrize("size", [1, 2, 4, 8, 64])
def test_equals_the_product_with_the_dense_matrix(size: int, dtype: torch.dtype, tolerance: float) -> None:
    x = torch.randn(3, 2, size, dtype=dtype, generator=torch.Generator().manual_seed(size))
    result = transformed(x)
    assert result.dtype == dtype
    torch.testing.assert_close(result, x @ hadamard_matrix(size).to(dtype), atol=tolerance, rtol=0)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-13)])
@pytest.mark.parametrize("size", [32, 128, 2048, 8192, 65536])
def test_equals_the_butterflies(size: int, dtype: torch.dtype, tolerance: float) -> None:
    """One to four factors, and more rows than a block holds at the largest sizes."""
    x = torch.randn(2, 19, size, dtype=dtype, generator=torch.Generator().manual_seed(size))
    expected = walsh_hadamard_by_butterflies(x.double())
    torch.testing.assert_close(transformed(x).double(), expected, atol=tolerance, rtol=0)


def test_no_rows_give_no_rows() -> None:
    assert transformed(torch.zeros(0, 64)).shape == (0, 64)


def test_the_dense_matrix_is_orthogonal_and_the_transform_its_own_inverse() -> None:
    h = hadamard_matrix(16)
    torch.testing.assert_close(h @ h.T, torch.eye(16, dtype=torch.float64), atol=1e-14, rtol=0)
    x = torch.randn(5, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(transformed(transformed(x)), x, atol=1e-13, rtol=0)


@pytest.mark.parametrize("size", [0, 3, 12])
def test_a_size_that_is_no_power_of_two_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"needs rows of a power of two, got {size}"):
        transform_in_place(torch.zeros(2, size))


def test_next_power_of_two() -> None:
    assert [next_power_of_two(n) for n in (1, 2, 3, 4, 5, 8, 9, 4097)] == [1, 2, 4, 4, 8, 8, 16, 8192]
