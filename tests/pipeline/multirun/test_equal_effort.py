"""Searches of equal effort: spaces of settings, groups and lists that are drawn, stopped and exported searches."""

from __future__ import annotations

import json
import math
import re
from types import SimpleNamespace
from typing import Any

import optuna
import pandas as pd
import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf

from pipeline.compare.arms import words_of
from pipeline.export import export
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.multirun.chosen import trials_of, write_contender
from pipeline.multirun.trials import seconds_of, trial_row
from pipeline.settings.composition import register_resolvers
from pipeline.settings.schema import register_schemas
from pipeline.systems.psrnn import recipe as psrnn
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.registry import checked, resolvers, schemas
from pipeline.systems.tune.config import DrawnConfig, drawn_settings
from pipeline.systems.tune.recipe import as_text, draw, draw_all

MODELS = ("psrnn", "psrnn_cp", "echo_state", "lstm", "gru", "min_gru", "kalman", "var", "no_state")
QUICK = (
    "+experiment=equal_effort", "data=mocap", "data.source=stand_in", "size=tiny", "tune.trials=3", "tune.warmup=1",
    "run_name=search", "threads=1",
)  # fmt: skip

STAND_IN = "STAND-IN-search (data not real)"  # what the parent is called then


@pytest.fixture
def composed():
    register_schemas(schemas())
    register_resolvers(resolvers())
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        yield lambda *typed: compose("config", list(typed))


@pytest.mark.parametrize("model", MODELS)
def test_each_model_has_a_space_whose_every_draw_is_a_setting(model: str, composed) -> None:
    """Fifty draws by chance, readouts of every kind among them; one of each kind is composed and checked as a trial's
    is."""
    typed = ("+experiment=equal_effort", f"model={model}", "tracking.parent=x")
    settings = checked(composed(*typed))
    assert settings.tune.trials == 40
    search = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    draws = [draw_all(search.ask(), settings) for _ in range(50)]
    for values in {values["readout"]: values for values in draws}.values():
        drawn = checked(composed(*typed, *(f"{key}={as_text(value)}" for key, value in values.items())))
        assert (
            drawn.model.items() >= {k.removeprefix("model."): v for k, v in values.items() if k[:6] == "model."}.items()
        )
    lags = {each.high for each in drawn_settings(settings) if each.key == "readout.lags"}
    assert lags == {settings.evaluate.first_step} == {16}
    assert not settings.tune.prune
    kinds = {kind for each in drawn_settings(settings) if each.key == "readout" for kind in each.choices or ()}
    assert {values["readout"] for values in draws if "readout" in values} == kinds
    assert kinds == {"linear", "skip", "kernel"} - ({"linear"} if model == "no_state" else set())


@pytest.mark.parametrize("space", ["default", *MODELS])
def test_trials_of_a_space_that_draws_lags_are_scored_over_the_same_steps_and_not_pruned(space: str, composed) -> None:
    """The error of a trial is that of its readout, which is solved after the last epoch."""
    typed = [f"model={space}"] if space in MODELS else []
    settings = checked(composed("+experiment=tune", f"space={space}", "tracking.parent=x", *typed))
    lags = {each.high for each in drawn_settings(settings) if each.key == "readout.lags"}
    assert lags == ({16} if typed else set())
    assert (settings.evaluate.first_step, settings.tune.prune) == ((16, False) if typed else (4, True))


def test_lists_are_drawn_by_their_text_and_settings_where_others_ask_for_them() -> None:
    search = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    lists = DrawnConfig("model.orders", choices=[[1], [2, 4]])
    assert {tuple(draw(search.ask(), lists)) for _ in range(20)} == {(1,), (2, 4)}
    assert [as_text(value) for value in ([2, 4], None, True, "skip", 1e-5)] == [
        "[2,4]",
        "null",
        "true",
        "skip",
        "1e-05",
    ]


@pytest.mark.parametrize(("status", "tags", "seconds"), [
    ("FINISHED", {}, 3.0), ("FINISHED", {"resumed": "true"}, math.nan), ("FAILED", {}, 9.0),
    ("FAILED", {"resumed": "true"}, math.nan),
])  # fmt: skip
def test_the_seconds_of_a_trial_are_those_of_one_process(status: str, tags: dict[str, str], seconds: float) -> None:
    metrics = {"load/seconds": 1.0, "bptt/seconds": 2.0, "bptt/validation_mse": 5.0}
    child: Any = SimpleNamespace(data=SimpleNamespace(tags=tags, metrics=metrics),
                                 info=SimpleNamespace(status=status, start_time=1000, end_time=10000))  # fmt: skip
    assert seconds_of(child) == pytest.approx(seconds, nan_ok=True)


