"""Ridge regression by elimination of the inputs that stay, against one solve of everything."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.numerics import fixed_inputs
from models.numerics.fixed_inputs import FixedInputs
from models.numerics.ridge import RegressionData, affine_from_moments, centred_moments


def normal(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("rows", [40, 5])
@pytest.mark.parametrize("scale", ["samples", "none"])
def test_equals_the_solve_of_all_inputs_at_once(rows: int, scale: str) -> None:
    fixed, targets = 3 + normal(rows, 6, seed=0), normal(rows, 2, seed=1) - 1
    regression = FixedInputs(fixed, targets, scale=scale)
    for seed, (ridge, changing_ridge) in enumerate([(0.1, 0.1), (0.1, 3.0), (2.0, 0.01)]):
        changing = 0.5 * fixed[:, :3] + 2 + normal(rows, 3, seed=2 + seed)
        everything = RegressionData(torch.cat([changing, fixed], 1), targets, torch.ones(rows, 2, dtype=torch.bool))
        each = torch.tensor([changing_ridge] * 3 + [ridge] * 6, dtype=torch.float64)
        expected = affine_from_moments(centred_moments(everything), each, scale=scale)
        fit = regression.beside(changing).fit(ridge=ridge, changing_ridge=changing_ridge)
        found = fit.written_out()
        torch.testing.assert_close(found.weight, expected.weight, rtol=1e-9, atol=1e-11)
        torch.testing.assert_close(found.bias, expected.bias, rtol=1e-9, atol=1e-11)
        predicted = fit.predict(fixed, changing, fixed @ fit.alone)
        torch.testing.assert_close(predicted, expected(everything.inputs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [40, 5])
def test_many_ridges_share_one_pass_over_the_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed, targets, changing = normal(rows, 6, seed=0), normal(rows, 2, seed=1), 2 + normal(rows, 3, seed=2)
    passes: list[int] = []
    whole = fixed_inputs.sum_of_products
    monkeypatch.setattr(fixed_inputs, "sum_of_products", lambda x, y: (passes.append(y.shape[1]), whole(x, y))[1])
    regression = FixedInputs(fixed, targets, scale="none")
    beside, pairs = regression.beside(changing), [(0.1, 0.1), (0.1, 3.0), (2.0, 0.01), (2.0, 2.0), (0.1, 0.1)]
    found = [beside.fit(ridge=ridge, changing_ridge=of_changing).written_out() for ridge, of_changing in pairs]
    regression.moments()
    assert passes == ([3, 3] if rows < 6 else [2, 3, 3])  # C, where there is one, K and E[s yᵀ], each once
    for map_, (ridge, changing_ridge) in zip(found, pairs, strict=True):
        everything = RegressionData(torch.cat([changing, fixed], 1), targets, torch.ones(rows, 2, dtype=torch.bool))
        each = torch.tensor([changing_ridge] * 3 + [ridge] * 6, dtype=torch.float64)
        expected = affine_from_moments(centred_moments(everything), each, scale="none")
        torch.testing.assert_close(map_.weight, expected.weight, rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(map_.bias, expected.bias, rtol=1e-8, atol=1e-10)


def test_single_precision_rows_are_summed_in_double() -> None:
    fixed, changing, targets = (normal(30, n, seed=n).float() for n in (4, 3, 2))
    found = FixedInputs(fixed, targets, scale="samples").beside(changing).fit(ridge=0.1, changing_ridge=0.2)
    double = FixedInputs(fixed.double(), targets.double(), scale="samples")
    expected = double.beside(changing.double()).fit(ridge=0.1, changing_ridge=0.2)
    assert found.bias.dtype == torch.float64
    torch.testing.assert_close(found.written_out(), expected.written_out())
    single = found.predict(fixed, changing, fixed @ found.alone.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(
        single.double(), expected.predict(fixed.double(), changing.double(), fixed.double() @ expected.alone),
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def test_refuses_no_rows_and_ridges_that_are_not_positive() -> None:
    with pytest.raises(ValueError, match="no observed step to regress on"):
        FixedInputs(torch.zeros(0, 2), torch.zeros(0, 1), scale="none")
    regression = FixedInputs(normal(5, 2, seed=0), normal(5, 1, seed=1), scale="none")
    for ridge, changing_ridge in ((0.0, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match="ridge must be positive"):
            regression.beside(normal(5, 2, seed=2)).fit(ridge=ridge, changing_ridge=changing_ridge)
