"""Experiments that are multiruns by themselves: figures 3 and 4, beyond, search; and going on with a sweep."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest

from data import moving_mnist
from logged import table
from pipeline.export import export, main
from pipeline.host.errors import PipelineError, Pruned
from pipeline.job import load_once
from pipeline.job.curve import Decision, EpochRow
from pipeline.settings.job import Job
from pipeline.systems.psrnn import load
from pipeline.systems.psrnn import recipe as psrnn
from pipeline.systems.tune import config
from pipeline.systems.tune.config import DrawnConfig, check_lags
from pipeline.systems.tune.recipe import name_of_search, watch
from pipeline.tracking.run import CUT, DESCRIPTION, Run

KINDS = ("png", "svg")
MOCAP = ("data=mocap", "size=tiny", "features.count=5,10")
ONE_SEED = "hydra.sweeper.params.seed=10"  # figure 3 runs the two that size=tiny leaves, and pairs them
SHORT = ("size.sequences=3", "size.steps=60", ONE_SEED)


def parent_and_children(client):
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()], max_results=500)
    parents = [run for run in runs if run.data.tags.get("multirun") == "parent"]
    assert len(parents) == 1
    return parents[0], [run for run in runs if run is not parents[0]]


@pytest.fixture
def run_tiny(run_pipeline, client, swimmer_root: Path, monkeypatch: pytest.MonkeyPatch):
    """Run an experiment on the swimmer and on stand-in data; its parent and its jobs.

    The digits bounce in a box of 32 × 32 pixels: regressions on the 4096 columns of the whole box take a minute. Those
    videos alone are drawn that `size=tiny` keeps of a thousand.
    """
    few, load_videos = {"videos": 18, "test": 6, "validation": 6}, moving_mnist.MovingMnist.load
    monkeypatch.setattr(moving_mnist.MovingMnist, "load", lambda own: load_videos(replace(own, **few)))
    monkeypatch.setenv("PIPELINE_DATA_ROOT", str(swimmer_root))
    for name, value in {"BOX": 32, "ROOM": 4, "SPEED": 0.4}.items():
        monkeypatch.setattr(moving_mnist, name, value)
    monkeypatch.setattr(load_once, "_last", {})

    def run(experiment: str, *settings: str):
        with pytest.warns(UserWarning, match="NOT REAL DATA"):
            result = run_pipeline(f"+experiment={experiment}", "size=tiny", *settings)
        assert result.status == 0, result.err
        return parent_and_children(client)

    return run


def figures(client, run) -> set[str]:
    return {item.path for item in client.list_artifacts(run.info.run_id, "figures")}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_figure3_tiny(run_tiny, client) -> None:
    parent, children = run_tiny("figure3", "data=mocap,swimmer")
    assert parent.info.status == "FINISHED"
    assert len(children) == 2 * 2 * 2 * 2
    assert figures(client, parent) == {"figures/error_by_count.png", "figures/error_by_count.svg"}
    claims = table(parent, "claims.csv").set_index("data")["verdict"]
    assert claims.to_dict() == {"mocap": "no claim (stand-in data)", "swimmer": "undecided"}
    paired = table(parent, "paired.csv")
    assert (paired["pairs"] + paired["unstable_pairs"]).tolist() == [2] * 4
    jobs = table(parent, "jobs.csv")
    whole = paired[paired["pairs"] == 2]
    assert len(whole) >= 2
    for row in whole.to_dict("records"):
        here = jobs[(jobs["data"] == row["data"]) & (jobs["count"] == row["count"])].set_index("seed")
        errors = {arm: here[here["arm"] == arm]["test_mse"] for arm in ("iid", "orthogonal")}
        ratio = (errors["orthogonal"] / errors["iid"]).prod() ** 0.5
        assert row["ratio"] == pytest.approx(ratio)
    assert {"data", "count", "factor"} <= set(table(parent, "matching_counts.csv").columns)
    assert "STAND-IN" in parent.data.tags["mlflow.note.content"]
    assert client.list_artifacts(children[0].info.run_id, "figures") == []


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_figure4_tiny(run_tiny, client) -> None:
    parent, children = run_tiny("figure4", ONE_SEED)
    assert len(children) == 4 * 3
    assert figures(client, parent) == {"figures/error_by_epoch.png", "figures/error_by_epoch.svg"}
    curves = table(parent, "curves.csv")
    assert set(curves["arm"]) == {"iid", "orthogonal", "lstm"}
    assert set(curves["epoch"]) == {0, 1, 2}
    assert set(table(parent, "means_by_epoch.csv")["epoch"]) == {0, 1, 2}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
@pytest.mark.filterwarnings("ignore:evaluate.horizons. no test sequence is long enough for 20")  # of moving MNIST
def test_beyond_tiny(run_tiny, client) -> None:
    published, kernel = ("psrnn", "last_value", "var", "kalman", "min_gru"), ("psrnn", "kalman", "min_gru", "no_state")
    ours = [f"mocap/{name}" for name in published] + [f"mocap/{name}_kernel" for name in kernel]
    data = f"hydra.sweeper.params.contender='{','.join(ours)},moving_mnist/psrnn,moving_mnist/last_value'"
    parent, children = run_tiny("beyond", "size.epochs=1", "hydra.sweeper.params.seed=10", data)
    assert len(children) == len(published) + len(kernel) + 2
    assert figures(client, parent) == {f"figures/{name}.{kind}" for name in ("contenders", "seconds") for kind in KINDS}
    paired = table(parent, "paired.csv")
    mocap = paired[(paired["data"] == "mocap") & (paired["horizon"] == 20)].groupby("claim")["against"].agg(set)
    assert mocap["ahead of every published baseline"] == set(published) - {"psrnn"}
    others = {"min_gru"}
    with_readout = {f"{name}_kernel" for name in kernel} - {"psrnn_kernel", "no_state_kernel"}
    assert mocap["ahead of every model at equal readout"] == others | with_readout
    assert mocap["better than the same readout without a state"] == {"no_state_kernel"}
    assert set(paired.loc[paired["data"] == "moving_mnist", "horizon"]) == {1, 5}
    means = table(parent, "means.csv")
    assert set(means.loc[means["data"] == "mocap", "arm"]) == {*published, *(f"{name}_kernel" for name in kernel)}
    assert (means.set_index("arm")["parameters"].drop("last_value") > 0).all()
    assert (means["seconds"] > 0).all()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_seconds_tiny_runs_what_is_not_trained_once(run_tiny, client) -> None:
    parent, children = run_tiny("seconds", *SHORT)
    assert figures(client, parent) == {f"figures/seconds.{kind}" for kind in KINDS}
    means = table(parent, "means.csv")
    epochs = means[means["horizon"] == 5].groupby("arm")["epochs"].agg(list)
    assert epochs["psrnn_kernel"] == epochs["lstm_kernel"] == [0, 1]
    assert epochs["echo_state_kernel"] == epochs["kalman_kernel"] == epochs["no_state_kernel"] == [0]
    assert len(children) == 2 * 2 + 3


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
@pytest.mark.parametrize("kind", ["count", "epoch"])
def test_figures_with_many_frequencies_tiny(kind, run_tiny, client) -> None:
    parent, children = run_tiny("figure3_projected" if kind == "count" else "figure4_projected", *SHORT)
    counts = 2 if kind == "count" else 1
    assert len(children) == 3 * counts * 2
    assert figures(client, parent) == {f"figures/error_by_{kind}.{ending}" for ending in KINDS}
    claims = table(parent, "claims.csv")
    assert set(claims["varied"]) == {f"contender=mocap_{name}" for name in ("paper", "state", "kernel")}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore:this model is no better")
def test_ensembles_tiny(run_tiny) -> None:
    some = "contender=mocap/psrnn_kernel,mocap/lstm_kernel,equal_size/mocap_lstm_kernel"
    parent, children = run_tiny("ensembles", "members=1,2", some, *SHORT)
    assert len(children) == 3 * 2
    means = table(parent, "means.csv")
    assert set(means["varied"]) == {"members=1", "members=2"}
    sizes = means[means["horizon"] == 1].pivot(index="arm", columns="varied", values="parameters")
    assert (sizes["members=2"] > 1.5 * sizes["members=1"]).all()
    claims = table(parent, "claims.csv")
    assert set(claims["claim"]) >= {"ahead of every model at equal readout"}


def test_walking_shows_paper_default_and_best_beside_the_last_value(run_tiny) -> None:
    parent, children = run_tiny("walking", "tracking.detail=summary")
    means = table(parent, "means.csv")
    arms = {"last_value", "var", "paper", "default", "state_alone", "best"}
    assert len(children) == len(arms)
    assert {(row["arm"], row["horizon"]) for _, row in means.iterrows()} == {(arm, h) for arm in arms for h in (1, 20)}
    assert (means["error"] > 0).all()
    settings = {run.data.tags["arm"]: run.data.params for run in children}
    told = {arm: [params.get(key) for key in ("update", "model.delay", "readout.lags", "refine.optimizer")]
            for arm, params in settings.items() if arm in ("paper", "default", "best")}  # fmt: skip
    assert told["paper"] == ["paper", "1", "0", "sgd"]
    assert told["default"] == ["bayes", "1", "0", "auto"]
    assert told["best"][:3] == ["bayes", "4", "4"]


def test_an_arm_that_is_missing_is_said_and_not_compared(run_pipeline, client) -> None:
    with pytest.warns(UserWarning, match="NOT REAL DATA"):
        result = run_pipeline("+experiment=figure3", *MOCAP, "sampler=orthogonal", "seed=0")
    assert result.status == 0, result.err
    parent, _ = parent_and_children(client)
    assert "Not compared: there is no job of iid" in parent.data.tags["mlflow.note.content"]


def test_search_shows_validation_errors_alone(run_pipeline, client) -> None:
    arguments = ("-m", "+experiment=search", "data.source=stand_in", "size=tiny", "refine.learning_rate=0.5,2")
    result = run_pipeline(*arguments)
    assert result.status == 0, result.err
    parent, children = parent_and_children(client)
    assert {"learning_rate=0.5", "learning_rate=2"} <= {
        word for child in children for word in child.info.run_name.replace("refine.", "").split("-")
    }
    trials = table(parent, "trials.csv")
    assert trials["validation_mse"].is_monotonic_increasing
    assert sorted(trials["overrides"].str.extract(r"learning_rate=(\S+)")[0]) == ["0.5", "2"]
    assert not any("test" in column for column in trials.columns)
    assert parent.data.params["best.seed"] == "1000"


def test_a_sweep_that_was_stopped_goes_on(run_pipeline, client, monkeypatch) -> None:
    """Killed in the third of four jobs; what had finished is not run again, the rest is, under the same parent."""
    arguments = ("+experiment=figure3", *MOCAP, "data.source=stand_in", "seed=0", "sampler=iid,orthogonal")
    whole, begun = psrnn.refine_stage, []

    def stopped(*given, **named):
        begun.append(given[0].features.count)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return whole(*given, **named)

    monkeypatch.setattr(psrnn, "refine_stage", stopped)
    ended = run_pipeline(*arguments)
    assert ended.status != 0
    assert "; 4 jobs; what they are made of" in ended.out
    assert "3 of 4 jobs, 0 failed, 1 stopped" in ended.out
    before, children = parent_and_children(client)
    done = {child.info.run_id for child in children if child.info.status == "FINISHED"}
    assert (len(children), len(done), before.info.status) == (3, 2, "KILLED")
    monkeypatch.setattr(psrnn, "refine_stage", lambda *given, **named: (begun.append(0), whole(*given, **named))[1])
    result = run_pipeline(*arguments, "resume=true")
    assert result.status == 0, result.err
    after, children = parent_and_children(client)
    assert after.info.run_id == before.info.run_id
    assert after.info.status == "FINISHED"
    assert {child.info.status for child in children} == {"FINISHED"}
    assert len(children) == 4
    assert done < {child.info.run_id for child in children}
    assert len(begun) == 3 + 2
    assert len(table(after, "jobs.csv")) == 4
    error = run_pipeline(*arguments, "size.epochs=2", "resume=true").error
    assert "no unfinished multirun has this command line" in error


def test_arms_can_be_another_setting(run_pipeline, client) -> None:
    arguments = ("+experiment=stability", "data=mocap", "data.source=stand_in", "size=tiny", "features.count=5")
    assert run_pipeline(*arguments, "seed=0").status == 0
    parent, _ = parent_and_children(client)
    assert sorted(table(parent, "jobs.csv")["arm"]) == ["bayes", "paper", "sign", "whitened"]


def test_export_writes_a_page_with_its_files(run_pipeline, client, tmp_path: Path, monkeypatch) -> None:
    arguments = ("+experiment=figure3", *MOCAP, "data.source=stand_in", "seed=0", "run_name=mine")
    assert run_pipeline(*arguments).status == 0
    parent, _ = parent_and_children(client)
    client.update_run(parent.info.run_id, name="mine")
    page = export("mine", tmp_path)
    text = page.read_text()
    assert "python -m pipeline +experiment=figure3" in text
    assert parent.data.tags["git.commit"] in text
    files = {path.name for path in (tmp_path / "mine").iterdir()}
    assert files >= {"jobs.csv", "means.csv", "paired.csv", "claims.csv", "error_by_count.svg"}
    for name in files:
        assert f"](mine/{name})" in text
    whole = client.get_run(parent.info.run_id).data.tags["mlflow.note.content"]
    Run(client, parent.info.run_id).text(f"{whole}\nand more", DESCRIPTION)
    client.set_tag(parent.info.run_id, "mlflow.note.content", f"{whole[:100]}{CUT}")
    text = export("mine", tmp_path).read_text()
    assert "\nand more" in text
    assert CUT not in text
    with pytest.raises(PipelineError, match=r"study is named 'mien' in .*; there are: mine; did you mean mine\?"):
        export("mien", tmp_path)
    assert not (tmp_path / "mien.md").exists()
    monkeypatch.setattr(sys, "argv", ["export"])
    with pytest.raises(SystemExit, match=r"^error: `python -m pipeline\.export RUN_NAME FOLDER`: .* Names: mine$"):
        main()


@pytest.mark.usefixtures("store")
def test_export_from_an_empty_store_says_that_there_is_nothing_yet(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"is named 'mine' in sqlite:.*; there are: none yet$"):
        export("mine", tmp_path)


def test_jobs_of_a_multirun_share_what_was_loaded(run_pipeline, monkeypatch) -> None:
    loads = []
    whole = load.load
    monkeypatch.setattr(load, "load", lambda *given, **named: (loads.append(1), whole(*given, **named))[1])
    monkeypatch.setattr(load_once, "_last", {})
    arguments = ("+experiment=figure3", *MOCAP, "data.source=stand_in", "seed=0,1", "sampler=iid")
    assert run_pipeline(*arguments).status == 0
    assert len(loads) == 1
    assert os.environ["PIPELINE_DATA_ROOT"]


TUNE = ("+experiment=tune", "data.source=stand_in", "size=tiny", "size.seeds=2", "tune.warmup=1")


def by_job(children) -> dict[str, tuple[str, ...]]:
    drawn = ("initialise.ridge", "features.bandwidth.scale", "refine.learning_rate")
    return {child.data.tags["job"]: tuple(child.data.params[key] for key in drawn) for child in children}


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_tune_draws_prunes_and_goes_on(run_pipeline, client, monkeypatch) -> None:
    """Killed in the second of four trials: that one goes on with the values that were drawn, the first stays."""
    whole, begun = psrnn.refine_stage, []

    def stopped(*given, **named):
        begun.append(given[0].tune.trial)
        if begun == [0, 1]:
            raise KeyboardInterrupt
        return whole(*given, **named)

    monkeypatch.setattr(psrnn, "refine_stage", stopped)
    assert run_pipeline(*TUNE).status != 0
    parent, children = parent_and_children(client)
    before = by_job(children)
    result = run_pipeline(*TUNE, "resume=true")
    assert result.status == 0, result.err
    assert begun == [0, 1, 1, 2, 3]
    parent, children = parent_and_children(client)
    after = by_job(children)
    assert {job: after[job] for job in before} == before
    assert len(set(after.values())) == len(children) == 4
    pruned = [child for child in children if "pruned" in child.data.tags]
    assert {child.info.status for child in pruned} <= {"KILLED"}
    assert (parent.info.status, parent.data.tags["jobs.failed"]) == ("FINISHED", "0")
    assert parent.data.tags["jobs.pruned"] == str(len(pruned))
    trials = table(parent, "trials.csv")
    assert len(trials) == 4
    assert (trials["state"] == "finished").sum() == 4 - len(pruned)
    assert trials["overrides"].str.contains(r"tune\.trial=\d .*refine\.learning_rate=").all()
    assert not trials["overrides"].str.contains("tracking").any()
    best = trials.loc[trials["state"] == "finished", "validation_mse"].min()
    assert parent.data.metrics["best/validation_mse"] == pytest.approx(best)
    assert not any("test" in key for key in parent.data.metrics)


def searches(store: Path) -> dict[str, list[tuple[float, ...]]]:
    """What each search drew, trial by trial, by its name without the parent's id."""
    storage = f"sqlite:///{store / 'tune.db'}"
    names = optuna.get_all_study_names(storage)
    found = {name: optuna.load_study(study_name=name, storage=storage) for name in names}
    return {name.partition(" ")[2]: [tuple(t.params.values()) for t in each.trials] for name, each in found.items()}


