"""Limits of `size` are said at the end of a run and of a multirun."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.multirun.parent import had_limits
from pipeline.settings.schema import SizeConfig


def job(**limits: str) -> Any:
    """An MLflow run with these parameters."""
    return SimpleNamespace(data=SimpleNamespace(params={f"size.{name}": value for name, value in limits.items()}))


def test_a_size_without_a_limit_has_none() -> None:
    assert not SizeConfig().limits
    assert SizeConfig(epochs=0).limits
    assert not had_limits([job(steps="None", epochs="None"), job()])
    assert had_limits([job(steps="None"), job(epochs="2")])


@pytest.mark.parametrize(("asked", "said"), [("size=full", False), ("size=tiny", True)])
def test_it_is_said_of_a_run_that_had_limits(asked: str, said: bool, run_pipeline: Any) -> None:
    result = run_pipeline("recipe=trace", "problem=synthetic", "matrix.size=200", asked, "tracking=off")
    assert result.status == 0, result.err
    assert ("size: it has limits" in result.out) == said
