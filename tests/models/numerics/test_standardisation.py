"""Units of columns and of a single one, and back."""

from __future__ import annotations

import torch

from models.numerics.standardisation import Standardisation


def test_a_constant_column_keeps_its_scale() -> None:
    units = Standardisation.of(torch.tensor([[1.0, 3.0], [1.0, 5.0]]))
    assert units.apply(torch.tensor([[1.0, 3.0], [1.0, 5.0]])).tolist() == [[0.0, -1.0], [0.0, 1.0]]
    assert units.apply(torch.tensor([[2.0, 4.0]])).tolist() == [[1.0, 0.0]]


def test_a_column_that_varies_by_rounding_alone_keeps_its_scale() -> None:
    column = torch.tensor([1e6, 1e6 + 1e-7, 1e6 - 1e-7], dtype=torch.float64)
    assert 0 < column.std(correction=0) < 1e-6
    assert Standardisation.of(column).scale == 1


def test_what_is_restored_is_what_was_given() -> None:
    values = 5 + 3 * torch.randn(50, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    units = Standardisation.of(values)
    scaled = units.apply(values)
    torch.testing.assert_close(scaled.mean(0), torch.zeros(2, dtype=torch.float64), atol=1e-14, rtol=0)
    torch.testing.assert_close(scaled.std(0, correction=0), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(units.restore(scaled), values)
    one = Standardisation.of(values[:, 0])
    torch.testing.assert_close(torch.stack(one), torch.stack(units)[:, 0])