def test_each_value_that_is_swept_beside_the_trials_has_a_search_of_its_own(run_pipeline, client, store: Path) -> None:
    """Trials of two seeds are no trials of one search, and those of neighbouring seeds have no draw in common."""
    space = "tune.space=[{key: model.leak, low: 0.1, high: 1.0}]"
    assert run_pipeline("-m", *TUNE, "model=echo_state", space, "tune.trials=2", "seed=1000,1001").status == 0
    drawn = searches(store)
    assert {name: len(trials) for name, trials in drawn.items()} == {"seed=1000": 2, "seed=1001": 2}
    assert len({trial for trials in drawn.values() for trial in trials}) == 4
    parent, children = parent_and_children(client)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}


@pytest.mark.parametrize(
    ("varied", "name"),
    [
        ([], "0a"),
        (["tune.trial"], "0a"),
        (["tune.trial", "data"], "0a data=swimmer"),
        (["contender", "seed", "tune.trial"], "0a contender=mocap/gru seed=7"),
    ],
)
def test_a_search_is_named_by_what_is_swept_beside_its_trials(varied: list[str], name: str) -> None:
    settings: Any = SimpleNamespace(tracking=SimpleNamespace(parent="0a", varied=varied))
    typed = ["data=swimmer", "+contender=mocap/gru", "seed=7", "tune.trial=3", "tracking.parent=0a"]
    assert name_of_search(settings, Job({}, typed, 3, multirun=True)) == name