@pytest.mark.parametrize(("given", "number"), [({"data": "mocap", "tune.trial": "2"}, 2), ({"seed": "1"}, 5)])
def test_a_trial_has_the_number_that_its_search_gave_it(given: dict[str, str], number: int) -> None:
    """The fifth job of a sweep over two data sets may be the third trial of the second."""
    tags = {"job": "5", "given": json.dumps(given), "hydra.overrides": "", "error": "none"}
    child: Any = SimpleNamespace(data=SimpleNamespace(tags=tags, metrics={}),
                                 info=SimpleNamespace(status="FAILED", start_time=0, end_time=1000))  # fmt: skip
    assert trial_row(child, FORECASTS)["trial"] == number


def test_a_setting_that_hangs_on_nothing_drawn_is_refused(run_pipeline) -> None:
    for name in ("space", "readouts"):
        own = f"tune.{name}=[{{key: model.window, low: 1, high: 2, where: {{readout: [skip]}}}}]"
        error = run_pipeline("+experiment=tune", "data.source=stand_in", "size=tiny", own).error
        assert f"tune.{name}: model.window hangs on readout, which is not drawn before it; put readout in" in error


def runs(client):
    return client.search_runs([e.experiment_id for e in client.search_experiments()])


def table(client, parent, name: str) -> Any:
    return pd.read_csv(client.download_artifacts(parent.info.run_id, name))


def test_a_stopped_search_is_exported_and_goes_on(run_pipeline, tmp_path, monkeypatch) -> None:
    """Stopped in the third of three trials: two stand on the page; resumed, all do, the two as they were."""
    whole, begun = psrnn.refine_stage, []

    def stopped(*given, **named):
        begun.append(given[0].tune.trial)
        if begun == [0, 1, 2]:
            raise SystemExit(143)
        return whole(*given, **named)

    monkeypatch.setattr(psrnn, "refine_stage", stopped)
    space = "tune.space=[{key: model.units, low: 3, high: 5}]"
    assert run_pipeline(*QUICK, "model=echo_state", space).status == 143
    page = export(STAND_IN, tmp_path).read_text()
    assert "2 jobs, 0 failed. It was stopped before all of its jobs" in page
    first: Any = pd.read_csv(tmp_path / STAND_IN / "trials.csv")
    assert run_pipeline(*QUICK, "model=echo_state", space, "resume=true").status == 0
    page = export(STAND_IN, tmp_path).read_text()
    assert "3 jobs, 0 failed." in page
    assert "stopped" not in page
    trials: Any = pd.read_csv(tmp_path / STAND_IN / "trials.csv")
    assert sorted(trials["trial"]) == [0, 1, 2]
    kept = ["trial", "overrides", "validation_mse"]
    both = trials[trials["trial"].isin(first["trial"])].sort_values("trial")[kept]
    pd.testing.assert_frame_equal(both.reset_index(drop=True), first.sort_values("trial", ignore_index=True)[kept])
    assert trials["validation_mse"].is_monotonic_increasing
    seconds = trials.set_index("trial")["seconds"]
    assert (seconds[[0, 1]] > 0).all()
    assert math.isnan(seconds[2])  # it was stopped and gone on with
    columns = [str(column) for path in (tmp_path / STAND_IN).glob("*.csv") for column in pd.read_csv(path)]
    assert "validation_mse" in columns
    assert not any("test" in column for column in columns)


def test_a_search_with_a_failed_trial_is_exported_with_its_reason(run_pipeline, tmp_path, monkeypatch) -> None:
    """The second of three trials fails, until the search is resumed; the page has the others beside it."""
    whole = psrnn.refine_stage

    def broken(*given, **named):
        if given[0].tune.trial == 1:
            raise ValueError("broken on\npurpose")
        return whole(*given, **named)

    typed = (*QUICK, "model=echo_state", "tune.space=[{key: model.units, low: 3, high: 5}]")
    with monkeypatch.context() as patch:
        patch.setattr(psrnn, "refine_stage", broken)
        assert "job 1 failed: broken on" in run_pipeline(*typed).err
    page = export(STAND_IN, tmp_path).read_text()
    assert "3 jobs, 1 failed. The same command with resume=true tries those that failed again." in page
    trials: Any = pd.read_csv(tmp_path / STAND_IN / "trials.csv")
    assert trials["trial"].iloc[-1] == 1
    assert trials["state"].tolist() == ["finished", "finished", "failed: broken on purpose"]
    assert trials["validation_mse"].isna().tolist() == [False, False, True]
    assert "model.units=" in trials["overrides"].iloc[-1]
    assert sorted(trials_of(STAND_IN)["trial"]) == [0, 2]
    assert run_pipeline(*typed, "resume=true").status == 0
    assert "3 jobs, 0 failed." in export(STAND_IN, tmp_path).read_text()
    trials = pd.read_csv(tmp_path / STAND_IN / "trials.csv")
    assert trials["state"].tolist() == 3 * ["finished"]


