"""Gradients that are written by hand, which can be taken once and not differentiated themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

AGAIN = (
    "this gradient is written by hand and cannot be differentiated once more; move the model step by step, by predict "
    "and update, as models.trace.hessian.step_by_step_loss does"
)


def differentiable_once(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the `backward` of an autograd function as one that refuses to be differentiated.

    torch's `once_differentiable` raises only where a derivative of the gradient is taken through what came in; through
    saved tensors it is left out in silence. Raises RuntimeError where the gradient is asked for with `create_graph`.
    """

    @wraps(backward)
    def once(ctx: Any, *gradients: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(AGAIN)
        return backward(ctx, *gradients)

    return once
