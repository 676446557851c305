"""Training by gradient in one call: the loop of a run without its files, its log and its settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import Filtered, MaskedSequences
from models.forecasting.readout import ReadoutFit
from models.forecasting.recurrent import Recurrent
from models.numerics.ridge import infinite_where_nan, masked_mse
from models.runtime.objective import PLAIN_SHARE, SMALLEST_STEP, Preconditioner, Snapshot, mean_gradient, snapshot

HORIZON, BATCH, CLIP = 20, 8, 10.0  # steps of a chunk, chunks of a gradient step, the largest norm of a gradient


class Descent(NamedTuple):
    """Says how steps are taken: the learning rate, and plain steps along a preconditioned gradient; Adam without a
    preconditioner."""

    rate: float = 0.001
    preconditioner: Preconditioner | None = None

    def optimiser(self, objective: TruncatedBPTT) -> torch.optim.Optimizer:
        """Returns the optimiser; each of its groups holds its share of the learning rate as `factor`."""
        parameters = objective.parameters()
        if self.preconditioner is None:
            return torch.optim.Adam([{"params": parameters, "factor": 1.0}], lr=0.0)
        handled = {id(p) for p in self.preconditioner.handles(objective.model)}
        shares = {1.0: [p for p in parameters if id(p) in handled], PLAIN_SHARE: []}
        shares[PLAIN_SHARE] = [p for p in parameters if id(p) not in handled]
        return torch.optim.SGD([{"params": own, "factor": share} for share, own in shares.items() if own], lr=0.0)


class _Kept(NamedTuple):
    error: float
    parameters: Snapshot


def train_by_gradient(
    model: Recurrent,
    solve: ReadoutFit,
    *,
    epochs: int,
    descent: Descent,
    generator: torch.Generator,
    error: Callable[[], float] | None = None,
) -> list[float]:
    """Trains a model in place by truncated back-propagation through time, its readout solved after every epoch.

    The model of the epoch with the least validation error is kept; the one before training is a candidate. An epoch
    after which the training error rose or is not finite is taken back, and the learning rate is halved. Without `error`
    the numbers are those of a run with `refine=bptt` and the same sequences.

    solve: solves the readout along the two parts, with no choice left. error: gives the validation error of the model
    as it is; None is that of one-step predictions. Returns the validation error, a mean square in standardised units,
    before training and after each epoch.
    """

    def solved(trained: Recurrent) -> Filtered | None:
        return solve(trained).train

    objective = TruncatedBPTT(model, solve.train, horizon=HORIZON, batch_size=BATCH, solve_readout=solved)
    loop = _Loop(objective, descent, generator, error or (lambda: _error(solve, model, solve.validation)))
    return loop.run(epochs)


def _error(solve: ReadoutFit, model: Recurrent, part: MaskedSequences) -> float:
    filtered = solve.filtered(model, part)
    return float(infinite_where_nan(masked_mse(filtered.predictions, part.values, part.scored)))


class _Loop:
    """Has the model and all that was found along the data as of the last epoch that was not taken back."""

    def __init__(
        self, objective: TruncatedBPTT, descent: Descent, generator: torch.Generator, error: Callable[[], float]
    ) -> None:
        self.objective, self.descent, self.generator, self.error = objective, descent, generator, error
        self.optimiser, self.rate = descent.optimiser(objective), descent.rate
        self.model, self.train = objective.model, math.inf
        self.last: Snapshot = {}
        self.remembered: Any = None

    def run(self, epochs: int) -> list[float]:
        self.model.eval()
        self._accept(self._refreshed())
        errors = [self._validation()]
        best = _Kept(errors[0], self.last)
        for _ in range(epochs):
            if self.rate < self.descent.rate * SMALLEST_STEP:
                break
            errors.append(self._validation() if self._epoch() else errors[-1])
            if math.isfinite(errors[-1]) and not errors[-1] >= best.error:
                best = _Kept(errors[-1], self.last)
        self.model.load_state_dict(best.parameters)
        self.model.eval()
        return errors

    def _epoch(self) -> bool:
        """Trains for one epoch, and says whether its steps are kept."""
        self.model.train()
        finite = all(self._step(batch) for batch in self.objective.batches(self.generator))
        self.model.eval()
        train = self._refreshed() if finite else math.inf
        if math.isfinite(train) and not train > self.train:
            self._accept(train)
            return True
        self._take_back()
        return False

    def _step(self, batch: Tensor) -> bool:
        """Takes one step and returns True; does nothing and returns False where the gradient is not finite."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * group["factor"]
        self.optimiser.zero_grad()
        parameters = self.objective.parameters()
        mean_gradient(self.objective.loss, [batch], parameters)
        if self.descent.preconditioner:
            self.descent.preconditioner.apply(self.model)
        if not bool(torch.isfinite(torch.nn.utils.clip_grad_norm_(parameters, CLIP))):
            return False
        self.optimiser.step()
        return True

    def _refreshed(self) -> float:
        train = self.objective.refresh()
        if math.isfinite(train):
            self._precondition()
        return train

    def _precondition(self) -> None:
        if self.descent.preconditioner:
            self.descent.preconditioner.refresh(self.objective)

    def _accept(self, train: float) -> None:
        self.train, self.last, self.remembered = train, snapshot(self.model), self.objective.remembered()

    def _take_back(self) -> None:
        self.model.load_state_dict(self.last)
        self.objective.recall(self.remembered)
        if math.isfinite(self.train):
            self._precondition()
        self.optimiser.state.clear()
        self.rate /= 2

    @torch.no_grad()
    def _validation(self) -> float:
        return self.error()
