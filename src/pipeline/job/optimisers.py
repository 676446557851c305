"""Optimisers by name, and which parameter takes which share of the learning rate and of the weight decay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from models.runtime.objective import PLAIN_SHARE, Preconditioner
from pipeline.host.errors import PipelineError

Groups = list[dict[str, Any]]
PRECONDITIONED = "kronecker"  # plain steps along a gradient that a preconditioner has changed
OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    PRECONDITIONED: torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
}
DECAYING = ("adamw",)  # decoupled from the gradient (Loshchilov and Hutter 2019)


def check_optimiser(name: str, *, weight_decay: float, preconditioned: bool) -> None:
    """Raises PipelineError for an unknown name, and for a decay or a preconditioner that the optimiser does not take or
    lacks."""
    if name not in OPTIMISERS:
        raise PipelineError(f"the optimiser {name!r} is unknown; choose one of {', '.join(OPTIMISERS)}")
    if (name == PRECONDITIONED) != preconditioned:
        wanted = (
            "needs a preconditioner" if name == PRECONDITIONED else f"takes no preconditioner; {PRECONDITIONED} does"
        )
        raise PipelineError(f"the optimiser {name} {wanted}")
    if weight_decay and name not in DECAYING:
        raise PipelineError(f"the optimiser {name} takes no weight decay; use one of {', '.join(DECAYING)}, or decay 0")


def make_optimiser(
    name: str, parameters: Sequence[nn.Parameter], *, weight_decay: float = 0.0,
    second_beta: float = 0.999, preconditioner: Preconditioner | None = None, model: Any = None,
) -> torch.optim.Optimizer:  # fmt: skip
    """Returns the optimiser of that name; each of its groups holds its share of the learning rate as `factor`.

    second_beta: of Adam's, how much of the mean square of gradients each step keeps. What a preconditioner leaves alone
    takes `PLAIN_SHARE` of the rate. Matrices alone decay: a bias or the scale of a normalisation, with fewer than two
    axes, does not. Raises PipelineError as `check_optimiser`.
    """
    check_optimiser(name, weight_decay=weight_decay, preconditioned=preconditioner is not None)
    handled = None if preconditioner is None else {id(p) for p in preconditioner.handles(model)}

    def share(parameter: nn.Parameter) -> tuple[float, float]:
        factor = 1.0 if handled is None or id(parameter) in handled else PLAIN_SHARE
        return factor, weight_decay if parameter.ndim >= 2 else 0.0

    groups: Groups = []
    for factor, decay in sorted({share(p) for p in parameters}, reverse=True):
        group = {"params": [p for p in parameters if share(p) == (factor, decay)], "factor": factor}
        groups.append(group | ({"weight_decay": decay} if name in DECAYING else {}))
    betas = {"betas": (0.9, second_beta)} if name in ("adam", "adamw") else {}
    return OPTIMISERS[name](groups, lr=0.0, **betas)
