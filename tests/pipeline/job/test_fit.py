"""The gradient loop on a problem whose optimum is known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from least_squares import ROWS, LeastSquares, RefreshedLeastSquares, fit
from pipeline.host.errors import PipelineError
from pipeline.job.curve import Decision, EpochRow, better, no_worse
from pipeline.job.feed import Feed


def start() -> Tensor:
    return torch.zeros(1, 3, dtype=torch.float64)


@pytest.mark.parametrize(
    ("optimizer", "learning_rate"), [("sgd", 0.1), ("adam", 0.3), ("adamw", 0.3)], ids=["sgd", "adam", "adamw"]
)
def test_finds_the_optimum(optimizer: str, learning_rate: float) -> None:
    objective = RefreshedLeastSquares()
    fit(objective, epochs=150, optimizer=optimizer, learning_rate=learning_rate)
    torch.testing.assert_close(objective.line.weight.detach(), objective.truth, atol=1e-3, rtol=0)
    assert len({tuple(order) for order in objective.orders}) > 1
    assert all(sorted(order) == list(range(ROWS)) for order in objective.orders)


def test_every_row_matters() -> None:
    """One row with another truth moves the solution, whichever row it is."""
    for row in range(ROWS):
        objective = RefreshedLeastSquares()
        objective.y[row] += 1
        fit(objective, epochs=40)
        assert not torch.allclose(objective.line.weight, objective.truth, atol=1e-2)


def test_without_refresh_the_training_value_is_the_mean_of_the_batch_losses() -> None:
    objective, losses = LeastSquares(weights=torch.arange(1.0, 13.0, dtype=torch.float64)), list[tuple[float, float]]()
    taken = objective.loss

    def loss(batch: Any) -> Any:
        found = taken(batch)
        losses.append((float(found.total.detach()), float(found.weight)))
        return found

    objective.loss = loss  # type: ignore[method-assign]
    _, rows = fit(objective, epochs=2, accept="always", learning_rate=0.01)
    assert list(rows[0].values) == ["validation"]
    for row, part in zip(rows[1:], (losses[:3], losses[3:]), strict=True):
        total, weight = (sum(values) for values in zip(*part, strict=True))
        assert row.values["train"] == pytest.approx(total / weight, rel=1e-12)
        assert weight == pytest.approx(78)


def test_always_accepts_what_is_worse_and_needs_no_refresh() -> None:
    _, rows = fit(LeastSquares(), epochs=3, accept="always", learning_rate=3.0)
    assert [row.accepted for row in rows] == [True] * 4
    assert rows[-1].values["train"] > rows[1].values["train"]
    with pytest.raises(PipelineError, match="accept=no_worse compares training errors, which this objective does not"):
        fit(LeastSquares())


def test_too_large_a_step_is_taken_back_and_halved() -> None:
    objective = RefreshedLeastSquares()
    begun = objective.error()
    loop, rows = fit(objective, learning_rate=50.0, epochs=40)
    assert not rows[1].accepted
    assert rows[1].values["train"] == pytest.approx(begun)
    assert rows[-1].learning_rate < 50.0
    assert all(a.values["train"] >= b.values["train"] for a, b in itertools.pairwise(rows))
    assert loop.progress.train < 0.1 * begun


@pytest.mark.parametrize(
    ("kind", "accept"), [(RefreshedLeastSquares, "no_worse"), (LeastSquares, "always")], ids=["no_worse", "always"]
)
def test_a_loss_that_is_not_finite_is_taken_back(kind: type[LeastSquares], accept: str, capsys) -> None:
    objective = kind()
    objective.y[3] = math.nan
    if isinstance(objective, RefreshedLeastSquares):
        objective.refresh = lambda *, solve=True: 1.0 + 0 * solve  # type: ignore[method-assign]
    _, rows = fit(objective, epochs=3, accept=accept)
    assert [row.accepted for row in rows] == [True, False, False, False]
    assert [row.epoch for row in rows] == [0, 1, 2, 3]
    assert torch.equal(objective.line.weight.detach(), start())
    assert capsys.readouterr().out.splitlines() == [
        "epoch 1: loss or gradient is not finite; taken back, learning rate halved to 0.05",
        "epoch 2: loss or gradient is not finite; taken back, learning rate halved to 0.025",
        "epoch 3: loss or gradient is not finite; taken back",
    ]


def test_a_listener_that_ends_training_has_the_last_word(capsys) -> None:
    objective = LeastSquares()
    objective.y[3] = math.nan

    def refuse(row: EpochRow) -> None:
        if not row.accepted:
            raise ValueError(f"not finite at step {row.step}")

    with pytest.raises(ValueError, match="not finite at step"):
        fit(objective, accept="always", on_row=refuse)
    assert capsys.readouterr().out == ""


def test_between_rows_by_steps_only_the_steps_since_the_last_row_are_taken_back() -> None:
    objective, calls = LeastSquares(batch_size=1), itertools.count(1)
    taken = objective.loss
    objective.loss = lambda batch: taken(batch)._replace(  # type: ignore[method-assign]
        total=taken(batch).total * (math.nan if next(calls) == 6 else 1.0)
    )
    _, rows = fit(objective, epochs=1, accept="always", evaluate_every=4)
    assert [(row.step, row.accepted) for row in rows] == [(0, True), (4, True), (6, False), (8, True), (12, True)]
    assert rows[2].values == rows[1].values
    assert sum(len(order) for order in objective.orders) == ROWS  # no batch is taken twice


def test_the_best_by_validation_is_kept_and_the_start_is_a_candidate() -> None:
    objective = RefreshedLeastSquares()
    calls = iter(range(100))
    loop, _ = fit(objective, epochs=5, evaluate=lambda: {"validation": float(next(calls))})
    assert loop.progress.kept.epoch == 0
    assert torch.equal(objective.line.weight.detach(), start())


def test_higher_may_be_better_and_without_a_decision_the_last_is_kept() -> None:
    scores = [1.0, 3.0, 2.0, 3.0, math.nan]
    kept = []
    for decides in (Decision("score", "higher"), Decision("score"), None):
        objective, calls = RefreshedLeastSquares(), iter(scores)
        loop, rows = fit(objective, epochs=4, evaluate=lambda calls=calls: {"score": next(calls)}, decides=decides)
        kept.append(loop.progress.best_row if decides else len(rows) - 1)
        assert bool(loop.progress.best) == (decides is not None)
    assert kept == [1, 0, 4]


def test_a_start_that_is_no_candidate_is_not_kept_and_does_not_end_training() -> None:
    """An untrained tagger finds an entity now and then, and one that begins to learn names nothing for some epochs."""
    errors, losses = iter([0.999, 1.0, 1.0, 1.0, 0.5, 0.6]), iter([9.0, 3.0, 2.0, 1.0, 0.5, 0.4])
    loop, rows = fit(
        RefreshedLeastSquares(), epochs=5, patience=2, from_start=False, decides=Decision("error", ties="loss"),
        evaluate=lambda: {"error": next(errors), "loss": next(losses)},
    )  # fmt: skip
    assert (len(rows), loop.progress.best_row) == (6, 4)


def test_what_does_not_decide_steers_nothing() -> None:
    one, other = RefreshedLeastSquares(), RefreshedLeastSquares()
    noise = iter(range(1000))
    fit(one, epochs=8, evaluate=lambda: {"validation": one.error(), "test": 0.0})
    fit(other, epochs=8, evaluate=lambda: {"validation": other.error(), "test": float(next(noise)) * -7})
    assert torch.equal(one.line.weight, other.line.weight)


def test_rows_by_steps_and_a_last_one_where_training_ends() -> None:
    told = list[tuple[int, int]]()
    _, rows = fit(
        RefreshedLeastSquares(), epochs=100, steps=8, evaluate_every=3, on_row=lambda r: told.append((r.epoch, r.step))
    )
    assert told == [(0, 0), (1, 3), (2, 6), (2, 8)] or told == [(0, 0), (0, 3), (1, 6), (2, 8)]
    assert [row.step for row in rows] == [0, 3, 6, 8]


def test_patience_ends_training(capsys) -> None:
    scores = iter([5.0, 4.0, 4.5, 4.0, 4.2, 1.0])
    _, rows = fit(
        RefreshedLeastSquares(), patience=3, evaluate=lambda: {"validation": next(scores)}, title="fine-tuning"
    )
    assert [row.epoch for row in rows] == [0, 1, 2, 3, 4]
    assert "fine-tuning ended at epoch 4: no better validation for 3 rows" in capsys.readouterr().out
    with pytest.raises(PipelineError, match="patience waits for a better row, and nothing decides which one is"):
        fit(RefreshedLeastSquares(), patience=3, decides=None)


@pytest.mark.parametrize(("rising", "rows"), [(0, 3), (1, 4), (3, 6), (9, 7)])
def test_patience_is_counted_from_the_end_of_the_warmup_on(rising: int, rows: int) -> None:
    scores = iter([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    told = {"evaluate": lambda: {"validation": next(scores)}, "epochs": 6, "patience": 2, "rising": rising}
    assert len(fit(RefreshedLeastSquares(), **told)[1]) == rows


def test_the_title_is_on_the_lines_of_a_log(capsys) -> None:
    fit(RefreshedLeastSquares(), epochs=2, title="BPTT")
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("BPTT: 1/2 epochs, 50%, 00:0")
    assert last.startswith("BPTT: 2/2 epochs, 100%, 00:0")
    assert ", train=" in last
    fit(RefreshedLeastSquares(), epochs=2)
    assert capsys.readouterr().err == ""


def test_ends_early_when_no_step_helps(capsys) -> None:
    objective = RefreshedLeastSquares()
    with torch.no_grad():
        objective.line.weight.copy_(objective.truth)
    objective.refresh = lambda *, solve=True: (
        0.0 if torch.equal(objective.line.weight, objective.truth) else 1.0 + solve
    )  # type: ignore[method-assign]
    objective.y = objective.y + 1
    _, rows = fit(objective, epochs=100, title="BPTT")
    assert len(rows) < 20
    said = f"BPTT ended at epoch {len(rows) - 1}: smaller steps no longer lower the training error"
    assert said in capsys.readouterr().out


def test_ends_early_when_every_smaller_step_is_not_finite_either(capsys) -> None:
    objective = LeastSquares()
    objective.y[3] = math.nan
    _, rows = fit(objective, epochs=100, accept="always", title="fine-tuning")
    assert len(rows) == 14
    said = "fine-tuning ended at epoch 13: loss or gradient was not finite 13 times, and each time the learning rate"
    assert said in capsys.readouterr().out


def test_no_batch_and_a_gpu_that_is_not_there_are_said() -> None:
    empty = RefreshedLeastSquares()
    empty.batches = lambda _: iter(())  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="an epoch of training has no batch; give data to train on"):
        fit(empty)
    with pytest.raises(PipelineError, match="bfloat16 autocast runs on a GPU alone; train without it"):
        fit(RefreshedLeastSquares(), autocast=True)


@pytest.mark.parametrize("accumulate", [2, 3])
def test_accumulated_batches_step_as_one_large_batch(accumulate: int) -> None:
    weights = torch.linspace(0.5, 3.0, ROWS, dtype=torch.float64)
    small = LeastSquares(batch_size=ROWS // (2 * accumulate), weights=weights)
    large = LeastSquares(batch_size=ROWS // 2, weights=weights)
    _, rows = fit(small, epochs=5, accumulate=accumulate, accept="always")
    _, expected = fit(large, epochs=5, accept="always")
    assert small.orders == large.orders
    assert [row.step for row in rows] == [row.step for row in expected] == [0, 2, 4, 6, 8, 10]
    torch.testing.assert_close(small.line.weight, large.line.weight, rtol=1e-12, atol=1e-12)
    for row, other in zip(rows, expected, strict=True):
        assert row.values == pytest.approx(other.values, rel=1e-12)


def test_an_error_that_is_not_finite_never_wins_and_never_blocks() -> None:
    assert better(1.0, math.nan)
    assert no_worse(1.0, math.nan)
    assert not better(math.nan, 1.0)
    assert not no_worse(math.inf, math.inf)
    assert not better(1.0, 1.0)
    assert no_worse(1.0, 1.0)


class Told(LeastSquares):
    """Notes the epochs that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[int] = []

    def begins(self, epoch: int) -> None:
        self.told.append(epoch)


def test_an_objective_is_told_its_epoch_also_where_a_run_goes_on() -> None:
    objective, chance = Told(), torch.Generator().manual_seed(0)
    feed = Feed(objective, chance)
    for _ in range(2):
        while feed.take():
            pass
        feed.close()
    assert objective.told == [0, 1]
    feed.restore(feed.state(), epoch=5, consumed=1)
    assert objective.told == [0, 1, 5]


def test_of_equal_values_the_lower_one_of_another_name_decides() -> None:
    decides = Decision("error", ties="loss")

    def row(error: float, loss: float) -> EpochRow:
        return EpochRow(1, 1, {"error": error, "loss": loss}, 0.1, decides=decides)

    assert row(0.5, 0.1).better_than(row(0.5, 0.2))
    assert not row(0.5, 0.2).better_than(row(0.5, 0.2))
    assert not row(0.6, 0.1).better_than(row(0.5, 0.2))
    assert row(0.4, 0.3).better_than(row(0.5, 0.2))
    assert not row(0.5, math.nan).better_than(row(0.5, 0.2))
    first, equal = (EpochRow(1, 1, {"error": 0.5}, 0.1, decides=Decision("error")) for _ in range(2))
    assert not equal.better_than(first)