def test_pruned_trials_are_in_the_table_with_their_last_error(run_pipeline, client) -> None:
    space = "tune.space=[{key: refine.learning_rate, choices: [0.1, 1.0e-8]}]"
    result = run_pipeline(*QUICK, "model=gru", "size.trials=5", "tune.trials=5", "tune.prune=true", space)
    assert result.status == 0, result.err
    parent = next(run for run in runs(client) if run.data.tags.get("multirun") == "parent")
    trials = table(client, parent, "trials.csv")
    assert len(trials) == 5
    pruned = trials[trials["state"] != "finished"]
    assert str(len(pruned)) == parent.data.tags["jobs.pruned"] != "0"
    assert pruned["state"].str.fullmatch(r"pruned at epoch \d").all()
    assert pruned["validation_mse"].notna().all()
    assert trials["state"].iloc[: -len(pruned)].eq("finished").all()


def test_settings_in_use_are_tried_first(run_pipeline, client, store, tmp_path) -> None:
    """Of three trials the first is a contender; its own choice of model settings and readout is what it runs with. The
    search, which would draw each setting alone after a trial without any, has the other two."""
    space = "tune.space=[{key: model.units, low: 3, high: 5}]"
    result = run_pipeline(*QUICK, "model=echo_state", space, "tune.known=[mocap/echo_state]")
    assert result.status == 0, result.err
    children = {run.data.tags["job"]: run.data.params for run in runs(client) if "job" in run.data.tags}
    assert (children["0"]["model.spectral_radius"], children["0"]["readout.lags"]) == ("0.5", "4")
    assert children["0"]["model.units"] == "200"
    assert {children[job]["model.units"] for job in ("1", "2")} <= {"3", "4", "5"}
    assert {children[job]["model.spectral_radius"] for job in ("1", "2")} == {"0.9"}
    search = optuna.load_study(study_name=None, storage=f"sqlite:///{store / 'tune.db'}")
    assert [trial.user_attrs["job"] for trial in search.trials] == [1, 2]
    assert {"model.units", "readout"} <= set(optuna.search_space.intersection_search_space(search.trials))
    tags = {run.data.tags["job"]: run.data.tags for run in runs(client) if "job" in run.data.tags}
    assert tags["0"]["readout"] == "skip"  # what the contender sets, where the search alone has another default
    assert all(f" readout={tags[job]['readout']} " in tags[job]["hydra.overrides"] for job in ("1", "2"))
    own = conf_folder() / "contender" / "mocap" / "echo_state.yaml"
    before = own.read_bytes()
    said = write_contender(STAND_IN, own, ["readout=skip", "trials=1"])
    assert "it is contender=mocap/echo_state as it is, and no file is written" in said
    assert own.read_bytes() == before
    write_contender(STAND_IN, tmp_path / "echo_state.yaml", ["readout=skip", "trials=1"])
    chosen = (("data", "mocap"), ("model", "echo_state"), ("refine", "bptt"), ("readout", "skip"))
    written: Any = OmegaConf.load(tmp_path / "echo_state.yaml")
    assert written.defaults[1:] == [{f"override /{k}": v} for k, v in chosen]
    assert (written.model.spectral_radius, written.readout.lags) == (0.5, 4)
    assert set(written) == {"defaults", "data", "model", "readout"}
    assert dict(written.readout) == {"lags": 4}


@pytest.fixture
def exported(tmp_path):
    """A table of three trials as `pipeline.export` writes them, of which the last failed."""
    typed = "+experiment=equal_effort data=mocap model=gru readout=skip readout.direct=0 model.units="
    rows = [("finished", 0.25, 5), ("finished", 0.5, 6), ("failed: no memory", None, 7)]
    table = pd.DataFrame(
        [{"trial": k, "state": a, "overrides": f"{typed}{n}", "validation_mse": b} for k, (a, b, n) in enumerate(rows)]
    )
    table.to_csv(tmp_path / "mocap-gru.csv", index=False)
    return tmp_path / "mocap-gru.csv"


