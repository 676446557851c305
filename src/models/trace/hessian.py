"""Hessian–vector products of a loss (Pearlmutter, 1994), and the loss of a recurrent model in a form that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.filtering import MaskedSequences
from models.numerics.ridge import masked_mse
from models.recurrent import Recurrent
from models.trace.oracles import OracleError


@dataclass(frozen=True)
class Hessian:
    """The Hessian of a loss in its parameters, at the values that they have.

    loss: computes the loss anew from the parameters, and has to be differentiable twice. parameters: n numbers in all,
    in this order in a query vector. A query costs about two passes backwards through the loss.
    """

    loss: Callable[[], Tensor]
    parameters: Sequence[nn.Parameter]

    @property
    def size(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters)

    def __call__(self, queries: Tensor) -> Tensor:
        with torch.enable_grad():
            gradient = flat(
                torch.autograd.grad(self.loss(), self.parameters, create_graph=True, materialize_grads=True)
            )
        if not gradient.requires_grad:
            return torch.zeros_like(queries)  # a loss that is linear in its parameters
        rows = queries.reshape(-1, self.size)
        products = [
            flat(torch.autograd.grad(gradient, self.parameters, row, retain_graph=True, materialize_grads=True))
            for row in rows
        ]
        return torch.stack(products).view(queries.shape)


def flat(parts: Sequence[Tensor]) -> Tensor:
    return torch.cat([part.flatten() for part in parts])


def step_by_step_loss(model: Recurrent, part: MaskedSequences) -> Tensor:
    """Mean squared one-step error over the scored entries, by `predict` and `update` alone.

    `filter_sequences` takes the states of a sequence without gaps from a gradient that is written by hand, which cannot
    be differentiated once more; here every operation can. Raises OracleError where something was not observed.
    """
    if not bool(part.mask.all()):
        raise OracleError("the Hessian of a loss is computed on sequences without gaps; leave those with gaps out")
    state, predictions = model.initial_state(len(part.values)), []
    for value in part.values.unbind(1):
        predictions.append(model.predict(state))
        state = model.update(state, value)
    return masked_mse(torch.stack(predictions, 1), part.values, part.scored)
