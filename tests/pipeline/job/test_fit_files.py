"""A training that is stopped anywhere goes on to the same numbers, and writes its best model only when it changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from least_squares import LeastSquares, RefreshedLeastSquares, fit
from pipeline.host.errors import PipelineError
from pipeline.job import checkpoint
from pipeline.job.curve import EpochRow
from pipeline.job.fit import Fit


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("learning_rate", [0.1, 5.0])
def test_going_on_for_more_epochs_gives_the_same_numbers(optimizer: str, learning_rate: float, tmp_path: Path) -> None:
    same: dict[str, Any] = {"optimizer": optimizer, "learning_rate": learning_rate}
    whole = RefreshedLeastSquares()
    _, expected = fit(whole, epochs=12, **same)
    path = tmp_path / "fit.npz"
    fit(RefreshedLeastSquares(), epochs=5, path=path, **same)
    resumed = RefreshedLeastSquares()
    _, rows = fit(resumed, epochs=12, path=path, **same)
    assert rows == expected
    assert torch.equal(resumed.line.weight, whole.line.weight)


class Killed(BaseException):
    """What no handler catches."""


def killed_after(kind: type[LeastSquares], steps: int) -> LeastSquares:
    """An objective whose loss ends the process, so to say, after so many steps of one batch each."""
    objective, left = kind(), [steps]
    taken = objective.loss

    def loss(batch: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return taken(batch)

    objective.loss = loss  # type: ignore[method-assign]
    return objective


class DrawnOneByOne(LeastSquares):
    """Draws each batch when it is asked for, and noise with it."""

    def batches(self, generator: torch.Generator) -> Iterator[Any]:
        for _ in range(3):
            yield torch.randint(12, (4,), generator=generator)


class WithDropout(LeastSquares):
    def __init__(self) -> None:
        super().__init__(dropout=0.5)


SETTINGS: dict[str, tuple[type[LeastSquares], dict[str, Any]]] = {
    "epochs": (RefreshedLeastSquares, {"learning_rate": 1.0}),
    "taken back": (RefreshedLeastSquares, {"learning_rate": 4.0, "checkpoint_every": 1}),
    "within epochs": (RefreshedLeastSquares, {"learning_rate": 1.0, "checkpoint_every": 2, "optimizer": "adam"}),
    "every step": (LeastSquares, {"accept": "always", "checkpoint_every": 1, "optimizer": "adamw"}),
    "rows by steps": (
        LeastSquares,
        {"accept": "always", "checkpoint_every": 2, "evaluate_every": 5, "schedule": "cosine", "warmup": 0.2},
    ),
    "drawn one by one": (DrawnOneByOne, {"accept": "always", "checkpoint_every": 1, "evaluate_every": 4}),
    "dropout": (WithDropout, {"accept": "always", "checkpoint_every": 1, "seed": 3, "learning_rate": 0.02}),
    "with patience": (LeastSquares, {"accept": "always", "checkpoint_every": 1, "patience": 2, "learning_rate": 1.0}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_killed_after_any_step_it_goes_on_to_the_same_numbers(name: str, tmp_path: Path) -> None:
    kind, settings = SETTINGS[name]
    own = {"epochs": 4, "steps": 12, **settings}
    whole = kind()
    loop, expected = fit(whole, **own)
    for steps in range(loop.progress.steps):
        torch.rand(steps + 1)  # the process that goes on has drawn something else
        path = tmp_path / f"after{steps}" / "fit.npz"
        with pytest.raises(Killed):
            fit(killed_after(kind, steps), path=path, **own)
        resumed = kind()
        again, rows = fit(resumed, path=path, **own)
        assert rows == expected
        assert torch.equal(resumed.line.weight, whole.line.weight)
        assert again.progress.best_row == loop.progress.best_row


def test_some_of_these_runs_step_back() -> None:
    kind, settings = SETTINGS["taken back"]
    _, rows = fit(kind(), epochs=4, steps=12, **settings)
    assert {row.accepted for row in rows} == {True, False}


def test_the_best_model_has_a_file_of_its_own_that_is_written_when_it_changes(tmp_path: Path, monkeypatch) -> None:
    written = list[str]()
    save = checkpoint.save

    def counted(path: Path, *content: Any) -> None:
        written.append(path.name)
        save(path, *content)

    monkeypatch.setattr(checkpoint, "save", counted)
    scores = iter([5.0, 4.0, 6.0, 6.0, 3.0, 6.0])
    path = tmp_path / "fit.npz"
    fit(RefreshedLeastSquares(), epochs=5, path=path, evaluate=lambda: {"validation": next(scores)})
    assert [name for name in written if "best" in name] == ["fit.best0.npz", "fit.best1.npz", "fit.best4.npz"]
    assert written.count("fit.npz") == 6
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fit.best4.npz", "fit.npz"]
    assert not any(key.startswith("best") for key in checkpoint.load(path).tensors)
    (tmp_path / "fit.best4.npz").unlink()
    with pytest.raises(PipelineError, match=r"fit\.npz needs fit\.best4\.npz, which is missing; delete it and"):
        fit(RefreshedLeastSquares(), epochs=5, path=path)


def test_killed_between_the_best_model_and_the_state_the_state_still_has_its_own(tmp_path: Path, monkeypatch) -> None:
    expected = fit(RefreshedLeastSquares(), epochs=6)[1]
    path, save = tmp_path / "fit.npz", checkpoint.save

    def ending(file: Path, *content: Any) -> None:
        save(file, *content)
        if file.name == "fit.best3.npz":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", ending)
        with pytest.raises(Killed):
            fit(RefreshedLeastSquares(), epochs=6, path=path)
    stopped = RefreshedLeastSquares()
    loop, rows = fit(stopped, epochs=2, path=path)
    assert rows == expected[:3]
    assert loop.progress.best_row == 2
    assert stopped.error() == rows[2].values["validation"]
    assert fit(RefreshedLeastSquares(), epochs=6, path=path)[1] == expected


def test_rows_are_told_of_once_more_on_a_resumed_run(tmp_path: Path) -> None:
    path, first, again = tmp_path / "fit.npz", list[EpochRow](), list[EpochRow]()
    fit(RefreshedLeastSquares(), epochs=2, path=path, on_row=first.append)
    loop, _ = fit(RefreshedLeastSquares(), epochs=2, path=path, on_row=again.append)
    assert isinstance(loop, Fit)
    assert again == first