def row(epoch: int, error: float) -> EpochRow:
    return EpochRow(epoch, 10 * epoch, {"error": error}, 1.0, decides=Decision("error"))


def test_a_trial_that_is_worse_than_the_median_is_pruned() -> None:
    study = optuna.create_study(pruner=optuna.pruners.MedianPruner(n_startup_trials=1, n_warmup_steps=1))
    good = study.ask()
    for epoch in range(4):
        watch(good)(row(epoch, 1.0))
    study.tell(good, 1.0)
    bad = watch(study.ask())
    bad(row(0, 2.0))
    with pytest.raises(Pruned, match="epoch 1"):
        bad(row(1, float("nan")))


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("[]", "tune.space is empty"),
        ("[{key:refin.learning_rate,low:0.1,high:1.0}]", "tune.space: refin.learning_rate is not a setting"),
        ("[{key:refine.learning_rate,choices:[]}]", "tune.space: refine.learning_rate has no choices"),
        ("[{key: refine.learning_rate, low: 2, high: 1}]", "refine.learning_rate needs low < high"),
        ("[{key: refine.learning_rate, low: 0, high: 1, log: true}]", "low=0 must be above 0"),
        ("[{key: refine.learning_rate, low: 1, high: inf}]", "tune.space[0].high=inf must be finite"),
        ("[{key: a, choices: [1]}, {key: b, low: nan, high: 1}]", "tune.space[1].low=nan must be finite"),
        ("[{key: refine.learning_rate, low: abc, high: 1}]", "low=abc must be a number"),
        ("[{key: refine.learning_rate, low: [1], high: 1}]", "low=[1] must be a number"),
        ("[{key: refine.learningrate, low: 1, high: 2}]", "refine.learningrate is not a setting; choose one of epochs"),
    ],
)
def test_a_search_that_cannot_run_is_refused(space: str, message: str, run_pipeline) -> None:
    assert message in run_pipeline(*TUNE, "tune.trial=0", f"tune.space={space}").error


