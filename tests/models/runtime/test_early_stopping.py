"""Training that ends by a validation loss."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from models.runtime.early_stopping import Course, EarlyStopping
from models.runtime.objective import Loss


class ToOne:
    """A line that is to give 1."""

    def __init__(self) -> None:
        self.model = nn.Linear(1, 1)

    def parameters(self) -> list[Tensor]:
        return list(self.model.parameters())

    def batches(self, generator: torch.Generator) -> Iterator[Tensor]:  # noqa: ARG002
        yield torch.ones(4, 1)

    def loss(self, batch: Tensor) -> Loss:
        return Loss((self.model(batch) - 1).square().sum(), 4.0)


class Terminal(io.StringIO):
    """Is a terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def trained(validated: bool = True) -> None:
    """Trains a line for three epochs, with the validation losses 3, 2 and 1.5 or none."""
    objective, losses = ToOne(), iter([3.0, 2.0, 1.5])
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.01)
    EarlyStopping(objective, optimiser, (lambda: next(losses)) if validated else None, 0, "line").run(Course(3, 1.0, 5))


@pytest.mark.parametrize("validated", [True, False])
def test_a_training_shows_its_epochs_and_losses_on_a_terminal(monkeypatch: pytest.MonkeyPatch, validated: bool) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    trained(validated)
    assert "fit:   0%" in terminal.getvalue()
    assert "fit:  67%" in terminal.getvalue()
    assert "2/3" in terminal.getvalue()
    assert "loss=" in terminal.getvalue()
    assert ("validation=1.5" in terminal.getvalue()) == validated
    assert "nan" not in terminal.getvalue()


def test_a_bar_leaves_no_line_on_a_terminal_and_nothing_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    trained()
    assert terminal.getvalue().endswith("\r")
    assert "\n" not in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", log := io.StringIO())
    trained()
    assert not log.getvalue()


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_validation_losses_of_which_none_is_finite_are_an_error(wrong: float) -> None:
    objective = ToOne()
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.01)
    training = EarlyStopping(objective, optimiser, lambda: wrong, 0, "line")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="the validation loss is not finite after any epoch; lower learning_rate"):
        training.run(Course(3, 1.0, 5))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_an_epoch_whose_validation_loss_is_not_finite_is_not_kept(wrong: float) -> None:
    objective, kept = ToOne(), list[float]()
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.01)
    losses = iter([1.0, wrong, wrong])

    def validated() -> float:
        kept.append(objective.model.weight.detach().item())
        return next(losses)

    training = EarlyStopping(objective, optimiser, validated, 0, "line")  # pyright: ignore[reportArgumentType]
    assert len(training.run(Course(3, 1.0, 5))) == 3
    assert objective.model.weight.detach().item() == kept[0] != kept[-1]


@pytest.mark.parametrize(("rising", "epochs"), [(0, 3), (1, 3), (3, 5), (9, 6)])
def test_patience_is_counted_from_the_end_of_the_warmup_on(rising: int, epochs: int) -> None:
    objective, losses = ToOne(), iter([1.0, 2.0, 2.0, 2.0, 2.0, 2.0])
    optimiser = torch.optim.SGD(objective.parameters(), lr=0.01)
    training = EarlyStopping(objective, optimiser, lambda: next(losses), 0, "line")
    assert len(training.run(Course(6, 1.0, 2, rising=rising))) == epochs


def begun_with(start: float, losses: list[float], course: Course) -> tuple[list[tuple[float, float]], int]:
    """Returns the curve of a training with these validation losses, and the epoch that is kept, 0 for the start."""
    objective, found = ToOne(), iter([*[start][: int(course.from_start)], *losses])
    weights = list[float]()

    def validated() -> float:
        weights.append(objective.model.weight.detach().item())
        return next(found)

    weights += [objective.model.weight.detach().item()] if not course.from_start else []
    training = EarlyStopping(objective, torch.optim.SGD(objective.parameters(), lr=0.01), validated, 0, "line")  # pyright: ignore[reportArgumentType]
    curve = training.run(course)
    assert len(set(weights)) == len(curve) + 1
    return curve, weights.index(objective.model.weight.detach().item())


@pytest.mark.parametrize(
    ("start", "from_start", "kept"), [(0.5, True, 0), (0.5, False, 2), (1.5, True, 2), (math.nan, True, 2)]
)
def test_the_start_is_kept_where_it_may_be_and_no_epoch_is_better(start: float, from_start: bool, kept: int) -> None:
    curve, found = begun_with(start, [2.0, 1.0, 3.0], Course(3, 1.0, 5, from_start=from_start))
    assert (len(curve), found) == (3, kept)


@pytest.mark.parametrize(("start", "kept"), [(3.0, 4), (0.5, 0)])
def test_epochs_that_become_better_go_on_though_the_start_is_not_reached_yet(start: float, kept: int) -> None:
    course = Course(9, 1.0, 2, rising=1, from_start=True)
    curve, found = begun_with(start, [5.0, 4.0, 3.5, 2.0, 2.5, 2.5, 1.0], course)
    assert (len(curve), found) == (6, kept)


def test_a_finite_loss_of_the_start_hides_no_epochs_that_have_none() -> None:
    with pytest.raises(ValueError, match="the validation loss is not finite after any epoch; lower learning_rate"):
        begun_with(1.0, [math.nan] * 3, Course(3, 1.0, 5, from_start=True))
