"""What a row of the curve of refinement costs in seconds of training."""

from __future__ import annotations

import time

import pytest

from models.forecasting.filtering import MaskedSequences
from models.forecasting.lag_shares import LagShares
from pipeline.job.clock import Clock
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.refine import errors_by_epoch
from small_problems import oscillation


def test_scoring_the_test_part_is_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """It decides nothing, and models without gradient training are not scored after each epoch."""
    now, clock = [0.0], Clock()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    train, validation, test = (oscillation(seed) for seed in (1, 2, 3))

    def error(part: MaskedSequences) -> float:
        now[0] += 40 if part is test else 3
        return 0.5 if part is test else 0.25

    with clock.stage("bptt"):
        errors = errors_by_epoch(error, Parts(train, validation, test, LagShares()), clock)
    assert errors == {"validation_mse": 0.25, "test_mse": 0.5}
    assert (clock.seconds, now) == ({"bptt": 3}, [43])
