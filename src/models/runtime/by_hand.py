"""Gradients that are written by hand, which can be taken once and not differentiated themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

STEP_BY_STEP = "move the model step by step, by predict and update, as models.trace.hessian.step_by_step_loss does"
Backward = Callable[..., Any]


def differentiable_once(instead: str) -> Callable[[Backward], Backward]:
    """Returns what makes of the `backward` of an autograd function one that refuses to be differentiated.

    instead: what a caller can do who needs a second derivative, as the error says it. torch's `once_differentiable`
    raises only where a derivative of the gradient is taken through what came in; through saved tensors it is left out
    in silence. Raises RuntimeError where the gradient is asked for with `create_graph`, even if only other terms of
    the loss are differentiated once more: that is not known yet.
    """

    def refusing(backward: Backward) -> Backward:
        @wraps(backward)
        def once(ctx: Any, *gradients: Any) -> Any:
            if torch.is_grad_enabled():
                raise RuntimeError(
                    f"this gradient is written by hand and cannot be differentiated once more; {instead}"
                )
            return backward(ctx, *gradients)

        return once

    return refusing
