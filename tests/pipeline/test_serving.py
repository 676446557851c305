"""A registered model behind both servers: JSON out, and a reason in one line for what cannot be answered."""

from __future__ import annotations

import asyncio
import io
import json
import math
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import requests
import torch
import uvicorn
from fastapi import FastAPI
from mlflow.pyfunc import scoring_server
from mlflow.tracking import MlflowClient
from starlette.responses import StreamingResponse

from mlflow_servers import free_port
from model_server import serve_command, wait_until_up
from models.baselines.persistence import Persistence
from models.forecasting.forecaster import Forecaster
from models.forecasting.intervals import calibrate
from pipeline.host.errors import PipelineError
from pipeline.serving import options, serve
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.servable import trained_model
from pipeline.tracking.application import fault, in_one_line
from pipeline.tracking.application import strict as made_strict
from pipeline.tracking.model import model_parts
from pipeline.tracking.registry import best_version, move_alias, refuse_other_data, register
from pipeline.tracking.run_request import RunRequest
from pipeline.tracking.session import open_run
from pipeline.tracking.store import open_store
from served_in_process import answered, application, in_process
from warm_processes import Warm, ended, program, serving
from warm_processes import mlflow as mlflow_command

SETTINGS = ("data=swimmer", "size=tiny", "refine=none", "tracking.detail=summary", "features.count=5")
ROW = [0.1] * 5  # the swimmer has five columns
NAMES = ["nose_angle", "joint_1_sin", "joint_1_cos", "joint_2_sin", "joint_2_cos"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, swimmer_root: Path) -> dict[str, str]:
    """The environment of a store with one registered model."""
    folder = tmp_path_factory.mktemp("served")
    environment = {**os.environ, "PIPELINE_MLRUNS": str(folder), "PIPELINE_DATA_ROOT": str(swimmer_root)}
    environment["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder / 'mlflow.db'}"
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    result = ended(program, *SETTINGS, "tracking.register=swimmer", folder=folder, **environment)
    assert result.status == 0, result.err
    return environment


@pytest.fixture(scope="module")
def strict(trained: dict[str, str]) -> Iterator[str]:
    port = free_port()
    address = f"http://127.0.0.1:{port}/invocations"
    server = Warm(serving, "models:/swimmer@best", "--port", str(port), folder=Path.cwd(), **trained)
    try:
        server.wait_for(f"models:/swimmer@best answers at {address}; Ctrl-C ends it")
        yield address
    finally:
        server.kill()


@pytest.fixture(scope="module")
def plain(trained: dict[str, str]) -> Iterator[str]:
    port = free_port()
    command = serve_command("models:/swimmer@best", port=port)
    server = Warm(mlflow_command, *command[1:], folder=Path.cwd(), **trained)
    try:
        wait_until_up(f"http://127.0.0.1:{port}", server, io.BytesIO())
        yield f"http://127.0.0.1:{port}/invocations"
    finally:
        server.kill()


@pytest.mark.parametrize("port", ["70000", "-1", "65536", "http"])
def test_a_port_that_is_none_is_refused(port: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["serving", "models:/swimmer@best", f"--port={port}"])
    with pytest.raises(SystemExit):
        options()
    said = capsys.readouterr().err.splitlines()[-1]
    assert ("invalid port value: 'http'" if port == "http" else f"must lie between 0 and 65535, got {port}") in said


def test_a_free_port_is_printed_as_it_was_found(monkeypatch, capsys) -> None:
    async def ended(*_: object) -> None:
        pass

    monkeypatch.setattr(uvicorn.Server, "main_loop", ended)
    serve(FastAPI(), Namespace(host="127.0.0.1", port=0, model="models:/walks@best"))
    assert re.search(r" answers at http://127\.0\.0\.1:[1-9]\d*/invocations;", capsys.readouterr().out)


def post(address: str, payload: object, content_type: str = "application/json") -> requests.Response:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return requests.post(address, text, headers={"Content-Type": content_type}, timeout=60)


OF_THE_MODEL = {
    "expected an array (time, 5) or (sequence, time, 5), got (1, 2, 2)": {"inputs": [[1.0, 2.0], [3.0, 4.0]]},
    'inputs[0][0]: "a" is not a number; a gap is null': {"inputs": [["a", *ROW[1:]], ROW]},
    "column joint_1_sin, row 0: 'a' is not a number; a gap is null": {
        "dataframe_split": {"columns": NAMES, "data": [[0.1, "a", *ROW[2:]]]}
    },
    "are missing; the model needs": {"dataframe_split": {"columns": ["x"], "data": [[1.0]]}},
    "column sequence must hold texts or numbers": {
        "dataframe_split": {"columns": [*NAMES, "sequence"], "data": [[*ROW, ["a"]]]}
    },
    "there are no rows": {"dataframe_split": {"columns": list("abcde"), "data": []}},
    "infinite value in row 0": {"inputs": [[math.inf, *ROW[1:]], ROW]},
    "not finite; are the values in the units": {"inputs": [[1e308] * 5] * 3},
    "params.horizon must be a whole number": {"inputs": [ROW], "params": {"horizon": -1}},
    'got "five"': {"inputs": [ROW], "params": {"horizon": "five"}},
    "horizon 10001 × 1 sequence is more than 10000 rows": {"inputs": [ROW], "params": {"horizon": 10_001}},
    "horizon 5001 × 2 sequences is more than 10000 rows": {"inputs": [[ROW], [ROW]], "params": {"horizon": 5001}},
    "the body is nested too deep": '{"inputs": ' + "[" * 5000 + "]" * 5000 + "}",
    "inputs[0][0] is nested too deep": '{"inputs": ' + "[" * 900 + "]" * 900 + "}",
    "a number has too many digits": '{"inputs": [[' + "9" * 5000 + "]]}",
    "number that is too large": {"inputs": [[10**400, *ROW[1:]]]},
    "inputs[1][4]: true is not a number": {"inputs": [ROW, [*ROW[1:], True]]},
    "inputs has rows of different lengths": {"inputs": [ROW, ROW[:2]]},
    "got (0,)": {"inputs": []},
    "not 3": {"inputs": 3},
}
OF_THE_REQUEST = {
    "the body is not JSON": "{not json",
    "exactly one of dataframe_split": [ROW],
    "exactly one of": {"inputs": [ROW], "instances": [ROW]},
    "params.horizont is unknown; params may have horizon": {"inputs": [ROW], "params": {"horizont": 5}},
    "signature is unknown": {"inputs": [ROW], "signature": "x"},
    "params must be an object": {"inputs": [ROW], "params": [5]},
    "is unknown; params may have": '{"inputs": [[1]], "\\ud800": 1}',  # half a surrogate pair
}


def check_refused(answer: requests.Response, reason: str) -> None:
    assert 400 <= answer.status_code < 500, answer.text
    assert reason in answer.json()["message"]
    assert "\n" not in answer.json()["message"]
    assert "Traceback" not in answer.text
    assert "stack_trace" not in answer.text


def table(answer: requests.Response) -> pd.DataFrame:
    assert answer.status_code == 200, answer.text
    return pd.DataFrame(answer.json()["predictions"])


def check_several(address: str) -> None:
    """Rows of several sequences, mixed and of unequal length, are answered as each sequence alone, in their place."""
    rows = np.random.default_rng(0).normal(size=(9, 5)).tolist()
    rows[3][1] = None
    labels = list("abacbaaba")
    mixed = {"columns": [*NAMES, "sequence"], "data": [[*row, label] for row, label in zip(rows, labels, strict=True)]}
    for horizon in (0, 1, 3):
        params = {"horizon": horizon}
        found = table(post(address, {"dataframe_split": mixed, "params": params}))
        assert list(found["sequence"]) == ([label for label in "abc" for _ in range(horizon)] if horizon else labels)
        for label in "abc":
            alone = [row for row, other in zip(rows, labels, strict=True) if other == label]
            expected = table(post(address, {"inputs": alone, "params": params}))[NAMES]
            np.testing.assert_allclose(found[found["sequence"] == label][NAMES], expected, rtol=1e-9)


@pytest.mark.slow
def test_mlflows_server_answers_and_refuses(plain: str) -> None:
    answer = post(plain, {"inputs": [ROW, ROW, [None, *ROW[1:]]], "params": {"horizon": 4}})
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["predictions"]) == 4
    check_several(plain)
    for reason, payload in OF_THE_MODEL.items():
        check_refused(post(plain, payload), reason)


