"""The gradient loop on a problem whose optimum is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import one_step_error
from models.forecasting.readout import LagShares, ReadoutFit, ReadoutSettings
from models.psrnn.cell import PSRNN
from models.psrnn.kronecker import KroneckerPreconditioner
from pipeline.job.fit import EpochRow, Fit, FitSettings, better, no_worse
from small_problems import oscillation


class LeastSquares:
    """mean (x·w − y)² over 12 rows in batches of 4; every row is needed to find the optimum."""

    repeats = True

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
        self.truth = torch.tensor([[1.0, -2.0, 3.0]], dtype=torch.float64)
        self.y = self.x @ self.truth.T
        self.model = nn.Linear(3, 1, bias=False, dtype=torch.float64)
        nn.init.zeros_(self.model.weight)
        self.orders: list[list[int]] = []

    def parameters(self) -> list[nn.Parameter]:
        return list(self.model.parameters())

    def refresh(self, *, solve: bool = True) -> float:
        assert isinstance(solve, bool)
        with torch.no_grad():
            return float(self.loss(torch.arange(12)))

    def remembered(self) -> Tensor:
        return self.model.weight.detach().clone()

    def recall(self, remembered: Tensor) -> None:
        assert torch.equal(remembered, self.model.weight)  # the parameters are those of the refresh it comes from

    def batches(self, generator: torch.Generator) -> Iterator[Tensor]:
        order = torch.randperm(12, generator=generator)
        self.orders.append(order.tolist())
        yield from order.split(4)

    def loss(self, batch: Tensor) -> Tensor:
        return (self.model(self.x[batch]) - self.y[batch]).square().mean()


def fit(
    objective: LeastSquares,
    *,
    epochs: int = 30,
    optimizer: str = "sgd",
    learning_rate: float = 0.1,
    path: Path | None = None,
    errors=None,
) -> tuple[Fit, list[EpochRow]]:
    rows: list[EpochRow] = []
    loop = Fit(
        objective,
        FitSettings(epochs, optimizer, learning_rate, clip=100.0),
        generator=torch.Generator().manual_seed(1),
        errors=errors or (lambda: (objective.refresh(), 1.0)),
        on_epoch=rows.append,
        path=path,
    )
    loop.run()
    return loop, rows


@pytest.mark.parametrize(("optimizer", "learning_rate"), [("sgd", 0.1), ("adam", 0.3)])
def test_finds_the_optimum(optimizer: str, learning_rate: float) -> None:
    objective = LeastSquares()
    fit(objective, epochs=150, optimizer=optimizer, learning_rate=learning_rate)
    torch.testing.assert_close(objective.model.weight.detach(), objective.truth, atol=1e-3, rtol=0)
    assert len({tuple(order) for order in objective.orders}) > 1
    assert all(sorted(order) == list(range(12)) for order in objective.orders)


def test_too_large_a_step_is_taken_back_and_halved() -> None:
    objective = LeastSquares()
    start = objective.refresh()
    loop, rows = fit(objective, learning_rate=50.0, epochs=40)
    assert not rows[1].accepted
    assert rows[1].train_mse == pytest.approx(start)
    assert rows[-1].learning_rate < 50.0
    assert all(a.train_mse >= b.train_mse for a, b in itertools.pairwise(rows))
    assert loop.progress.train_mse < 0.1 * start


def test_a_loss_that_is_not_finite_is_taken_back() -> None:
    objective = LeastSquares()
    objective.y[3] = math.nan
    objective.refresh = lambda *, solve=True: 1.0 + 0 * solve  # type: ignore[method-assign]
    _, rows = fit(objective, epochs=3)
    assert [row.accepted for row in rows] == [True, False, False, False]
    assert torch.equal(objective.model.weight.detach(), torch.zeros(1, 3, dtype=torch.float64))


def test_the_best_by_validation_is_kept_and_the_start_is_a_candidate() -> None:
    objective = LeastSquares()
    calls = iter(range(100))
    loop, _ = fit(objective, epochs=5, errors=lambda: (float(next(calls)), 0.0))
    assert loop.progress.best_epoch == 0
    assert torch.equal(objective.model.weight.detach(), torch.zeros(1, 3, dtype=torch.float64))


def test_the_test_error_steers_nothing() -> None:
    one, other = LeastSquares(), LeastSquares()
    noise = iter(range(1000))
    fit(one, epochs=8, errors=lambda: (one.refresh(), 0.0))
    fit(other, epochs=8, errors=lambda: (other.refresh(), float(next(noise)) * -7))
    assert torch.equal(one.model.weight, other.model.weight)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("learning_rate", [0.1, 5.0])
def test_going_on_from_a_checkpoint_gives_the_same_numbers(
    optimizer: str, learning_rate: float, tmp_path: Path
) -> None:
    whole = LeastSquares()
    _, expected = fit(whole, epochs=12, optimizer=optimizer, learning_rate=learning_rate)
    path = tmp_path / "fit.npz"
    fit(LeastSquares(), epochs=5, optimizer=optimizer, learning_rate=learning_rate, path=path)
    resumed = LeastSquares()
    _, rows = fit(resumed, epochs=12, optimizer=optimizer, learning_rate=learning_rate, path=path)
    assert rows == expected
    assert torch.equal(resumed.model.weight, whole.model.weight)


def test_ends_early_when_no_step_helps() -> None:
    objective = LeastSquares()
    with torch.no_grad():
        objective.model.weight.copy_(objective.truth)
    objective.refresh = lambda *, solve=True: (
        0.0 if torch.equal(objective.model.weight, objective.truth) else 1.0 + solve
    )  # type: ignore[method-assign]
    objective.y = objective.y + 1
    _, rows = fit(objective, epochs=100)
    assert len(rows) < 20


def test_an_error_that_is_not_finite_never_wins_and_never_blocks() -> None:
    assert better(1.0, math.nan)
    assert no_worse(1.0, math.nan)
    assert not better(math.nan, 1.0)
    assert not no_worse(math.inf, math.inf)
    assert not better(1.0, 1.0)
    assert no_worse(1.0, 1.0)


class FilteredAnew(Fit):
    """Goes back by filtering everything again, as a slow twin."""

    def _step_back(self, before: dict[str, Tensor], remembered: Any, *, finite: bool) -> None:
        super()._step_back(before, remembered, finite=finite)
        self.progress.train_mse = self._refresh(solve=False)

    def _record(self, train: float, *, accepted: bool) -> None:
        super()._record(train, accepted=accepted)
        errors = self.errors()
        self.progress.rows[-1] = replace(self.progress.rows[-1], validation_mse=errors[0], test_mse=errors[1])


def refinement(
    kind: type[Fit], *, lags: int, gaps: bool = False, path: Path | None = None, last: int | None = None
) -> tuple[list[EpochRow], TruncatedBPTT, list[int]]:
    """Steps that are too large at first; the rows, the objective, and after how many rows something was filtered.

    path, last: of the checkpoint, and the epoch after which the loop is stopped.
    """
    train, validation = oscillation(1, sequences=1, steps=200), oscillation(2, sequences=1, steps=80)
    if gaps:
        train.mask[0, 50:53] = train.scored[0, 50:53] = False
    model, generator = PSRNN(frequencies=4, dimension=2, state=8, lags=lags).double(), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.4 * torch.randn(tensor.shape, generator=generator))
    settings, lagged = ReadoutSettings(lags, [1e-2], "samples"), LagShares()
    ReadoutFit(train, validation, settings, lagged)(model)  # the start-up
    lagged = LagShares() if path and path.exists() else lagged  # nothing is kept from the process before
    fit_readout = ReadoutFit(train, validation, settings, lagged)
    objective = TruncatedBPTT(
        model, train, horizon=10, batch_size=4, solve_readout=lambda refined: fit_readout(refined).train
    )
    rows, filtered = list[EpochRow](), list[int]()

    def errors() -> tuple[float, float]:
        filtered.append(len(rows))
        return one_step_error(model, validation), 0.0

    def on_epoch(row: EpochRow) -> None:
        rows.append(row)
        if row.epoch == last:
            raise KeyboardInterrupt

    loop = kind(
        objective, FitSettings(10, "sgd", 40.0, clip=100.0), generator=generator, errors=errors, on_epoch=on_epoch,
        preconditioner=KroneckerPreconditioner(damping=0.01), path=path,
    )  # fmt: skip
    loop.run()
    return loop.progress.rows, objective, filtered


@pytest.mark.parametrize("gaps", [False, True])
def test_refinement_goes_on_to_the_same_bits(gaps: bool, tmp_path: Path) -> None:
    whole, *_ = refinement(Fit, lags=2, gaps=gaps)
    assert [row.accepted for row in whole].count(False) > 1
    for last in (2, next(row.epoch for row in whole if not row.accepted)):
        path = tmp_path / f"{last}.npz"
        with pytest.raises(KeyboardInterrupt):
            refinement(Fit, lags=2, gaps=gaps, path=path, last=last)
        assert refinement(Fit, lags=2, gaps=gaps, path=path)[0] == whole


@pytest.mark.parametrize("lags", [0, 2])
def test_a_step_back_filters_nothing_and_goes_on_as_if_it_had(lags: int) -> None:
    rows, objective, filtered = refinement(Fit, lags=lags)
    slow_rows, slow, _ = refinement(FilteredAnew, lags=lags)
    accepted = [row.accepted for row in rows]
    assert False in accepted
    assert True in accepted[accepted.index(False) :]
    assert filtered == [row.epoch for row in rows if row.accepted]
    assert accepted == [row.accepted for row in slow_rows]
    for row, other in zip(rows, slow_rows, strict=True):
        assert astuple(row) == pytest.approx(astuple(other), rel=1e-7)
    for found, expected in zip(objective.states, slow.states, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(objective.lag_share, slow.lag_share, rtol=1e-6, atol=1e-8)
