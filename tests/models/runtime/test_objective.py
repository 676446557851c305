"""The mean gradient over batches: exact whatever the batches are, and 0 where nothing has a weight."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from least_squares import ROWS, LeastSquares, RefreshedLeastSquares
from models.runtime.objective import Loss, RefreshedObjective, descend, mean_gradient

WEIGHTS = torch.linspace(0.5, 3.0, ROWS, dtype=torch.float64)


def gradient(objective: LeastSquares, batches: list[Tensor]) -> tuple[Tensor, Loss]:
    with torch.no_grad():
        objective.line.weight.copy_(torch.tensor([[0.3, -0.1, 0.7]]))
    objective.model.zero_grad()
    found = mean_gradient(objective.loss, batches, objective.parameters())
    assert objective.line.weight.grad is not None
    return objective.line.weight.grad, found


@pytest.mark.parametrize("sizes", [[12], [6, 6], [1, 11], [5, 5, 2], [1] * 12])
def test_any_batches_give_the_gradient_of_the_whole(sizes: list[int]) -> None:
    objective = LeastSquares(weights=WEIGHTS)
    found, sums = gradient(objective, list(torch.arange(ROWS).split(sizes)))
    residuals = objective.x @ objective.line.weight.detach().T - objective.y
    expected = 2 * (WEIGHTS.unsqueeze(1) * residuals * objective.x).sum(0) / WEIGHTS.sum()
    torch.testing.assert_close(found[0], expected, rtol=1e-12, atol=1e-12)
    assert float(sums.mean) == pytest.approx(objective.error(), rel=1e-12)


@pytest.mark.parametrize("count", [1, 3])
def test_batches_without_weight_have_no_gradient(count: int) -> None:
    found, sums = gradient(LeastSquares(weights=torch.zeros(ROWS).double()), list(torch.arange(ROWS).chunk(count)))
    assert torch.equal(found, torch.zeros(1, 3, dtype=torch.float64))
    assert float(sums.mean) == 0


@pytest.mark.parametrize("weight", [4, 4.0, torch.tensor(4), torch.tensor(4.0)])
def test_a_weight_is_a_number_or_a_scalar(weight: float | Tensor) -> None:
    parameter = nn.Parameter(torch.tensor(3.0))
    for batches in ([0], [0, 0]):
        parameter.grad = None
        found = mean_gradient(lambda _: Loss(parameter.square(), weight), batches, [parameter])
        assert parameter.grad is not None
        assert (float(parameter.grad), float(found.mean)) == (1.5, 2.25)


def test_descending_finds_the_optimum() -> None:
    objective, generator = LeastSquares(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(objective.parameters(), lr=0.1)
    for _ in range(150):
        descend(objective, optimizer, generator=generator)
    torch.testing.assert_close(objective.line.weight.detach(), objective.truth, atol=1e-3, rtol=0)


def test_which_objectives_are_refreshed() -> None:
    assert isinstance(RefreshedLeastSquares(), RefreshedObjective)
    assert not isinstance(LeastSquares(), RefreshedObjective)
