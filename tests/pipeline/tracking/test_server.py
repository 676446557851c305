"""A tracking server that is late, away for a while, or gone: every metric arrives, or is kept and said."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from mlflow_servers import Server, free_port, initdb, mlflow_server, postgres
from pipeline.host.errors import PipelineError
from pipeline.tracking.outbox import unsent_folder
from pipeline.tracking.run import Run, create_run
from pipeline.tracking.server import RETRIES, wait_for_server
from pipeline.tracking.store import experiment_id, open_store
from warm_processes import Warm, code

JOBS, STEPS = 4, 250
CODE = """
import sys, time
from pipeline.tracking.run import create_run
from pipeline.tracking.store import experiment_id, open_store
client = open_store(None)
run = create_run(client, experiment_id(client, "counted"), sys.argv[1], {})
print("begun", flush=True)
for step in range(int(sys.argv[2])):
    run.metric("loss", step / 7, step)
    time.sleep(float(sys.argv[3]))
run.finish("FINISHED")
"""


def job(name: str, *, uri: str | None, pause: float = 0.0, steps: int = STEPS) -> Warm:
    environment = {"MLFLOW_TRACKING_URI": uri} if uri else {}
    return Warm(code, CODE, name, str(steps), str(pause), folder=Path.cwd(), **environment)


def rows(client: MlflowClient, name: str) -> list[tuple[int, float]]:
    experiment = client.get_experiment_by_name("counted")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id], filter_string=f"attributes.run_name = '{name}'")
    assert run.info.status == "FINISHED"
    return sorted((m.step, m.value) for m in client.get_metric_history(run.info.run_id, "loss"))


def check_counted(client: MlflowClient, jobs: list[Warm]) -> None:
    ended = [job.result() for job in jobs]
    assert [each.status for each in ended] == [0] * len(jobs), ended
    for number in range(len(jobs)):
        assert rows(client, f"job{number}") == [(step, step / 7) for step in range(STEPS)]
    assert list(unsent_folder().iterdir()) == []


@pytest.fixture(scope="module")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with mlflow_server(tmp_path_factory.mktemp("sqlite-server")) as server:
        yield server


@pytest.mark.slow
def test_four_processes_lose_no_row_of_the_local_store(client: MlflowClient) -> None:
    check_counted(client, [job(f"job{number}", uri=None) for number in range(JOBS)])


@pytest.mark.slow
def test_four_processes_lose_no_row_of_a_server(store: Path, sqlite_server: Server) -> None:
    assert store.is_dir()
    jobs = [job(f"job{number}", uri=sqlite_server.uri) for number in range(JOBS)]
    check_counted(MlflowClient(sqlite_server.uri), jobs)


@pytest.mark.slow
@pytest.mark.skipif(initdb() is None, reason="initdb is not found; install Debian's package postgresql")
@pytest.mark.skipif(find_spec("psycopg") is None, reason="psycopg is not installed; pip install '.[server]'")
def test_server_on_postgresql_killed_while_eight_jobs_run(store: Path, tmp_path: Path) -> None:
    assert store.is_dir()
    with postgres(tmp_path) as backend, mlflow_server(tmp_path, backend) as server:
        jobs = [job(f"job{number}", uri=server.uri, pause=0.02) for number in range(8)]
        for process in jobs:
            process.wait_for("begun")
        server.kill()
        time.sleep(5)
        server.start()
        server.wait()
        check_counted(MlflowClient(server.uri), jobs)


@pytest.mark.slow
def test_server_killed_and_back_in_the_middle(store: Path, sqlite_server: Server, capsys) -> None:
    """Of two jobs one lives on and sends its rows; what the other, killed meanwhile, left is sent by the next."""
    assert store.is_dir()
    names = {"living": STEPS, "killed": 5 * STEPS}
    living, killed = (job(name, uri=sqlite_server.uri, pause=0.02, steps=steps) for name, steps in names.items())
    for process in (living, killed):
        process.wait_for("begun")
    sqlite_server.kill()
    time.sleep(1.5)
    killed.kill()
    client = MlflowClient(sqlite_server.uri)
    sqlite_server.start()
    check_sent_by_the_next(sqlite_server, capsys)
    status, out, err = living.result()
    assert status == 0, out + err
    assert err.count("the tracking server does not answer") == 1
    assert err.count("answers again after") == 1
    assert rows(client, "living") == [(step, step / 7) for step in range(STEPS)]
    assert list(unsent_folder().iterdir()) == []


def check_sent_by_the_next(server: Server, capsys) -> None:
    """Opening the store sends the lines of the run that nobody holds any more, and leaves the other's to its job."""
    client = open_store(server.uri)
    said = capsys.readouterr().err
    assert f"waiting up to 60 s for the tracking server {server.uri} (no connection)" in said
    ((lines, run_id),) = re.findall(r"(\d+) unsent lines of run (\w+) were sent", said)
    assert client.get_run(run_id).info.run_name == "killed"
    assert len(client.get_metric_history(run_id, "loss")) >= int(lines) >= 1


