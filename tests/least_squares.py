"""Least squares as objectives of the gradient loop: the optimum is known, and every row is needed to find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models.runtime.collectives import rank, world
from models.runtime.objective import Loss
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings

ROWS = 12
VALIDATION = Decision("validation")


class LeastSquares:
    """Σ weight·(x·w − y)² over 12 rows in shuffled batches; `orders` are those of the epochs. Of several processes each
    has every other row of a batch."""

    def __init__(self, *, batch_size: int = 4, weights: Tensor | None = None, dropout: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(ROWS, 3, generator=generator, dtype=torch.float64)
        self.truth = torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
        self.y = self.x @ self.truth.T
        self.weights = torch.ones(ROWS, dtype=torch.float64) if weights is None else weights
        self.line = nn.Linear(3, 1, bias=False, dtype=torch.float64)
        nn.init.zeros_(self.line.weight)
        self.model = nn.Sequential(nn.Dropout(dropout), self.line) if dropout else nn.Sequential(self.line)
        self.batch_size, self.orders = batch_size, list[list[int]]()

    def parameters(self) -> list[nn.Parameter]:
        return list(self.model.parameters())

    def batches(self, generator: torch.Generator) -> Iterator[Any]:
        order = torch.randperm(ROWS, generator=generator)
        self.orders.append(order.tolist())
        yield from order.split(self.batch_size)

    def loss(self, batch: Any) -> Loss:
        own = batch[rank() :: world()]
        errors = (self.model(self.x[own]) - self.y[own]).square().squeeze(1)
        return Loss((self.weights[own] * errors).sum(), self.weights[own].sum())

    @torch.no_grad()
    def error(self) -> float:
        """The mean over all rows, without dropout, on any process."""
        errors = (self.line(self.x) - self.y).square().squeeze(1)
        return float((self.weights * errors).sum() / self.weights.sum())


class RefreshedLeastSquares(LeastSquares):
    """The same, which gives its training error after each epoch."""

    repeats = True

    def refresh(self, *, solve: bool = True) -> float:
        assert isinstance(solve, bool)
        return self.error()

    def remembered(self) -> Tensor:
        return self.line.weight.detach().clone()

    def recall(self, remembered: Tensor) -> None:
        assert torch.equal(remembered, self.line.weight)  # the parameters are those of the refresh it comes from


def fit(
    objective: LeastSquares,
    *,
    path: Path | None = None,
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    on_row: Callable[[EpochRow], None] | None = None,
    decides: Decision | None = VALIDATION,
    **settings: Any,
) -> tuple[Fit, list[EpochRow]]:
    """Train, 30 epochs of plain steps without further settings; the loop, and the rows it told of."""
    rows: list[EpochRow] = []

    def told(row: EpochRow) -> None:
        rows.append(row)
        if on_row:
            on_row(row)

    own = {"epochs": 30, "optimizer": "sgd", "learning_rate": 0.1, "clip": 100.0} | settings
    loop = Fit(
        objective, FitSettings(**own), generator=torch.Generator().manual_seed(1), path=path,
        measures=Measures(evaluate or (lambda: {"validation": objective.error()}), told, decides, "train"),
    )  # fmt: skip
    loop.run()
    return loop, rows