def test_a_contender_is_written_from_exported_trials(exported, tmp_path) -> None:
    file = tmp_path / "own" / "gru.yaml"
    said = write_contender(str(exported), file)
    assert f"trial 0 of {exported}, validation error 0.25: the least of the 2 trials that finished" in said
    assert OmegaConf.load(file).model.units == 5
    pd.read_csv(exported).drop(columns="overrides").to_csv(exported, index=False)
    with pytest.raises(PipelineError, match=r"no column overrides; name the trials\.csv of a search"):
        write_contender(str(exported), tmp_path / "none.yaml")
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        write_contender("none.csv", tmp_path / "none.yaml")
    assert not (tmp_path / "none.yaml").exists()


def test_a_contender_has_neither_seed_nor_device_nor_scores_of_its_search(exported, tmp_path) -> None:
    table: Any = pd.read_csv(exported)
    of_search = "seed=7 device=cpu evaluate.first_step=16 compare.figure=trials readout="
    table["overrides"] = table["overrides"].str.replace("readout=", of_search)
    table.to_csv(exported, index=False)
    file = tmp_path / "gru.yaml"
    write_contender(str(exported), file, ["seed=7"])
    written: Any = OmegaConf.load(file)
    assert written.model.units == 5
    assert {"seed", "device", "evaluate", "compare"}.isdisjoint(written)


def test_a_setting_with_a_space_comes_through(exported, tmp_path) -> None:
    table: Any = pd.read_csv(exported)
    table["overrides"] = table["overrides"].str.replace("readout=", """data.time="the hour" readout=""")
    table.to_csv(exported, index=False)
    file = tmp_path / "gru.yaml"
    write_contender(str(exported), file, ["""data.time="the hour\""""])
    assert OmegaConf.load(file).data.time == "the hour"


def test_a_search_that_typed_neither_model_nor_data_has_those_of_the_recipe(exported, tmp_path) -> None:
    table: Any = pd.read_csv(exported)
    table["overrides"] = "+experiment=tune size=tiny features.count=7"
    table.to_csv(exported, index=False)
    file = tmp_path / "found.yaml"
    write_contender(str(exported), file, ["model=psrnn"])
    assert "# psrnn on mocap: trial" in file.read_text(encoding="utf-8")
    assert {"override /data": "mocap"} in OmegaConf.load(file).defaults
    assert OmegaConf.load(file).features.count == 7


@pytest.mark.parametrize(
    "typed",
    [
        "+experiment=tune features.count=7",
        "+experiment=tune data=table data.path=own.csv refine.learning_rate=2.0",
        "+experiment=tune data=table data.path=own.csv refine=none",
        "+experiment=tune data=swimmer model=lstm tune.space=[{key: model.units, low: 3, high: 5}] model.units=4",
        "+experiment=tune data=mocap model=lstm space=lstm model.units=100",
        "+experiment=tune data=mocap model=gru space='${model}' model.units=100",
        "+experiment=equal_effort data=mocap sampler=iid kernel=matern initialise=random refine=paper",
        "+experiment=equal_effort data=mocap model=psrnn space=gru",
        "+experiment=equal_effort data=mocap model=echo_state readout=linear +contender=mocap/echo_state",
    ],
)
def test_a_contender_composes_to_the_settings_of_its_trial(typed: str, exported, tmp_path) -> None:
    """All groups and settings that say what is trained, whatever the search typed, drew or kept of a space."""
    table: Any = pd.read_csv(exported)
    table["overrides"] = typed
    table.to_csv(exported, index=False)
    file = tmp_path / "contender" / "own" / "found.yaml"
    GlobalHydra.instance().clear()
    write_contender(str(exported), file)
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        trial = compose("config", [*words_of(typed), "readout.direct=0", "tracking.parent=x"])
        own = compose("config", [f"hydra.searchpath=[file://{tmp_path}]", "+contender=own/found", "readout.direct=0"])
    assert "space" not in own
    trained = ("data", "model", "readout", "refine", "initialise", "kernel", "sampler", "features", "dtype", "update")
    assert {key: own[key] for key in trained} == {key: trial[key] for key in trained}


