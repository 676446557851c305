"""How runs are named, tagged and titled, whatever the recipe."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from pipeline.job.study import Named, run_request, title_of
from pipeline.settings.job import Job
from pipeline.systems.trace.config import TraceConfig
from pipeline.tracking.run_request import RunRequest

CPU = torch.device("cpu")


def request(
    experiment: str = "mocap", *, stand_in: bool = False, run_name: str | None = None, multirun: bool = False,
    chosen: str | None = "own", **more: Any,
) -> RunRequest:  # fmt: skip
    data: Any = SimpleNamespace(name="walk", source="cmu", stand_in=stand_in, checksum="c")
    job = Job({"experiment": chosen}, ["seed=3"], 2, multirun, label="trial1")
    settings = TraceConfig(recipe="trace", seed=3, run_name=run_name)
    return run_request(settings, job, data, CPU, Named(experiment, **more))


def test_a_run_is_named_by_what_it_is_and_a_persons_name_wins_but_in_a_multirun() -> None:
    assert request(words=["iid", "", "m5"]).name == "mocap-walk-iid-m5-seed3-trial1"
    assert request(stand_in=True).name == "STAND-IN-mocap-walk-seed3-trial1"
    assert request(run_name="mine").name == "mine"
    assert request(run_name="mine", multirun=True).name == "mocap-walk-seed3-trial1"


def test_a_run_whose_recipe_names_no_experiment_has_the_chosen_one_else_its_recipe() -> None:
    chosen, without = request(""), request("", chosen=None)
    assert (chosen.name, chosen.experiment, chosen.tags["experiment"]) == ("own-walk-seed3-trial1", "own", "own")
    assert (without.name, without.experiment) == ("trace-walk-seed3-trial1", "trace")


def test_tags_of_a_recipe_are_added_to_those_of_all() -> None:
    common = {
        "experiment": "mocap", "recipe": "trace", "data": "walk", "data.source": "cmu", "data.stand_in": "false",
        "device": "cpu", "device.gpu_missing": "false", "processes": "1", "hydra.overrides": "seed=3", "job": "2",
        "given": '{"seed": "3"}',
    }  # fmt: skip
    assert request().tags == common
    assert request(tags={"arm": "iid"}).tags == {**common, "arm": "iid"}
    assert (request().experiment, request(group="walks").experiment) == ("mocap", "walks")


def test_stand_in_data_is_named_in_every_title() -> None:
    real: Any
    made: Any
    real, made = (SimpleNamespace(name="d", source="s", stand_in=flag, checksum="c") for flag in (False, True))
    assert title_of("run", real) == "run"
    assert title_of("run", made) == "run · STAND-IN DATA (not real)"
    assert title_of("STAND-IN-run", made) == "STAND-IN-run (data not real)"
