"""Which epoch of a network of forms is kept."""

from __future__ import annotations

from pathlib import Path

from least_squares import LeastSquares
from pipeline.job.clock import Clock
from pipeline.job.study import Study
from pipeline.systems.forms.config import FormsFit
from pipeline.systems.forms.learning import Lesson, learn
from pipeline.tracking.off import Untracked


def test_of_epochs_with_equal_error_the_one_of_least_training_loss_is_kept(tmp_path: Path) -> None:
    objective = LeastSquares()
    lesson = Lesson(objective, 12, lambda: {"validation_cer": 100.0}, "validation_cer", "recogniser")
    own = FormsFit(5, batch=4, learning_rate=0.1, warmup=0.2, weight_decay=0.0, patience=None)
    curve = learn(lesson, own, Study(Untracked("tried"), tmp_path, Clock(), "tried"), seed=0)
    losses = {row.epoch: row.values["train_loss"] for row in curve.rows[1:]}
    assert len(losses) == 5
    assert curve.kept.epoch == min(losses, key=losses.__getitem__) > 1
    assert objective.line.weight.tolist() == curve.best["0.weight"].tolist()
