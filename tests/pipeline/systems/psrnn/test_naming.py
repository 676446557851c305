"""What runs are called: after their file, and apart where their settings differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from pipeline.host.paths import conf_folder
from pipeline.job.naming import short_name, short_word, words_typed, words_varied
from pipeline.multirun.parent import experiment_name
from pipeline.settings.job import Job
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.naming import request_of
from pipeline.tracking.run_request import RunRequest

CHOICES = {"data": "table", "model": "psrnn", "sampler": "orthogonal", "kernel": "gaussian"}


def request(
    *typed: str, multirun: bool = False, varied: tuple[str, ...] = (), lags: int | None = None, **choices: str
) -> RunRequest:
    name = "readings" if choices.get("data", "table") == "table" else choices["data"]
    dataset: Any = SimpleNamespace(name=name, source=f"table:{name}.csv", stand_in=False, checksum="c")
    settings = PsrnnConfig(recipe="psrnn", update="bayes")
    settings.features.count, settings.tracking.varied = 20, list(varied)
    settings.evaluate.first_step, settings.readout.lags = 4, lags
    job = Job({**CHOICES, **choices}, [*typed], 0, multirun)
    return request_of(settings, job, dataset, torch.device("cpu"), psrnn=True, trained=True)


def test_runs_of_a_table_are_kept_under_the_name_of_its_file() -> None:
    found = request("data=table", "data.path=/there/readings.csv")
    assert (found.experiment, found.name) == ("readings", "readings-orthogonal-gaussian-m20-seed0")


def test_names_differ_where_settings_that_were_typed_differ() -> None:
    typed = [
        (), ("readout=skip",), ("readout=skip", "readout.lags=24"), ("readout=skip", "readout.lags=4"),
        ("refine=none",), ("data.columns=[a,b]",), ("data.columns=[a,c]",), ("features.bandwidth.scale=2",),
        ("initialise.scale=none",), ("size=tiny",),
    ]  # fmt: skip
    names = [request("data=table", "data.path=readings.csv", *each).name for each in typed]
    assert len(set(names)) == len(typed)
    assert names[2] == "readings-orthogonal-gaussian-m20-readout=skip-readout.lags=24-seed0"


def test_what_the_name_says_already_or_changes_no_result_is_not_said_again() -> None:
    silent = ["+experiment=mocap", "seed=3", "features.count=40", "model=lstm", "tracking.register=x", "resume=true"]
    assert words_typed([*silent, "hydra/launcher=joblib", "threads=1", "device=cpu"]) == []
    assert request(experiment="mocap", data="mocap").name == "mocap-orthogonal-gaussian-m20-seed0"


@pytest.mark.parametrize(("lags", "step"), [(None, 4), (2, 4), (24, 24)])
def test_errors_over_unlike_steps_are_told_apart(lags: int | None, step: int) -> None:
    assert request(lags=lags).tags["measured"] == f"from step {step}"


def test_of_a_setting_typed_twice_the_last_is_said() -> None:
    assert words_typed(["refine.epochs=5", "size=tiny", "refine.epochs=60"]) == ["refine.epochs=60", "size=tiny"]


def test_jobs_of_a_multirun_are_named_after_what_it_varies() -> None:
    assert request("readout=skip", multirun=True).name == "readings-orthogonal-gaussian-m20-seed0"
    typed, varied = ("readout=skip", "seed=3", "refine.epochs=5"), ("refine.epochs", "seed", "sampler")
    found = request(*typed, multirun=True, varied=varied)
    assert found.name == "readings-orthogonal-gaussian-m20-refine.epochs=5-seed0"


@pytest.mark.parametrize(
    ("override", "said", "words"),
    [
        ("contender=mocap/psrnn_kernel", ["seconds", "psrnn_kernel"], []),
        ("contender=mocap/psrnn", ["seconds", "psrnn_kernel"], ["contender=psrnn"]),
        ("attention=distance", ["documents", "distance-text-512"], []),
        ("documents.max_length=512", ["documents", "distance-text-512"], ["documents.max_length=512"]),
        ("++experts.n=8", ["token"], ["experts.n=8"]),
        ("sampler=iid", ["one", "gaussian", "m20"], ["sampler=iid"]),
        ("features.count=20", ["one", "gaussian", "m20"], []),
        ("features.count=20", ["token"], ["features.count=20"]),
        ("device=cuda", ["lstm"], ["device=cuda"]),
        ("tune.trial=3", ["lstm"], []),
        ("data.columns=[a,b]", ["lstm"], ["data.columns=a,b"]),
        ("seed=4", ["lstm"], []),
    ],
)
def test_a_choice_that_a_name_says_is_not_said_again_and_a_number_is(
    override: str, said: list[str], words: list[str]
) -> None:
    key = override.lstrip("+").partition("=")[0]
    assert words_varied([override], [key, "update"], said) == words


@pytest.mark.parametrize(
    ("word", "expected"),
    [("evaluate.horizons=[1,24]", "evaluate.horizons=1,24"), ("columns=[" + "speed," * 20 + "load]", None)],
)
def test_long_words_are_cut_and_still_differ(word: str, expected: str | None) -> None:
    assert expected is None or short_word(word) == expected
    assert len(short_word(word)) <= 46
    assert short_word(word) != short_word(word.replace("load", "heat").replace("24", "48"))


def test_the_name_of_a_run_fits_into_a_database() -> None:
    names = [short_name("-".join(f"key{place}={value}" for place in range(40))) for value in (1, 2)]
    assert [len(name) for name in names] == [200, 200]
    assert len(set(names)) == 2
    assert short_name("mocap-seed0") == "mocap-seed0"


def test_a_multirun_over_one_table_is_kept_with_its_runs() -> None:
    def where(path: str | None, *overrides: str, data: str = "table", recipe: str = "psrnn") -> str:
        loader = OmegaConf.load(conf_folder() / "data" / f"{data}.yaml")["_target_"]
        hydra = {"runtime": {"choices": {"data": data}}, "sweeper": {}, "overrides": {"task": list(overrides)}}
        section = {"_target_": loader, "path": path}
        own = {"recipe": recipe, "data": section, "tracking": {"experiment": None}, "hydra": hydra}
        return experiment_name(OmegaConf.create(own))

    assert where("/there/readings.2020.csv") == "readings"
    assert where(None) == "table"
    for data, recipe in (("points", "ssgp"), ("utterances", "mctn"), ("text_pairs", "experts"),
                         ("documents_table", "documents"), ("words_folder", "forms")):  # fmt: skip
        assert where("/there/own.csv", data=data, recipe=recipe) == "own"
        assert where(None, data=data, recipe=recipe) == data
    assert where(None, "data=swimmer,lorenz96", "seed=0,1", data="mocap") == "swimmer-lorenz96"
