"""What a run says of a recogniser that has learned too little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.job.curve import Decision, EpochRow, Progress
from pipeline.systems.forms.config import FormsFit
from pipeline.systems.forms.recognition.remarks import advice


def own(epochs: int, patience: int | None = None) -> FormsFit:
    return FormsFit(epochs, batch=8, learning_rate=0.003, warmup=0.1, weight_decay=0.0, patience=patience)


def curve(kept: int, *, epochs: int = 25, updates: int = 13) -> Progress:
    """Returns a curve of epochs of so many updates each."""
    rows = [EpochRow(epoch, epoch * updates, {}, 0.1) for epoch in range(epochs + 1)]
    return Progress(0.1, rows, best_row=kept)


@pytest.mark.parametrize(
    ("cer", "retrieval", "kept", "said"),
    [(89.8, 10.8, 24, "After 325 updates the recogniser is behind the nearest training image (89.8 and 10.8 % wrong "
      "characters on the validation part); to try: recognition.epochs=116 (about 1500 updates)"),
     (9.0, 10.8, 25, "After 325 updates the last epoch is the best one; to try: recognition.epochs=116 (about 1500 "
      "updates)"),
     (89.8, None, 0, "After 325 updates no epoch is better than the model before training; to try: "
      "recognition.epochs=116 (about 1500 updates)"),
     (14.0, 10.8, 24, None)],
)  # fmt: skip
def test_a_recogniser_that_learned_too_little_is_said_to_want_more_epochs(
    cer: float, retrieval: float | None, kept: int, said: str | None
) -> None:
    assert advice(cer, retrieval, curve(kept), own(25)) == ([] if said is None else [said])


def test_an_epoch_that_is_only_level_with_the_start_is_not_called_the_best() -> None:
    level = curve(25)
    decides = Decision("cer")
    level.rows = [replace(row, values={"cer": 100.0}, decides=decides) for row in level.rows]
    (said,) = advice(100.0, None, level, own(25))
    assert said.startswith("After 325 updates no epoch is better than the model before training; to try: ")


def test_enough_updates_are_doubled_where_the_nearest_image_is_ahead() -> None:
    long = curve(25, updates=100)
    assert advice(5.0, None, long, own(25)) == []
    behind = advice(50.0, 10.0, long, own(25))
    assert behind[0].endswith("to try: recognition.epochs=50 (about 5000 updates)")


def test_more_epochs_are_not_advised_where_they_gain_nothing() -> None:
    taken_back = curve(0)
    taken_back.rows[-1] = replace(taken_back.rows[-1], accepted=False)
    for own_curve in (curve(10, updates=100), taken_back):
        (said,) = advice(50.0, 10.0, own_curve, own(25))
        assert said.endswith("to try: recognition.learning_rate=0.0015, or more images")


def test_patience_that_ended_a_training_is_named() -> None:
    (said,) = advice(50.0, None, curve(0, epochs=3), own(25, patience=3))
    assert said.endswith("to try: recognition.patience=null")


def test_what_was_not_to_be_trained_gets_no_advice() -> None:
    assert advice(90.0, 10.0, None, own(25)) == []
    assert advice(90.0, 10.0, curve(0, epochs=0), own(0)) == []