@pytest.mark.slow
def test_strict_server_answers_and_refuses(strict: str) -> None:
    answer = post(strict, {"inputs": [ROW, ROW], "params": {"horizon": 0}})
    assert answer.status_code == 200, answer.text
    values = pd.DataFrame(answer.json()["predictions"]).drop(columns="sequence").to_numpy()
    assert values.shape == (2, 5)
    assert np.isfinite(values).all()
    for reason, payload in {**OF_THE_MODEL, **OF_THE_REQUEST}.items():
        check_refused(post(strict, payload), reason)
    check_refused(post(strict, "a,b\n1,2", "text/csv"), "send Content-Type: application/json, not text/csv")


def test_fault_names_the_first_one() -> None:
    assert fault("application/json; charset=utf-8", b'{"inputs": [], "params": null}', ()) is None
    assert fault("", b"{}", ()) == "send Content-Type: application/json, not nothing"
    assert fault("application/json", b"\xff\xfe{", ()) is not None
    asked = b'{"inputs": [], "params": {"interval": 0.9}}'
    assert fault("application/json", asked, ["horizon", "interval"]) is None
    assert fault("application/json", asked, ["horizon"]) == "params.interval is unknown; params may have horizon"
    assert fault("application/json", asked, []) == "params.interval is unknown; this model takes no params"