def test_absent_at_the_start_is_one_error_line(run_pipeline) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    tiny = (
        "data=mocap",
        "data.source=stand_in",
        "size=tiny",
        "tracking=server",
        f"tracking.uri={uri}",
        "tracking.wait=1",
    )
    result = run_pipeline(*tiny)
    assert f"waiting up to 1 s for the tracking server {uri} (no connection)" in result.err
    assert result.error == (
        f"error: the tracking server {uri} did not answer within 1 s (no connection); "
        "start it, wait longer with tracking.wait=SECONDS, or leave it with tracking=local"
    )


def test_no_address_is_refused() -> None:
    with pytest.raises(PipelineError, match=r"tracking\.uri=http:// is no address of a server"):
        wait_for_server("http://", 1)


def refusing(run: Run) -> threading.Event:
    """Make the client of `run` refuse every batch until the event is set."""
    answers = threading.Event()
    log_batch = run.client.log_batch

    def refuse(*arguments, **named) -> None:
        if not answers.is_set():
            raise OSError("the database is locked")
        log_batch(*arguments, **named)

    run.client.log_batch = refuse  # type: ignore[method-assign]
    return answers


def test_refused_metrics_are_kept_said_and_sent_by_the_next(client: MlflowClient, capsys) -> None:
    run = create_run(client, experiment_id(client, "counted"), "job0", {})
    refusing(run)
    run.metric("loss", 1.0, 0)
    run.metric("loss", float("nan"), 1)
    with pytest.raises(PipelineError, match=r"the database is locked\); 3 lines are kept in .*\.jsonl, and the next"):
        run.finish("FINISHED")
    assert "warning: metrics are not taken (the database is locked)" in capsys.readouterr().err
    run._outbox._file.close()  # as at the end of the process
    with (unsent_folder() / f"{run.id}.jsonl").open("a") as file:
        file.write('{"key": "lo')  # cut off
    sent = open_store(None)
    assert "3 unsent lines" in capsys.readouterr().err
    assert [(step, str(value)) for step, value in rows(sent, "job0")] == [(0, "1.0"), (1, "nan")]
    assert list(unsent_folder().iterdir()) == []


def test_refused_for_a_while(client: MlflowClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.tracking.outbox.PAUSE", 0.05)
    run = create_run(client, experiment_id(client, "counted"), "job0", {})
    answers = refusing(run)
    for step in range(3):
        run.metric("loss", step, step)
    with pytest.raises(PipelineError, match="took no metrics"):
        run.flush()
    answers.set()
    time.sleep(0.3)
    run.finish("FINISHED")
    assert rows(client, "job0") == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_about_four_minutes() -> None:
    """What the message promises, from urllib3's rule: no pause first, then twice as long each time, at most 120 s."""
    retries, factor = (int(value) for value in RETRIES.values())
    pauses = [0, *(min(120, factor * 2**attempt) for attempt in range(1, retries))]
    assert 220 < sum(pauses) < 260
