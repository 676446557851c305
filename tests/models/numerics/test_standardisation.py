"""Units of columns and of a single one, and back."""

from __future__ import annotations

import pytest
import torch

from models.forecasting.series import units_of
from models.numerics.standardisation import STANDARDISED, Standardisation


def test_a_constant_column_keeps_its_scale() -> None:
    units = Standardisation.of(torch.tensor([[1.0, 3.0], [1.0, 5.0]]))
    assert units.apply(torch.tensor([[1.0, 3.0], [1.0, 5.0]])).tolist() == [[0.0, -1.0], [0.0, 1.0]]
    assert units.apply(torch.tensor([[2.0, 4.0]])).tolist() == [[1.0, 0.0]]


def test_a_column_that_varies_by_rounding_alone_keeps_its_scale() -> None:
    column = torch.tensor([1e6, 1e6 + 1e-7, 1e6 - 1e-7], dtype=torch.float64)
    assert 0 < column.std(correction=0) < 1e-6
    assert Standardisation.of(column).scale == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_unit_of_a_column_does_not_matter(dtype: torch.dtype) -> None:
    column = torch.tensor([1.0, 2.0, 4.0], dtype=dtype)
    for factor in (2.0**-50, 2.0**50):
        assert torch.equal(
            Standardisation.of(factor * column).apply(factor * column), Standardisation.of(column).apply(column)
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -0.1, 1e-20, 1e9 / 3])
def test_a_constant_column_whose_mean_is_rounded_keeps_its_scale(value: float, dtype: torch.dtype) -> None:
    column = torch.full((1000,), value, dtype=dtype)
    assert Standardisation.of(column).scale == 1
    assert units_of([column.double().numpy()[:, None]]).scale.tolist() == [1]


def test_what_is_left_of_0_in_standardised_numbers_is_rounding() -> None:
    column = torch.tensor([1e-16, -1e-16, 3e-16], dtype=torch.float64)
    assert Standardisation.of(column, least=STANDARDISED).scale == 1
    assert Standardisation.of(column).scale < 1e-15
    assert Standardisation.of(column.double() * 1e-200).scale == 1  # its square is 0


def test_what_is_restored_is_what_was_given() -> None:
    values = 5 + 3 * torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    units = Standardisation.of(values)
    scaled = units.apply(values)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(2, dtype=torch.float64), atol=1e-14, rtol=0)
    torch.testing.assert_close(scaled.std(0, correction=0), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(units.restore(scaled), values)
    one = Standardisation.of(values[:, 0])
    torch.testing.assert_close(torch.stack(one), torch.stack(units)[:, 0])