@pytest.fixture
def registry(store: Path) -> MlflowClient:
    assert store.is_dir()
    return open_store(None)


def version(client: MlflowClient, *, error: float, checksum: str = "c" * 64, **more: str) -> str:
    """Register an empty model whose run has that validation error, and more tags."""
    experiment = client.create_experiment(f"experiment {time.time_ns()}")
    tags = {"validation_mse": repr(error), "data.checksum": checksum, "data.source": "test", **more}
    run = client.create_run(experiment, tags=tags).info.run_id
    client.log_metric(run, "evaluate/test_mse", 2 * error, 0)
    model = client.create_logged_model(experiment, name="model", source_run_id=run)
    return register(client, run, model, "walking", FORECASTS)


def test_alias_is_on_the_smallest_validation_error(registry: MlflowClient) -> None:
    for number, (error, best) in enumerate(
        [(math.inf, "None"), (0.3, "2"), (0.1, "3"), (0.2, "3"), (0.1, "3")], start=1
    ):
        assert version(registry, error=error) == f"models:/walking/{number}"
        aliases = registry.get_registered_model("walking").aliases
        assert str(aliases.get("best")) == best
    found = registry.get_model_version_by_alias("walking", "best")
    assert found.tags["validation_mse"] == "0.1"
    assert found.tags["evaluate/test_mse"] == "0.2"
    linked = registry.get_logged_model(str(found.source).removeprefix("models:/")).metrics
    assert [(m.key, m.value) for m in linked or []] == [("evaluate/test_mse", 0.2)]
    assert len(registry.get_metric_history(found.run_id, "evaluate/test_mse")) == 1


def test_a_name_belongs_to_one_data_set(registry: MlflowClient) -> None:
    version(registry, error=0.3)
    refuse_other_data(registry, "walking", {"data.checksum": "c" * 64})
    with pytest.raises(ValueError, match=r"version 1 was trained on other data \(checksum cccc.*, now dddd"):
        version(registry, error=0.1, checksum="d" * 64)
    assert best_version([], FORECASTS) is None
    move_alias(registry, "walking", FORECASTS)
    assert str(registry.get_model_version_by_alias("walking", "best").version) == "1"


