"""Limits of `size` are said at the end of a run and of a multirun."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from omegaconf import OmegaConf

from pipeline.multirun.last_lines import counts_in_words, had_limits
from pipeline.settings.fields import lowered_in_words
from pipeline.settings.schema import SizeConfig
from pipeline.systems.theory.config import TheoryConfig
from pipeline.tracking.run import LIMITED
from pipeline.tracking.session import PRUNED


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


@pytest.fixture
def houses(tmp_path: Path) -> tuple[str, ...]:
    """The settings that read a table of 300 rows with a target."""
    path = tmp_path / "houses.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("rooms", "price"), *((row, row**0.5) for row in range(300))])
    return ("data=points", f"data.path={path}", "data.target=price", "data.validation=0.1", "data.test=0.1")


def test_a_run_names_the_settings_that_its_size_lowered(houses: tuple[str, ...], run_pipeline: Any) -> None:
    typed = ("features.count=16", "ssgp.iterations=2", "size=tiny", "tracking=off")
    result = run_pipeline("recipe=ssgp", *houses, *typed)
    assert result.status == 0, result.err
    assert f"{LIMITED}; it lowered features.count 16 → 10, " in result.out
    assert "ssgp.iterations" not in result.out.partition(LIMITED)[2]
    assert "houses: 100 training rows; size.steps=100 leaves out 140\n" in result.out + result.err


def test_a_multirun_names_what_was_lowered_and_the_jobs_that_would_repeat_others(
    houses: tuple[str, ...], run_pipeline: Any
) -> None:
    swept = ("contender=ssgp/iid,ridge", "seed=0", "features.count=8,16")
    result = run_pipeline("+experiment=ssgp", *houses, *swept, "size=tiny")
    assert result.status == 0, result.err
    assert "4 jobs: 3 run, 1 not run as they would repeat those; 0 failed\n" in result.out
    assert f"{LIMITED}; it lowered ssgp.iterations" in result.out
    assert ", features.count 16 → 10" in result.out
    assert "features.count 8 " not in result.out


def job_that(status: str, **tags: str) -> Any:
    """An MLflow run that ended so."""
    return SimpleNamespace(info=SimpleNamespace(status=status), data=SimpleNamespace(tags=tags))


@pytest.mark.parametrize(
    ("planned", "whole", "said"),
    [
        (0, True, "4 jobs, 1 failed, 1 stopped, 1 pruned"),
        (4, True, "4 jobs, 1 failed, 1 stopped, 1 pruned"),
        (6, False, "4 of 6 jobs, 1 failed, 1 stopped, 1 pruned"),
        (6, True, "6 jobs: 4 run, 2 not run as they would repeat those; 1 failed, 1 stopped, 1 pruned"),
    ],
)
def test_jobs_are_counted_by_what_became_of_them(planned: int, whole: bool, said: str) -> None:
    jobs = [job_that("FINISHED"), job_that("FAILED"), job_that("KILLED"), job_that("KILLED", **{PRUNED: "true"})]
    assert counts_in_words(jobs, planned, whole=whole) == said


def test_lists_are_named_where_a_limit_takes_part_of_them() -> None:
    config: Any = OmegaConf.merge(OmegaConf.structured(TheoryConfig), {"theory": {"counts": [5, 20]}})
    config.size.count = 10
    assert "theory.counts [5,20] → [5,10]" in lowered_in_words(config)
    config.size.count = 20
    assert lowered_in_words(config) == ()
