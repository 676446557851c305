"""Hessian–vector products of a loss (Pearlmutter, 1994), and the loss of a recurrent model in a form that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences, State
from models.forecasting.recurrent import Recurrent
from models.numerics.ridge import masked_mse
from models.trace.oracles import Checked, OracleError

BLOCK = 64  # queries that are answered at once


@dataclass(frozen=True)
class Hessian:
    """Is an oracle of the Hessian (n, n) of a loss in its parameters, at the values that they have.

    loss: computes the loss anew from the parameters, and has to be differentiable twice. parameters: n numbers in all,
    in this order in a query vector (…, n). A query costs about two passes backwards through the loss.
    """

    loss: Callable[[], Tensor]
    parameters: Sequence[nn.Parameter]

    @property
    def size(self) -> int:
        """Returns n, the number of entries of all parameters."""
        return sum(parameter.numel() for parameter in self.parameters)

    def __call__(self, queries: Tensor) -> Tensor:
        with torch.enable_grad():
            gradient = flat(
                torch.autograd.grad(self.loss(), self.parameters, create_graph=True, materialize_grads=True)
            )
        if not gradient.requires_grad:
            return torch.zeros_like(queries)  # a loss that is linear in its parameters
        blocks = queries.reshape(-1, self.size).split(BLOCK)
        return torch.cat([self.products(gradient, rows) for rows in blocks]).view(queries.shape)

    def products(self, gradient: Tensor, rows: Tensor) -> Tensor:
        """Returns the products with all rows (query, n) at once, (query, n): the backward pass of the gradient (n,)
        is vectorised over them."""
        products = torch.autograd.grad(
            gradient, self.parameters, rows, retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        pairs = zip(products, self.parameters, strict=True)
        return torch.cat([rows.new_zeros(len(rows), p.numel()) if f is None else f.flatten(1) for f, p in pairs], 1)


def flat(parts: Sequence[Tensor]) -> Tensor:
    """Returns the entries of tensors of any shape one after the other, (n,)."""
    return torch.cat([part.flatten() for part in parts])


def step_by_step_loss(model: Recurrent, part: MaskedSequences, start: State | None = None) -> Tensor:
    """Returns the mean squared one-step error over the scored entries, by `predict` and `update` alone: a scalar.

    part: values (sequence, time, feature) with their masks, in whose squared unit the error is; start: the first state,
    the model's own if left out.
    `filter_sequences` takes the states of a sequence without gaps from a gradient that is written by hand, which cannot
    be differentiated once more; here every operation can. Raises OracleError where something was not observed.
    """
    if not bool(part.mask.all()):
        raise OracleError("the Hessian of a loss is computed on sequences without gaps; leave those with gaps out")
    state, predictions = model.initial_state(len(part.values)) if start is None else start, []
    for value in part.values.unbind(1):
        predictions.append(model.predict(state))
        state = model.update(state, value)
    return masked_mse(torch.stack(predictions, 1), part.values, part.scored)


def whole_chunks(objective: TruncatedBPTT) -> Tensor:
    """Returns the numbers (chunk,), int64, of the chunks of `objective` in which every step was observed."""
    everything = torch.arange(len(objective.chunks.sequence), device=objective.chunks.sequence.device)
    return objective.chunk(everything).mask.flatten(1).all(1).nonzero()[:, 0]


@dataclass(frozen=True)
class ChunkLoss:
    """Computes what truncated back-propagation through time minimises on some chunks, in a form that has a Hessian.

    objective: refreshed, so that it has the states that its chunks begin with. batch (chunk,): some of `whole_chunks`.
    """

    objective: TruncatedBPTT
    batch: Tensor

    def __call__(self) -> Tensor:
        start = self.objective.start_state(self.batch)
        return step_by_step_loss(self.objective.model, self.objective.chunk(self.batch), start)


def dense(oracle: Hessian) -> Tensor:
    """Returns the Hessian (n, n) by n queries, the basis vectors. Raises OracleError where it is not finite."""
    first = next(iter(oracle.parameters))
    return Checked(oracle)(torch.eye(oracle.size, dtype=first.dtype, device=first.device))
