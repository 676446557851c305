"""The benchmarks at tiny sizes: every row is there, the checks against written-out forms pass, a peer may be away."""

from __future__ import annotations

import importlib
import math
import re
from base64 import b64decode
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "benchmarks"
TINY: dict[str, dict[str, Any]] = {
    "feature_map": {"ROWS": 60, "FEATURES": ((10, torch.float32),), "SQUARES": (16,), "FEW": 3, "MANY": 8},
    "two_stage": {"STEPS": 1100, "FEATURES": (6,)},
    "bptt_step": {"SIZES": ((6, 3),), "STEPS": 4},
    "online_step": {"FEATURES": (6,)},
    "epoch": {"SEQUENCES": 2, "STEPS": 30, "FEATURES": (6,)},
    "loop": {"FEATURES": (6,)},
    "long_series": {"STEPS": 400, "COUNT": 3, "LAGS": 3, "HORIZONS": (1, 5)},
    "factorised": {"SIZES": ((6, (2, 3)),)},
    "trace_estimation": {"SIZE": 50, "QUERIES": (12,)},
    "ssgp": {"ROWS": 60, "COUNT": 3},
    "gated_step": {"STEPS": 4, "BATCH": 2, "SIZES": (5,)},
    "gp_regression": {"ROWS": 40, "TEST_ROWS": 9, "STREAMED": 50, "CHUNK": 20},
    "five_lines": {"ROWS": 400, "COLUMNS": 2, "HORIZON": 3, "LAGS": 4},
    "page_attention": {"TOKENS": (90,)},
    "attention_peers": {"TOKENS": (128,), "HEADS": 2, "WIDTH": 8, "WINDOW": 16, "BLOCK": 8},
    "document_step": {"TOKENS": 90, "VOCABULARY": 50},
    "form_boxes": {"BOXES": (20,), "POOLED": 5, "SIZE": (96, 128)},
    "form_words": {
        "WORDS": 4,
        "BATCH": 2,
        "WIDTHS": (16, 40),
        "READ": 2,
        "UNITS": 8,
        "LAYERS": 1,
        "BEAM": 2,
        "PAGE": (96, 128),
        "ON_PAGE": 4,
    },
    "mctn_step": {"BATCH": 3, "LEAST": 2, "STEPS": 4, "UNITS": 4, "UTTERANCES": 5, "VOCABULARY": 9, "LONGEST": 4},
    "experts_step": {
        "SIZES": ((9, 8, 8, 4, 2, "even"), (9, 8, 8, 4, 2, "skewed")),
        "SENTENCES": 3,
        "LONGEST": 6,
        "WIDTH": 8,
        "HEADS": 2,
        "HIDDEN": 8,
        "LAYERS": 1,
        "PIECES": 20,
        "TRANSLATED": 3,
        "WRITTEN": 3,
        "BEAM": 2,
    },
}
ROWS = {
    "feature_map": 3 + 3 + 2,
    "two_stage": 3,
    "bptt_step": 3,
    "online_step": 4,
    "epoch": 4 + 4,
    "loop": 3,
    "long_series": 4 + 3,
    "factorised": 3,
    "trace_estimation": 8,
    "ssgp": 6,
    "gated_step": 2 * (3 + 3 + 2),
    "gp_regression": 3 + 3 + 1,
    "five_lines": 2,
    "page_attention": 4 * 2 + 2 + 2,
    "attention_peers": 2 * 2 if find_spec("transformers") else 0,
    "document_step": 3 * 2 + 3 * 2,
    "form_boxes": 3 + 2 * 2 * 3 + 2 + 2,
    "form_words": 3 + 2 + 2,
    "mctn_step": 3 + 3 + 2 + 2,
    "experts_step": 2 * (4 + hasattr(torch.nn.functional, "grouped_mm")) + 3 + 3,
}
PEERS = {"feature_map": 1, "two_stage": 1, "long_series": 1, "trace_estimation": 3, "ssgp": 2, "gp_regression": 2,
         "five_lines": 1}  # fmt: skip


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))

    def tiny(name: str) -> Any:
        module = importlib.import_module(name)
        for constant, value in TINY.get(name, {}).items():
            monkeypatch.setattr(module, constant, value)
        return module

    return tiny


def machine(load: Any) -> Any:
    peaks = {torch.float32: 1e9, torch.float64: 1e9}
    return load("side_by_side").Machine(torch.device("cpu"), peaks, 1e9)


