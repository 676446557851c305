"""What is minimised by gradient, and the gradient of a mean over several batches and processes.

A system gives an objective; the gradient loop of the pipeline, or `descend`, does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from models.runtime.collectives import sum_gradients, world

PLAIN_SHARE = 0.05  # of the learning rate, for parameters that a preconditioner leaves alone
SMALLEST_STEP = 2.0**-12  # of the learning rate: training ends where it was halved to less

Snapshot = dict[str, Tensor]  # a copy of a model's parameters and buffers by name


def snapshot(model: nn.Module) -> Snapshot:
    """Returns a copy of a model's parameters and buffers by name, without gradients."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


class Loss(NamedTuple):
    """Holds a sum of losses and the weight of what was summed, for example how many entries. Their ratio is the mean.

    total: a differentiable scalar. weight: a number or a scalar, without a gradient, not negative.
    """

    total: Tensor
    weight: Tensor | float

    @property
    def mean(self) -> Tensor:
        """Returns total / weight, and 0 with a gradient of 0 where nothing has any weight."""
        return self.total / divisor(self.weight)


def no_loss(parameters: Sequence[nn.Parameter]) -> Loss:
    """Returns a loss of 0, of no weight, whose gradient is 0: for a process without a part of a batch."""
    return Loss(torch.stack([parameter.sum() for parameter in parameters]).sum() * 0, 0.0)


class Objective(Protocol):
    """Is a mean loss over training samples, its model, and the order in which the samples are taken.

    model: holds everything that training changes, as parameters or buffers.
    parameters: those that the gradient trains.
    batches: the batches of one epoch, of any type that `loss` understands. All chance is drawn from the generator,
        here and nowhere else (dropout apart): the same state of the generator has to give the same batches, which is
        how a run that was stopped in the middle of an epoch finds its place again. They may be drawn one by one.
    loss: the sum over a batch and its weight. Of several processes each gives the sum over its own part of the batch
        and the weight of that part; the parts together are the batch. A process without a part returns a sum of 0 that
        still has a gradient, of weight 0.
    """

    @property
    def model(self) -> nn.Module: ...
    def parameters(self) -> list[nn.Parameter]: ...
    def batches(self, generator: torch.Generator) -> Iterator[Any]: ...
    def loss(self, batch: Any) -> Loss: ...


@runtime_checkable
class EpochObjective(Protocol):
    """Is an objective whose batches hang on the epoch, beside chance.

    begins: is told the number of an epoch, from 0 on, before its batches are drawn; also where a run goes on in it.
    """

    def begins(self, epoch: int) -> None: ...


@runtime_checkable
class RefreshedObjective(Protocol):
    """Is an objective that looks at all training samples before the first step and between epochs.

    What these members say is beside what every `Objective` has.

    repeats: whether `refresh` finds the same to the bit when it is called again with nothing changed in between.
    refresh: returns the mean loss of the model as it stands over all training samples, the same on all processes.
        solve=False leaves alone what it would otherwise solve in closed form: to go on from a checkpoint.
    remembered: what `refresh` found along the training part, which `recall` puts back after a step back.
    """

    @property
    def repeats(self) -> bool: ...
    def refresh(self, *, solve: bool = True) -> float: ...
    def remembered(self) -> Any: ...
    def recall(self, remembered: Any) -> None: ...


class Preconditioner(Protocol):
    """Changes gradients in place.

    handles: returns the parameters that take the whole learning rate; of most of them `apply` changes the gradient. The
    others take `PLAIN_SHARE` of it. refresh: forms anew, from the training samples, what gradients are changed by.
    """

    def handles(self, model: Any) -> list[nn.Parameter]: ...
    def refresh(self, objective: Any) -> None: ...
    def apply(self, model: Any) -> None: ...


def divisor(weight: Tensor | float) -> Tensor | float:
    """Returns the weight, or 1 where it is 0."""
    if isinstance(weight, Tensor):
        return torch.where(weight > 0, weight, torch.ones_like(weight))
    return weight if weight > 0 else 1.0


def mean_gradient(loss: Callable[[Any], Loss], batches: Sequence[Any], parameters: Sequence[nn.Parameter]) -> Loss:
    """Puts the gradient of Σ total / Σ weight over the batches and all processes into `parameters`, which have none.

    However many batches and processes there are, this is the gradient of the mean over all samples. Returns the two
    sums, without a gradient and the same on all processes. Memory is that of one batch at a time.
    """
    if len(batches) == 1 and world() == 1:
        whole = loss(batches[0])
        whole.mean.backward(inputs=list(parameters))
        return Loss(whole.total.detach(), whole.weight)
    parts = list[Tensor]()
    for batch in batches:
        total, weight = loss(batch)
        total.backward(inputs=list(parameters))
        parts.append(torch.stack([total.detach().double(), torch.as_tensor(weight).to(total.device).double()]))
    sums = sum_gradients(parameters, torch.stack(parts).sum(0))
    divide_gradients(parameters, divisor(sums[1]))
    return Loss(*sums)


@torch.no_grad()
def divide_gradients(parameters: Sequence[nn.Parameter], divided_by: Tensor | float) -> None:
    """Divides the gradients of the parameters that have one, in place."""
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad /= divided_by


def descend(objective: Objective, optimizer: torch.optim.Optimizer, *, generator: torch.Generator) -> list[Loss]:
    """Makes one pass over the batches with a step of the optimiser for each: training without checkpoints or a curve.

    Returns the loss of each batch before its step, without a gradient.
    """
    parameters, losses = objective.parameters(), list[Loss]()
    for batch in objective.batches(generator):
        optimizer.zero_grad()
        losses.append(mean_gradient(objective.loss, [batch], parameters))
        optimizer.step()
    return losses
