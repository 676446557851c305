"""Dropout is a function of seed, step and rank, and torch's global generator is left as it was."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from least_squares import LeastSquares, fit
from models.experts.routers import Hash, Random
from pipeline.host.errors import PipelineError
from pipeline.job.dropout import drops_units, repeatable

CPU = torch.device("cpu")


def test_the_same_step_drops_the_same_and_nothing_outside_is_touched() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    drawn = {}
    for key in ((0, 0), (0, 0), (0, 1), (1, 0)):
        with repeatable(*key, device=CPU):
            found = torch.rand(8)
        assert torch.equal(drawn.setdefault(key, found), found)
    assert len({tuple(found.tolist()) for found in drawn.values()}) == 3
    assert torch.equal(torch.random.get_rng_state(), before)


def test_training_leaves_the_global_generator_alone_and_does_not_depend_on_it() -> None:
    weights = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.random.get_rng_state()
        objective = LeastSquares(dropout=0.5)
        after_weights_were_drawn = torch.random.get_rng_state()
        fit(objective, epochs=3, accept="always", seed=0)
        assert torch.equal(torch.random.get_rng_state(), after_weights_were_drawn)
        assert not torch.equal(before, after_weights_were_drawn)
        weights.append(objective.line.weight)
    assert torch.equal(*weights)
    other = LeastSquares(dropout=0.5)
    fit(other, epochs=3, accept="always", seed=1)
    assert not torch.equal(other.line.weight, weights[0])


def test_nothing_is_dropped_where_the_model_is_measured() -> None:
    objective, modes = LeastSquares(dropout=0.5), list[bool]()

    def evaluate() -> dict[str, float]:
        modes.append(objective.model.training)
        return {"validation": objective.error()}

    fit(objective, epochs=2, accept="always", seed=0, evaluate=evaluate)
    assert modes == [False] * 3
    assert not objective.model.training


def test_dropout_without_a_seed_is_refused() -> None:
    with pytest.raises(
        PipelineError, match="the model draws while training, as dropout does, so training needs a seed"
    ):
        fit(LeastSquares(dropout=0.5), accept="always")


@pytest.mark.parametrize(
    ("model", "drops"),
    [
        (nn.Dropout(0.1), True),
        (nn.Dropout(0.0), False),
        (nn.LSTM(2, 2, num_layers=2, dropout=0.2), True),
        (nn.MultiheadAttention(4, 2, dropout=0.1), True),
        (nn.TransformerEncoderLayer(4, 2, dropout=0.0), False),
        (nn.Linear(2, 2), False),
        (nn.Sequential(Random(4, 2, salt=1)), True),
        (nn.Sequential(Hash(4, 2, salt=1)), False),
    ],
)
def test_what_drops_units_is_seen(model: nn.Module, drops: bool) -> None:
    assert drops_units(model) is drops
