"""Optimisers by name, their shares of the learning rate, and what decays."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from models.runtime.objective import PLAIN_SHARE
from pipeline.host.errors import PipelineError
from pipeline.job.optimisers import OPTIMISERS, make_optimiser


class OfTheFirst:
    """A preconditioner that takes the first parameter and does nothing to it."""

    def handles(self, model: Any) -> list[nn.Parameter]:
        return list(model.parameters())[:1]

    def refresh(self, objective: Any) -> None:
        raise NotImplementedError(objective)

    def apply(self, model: Any) -> None:
        raise NotImplementedError(model)


def test_each_name_is_what_it_says() -> None:
    model = nn.Linear(2, 2)
    kinds = {}
    for name in OPTIMISERS:
        own = OfTheFirst() if name == "kronecker" else None
        kinds[name] = type(make_optimiser(name, list(model.parameters()), preconditioner=own, model=model))
    assert kinds == {
        "sgd": torch.optim.SGD, "kronecker": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("adamx", {}, "the optimiser 'adamx' is unknown; choose one of sgd, kronecker, adam, adamw"),
        ("kronecker", {}, "the optimiser kronecker needs a preconditioner"),
        ("adam", {"preconditioner": OfTheFirst()}, "the optimiser adam takes no preconditioner; kronecker does"),
        ("sgd", {"weight_decay": 0.1}, "the optimiser sgd takes no weight decay; use one of adamw, or decay 0"),
    ],
)
def test_what_does_not_go_together_is_refused(name: str, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        make_optimiser(name, list(nn.Linear(2, 2).parameters()), **arguments)


def test_what_a_preconditioner_leaves_alone_takes_a_share() -> None:
    model = nn.Linear(2, 2)
    groups = make_optimiser(
        "kronecker", list(model.parameters()), preconditioner=OfTheFirst(), model=model
    ).param_groups
    assert [(group["params"], group["factor"]) for group in groups] == [
        ([model.weight], 1.0), ([model.bias], PLAIN_SHARE),
    ]  # fmt: skip


def test_matrices_alone_decay_and_apart_from_the_gradient() -> None:
    model = nn.Linear(3, 2)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = make_optimiser("adamw", list(model.parameters()), weight_decay=0.1)
    for group in optimizer.param_groups:
        group["lr"] = 0.5 * group["factor"]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    torch.testing.assert_close(model.weight.detach(), 0.95 * before["weight"])
    assert torch.equal(model.bias, before["bias"])
