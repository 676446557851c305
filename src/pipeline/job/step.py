"""One step of training: the mean gradient of some batches, preconditioned, clipped, and taken by the optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from models.runtime.objective import Loss, Objective, Preconditioner, mean_gradient
from pipeline.job.dropout import repeatable
from pipeline.job.fit_settings import FitSettings
from pipeline.job.optimisers import make_optimiser
from pipeline.job.schedules import share_of_rate


class Stepper:
    """Takes the steps of a training. `optimizer` holds the moments, which are cleared whenever a training steps
    back."""

    def __init__(self, objective: Objective, settings: FitSettings, preconditioner: Preconditioner | None) -> None:
        self.objective, self.settings, self.preconditioner = objective, settings, preconditioner
        self.parameters = objective.parameters()
        self.device = self.parameters[0].device
        self.optimizer = make_optimiser(
            settings.optimizer, self.parameters, weight_decay=settings.weight_decay, second_beta=settings.second_beta,
            preconditioner=preconditioner, model=self.model,
        )  # fmt: skip

    @property
    def model(self) -> nn.Module:
        return self.objective.model

    def refresh(self) -> None:
        """Lets the preconditioner, if there is one, see what the objective has found along the data."""
        if self.preconditioner:
            self.preconditioner.refresh(self.objective)

    def rate(self, largest: float, step: int) -> float:
        """Returns the learning rate of the step (0, 1, …), by the schedule."""
        own = self.settings
        return largest * share_of_rate(own.schedule, step, total=own.steps, warmup=own.warmup)

    def take(self, batches: Sequence[Any], *, largest: float, step: int) -> Loss | None:
        """Takes a step along the mean gradient over the batches; returns the sum and the weight of their losses.

        Returns None where the gradient is not finite; then the model is as before.
        """
        rate = self.rate(largest, step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimizer.zero_grad()
        with self._chance(step):
            sums = mean_gradient(self._loss, batches, self.parameters)
        if self.preconditioner:
            self.preconditioner.apply(self.model)
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
        if not bool(torch.isfinite(norm)):
            return None
        self.optimizer.step()
        return sums

    def _loss(self, batch: Any) -> Loss:
        with torch.autocast("cuda", torch.bfloat16) if self.settings.autocast else nullcontext():
            return self.objective.loss(batch)

    def _chance(self, step: int) -> AbstractContextManager[None]:
        seed = self.settings.seed
        return nullcontext() if seed is None else repeatable(seed, step, self.device)