@pytest.mark.filterwarnings("ignore:40 rows are too few to train:UserWarning")
@pytest.mark.parametrize("name", TINY)
def test_every_form_has_a_row(name: str, load: Any) -> None:
    rows = load(name).measure(machine(load), 0.01)
    assert len(rows) == ROWS[name]
    assert all(row.seconds > 0 and row.ratio > 0 for row in rows)
    assert all(row.ratio == 1 for row in rows if row.form.startswith("ours"))
    assert all(str(row).count("|") == 8 for row in rows)


@pytest.mark.filterwarnings("ignore:40 rows are too few to train:UserWarning")
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed_is_left_out_and_named(
    name: str, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, shared = load(name), load("side_by_side")
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    monkeypatch.setattr(shared, "find_spec", lambda _: None)
    rows = module.measure(machine(load), 0.01)
    assert len(rows) == ROWS[name] - PEERS[name]
    assert not any(peer in row.form for row in rows for peer in ("scikit-learn", "PyLops", "GPyTorch"))
    assert "Left out, as they are not installed: scikit-learn, PyLops, GPyTorch, transformers." in shared.report(
        machine(load), rows
    )


def test_a_form_is_read_from_base64_by_the_served_model(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module, asked = load("form_words"), list[Any]()
    own = module.ServedForms.predict
    monkeypatch.setattr(module.ServedForms, "predict", lambda *given: asked.append(given[2]) or own(*given))
    assert [row.form for row in module.page_rows(machine(load), 0.01)] == ["ours", "the limit on one core"]
    assert asked[0].columns.tolist() == ["form", "image"]
    assert b64decode(asked[0]["image"][0]).startswith(b"\x89PNG")


def test_forms_take_turns(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    shared = load("side_by_side")
    monkeypatch.setattr(shared, "SAMPLE", 0.0)  # one call a sample
    monkeypatch.setattr(shared, "MOST_ROUNDS", 3)
    forms = {name: lambda name=name: order.append(name) for name in "AB"}
    found = shared.samples(forms, device=torch.device("cpu"), budget=math.inf)
    assert "".join(order) == "AB" * 5  # to warm up, to count the calls of a sample, three rounds
    assert [len(times) for times in found.values()] == [3, 3]


def test_two_stage_regression_is_measured_with_one_thread_too(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the peak of one thread, which is measured then; afterwards there are as many threads as before."""
    used: list[int] = []
    module = load("two_stage")
    monkeypatch.setattr(module, "product_peak", lambda *_: used.append(torch.get_num_threads()) or 2e9)
    torch.set_num_threads(2)
    try:
        rows = module.measure(machine(load), 0.01)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    (alone,) = (row for row in rows if row.spot == "two-stage regression, one thread")
    assert used == [1]
    assert alone.product_share == pytest.approx(2 * 1100 * 6**3 / alone.seconds / 2e9)


@pytest.mark.parametrize(
    ("name", "said"), [("AVX2", "AVX2 (256-bit vectors)"), ("AVX512", "AVX512 (512-bit vectors)"), ("X", "vectors: X")]
)
def test_the_processor_is_named_with_the_width_of_its_vectors(
    name: str, said: str, load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: name)
    monkeypatch.setattr(load("side_by_side"), "processor", lambda: "Some Processor")
    assert machine(load).describe().startswith(f"Some Processor, {said}, 1 thread(s), torch ")


def test_a_sample_waits_until_the_threads_of_the_form_before_are_at_rest(
    load: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked, slept = iter([0.0, 0.004, 0.004, 0.006, 0.006, 0.006]), []
    shared = load("side_by_side")
    clocks = SimpleNamespace(perf_counter=lambda: 0.0, process_time=lambda: next(worked), sleep=slept.append)
    monkeypatch.setattr(shared, "time", clocks)
    shared.rest()
    assert slept == [shared.REST] * 3
    clocks.perf_counter = iter([0.0, 0.0, shared.LONGEST_REST]).__next__
    worked = iter([0.0, 1.0])
    shared.rest()
    assert len(slept) == 4


def test_a_form_that_uses_up_the_budget_runs_once(load: Any) -> None:
    calls: list[int] = []
    found = load("side_by_side").samples({"A": lambda: calls.append(0)}, device=torch.device("cpu"), budget=0.0)
    assert (len(calls), len(found["A"])) == (1, 1)


@pytest.mark.parametrize(("parameters", "inputs"), [(125_100, 44), (1000, 1)])
def test_the_lstm_has_as_many_parameters_as_fit(parameters: int, inputs: int, load: Any) -> None:
    units = load("side_by_side").equal_lstm_units(parameters, inputs)
    counts = [sum(p.numel() for p in torch.nn.LSTMCell(inputs, n).parameters()) for n in (units, units + 1)]
    assert counts[0] <= parameters < counts[1]


def test_all_of_them_write_one_file(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all = load("run_all")
    monkeypatch.setattr(run_all, "HOT_SPOTS", [load("two_stage"), load("online_step")])
    monkeypatch.setattr(run_all, "DIMENSIONS", (2,))
    monkeypatch.setattr(run_all, "FREQUENCIES", 4)
    monkeypatch.setattr(run_all, "machine_of", lambda _: machine(load))
    file = tmp_path / "new" / "bench.md"
    monkeypatch.setattr("sys.argv", ["run_all", "--output", str(file), "--budget", "0.01", "--draws", "2"])
    run_all.main()
    text = file.read_text(encoding="utf-8")
    assert text in capsys.readouterr().out
    for part in (
        "| two-stage regression | m = 6,",
        "| online step | m = 6 | ours |",
        "| near_orthogonal + stratified |",
    ):
        assert part in text


def test_gpu_page_pairs_every_hot_spot_with_the_cpu(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, row = load("gpu"), load("side_by_side").Row
    seconds = iter((0.25, 0.5))
    monkeypatch.setattr(gpu, "measured_machine", lambda _: machine(load))
    monkeypatch.setattr(gpu, "ended", lambda arguments, *_: f"ran {arguments[1]}")

    def measure(*_: Any) -> list[Any]:
        ours = row(spot="epoch", size="m = 6", form="ours", seconds=next(seconds), ratio=1.0)
        return [ours, row(spot="epoch", size="m = 6", form="a peer", seconds=1.0, ratio=4.0)]

    page = gpu.page(torch.device("cpu"), 0.01, measure=measure)
    assert "| epoch | m = 6 | 250 ms | 500 ms | 2.00 |" in page
    assert "Tests that need a GPU (`pytest -m gpu`): ran pytest" in page
    assert "Two jobs at once: ran pipeline" in page


def test_gpu_page_is_refused_without_a_gpu(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("gpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("sys.argv", ["gpu.py"])
    with pytest.raises(SystemExit, match="error: torch sees no GPU; install a CUDA build of torch, or try"):
        gpu.main()


def test_two_jobs_have_a_store_of_their_own(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = load("gpu")
    asks = "from pipeline.tracking.store import tracking_uri; print(tracking_uri(None))"
    monkeypatch.setattr(gpu, "JOBS", ("-c", asks))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert re.fullmatch(r"exit status 0, .*: sqlite:////.*/mlflow\.db", gpu.two_jobs("cpu"))


def test_what_a_program_ended_with_is_said(load: Any) -> None:
    found = load("gpu").ended(["-c", "print('one'); print('two'); raise SystemExit(3)"])
    assert found.startswith("exit status 3, ")
    assert found.endswith(": two")


def test_series_are_scored_and_a_run_goes_on(load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module, data, models = load("ten_series"), load("ten_series_data"), load("ten_series_models")
    fits = {name: models.MODELS[name] for name in ("ridge over lags", "seasonal naive")}
    monkeypatch.setattr(module, "MODELS", fits)
    series = data.two_oscillations(400)
    errors = module.measured([series], tmp_path / "errors.csv")
    assert errors["horizons_1_to_24"][0] < errors["horizons_1_to_24"][1]
    assert "| **0." in module.table_of(errors, "horizons_1_to_24")
    monkeypatch.setattr(module, "score", None)  # what is finished is not measured again
    assert len(module.measured([series], tmp_path / "errors.csv")) == 2


def test_the_page_of_ten_series_has_the_tables_that_were_made() -> None:
    results = FOLDER.parent / "docs" / "results"
    tables = (results / "ten-series" / "tables.md").read_text(encoding="utf-8").splitlines()
    page = (results / "ten-series.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in tables if line.startswith("| ") and line not in page] == []
    assert len(tables) > 20