@pytest.mark.parametrize("drawn", ["key: refin.horizon, low: 1, high: 2", "key: seed, choices: []", "key: seed, low: 2",
                                   "key: seed, low: 0, high: 1, log: true"])  # fmt: skip
def test_what_is_wrong_among_the_readouts_is_said_of_them(drawn: str, run_pipeline) -> None:
    error = run_pipeline(*TUNE, "tune.trial=0", f"tune.readouts=[{{{drawn}}}]").error
    assert "tune.readouts: " in error


@pytest.mark.parametrize("drawn", ["low: 1, high: 40", "choices: [2, null, 40, 8]"])
@pytest.mark.parametrize("name", ["space", "readouts"])
def test_a_search_over_more_lags_than_come_before_the_first_scored_step_is_refused(
    name: str, drawn: str, run_pipeline
) -> None:
    lists = {"space": "{key: seed, choices: [1]}"} | {name: f"{{key: readout.lags, {drawn}}}"}
    typed = [f"tune.{key}=[{own}]" for key, own in lists.items()]
    error = run_pipeline(*TUNE, "tune.trial=0", "evaluate.first_step=39", *typed).error
    assert (
        f"tune.{name} draws readout.lags up to 40, and evaluate.first_step is 39: trials would be scored over unlike "
        "steps; give evaluate.first_step=40"
    ) in error


