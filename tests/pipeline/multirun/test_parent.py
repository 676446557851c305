"""A multirun: parent, children, table, figure, best model."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import pandas as pd
import pytest
from mlflow.entities import LoggedModelStatus

from pipeline.compare.arms import data_of
from pipeline.host.errors import PipelineError
from pipeline.host.locks import file_lock
from pipeline.multirun import best, parent
from pipeline.multirun.best import best_in_words
from pipeline.multirun.parent import best_child, keep_best, log_best
from pipeline.multirun.recompute import command_on, system_of
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.tracking.model import BEST_SO_FAR, NOT_KEPT, keep_if_best
from pipeline.tracking.run import Run
from pipeline.tracking.session import LOCK, PARENT, checkpoints_of

SMALL = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "refine.epochs=1", "evaluate.horizons=[1]")
SUMMARY = "tracking.detail=summary"  # without the figures of every job


def runs(client):
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    parents = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    assert len(parents) == 1
    return parents[0], [run for run in found if run is not parents[0]]


def test_a_page_that_lost_its_command_is_refused_in_a_line() -> None:
    assert (
        command_on("# mine\n\n    python -m pipeline -m\n\nCommit abc; 2 jobs, 0 failed.\n") == "python -m pipeline -m"
    )
    assert (
        command_on("# mine\n\n    python -m pipeline -m \\\n        seed=1\n    more\n")
        == "python -m pipeline -m seed=1"
    )
    with pytest.raises(PipelineError, match=r"^the page 'mine' has no line with its command, indented by four spaces"):
        command_on("# mine\n\nCommit abc; 2 jobs, 0 failed.\n")


def test_eight_jobs_under_one_parent(run_pipeline, client) -> None:
    result = run_pipeline("-m", *SMALL, "sampler=iid,orthogonal", "features.count=2,3", "seed=0,1", SUMMARY)
    assert result.status == 0, result.err
    parent, children = runs(client)
    assert len(children) == 8
    assert {child.data.tags["mlflow.parentRunId"] for child in children} == {parent.info.run_id}
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    assert len({child.info.run_name for child in children}) == 8
    table = pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/by_arm_and_count.csv")))
    assert table["jobs"].tolist() == [2] * 4
    for row in table.to_dict("records"):
        errors = [
            child.data.metrics["evaluate/test_mse"] for child in children
            if (child.data.tags["sampler"], child.data.params["features.count"]) == (row["arm"], str(row["count"]))
        ]  # fmt: skip
        assert row["mean"] == pytest.approx(sum(errors) / 2)
        assert row["sd"] == pytest.approx(abs(errors[0] - errors[1]) / 2**0.5)
    best = min(children, key=lambda child: float(child.data.tags["validation_mse"]))
    assert parent.data.tags["best.run"] == best.info.run_id
    assert parent.data.params["best.features.count"] == best.data.params["features.count"]
    assert "error_low" in parent.data.tags["mlflow.note.content"]
    figures = {item.path for item in client.list_artifacts(parent.info.run_id, "figures")}
    assert figures == {"figures/error_by_count.png", "figures/error_by_count.svg"}
    kept = [child for child in children if client.list_artifacts(child.info.run_id, "parameters")]
    assert [child.info.run_id for child in kept] == [best.info.run_id]
    models = client.search_logged_models([parent.info.experiment_id])
    assert [model.source_run_id for model in models] == [best.info.run_id]
    mlflow.pyfunc.load_model(f"runs:/{best.info.run_id}/model")


def test_a_multirun_that_is_refused_before_its_jobs_says_that_none_began(run_pipeline, client) -> None:
    result = run_pipeline("-m", *SMALL, "seed=0,x")
    assert (result.status, result.error) == (1, "error: seed=x must be a whole number")
    assert result.out.splitlines()[-1] == "no job began"
    parent, children = runs(client)
    assert (parent.info.status, parent.data.tags["jobs"], children) == ("FAILED", "0", [])


def test_a_failed_job_stops_neither_the_others_nor_the_parent(run_pipeline, client) -> None:
    result = run_pipeline("-m", *SMALL, "features.count=0,2", SUMMARY)
    assert result.status != 0
    assert "job 0 failed: features.count=0 must be greater than 0" in result.err
    parent, children = runs(client)
    assert parent.info.status == "FAILED"
    assert {child.data.tags["job"]: child.info.status for child in children} == {"0": "FAILED", "1": "FINISHED"}
    assert (parent.data.tags["jobs"], parent.data.tags["jobs.failed"]) == ("2", "1")
    (failed,) = [child for child in children if child.info.status == "FAILED"]
    assert failed.data.tags["error"] == "features.count=0 must be greater than 0"
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} >= {"jobs.csv", "figures"}


STUDIES = {
    "theory": (
        "theory.dimensions=[1]", "theory.data=[]", "theory.kernels=[gaussian]", "theory.samplers=[iid,orthogonal]",
        "theory.baselines=[iid]", "theory.counts=[4]", "theory.draws=2", "theory.rows=10,20",
    ),
    "trace": ("timing.trials=0", "timing.queries=[10]", "estimate.queries=[10]", "matrix.size=40,60"),
}  # fmt: skip


@pytest.mark.parametrize("recipe", STUDIES)
def test_studies_end_with_a_list_of_jobs_and_their_metrics(recipe: str, run_pipeline, client) -> None:
    result = run_pipeline("-m", f"+experiment={recipe}", "size=tiny", *STUDIES[recipe])
    assert result.status == 0, result.err
    assert "summary could not be made" not in result.err
    parent, children = runs(client)
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} == {"jobs.csv", "metrics.csv"}
    jobs, metrics = (
        pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/{name}.csv")))
        for name in ("jobs", "metrics")
    )
    assert set(jobs["run_id"]) == {child.info.run_id for child in children}
    swept = STUDIES[recipe][-1].split("=")[0]
    assert sum(swept in overrides for overrides in jobs["overrides"]) == len(set(jobs["overrides"])) == 2
    assert set(jobs) == {"run", "run_id", "data", "stand_in", "seed", "overrides", "varied"}
    logged = [name for child in children for name in child.data.metrics if not name.endswith("/seconds")]
    assert sorted(metrics["metric"]) == sorted(logged)
    assert len(logged) >= 2
    assert f"| {jobs['run'][0]} |" in parent.data.tags["mlflow.note.content"]


def test_a_study_that_finished_is_left_as_it_is_when_its_multirun_goes_on(run_pipeline, client) -> None:
    command = ("-m", "recipe=trace", "size=tiny", *STUDIES["trace"][:-1], "matrix.size=2,60")
    result = run_pipeline(*command)
    assert "job 0 failed: estimate.queries: hutch_pp with 10 queries" in result.err
    _, before = runs(client)
    assert {run.data.tags["job"]: run.info.status for run in before} == {"0": "FAILED", "1": "FINISHED"}
    again = run_pipeline(*command, "resume=true")
    assert "job 0 failed" in again.err
    parent, after = runs(client)
    finished = [[run.info.run_id for run in part if run.info.status == "FINISHED"] for part in (before, after)]
    assert finished[0] == finished[1]
    jobs = pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/jobs.csv")))
    assert jobs["run_id"].tolist() == finished[0]


def test_a_multirun_that_goes_on_is_left_to_its_process(run_pipeline, client, store: Path, monkeypatch) -> None:
    command, seen = ("-m", "recipe=trace", "size=tiny", *STUDIES["trace"][:-1], "matrix.size=2,60"), list[Path]()

    def finish_locked(run: Run, *given, **named) -> None:
        seen.append(store / "checkpoints" / run.id)
        with pytest.raises(BlockingIOError), file_lock(seen[0] / LOCK, wait=False):
            pass
        finish(run, *given, **named)

    finish = parent.finish
    monkeypatch.setattr(parent, "finish", finish_locked)
    assert "job 0 failed" in run_pipeline(*command).err
    assert not seen[0].exists()
    seen[0].mkdir()
    with file_lock(seen[0] / LOCK):
        for asked in ("resume=true", "resume=auto"):
            error = f"error: multirun {seen[0].name} still goes on in another process; wait or stop it"
            assert run_pipeline(*command, asked).error == error
    assert runs(client)[0].info.status == "FAILED"
    assert "job 0 failed" in run_pipeline(*command, "resume=auto").err
    assert len(seen) == 2


def test_studies_have_no_model_to_register(client) -> None:
    parent = Run(client, client.create_run(client.create_experiment("studies")).info.run_id)
    with pytest.raises(PipelineError, match=r"tracking\.register=walks: these jobs make no model; leave it out"):
        keep_best(parent, [], None, "walks")


def test_jobs_that_ended_are_not_fetched_to_be_closed(client, monkeypatch) -> None:
    """A multirun has a thousand of them, each with all of its parameters."""
    where = client.create_experiment("stopped")
    sweep = Run(client, client.create_run(where).info.run_id)
    jobs = [client.create_run(where, run_name=name, tags={PARENT: sweep.id}) for name in ("ended", "stopped")]
    client.set_terminated(jobs[0].info.run_id, "FINISHED")
    checkpoints_of(jobs[1].info.run_id).mkdir(parents=True)
    whole, fetched = parent.runs_newest_first, []

    def noted(*given: Any) -> Any:
        for job in whole(*given):
            fetched.append(job.info.run_name)
            yield job

    monkeypatch.setattr(parent, "runs_newest_first", noted)
    parent.close_jobs(sweep)
    assert fetched == ["stopped"]
    assert [client.get_run(job.info.run_id).info.status for job in jobs] == ["FINISHED", "KILLED"]


def test_two_tables_of_one_name_are_two_data_sets() -> None:
    def job(path: str) -> Any:
        tags = {"data": "table", "data.checksum": path, "given": json.dumps({"data.path": path, "seed": "1"})}
        return SimpleNamespace(data=SimpleNamespace(tags=tags))

    groups = best.by_data([job("a/table.csv"), job("b/table.csv"), job("a/table.csv")])
    assert [len(group) for group in groups] == [2, 1]


def test_of_each_data_set_the_best_job_is_kept_and_none_is_the_best_of_all(client, monkeypatch) -> None:
    """The hard data set has the larger errors in all of its jobs, which say nothing beside those of the easy one."""
    sweep = Run(client, client.create_run(client.create_experiment("two"), tags={"best.run": "0a"}).info.run_id)
    errors = [("hard", 3.0), ("hard", 2.0), ("easy", 0.2), ("easy", 0.1)]
    for data, error in errors:
        job_of(sweep, error, data=data, **{"data.checksum": data})
    children = parent.children_of(client, sweep)
    kept = {child.info.run_name for child in children if BEST_SO_FAR in child.data.tags}
    assert kept == {"easy-0.1", "hard-2.0"}
    logged: list[str] = []
    monkeypatch.setattr(best, "log_best_model", lambda _, found, *__: logged.append(found.info.run_name))
    keep_best(sweep, children, FORECASTS, None)
    assert logged == ["easy-0.1", "hard-2.0"]
    log_best(sweep, children, FORECASTS, tested=False, whole=True)
    found = client.get_run(sweep.id).data
    assert [name for name in (*found.tags, *found.metrics, *found.params) if name.startswith("best")] == []
    assert [line.split(",")[0] for line in best_in_words(client, children, FORECASTS).splitlines()] == [
        "best on easy: easy-0.1", "best on hard: hard-2.0",
    ]  # fmt: skip


def job_of(sweep: Run, error: float, **tags: str) -> None:
    """A job that finished on `walks`, if the tags name no other data, and offers its model."""
    own = {"mlflow.parentRunId": sweep.id, "data": "walks", "validation_mse": str(error), **tags}
    found = sweep.client.create_run(sweep.experiment_id, run_name=f"{tags['data.checksum']}-{error}", tags=own)
    model: Any = SimpleNamespace(error=error, write=lambda folder: (folder / "weights").write_text("1"))
    keep_if_best(Run(sweep.client, found.info.run_id), model, sweep.id, FORECASTS)


def test_jobs_on_unlike_parts_of_one_data_set_have_no_best_and_each_part_keeps_a_model(client, monkeypatch) -> None:
    """The parts that data.seed=1 draws are the easier ones, which says nothing of its jobs."""
    sweep = Run(client, client.create_run(client.create_experiment("parts"), tags={"best.run": "0a"}).info.run_id)
    for seed, error in (("0", 3.0), ("0", 2.0), ("1", 0.2), ("1", 0.1)):
        job_of(sweep, error, given=json.dumps({"data.seed": seed, "seed": str(error)}), **{"data.checksum": seed})
    children = parent.children_of(client, sweep)
    assert {run.info.run_name for run in children if BEST_SO_FAR in run.data.tags} == {"0-2.0", "1-0.1"}
    logged: list[str] = []
    monkeypatch.setattr(best, "log_best_model", lambda _, found, *__: logged.append(found.info.run_name))
    keep_best(sweep, children, FORECASTS, None)
    assert logged == ["0-2.0", "1-0.1"]
    log_best(sweep, children, FORECASTS, tested=True, whole=True)
    found = client.get_run(sweep.id).data
    assert [name for name in (*found.tags, *found.metrics, *found.params) if name.startswith("best")] == []
    assert best_in_words(client, children, FORECASTS).splitlines() == [
        "no best on walks: the jobs ran on unlike parts of it (data.seed), whose errors cannot be compared",
        "best on walks data.seed=0: 0-2.0, validation error 2",
        "best on walks data.seed=1: 1-0.1, validation error 0.1",
    ]


def test_the_model_that_is_kept_of_each_part_is_told_with_the_command_that_predicts(monkeypatch) -> None:
    """Of the first part the better job keeps no model, and of the second one none is logged."""

    def job(run: str, seed: int, error: float, **tags: str) -> Any:
        tags |= {"data": "table", "data.checksum": str(seed), "validation_mse": str(error), "hydra.overrides": "seed=1",
                 "given": json.dumps({"data.seed": str(seed)})}  # fmt: skip
        return SimpleNamespace(info=SimpleNamespace(run_id=run, run_name=run), data=SimpleNamespace(tags=tags))

    jobs = [job("a", 0, 0.1, **{NOT_KEPT: "true"}), job("b", 0, 0.5), job("c", 0, 0.9), job("d", 1, 0.2)]
    monkeypatch.setattr(best, "logged_model_of", lambda _, run: {"b": "m-1"}.get(run))
    client: Any = None
    assert best_in_words(client, jobs, FORECASTS).splitlines()[1:] == [
        "best on table data.seed=0: b, validation error 0.5",
        "predict: python -m pipeline recipe=predict model=runs:/b/model data.path=new.csv",
        "best on table data.seed=1: d, validation error 0.2",
    ]


@pytest.mark.parametrize("swept", ["readout.lags", None])
def test_jobs_whose_errors_are_measured_otherwise_have_no_best(client, monkeypatch, swept: str | None) -> None:
    """Steps with many rows before them are easier to forecast than those at the start, so errors of both say nothing.
    What the errors are of is told, whatever has set it."""
    sweep = Run(client, client.create_run(client.create_experiment("lags")).info.run_id)
    for lags, error in (("2", 3.0), ("24", 4.0), ("24", 5.0)):
        given = json.dumps({swept or "contender": lags})
        job_of(sweep, error, given=given, measured=f"from step {lags}", **{"data.checksum": "c"})
    children = parent.children_of(client, sweep)
    kept = {run.info.run_name for run in children if BEST_SO_FAR in run.data.tags}
    assert kept == {"c-3.0", "c-4.0"}
    logged: list[tuple[str, Any]] = []
    monkeypatch.setattr(best, "log_best_model", lambda _, found, __, name: logged.append((found.info.run_name, name)))
    with pytest.raises(PipelineError, match=r"^tracking.register=n: the jobs were measured otherwise, so none is the"):
        keep_best(sweep, children, FORECASTS, "n")
    assert logged == [("c-3.0", None), ("c-4.0", None)]
    log_best(sweep, children, FORECASTS, tested=False, whole=True)
    assert not [name for name in client.get_run(sweep.id).data.tags if name.startswith("best")]
    settings = f" ({swept})" if swept else ""
    assert best_in_words(client, children, FORECASTS) == (
        f"no best on walks: the jobs were measured otherwise{settings}, whose errors cannot be compared\n"
        "best on walks from step 2: c-3.0, validation error 3\n"
        "best on walks from step 24: c-4.0, validation error 4"
    )


@pytest.mark.parametrize("broken", [False, True])
def test_a_model_that_is_kept_but_not_registered_is_not_said_to_be_lost(client, monkeypatch, broken: bool) -> None:
    def log_model(*_: Any) -> None:
        if broken:
            raise OSError("no space left")

    sweep = Run(client, client.create_run(client.create_experiment("kept")).info.run_id)
    for lags in ("2", "24"):
        own = {"data.checksum": "c", "recipe": "psrnn"}
        job_of(sweep, 3.0, measured=f"from step {lags}", **own)
    monkeypatch.setattr(best, "log_best_model", log_model)
    monkeypatch.setattr(parent, "log_summary", lambda *_: None)
    monkeypatch.setattr(parent, "is_compared", lambda *_: True)
    said = "the model of the best could not be kept or registered: no space left" if broken else (
        "nothing is registered: tracking.register=n: the jobs were measured otherwise, so none is the best; register "
        "from a sweep of alike jobs"
    )  # fmt: skip
    with pytest.warns(UserWarning, match=f"^the jobs ran, but {said}$"):
        assert not parent.summarised(
            sweep, parent.children_of(client, sweep), SimpleNamespace(figure="count"), "n", "FINISHED"
        )
    assert client.get_run(sweep.id).data.tags["summary.error"] == said


def test_the_best_of_each_kind_is_named_by_what_its_error_is_of_in_the_order_of_its_numbers(client) -> None:
    """Jobs of 2 and 4 lags are scored from step 4 on, so that neither number of lags tells their group."""
    sweep = Run(client, client.create_run(client.create_experiment("groups")).info.run_id)
    for number, lags, step, error in (("0", 4, 4, 2.0), ("0", 2, 4, 3.0), ("0", 24, 24, 4.0), ("1", 24, 24, 5.0)):
        given = json.dumps({"readout.lags": str(lags), "data.seed": number})
        job_of(sweep, error, given=given, measured=f"from step {step}", **{"data.checksum": number})
    assert best_in_words(client, parent.children_of(client, sweep), FORECASTS).splitlines()[1:] == [
        "best on walks data.seed=0 from step 4: 0-2.0, validation error 2",
        "best on walks data.seed=0 from step 24: 0-4.0, validation error 4",
        "best on walks data.seed=1 from step 24: 1-5.0, validation error 5",
    ]


def test_pieces_of_a_vocabulary_are_known_by_the_tag_of_older_jobs_too() -> None:
    tags = {"data": "ciphers", "data.checksum": "c"}
    known = {"measured": "vocabulary 0123456789ab"}
    jobs = [known, {"vocabulary": "0123456789ab" + 52 * "c"}, {"vocabulary": 64 * "d"}]
    first, second, third = data_of([tags | own for own in jobs])
    assert first == second != third


@pytest.mark.parametrize(("tagged", "groups"), [(["p", "p"], 1), (["p", "q"], 3)])
def test_jobs_that_do_not_say_what_errors_are_of_count_as_the_others(client, tagged: list[str], groups: int) -> None:
    """Those that a version without this tag has run are grouped as before, unless the others are measured unlike."""
    sweep = Run(client, client.create_run(client.create_experiment("older")).info.run_id)
    own = {"data.checksum": "c"}
    job_of(sweep, 3.0, **own)
    for pieces, error in zip(tagged, (2.0, 1.0), strict=True):
        job_of(sweep, error, measured=pieces, **own)
    job_of(sweep, 4.0, **own)
    children = parent.children_of(client, sweep)
    assert len(best.by_data(children)) == groups
    log_best(sweep, children, FORECASTS, tested=False, whole=False)
    assert ("best.run" in client.get_run(sweep.id).data.tags) == (groups == 1)
    models = {run.info.run_name for run in children if BEST_SO_FAR in run.data.tags}
    assert (models == {"c-1.0"}) == (groups == 1)


def test_a_job_on_the_file_as_it_was_does_not_keep_the_model_of_a_new_one_away(client) -> None:
    sweep = Run(client, client.create_run(client.create_experiment("changed")).info.run_id)
    for checksum, error in (("old", 0.1), ("new", 2.0)):
        job_of(sweep, error, job="0", **{"data.checksum": checksum})
    children = parent.children_of(client, sweep)
    assert [(run.info.run_name, BEST_SO_FAR in run.data.tags) for run in children] == [("new-2.0", True)]


@pytest.mark.parametrize("kept", [0, 1])
def test_of_equal_jobs_the_one_whose_model_was_kept_is_the_best(client, kept: int) -> None:
    experiment = client.create_experiment("ties")
    marks = [{BEST_SO_FAR: "0.5"} if i == kept else {} for i in range(2)]
    jobs = [client.create_run(experiment, tags={"validation_mse": "0.5", **mark}).info.run_id for mark in marks]
    best, error = best_child([client.get_run(job) for job in jobs], FORECASTS)
    assert (best.info.run_id, error) == (jobs[kept], 0.5)


@pytest.mark.parametrize("logged", [True, False])
def test_the_best_job_is_told_with_the_command_that_predicts_where_its_model_is_logged(logged: bool) -> None:
    overrides = """data=table data.path=a.csv data.time="the hour" data.group=plant seed=1 tracking.parent=0a"""
    tags = {"data": "table", "data.checksum": "c", "validation_mse": "0.25", "hydra.overrides": overrides}
    job: Any = SimpleNamespace(info=SimpleNamespace(run_id="f75", run_name="psrnn-1"), data=SimpleNamespace(tags=tags))
    outputs = SimpleNamespace(model_outputs=[SimpleNamespace(model_id="m1")])
    status = LoggedModelStatus.READY if logged else LoggedModelStatus.PENDING  # as where the process ended meanwhile
    client: Any = SimpleNamespace(
        get_run={"f75": SimpleNamespace(outputs=outputs)}.get,
        get_logged_model={"m1": SimpleNamespace(status=status)}.get,
    )
    first, *more = best_in_words(client, [job], FORECASTS).splitlines()
    assert first == "best on table: psrnn-1, validation error 0.25"
    command = "predict: python -m pipeline recipe=predict model=runs:/f75/model data.path=new.csv "
    assert more == [command + """'data.time="the hour"' data.group=plant"""] * logged


def test_a_best_job_without_a_model_cannot_be_registered(client) -> None:
    experiment = client.create_experiment("no model")
    tags = {"validation_mse": "inf", "data": "walks", "data.checksum": "c"}
    job = client.create_run(experiment, run_name="diverged", tags=tags).info.run_id
    with pytest.raises(PipelineError, match=r"tracking\.register=walks: the best job, diverged, has no model"):
        keep_best(Run(client, job), [client.get_run(job)], FORECASTS, "walks")


@pytest.mark.parametrize(("status", "goes_on"), [("FINISHED", False), ("FAILED", True)])
def test_a_multirun_that_finished_while_it_was_asked_for_is_let_go(
    status: str, goes_on: bool, client, store: Path
) -> None:
    former = client.create_run(client.create_experiment("sweeps"))
    client.set_terminated(former.info.run_id, status)
    with ExitStack() as lock:
        assert parent.still_unfinished(client, former, lock) == goes_on
        assert (store / "checkpoints" / former.info.run_id).exists() == goes_on


def test_a_page_of_an_experiment_that_is_gone_says_so() -> None:
    with pytest.raises(PipelineError, match=r"names an experiment that is not in conf/experiment: .*=gone"):
        system_of("python -m pipeline +experiment=gone seed=1")
