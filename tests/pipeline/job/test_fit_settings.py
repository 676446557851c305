"""Settings that no training can follow are refused before the first row."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from least_squares import RefreshedLeastSquares, fit
from pipeline.host.errors import PipelineError


@pytest.mark.parametrize(
    ("name", "values", "needed"),
    [
        ("epochs", [-1], "at least 0"),
        ("steps", [-1], "at least 0"),
        ("learning_rate", [-1.0, 0.0, math.inf, math.nan], "a finite number above 0"),
        ("clip", [-1.0, 0.0, math.nan], "a number above 0, infinity for no clipping"),
        ("accept", ["never"], "no_worse or always"),
        ("warmup", [-0.1, 1.1, math.nan], "a share of the steps, from 0 to 1"),
        ("weight_decay", [-1.0, math.inf, math.nan], "a finite number, at least 0"),
        ("accumulate", [0], "at least 1"),
        ("patience", [0], "at least 1"),
        ("evaluate_every", [0], "at least 1"),
        ("checkpoint_every", [0], "at least 1"),
    ],
)
def test_settings_that_no_training_can_follow_are_refused(name: str, values: list[Any], needed: str) -> None:
    for value in values:
        objective = RefreshedLeastSquares()
        with pytest.raises(PipelineError, match=re.escape(f"training cannot follow {name}={value}; give {needed}")):
            fit(objective, **{name: value})
        assert not objective.orders


def test_a_schedule_is_refused_before_anything_is_measured() -> None:
    for settings, said in [({"schedule": "step"}, "schedule 'step' is unknown"), ({"warmup": 0.5}, "give `steps`")]:
        with pytest.raises(PipelineError, match=said):
            fit(RefreshedLeastSquares(), evaluate=lambda: pytest.fail("measured"), **settings)