@pytest.mark.parametrize(("most", "first_step"), [(40, 40), (4, 4), (1, 4)])
def test_a_search_over_lags_up_to_the_first_scored_step_is_taken(most: int, first_step: int) -> None:
    settings: Any = SimpleNamespace(
        tune=SimpleNamespace(space=[DrawnConfig("readout.lags", 0, most), DrawnConfig("seed", 0, 99)], readouts=[]),
        evaluate=SimpleNamespace(first_step=first_step),
    )
    check_lags(settings)
    settings.evaluate.first_step = most - 1
    with pytest.raises(PipelineError, match=f"give evaluate.first_step={most}$"):
        check_lags(settings)


def test_a_search_over_readouts_is_refused_where_one_has_more_lags_than_come_before_the_first_scored_step(
    run_pipeline,
) -> None:
    drawn = "{key: readout, choices: [linear, kernel]}"
    typed = (*TUNE, "tune.trial=0", "evaluate.first_step=3", f"tune.space=[{drawn}]")
    assert (
        "tune.space draws readout=kernel, which has 4 lags, and evaluate.first_step is 3: trials would be scored over "
        "unlike steps; give evaluate.first_step=4"
    ) in run_pipeline(*typed).error


@pytest.mark.parametrize(("first_step", "where"), [(4, None), (3, {}), (3, {"readout": ["skip", "kernel"]})])
def test_a_search_over_readouts_is_taken_where_all_are_scored_over_the_same_steps(
    first_step: int, where: dict[str, list[Any]] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "section_of_choice", lambda _, readout: {"lags": 4} if readout == "kernel" else None)
    lags = [] if where is None else [DrawnConfig("readout.lags", 1, 3, where=where)]
    space = [DrawnConfig("readout", choices=["linear", "kernel"]), *lags]
    settings: Any = SimpleNamespace(
        tune=SimpleNamespace(space=space, readouts=[]), evaluate=SimpleNamespace(first_step=first_step)
    )
    check_lags(settings)
    settings.tune.space = [space[0], DrawnConfig("readout.lags", 1, 3, where={"readout": ["skip"]})]
    settings.evaluate.first_step = 3
    with pytest.raises(PipelineError, match=r"readout=kernel, which has 4 lags, .*; give evaluate\.first_step=4$"):
        check_lags(settings)


