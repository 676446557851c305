"""Settings that no training can follow are refused before the first row."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

import pytest

from least_squares import RefreshedLeastSquares, fit
from pipeline.host.errors import PipelineError
from pipeline.job.fit_settings import FitSettings, check_values
from pipeline.settings.fields import rules_of


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("epochs", [-1], "must be 0 or greater"),
        ("steps", [-1], "must be 0 or greater"),
        ("learning_rate", [-1.0, 0.0, math.nan], "must be greater than 0"),
        ("learning_rate", [math.inf], "must be finite"),
        ("clip", [-1.0, 0.0, math.nan], "must be greater than 0"),
        ("accept", ["no_wors"], "is unknown; choose one of no_worse, always; did you mean no_worse?"),
        ("warmup", [-0.1, 1.1, math.nan], "must be from 0 to 1"),
        ("weight_decay", [-1.0, math.nan], "must be 0 or greater"),
        ("weight_decay", [math.inf], "must be finite"),
        ("accumulate", [0], "must be 1 or greater"),
        ("patience", [0], "must be 1 or greater"),
        ("rising", [-1], "must be 0 or greater"),
        ("evaluate_every", [0], "must be 1 or greater"),
        ("checkpoint_every", [0], "must be 1 or greater"),
    ],
)
def test_settings_that_no_training_can_follow_are_refused(name: str, values: list[Any], said: str) -> None:
    for value in values:
        objective = RefreshedLeastSquares()
        with pytest.raises(PipelineError, match=re.escape(f"training: {name}={value} {said}")):
            fit(objective, **{name: value})
        assert not objective.orders


def test_every_number_but_the_seed_has_a_rule_and_an_infinite_norm_is_taken() -> None:
    words, switches = {"optimizer", "schedule", "title"}, {"autocast", "from_start"}  # words are checked elsewhere
    free = {*words, *switches, "seed"}
    assert {one.name for one in fields(FitSettings)} - set(rules_of(FitSettings)) == free
    check_values(FitSettings(1, "sgd", 0.1, clip=math.inf))


def test_a_schedule_is_refused_before_anything_is_measured() -> None:
    for settings, said in [({"schedule": "step"}, "schedule 'step' is unknown"), ({"warmup": 0.5}, "give `steps`")]:
        with pytest.raises(PipelineError, match=said):
            fit(RefreshedLeastSquares(), evaluate=lambda: pytest.fail("measured"), **settings)