def test_a_name_belongs_to_errors_of_one_kind(registry: MlflowClient) -> None:
    """Nats of the pieces of a smaller vocabulary are fewer, which says nothing of the model. A version of older code
    does not say what its error is of."""
    version(registry, error=0.3)
    version(registry, error=0.4, measured="vocabulary 1a2b")
    version(registry, error=0.2, measured="vocabulary 1a2b")
    with pytest.raises(ValueError, match=(
        r"^tracking.register=walking: version 2 is measured otherwise \(vocabulary 1a2b, now vocabulary 9c8d\), so "
        r"errors cannot be compared; take another name$"
    )):  # fmt: skip
        version(registry, error=0.1, measured="vocabulary 9c8d")
    request = RunRequest({}, "walks", "walks-seed1", "c" * 64, {"measured": "vocabulary 9c8d"})
    tracking = SimpleNamespace(parent=None, enabled=True, uri=None, wait=0, register="walking")
    with pytest.raises(PipelineError, match="2 is measured otherwise"), open_run(tracking, request, resume=False):
        pytest.fail("begun, to be refused after its training")
    best = registry.get_model_version_by_alias("walking", "best")
    assert (str(best.version), best.tags["measured"]) == ("3", "vocabulary 1a2b")
    assert version(registry, error=0.5) == "models:/walking/4"
    assert "measured" not in registry.get_model_version("walking", "4").tags


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("tracking.register=a/b",), "tracking.register=a/b must consist of letters, digits, _ and -"),
        (("tracking.register=a", "tracking=off"), "tracking.register needs the model"),
        (("tracking.register=a", "tracking.log_model=false"), "tracking.register needs the model"),
    ],
)
def test_settings_that_make_no_sense(run_pipeline, settings: tuple[str, ...], message: str) -> None:
    assert message in run_pipeline("data=swimmer", *settings).error


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["best", "true"])
def test_multirun_registers_its_best_job(
    run_pipeline, client: MlflowClient, kept: str, swimmer_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINE_DATA_ROOT", str(swimmer_root))
    arguments = ("-m", *SETTINGS, "seed=0,1", "tracking.register=swimmer", f"tracking.log_model={kept}")
    result = run_pipeline(*arguments)
    assert result.status == 0, result.err
    assert "registered: models:/swimmer/1" in result.out
    (found,) = client.search_model_versions("name = 'swimmer'")
    experiment = client.get_experiment_by_name("swimmer")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    errors = {run.info.run_id: float(run.data.tags["validation_mse"]) for run in runs if "arm" in run.data.tags}
    assert len(errors) == 2
    assert found.run_id == min(errors, key=lambda run: errors[run])
    assert float(found.tags["validation_mse"]) == min(errors.values())
    assert str(client.get_registered_model("swimmer").aliases["best"]) == "1"


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A logged model that predicts the last value of the swimmer's five columns."""
    folder = tmp_path_factory.mktemp("logged")
    (folder / "parameters").mkdir()
    intervals = calibrate(np.arange(1.0, 20.0)[:, None, None] * np.array([[1.0], [2.0]]) * np.ones(5))
    units = {"mean": torch.zeros(5), "scale": torch.ones(5)}
    model = Forecaster(Persistence(dimension=5), **units, feature_names=tuple(NAMES), intervals=intervals)
    kept = trained_model(model, np.array([ROW]), 0.5)
    kept.write(folder / "parameters")
    parts = model_parts(kept.servable(folder / "parameters"), folder)
    mlflow.pyfunc.save_model(folder / "model", **parts)
    return str(folder / "model")


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_both_applications_answer_and_refuse_in_one_line(kind: str, logged: str, monkeypatch) -> None:
    app = application(logged, kind, monkeypatch)
    status, answer = in_process(app, {"inputs": [[*ROW[:4], 7], [None, *ROW[1:]]], "params": {"horizon": 2}})
    assert status == 200
    assert [row["nose_angle"] for row in answer["predictions"]] == pytest.approx([0.1, 0.1])
    for reason, payload in (OF_THE_MODEL if kind == "plain" else OF_THE_MODEL | OF_THE_REQUEST).items():
        status, answer = in_process(app, payload)
        assert 400 <= status < 500, payload
        assert reason in answer["message"]
        assert "\n" not in answer["message"]
        assert "stack_trace" not in answer


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_the_times_of_the_rows_go_on_in_the_answer(kind: str, logged: str, monkeypatch) -> None:
    app = application(logged, kind, monkeypatch, time="hour")
    columns, rows = [*NAMES, "hour", "sequence"], [
        [*ROW, "2026-01-31 22:00", "a"], [*ROW, "2026-03-01", "b"], [*ROW, "2026-01-31 23:00", "a"],
        [*ROW, "2026-03-02", "b"],
    ]  # fmt: skip
    asked = {"dataframe_split": {"columns": columns, "data": rows}, "params": {"horizon": 2, "interval": 0.9}}
    status, answer = in_process(app, asked)
    assert status == 200, answer
    expected = ["2026-02-01 00:00:00", "2026-02-01 01:00:00", "2026-03-03 00:00:00", "2026-03-04 00:00:00"]
    assert [row["hour"] for row in answer["predictions"]] == expected
    assert [row["sequence"] for row in answer["predictions"]] == ["a", "a", "b", "b"]
    status, answer = in_process(app, {"dataframe_split": {"columns": columns, "data": rows}})
    assert [row["hour"] for row in answer["predictions"]] == [row[-2] for row in rows]
    rows[1][-2] = "soon"
    status, answer = in_process(app, asked)
    assert (status, "column hour must hold a time in each row" in answer["message"]) == (400, True)
    assert "hour" not in in_process(app, {"inputs": [ROW], "params": {"horizon": 1}})[1]["predictions"][0]


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_numbers_go_on_as_dates_where_the_training_data_had_dates(kind: str, logged: str, monkeypatch) -> None:
    app = application(logged, kind, monkeypatch, time="day", dates=True)
    columns = [*NAMES, "day"]

    def asked(*days: int) -> tuple[int, dict]:
        table = {"columns": columns, "data": [[*ROW, day] for day in days]}
        return in_process(app, {"dataframe_split": table, "params": {"horizon": 2}})

    found = [row["day"] for row in asked(20240130, 20240131)[1]["predictions"]]
    assert found == ["2024-02-01", "2024-02-02"]
    assert [row["day"] for row in asked(20240131)[1]["predictions"]] == [None, None]
    status, answer = asked(7, 8)
    assert (status, "column day holds numbers, and the training data had dates" in answer["message"]) == (400, True)


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_intervals_are_bounds_beside_every_column(kind: str, logged: str, monkeypatch) -> None:
    """19 residuals 1, 2, … 19 one step ahead and twice that two steps ahead: of 0.9 the radii are 18 and 36."""
    app = application(logged, kind, monkeypatch)
    asked = {"inputs": [[ROW], [ROW]], "params": {"horizon": 2, "interval": 0.9}}
    status, answer = in_process(app, asked)
    assert status == 200
    widths = [row["nose_angle_upper"] - row["nose_angle"] for row in answer["predictions"]]
    assert widths == pytest.approx([18, 36, 18, 36])
    assert [row["nose_angle_lower"] for row in answer["predictions"]] == pytest.approx([r - w for r, w in zip(
        [row["nose_angle"] for row in answer["predictions"]], widths, strict=True)])  # fmt: skip
    one_step = in_process(app, {"inputs": [ROW, ROW, ROW], "params": {"interval": 0.5}})[1]["predictions"]
    assert [row["nose_angle_upper"] - row["nose_angle"] for row in one_step] == pytest.approx([10, 10, 10])
    assert not any(key.endswith("_lower") for key in in_process(app, {"inputs": [ROW]})[1]["predictions"][0])
    further = "than that: settings 'evaluate.horizons=[1,2,3]' and data.validation of the run that trains it"
    few = "or give it more data: setting data.validation of the run that trains it"
    for horizon, interval, reason in ((3, 0.9, "known for 2 steps"), (3, 0.9, further), (1, 0.99, "too few forecasts"),
                                      (1, 0.99, few), (1, 9, "got 9")):  # fmt: skip
        status, answer = in_process(app, {"inputs": [ROW], "params": {"horizon": horizon, "interval": interval}})
        assert status == 400
        assert reason in answer["message"]


@pytest.mark.parametrize("interval", [None, True, "0.9", -0.1, 1])
def test_an_interval_that_is_no_coverage(logged: str, interval: Any) -> None:
    served = mlflow.pyfunc.load_model(logged).unwrap_python_model()
    with pytest.raises(ValueError, match=r"interval must be 0 \(none\) or a coverage below 1 such as 0\.9, got"):
        served.predict(None, np.array([ROW]), {"interval": interval})


@pytest.mark.parametrize(("name", "told"), [("hour", True), (None, True), ("minute", False)])
def test_times_that_are_the_index_of_a_frame_go_on_as_a_column(name: str | None, told: bool, logged: str) -> None:
    model = mlflow.pyfunc.load_model(logged, model_config={"time": "hour"})
    index = pd.DatetimeIndex(["2026-01-31 22:00", "2026-01-31 23:00"], name=name)
    frame = pd.DataFrame([ROW, ROW], columns=NAMES, index=index)
    later, same = model.predict(frame, params={"horizon": 2}), model.predict(frame)
    assert ("hour" in later.columns, "hour" in same.columns) == (told, told)
    if told:
        assert list(later["hour"]) == list(pd.DatetimeIndex(["2026-02-01 00:00", "2026-02-01 01:00"]))
        assert list(same["hour"]) == list(index)


def test_the_bound_on_forecasts_is_a_setting(logged: str, monkeypatch) -> None:
    asked = {"inputs": [[ROW], [ROW]], "params": {"horizon": 3}}
    assert in_process(application(logged, "plain", monkeypatch, most_rows=6), asked)[0] == 200
    status, answer = in_process(application(logged, "strict", monkeypatch, most_rows=5), asked)
    assert (status, answer["message"]) == (
        400,
        "horizon 3 × 2 sequences is more than 5 rows, which are forecast at most; ask for less at a time, or raise the "
        "setting most_rows",
    )
    assert in_process(application(logged, "plain", monkeypatch, most_rows=None), asked)[0] == 200
    for wrong in (0, True, "many"):
        with pytest.raises(ValueError, match="most_rows must be a whole number from 1 on, or null for no bound"):
            application(logged, "plain", monkeypatch, most_rows=wrong)


def test_a_path_that_is_not_there_is_told_in_plain_words() -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"detail":"Not Found"}'

    response = asyncio.run(in_one_line(StreamingResponse(body(), status_code=404)))
    assert json.loads(bytes(response.body))["message"] == "Not Found"