@pytest.mark.parametrize("typed", ["readout.lags=2", "++readout.lags=40"])
def test_a_search_over_readouts_is_taken_where_the_lags_of_all_trials_are_typed(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = SimpleNamespace(overrides=SimpleNamespace(task=["readout=skip", typed]))
    monkeypatch.setattr(config, "section_of_choice", lambda *_: {"lags": 4})
    settings: Any = SimpleNamespace(
        tune=SimpleNamespace(space=[DrawnConfig("readout", choices=["skip", "kernel"])], readouts=[]),
        evaluate=SimpleNamespace(first_step=3), readout=SimpleNamespace(lags=int(typed.rpartition("=")[2])),
    )  # fmt: skip
    with pytest.raises(PipelineError, match="readout=skip, which has 4 lags"):
        check_lags(settings)
    monkeypatch.setattr(config, "HydraConfig", SimpleNamespace(initialized=lambda: True, get=lambda: job))
    check_lags(settings)


def test_a_search_that_draws_lags_for_one_readout_is_refused_where_another_has_more_that_are_typed(
    run_pipeline,
) -> None:
    drawn = "{key: readout, choices: [kernel, skip]}, {key: readout.lags, low: 1, high: 3, where: {readout: [skip]}}"
    typed = (*TUNE, "tune.trial=0", "evaluate.first_step=4", "readout=skip", "readout.lags=5")
    assert (
        "tune.space draws readout=kernel, which has 5 lags, and evaluate.first_step is 4: trials would be scored over "
        "unlike steps; give evaluate.first_step=5"
    ) in run_pipeline(*typed, f"tune.space=[{drawn}]").error


def test_a_search_without_a_trial_is_refused_before_there_is_a_parent(run_pipeline, client) -> None:
    result = run_pipeline("+experiment=tune", "size=tiny", "tune.trials=0")
    assert result.error == "error: tune.trials=0 must be greater than 0"
    assert not client.search_runs([each.experiment_id for each in client.search_experiments()])


def test_a_number_out_of_range_that_all_jobs_share_is_refused_before_there_is_a_parent(run_pipeline, client) -> None:
    result = run_pipeline("-m", "data=swimmer", "size=tiny", "seed=0,1", "refine.batch_size=0")
    assert result.error == "error: refine.batch_size=0 must be greater than 0"
    assert not client.search_runs([each.experiment_id for each in client.search_experiments()])


def test_tune_is_a_multirun(run_pipeline) -> None:
    assert "start it by +experiment=tune" in run_pipeline("recipe=tune", "data.source=stand_in", "tune.trial=0").error