def test_no_contender_is_written_of_a_search_whose_settings_are_not_known(exported, tmp_path) -> None:
    table: Any = pd.read_csv(exported)
    table["overrides"] = "+experiment=mine data=mocap model.units=4"
    table.to_csv(exported, index=False)
    with pytest.raises(PipelineError, match=r"ran under experiment=mine, whose settings are not known here; write its"):
        write_contender(str(exported), tmp_path / "gru.yaml")
    assert not (tmp_path / "gru.yaml").exists()


def test_the_best_trial_is_the_one_of_least_error_on_one_data_set(exported, tmp_path) -> None:
    """A table stands by data set and arm, so that its first row says nothing of the others."""
    trials: Any = pd.read_csv(exported).assign(data=["mocap", "swimmer", float("nan")], arm=["gru", "lstm", "gru"])
    trials.to_csv(exported, index=False)
    file = tmp_path / "gru.yaml"
    with pytest.raises(PipelineError, match=r"different data \(mocap, swimmer\).*; add data=mocap to look at those"):
        write_contender(str(exported), file)
    assert "trial 1 of" in write_contender(str(exported), file, ["data=swimmer"])
    trials.assign(data="mocap", validation_mse=[0.5, 0.25, None]).to_csv(exported, index=False)
    assert "trial 1 of" in write_contender(str(exported), file)
    trials.assign(data="mocap", validation_mse=[float("inf"), None, None]).to_csv(exported, index=False)
    with pytest.raises(PipelineError, match=r"^none of the 2 trials that finished has a validation error"):
        write_contender(str(exported), file)


def test_the_best_trial_is_written_as_a_contender(run_pipeline, tmp_path) -> None:
    """The file composes to the settings of its trial, the best of those that are asked for."""
    space = "tune.space=[{key: model.units, choices: [3, 4]}, {key: features.traces, choices: [[], [2.0]]}]"
    result = run_pipeline(
        *QUICK, "model=gru", space, "tune.trials=4", "tune.readouts=[{key: readout, choices: [skip]}]"
    )
    assert result.status == 0, result.err
    file = tmp_path / "contender" / "own" / "gru.yaml"
    file.parent.mkdir(parents=True)
    write_contender(STAND_IN, file, ["model.units=3"])
    assert re.search(
        r"trial \d of STAND-IN-search \(data not real\) at size=tiny, validation error .*, the least of the \d trials",
        file.read_text().replace("\n#", ""),
    )
    best = next(row for row in trials_of(STAND_IN).itertuples() if "model.units=3" in row.overrides)
    assert f"trial {best.trial} of" in file.read_text()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        chosen = compose("config", [f"hydra.searchpath=[file://{tmp_path}]", "+contender=own/gru"])
    assert (chosen.model.units, chosen.readout.lags, chosen.dtype, chosen.refine.patience) == (3, 2, "float32", 6)
    assert f"features.traces={as_text(list(chosen.features.traces))}" in best.overrides.split(" ")
    assert "tune" not in chosen
    first = next(row for row in trials_of(STAND_IN).itertuples() if row.trial == 0)
    assert "the least of the 1 trials that finished" in write_contender(STAND_IN, file, ["trials=1"])
    assert f"{first.validation_mse:.6g}" in file.read_text()
    with pytest.raises(PipelineError, match="trials=none must be a whole number above 0"):
        write_contender(STAND_IN, file, ["trials=none"])
    with pytest.raises(PipelineError, match=r"no trial that finished has model\.units=5"):
        write_contender(STAND_IN, file, ["model.units=5"])


@pytest.mark.parametrize(("rate", "named"), [("1.0e-9", True), ("0.03", False)])
def test_a_network_that_refinement_left_alone_is_named_a_reservoir(
    rate: str, named: bool, run_pipeline, client
) -> None:
    arguments = (
        *("-m", "data=mocap", "data.source=stand_in", "size=tiny", "size.epochs=10", "refine.epochs=10", "seed=0,1"),
        *("model=gru", "model.units=4", f"refine.learning_rate={rate}", "compare.figure=contenders"),
    )
    result = run_pipeline(*arguments, "tracking.log_model=false", "tracking.detail=summary", "threads=1")
    assert result.status == 0, result.err
    parent = next(run for run in runs(client) if run.data.tags.get("multirun") == "parent")
    assert ("GRU (reservoir)" in parent.data.tags["mlflow.note.content"]) == named
    assert ("GRU: a reservoir, since refinement lowered its training error by" in result.out + result.err) == named
    jobs = table(client, parent, "jobs.csv")
    assert jobs["reservoir"].tolist() == [named] * 2
