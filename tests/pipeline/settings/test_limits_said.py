"""Limits of `size` are said at the end of a run and of a multirun."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from omegaconf import OmegaConf

from data.base import Dataset, Sequences
from pipeline.multirun.checks import shrunk_sweep
from pipeline.multirun.last_lines import counts_in_words, had_limits, lowered_in
from pipeline.settings.composition import at_most, up_to
from pipeline.settings.fields import lowered_in_words
from pipeline.settings.job import Job
from pipeline.settings.schema import SizeConfig
from pipeline.systems.psrnn.load import cut
from pipeline.systems.theory.config import TheoryConfig
from pipeline.tracking.run import LIMITED, LOWERED
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
    assert f"{LIMITED}; it lowered features.count 16 → 10" in result.out
    assert "ssgp.iterations" not in result.out.partition(LIMITED)[2]
    for unread in ("autoencoder", "gpytorch", "stream", "ssgp.picture"):
        assert unread not in result.out.partition(LIMITED)[2]
    assert "houses: 100 training rows; size.steps=100 leaves out 140\n" in result.out + result.err


def test_sizes_of_features_are_not_said_of_a_forecaster_without_any(run_pipeline: Any) -> None:
    result = run_pipeline("data.source=stand_in", "model=last_value", "size=tiny", "tracking=off")
    assert result.status == 0, result.err
    assert f"{LIMITED}\n" in result.out


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


def test_settings_that_a_run_does_not_read_are_not_said_to_be_lowered() -> None:
    words = ("fit.epochs 9 → 2", "fitted.epochs 9 → 2", "mctn.units 64 → 10", "mctn.units_more 64 → 10")
    own = Job({}, [], 0, multirun=False, lowered=words)
    assert own.lowered_but(("fit", "mctn.units")) == ("fitted.epochs 9 → 2", "mctn.units_more 64 → 10")
    assert own.lowered_but(()) == words


def job_that(status: str, **tags: str) -> Any:
    """An MLflow run that ended so."""
    return SimpleNamespace(info=SimpleNamespace(status=status), data=SimpleNamespace(tags=tags))


@pytest.mark.parametrize(
    ("planned", "status", "said"),
    [
        (0, "FINISHED", "4 jobs, 1 failed, 1 stopped, 1 pruned"),
        (4, "FAILED", "4 jobs, 1 failed, 1 stopped, 1 pruned"),
        (6, "KILLED", "4 of 6 jobs, 1 failed, 1 stopped, 1 pruned"),
        (6, "FINISHED", "6 jobs: 4 run, 2 not run as they would repeat those; 1 failed, 1 stopped, 1 pruned"),
        (
            6,
            "FAILED",
            "6 jobs: 4 run, 2 not run: they would repeat those, or were not begun; 1 failed, 1 stopped, 1 pruned",
        ),
    ],
)
def test_jobs_are_counted_by_what_became_of_them(planned: int, status: str, said: str) -> None:
    jobs = [job_that("FINISHED"), job_that("FAILED"), job_that("KILLED"), job_that("KILLED", **{PRUNED: "true"})]
    assert counts_in_words(jobs, planned, status) == said


def test_lists_are_named_where_a_limit_takes_part_of_them() -> None:
    config: Any = OmegaConf.merge(OmegaConf.structured(TheoryConfig), {"theory": {"counts": [5, 20]}})
    config.size.count = 10
    assert "theory.counts [5,20] → [5,10]" in lowered_in_words(config)
    config.size.count = 20
    assert lowered_in_words(config) == ()


def test_rows_that_a_size_leaves_out_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    part = Sequences.from_arrays([np.zeros((30, 1)), np.zeros((8, 1))], ("a", "b"), 1)
    data = Dataset("houses", part, part, part, ("price",), ("",), "table:houses.csv", stand_in=False)
    cut(data, sequences=None, steps=10)
    assert capsys.readouterr().out == "houses: 60 of 114 rows are left out by size.steps=10\n"
    cut(data, sequences=1, steps=30)
    assert capsys.readouterr().out == "houses: 24 of 114 rows are left out by size.sequences=1 size.steps=30\n"
    cut(data, sequences=2, steps=30)
    assert capsys.readouterr().out == ""


def sweep(*typed: str, **size: int) -> Any:
    """The configuration of a multirun that sweeps over seeds and counts as experiments do."""
    for resolver in (at_most, up_to):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
    params = {"seed": "range(${at_most:20,${size.seeds}})", "count": "${up_to:[5,40],${size.count}}", "model": "a,b"}
    hydra = {"sweeper": {"params": params}, "overrides": {"task": list(typed)}}
    return OmegaConf.create({"size": {"seeds": None, "count": None, **size}, "hydra": hydra})


def test_a_multirun_names_what_its_size_takes_from_the_sweep_of_its_experiment() -> None:
    assert shrunk_sweep(sweep()) == []
    assert shrunk_sweep(sweep(seeds=2)) == ["seed range(20) → range(2)"]
    assert shrunk_sweep(sweep("seed=0,1", seeds=2, count=10)) == ["count 5,40 → 5"]


def with_lowered(text: str, **tags: str) -> Any:
    """An MLflow run with this tag of what `size` lowered."""
    return SimpleNamespace(data=SimpleNamespace(tags={LOWERED: text, **tags}))


def test_what_trials_drew_is_one_entry_a_setting() -> None:
    own = [["features.count 467 → 10", "p [1,2] → [1]"], ["features.count 67 → 10", "epochs 5 → 2"], ["epochs 5 → 2"]]
    jobs = [with_lowered(json.dumps(words), job=str(place)) for place, words in enumerate(own)]
    parent = with_lowered(json.dumps(["seed range(20) → range(2)"]))
    expected = ["seed range(20) → range(2)", "features.count 67–467 → 10", "p [1,2] → [1]", "epochs 5 → 2"]
    assert lowered_in([*reversed(jobs), parent]) == expected
    assert lowered_in([]) == lowered_in([with_lowered("[]")]) == []


@pytest.mark.parametrize("text", ['["features.count 46', '"features.count"'])
def test_a_tag_that_was_cut_off_is_told(text: str) -> None:
    assert lowered_in([with_lowered(text)]) == [f"settings of a tag {LOWERED} that cannot be read"]