def test_outside_a_server_mlflow_reads_as_it_does(logged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = scoring_server._decode_json_input
    application(logged, "strict", monkeypatch)
    assert scoring_server._decode_json_input is before


@pytest.mark.parametrize("horizon", [None, True, 2.5, "3", -1])
def test_a_horizon_that_is_no_whole_number(logged: str, horizon: Any) -> None:
    served = mlflow.pyfunc.load_model(logged).unwrap_python_model()
    with pytest.raises(ValueError, match=r"horizon must be 0 \(one-step predictions\) or a greater whole number, got"):
        served.predict(None, np.array([ROW]), {"horizon": horizon})


def test_a_value_that_is_nested_deep_is_told_in_short(logged: str) -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    served = mlflow.pyfunc.load_model(logged).unwrap_python_model()
    with pytest.raises(ValueError, match=r"column nose_angle, row 0: \[+\.\.\.\]+ is not a number"):
        served.predict(None, pd.DataFrame([[deep, *ROW[1:]]], columns=NAMES), {"horizon": 0})


def test_a_request_that_is_too_large_is_refused_before_it_is_read() -> None:
    app = made_strict(FastAPI(), parameters=(), most_bytes=10)

    def asked(headers: list[tuple[bytes, bytes]]) -> tuple[int, str]:
        status, text = answered(app, None, headers)
        return status, json.loads(text)["message"]

    assert asked([(b"content-length", b"11")]) == (413, "the body has 11 bytes, at most 10 are taken")
    assert asked([]) == (411, "the request does not say its Content-Length")
