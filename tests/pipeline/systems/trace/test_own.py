"""`recipe=trace` on a matrix of one's own: estimates, exact values, resuming, and wrong settings in one line."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from mlflow.artifacts import load_text

from data.matrices import SymmetricMatrix
from models.trace.estimate import error_of_steps, of_budget
from models.trace.functions import function_of
from models.trace.matrices import matrix_of
from models.trace.pool import Pool
from pipeline.systems.trace import records
from pipeline.systems.trace.own import OwnMatrix, curve, load

SIZE = 120
TINY = ("size=tiny", "estimate.queries=[8,40]")


def kernel() -> np.ndarray:
    places = np.random.default_rng(0).random((SIZE, 2))
    distances = ((places[:, None] - places[None]) ** 2).sum(2)
    return np.exp(-3 * distances) + 0.1 * np.eye(SIZE)


def graph() -> np.ndarray:
    upper = np.triu(np.random.default_rng(1).random((SIZE, SIZE)) < 0.1, 1)
    return (upper | upper.T).astype(float)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    np.save(tmp_path / "kernel.npy", kernel())
    edges = "".join(f"{i} {j}\n" for i, j in np.argwhere(np.triu(graph()))) + "5 5\n"  # and a loop
    (tmp_path / "graph.txt").write_text(edges)
    sp.save_npz(tmp_path / "graph.npz", sp.csr_array(graph()))
    return {name: str(tmp_path / name) for name in ("kernel.npy", "graph.txt", "graph.npz")}


def runs(client):
    return client.search_runs([e.experiment_id for e in client.search_experiments()])


def smoothed(values: np.ndarray) -> np.ndarray:
    return values / (values + 0.001 * SIZE)


EXACT = {
    "identity": lambda values: values, "cube": lambda values: values**3, "exp": np.exp,
    "inverse": lambda values: 1 / values, "log": np.log, "smoother": smoothed,
}  # fmt: skip


@pytest.mark.parametrize("function", EXACT)
def test_functions_of_a_matrix(function: str, files: dict[str, str], run_pipeline, client) -> None:
    result = run_pipeline("recipe=trace", f"matrix.path={files['kernel.npy']}", f"function={function}", *TINY)
    assert result.status == 0, result.err
    (run,) = runs(client)
    found, expected = run.data.metrics, float(EXACT[function](np.linalg.eigvalsh(kernel())).sum())
    assert found["trace/reference"] == pytest.approx(expected, rel=1e-9)
    assert abs(found["trace/estimate"] - expected) < 4 * found["trace/standard_error"] + 1e-11 * abs(expected)
    assert found["trace/size"] == SIZE
    assert 0 < found["trace/flatness"] <= 1
    table = pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/trace/estimates.csv")))
    assert table["method"].unique().tolist() == ["auto", "hutchinson", "hutch_pp", "na_hutch_pp", "xtrace"]
    assert sorted(table["queries"].unique()) == [8, 40]
    assert load_text(f"{run.info.artifact_uri}/trace/estimates.svg")
    assert f"exact: {expected:,.10g}." in result.out


def test_standard_errors_include_what_too_few_lanczos_steps_leave() -> None:
    target = function_of(matrix_of(np.diag(np.logspace(-8, 0, 300))), "log", 5)
    settings: Any = SimpleNamespace(seed=0, estimate=SimpleNamespace(queries=[100], methods=["hutchinson"]))
    data: Any = None
    with pytest.warns(UserWarning, match=r"5 Lanczos steps leave .*, and the queries one of .*: raise matrix\.steps$"):
        table = curve(OwnMatrix(data, target, "log A"), settings)
    row = table.iloc[-1]
    pool, left = Pool(target, seed=0), error_of_steps(target)
    queries = [of_budget(pool, method, 100).standard_error for method in ("auto", "hutchinson")][-1]
    assert left.steps > queries
    assert row["standard_error"] == pytest.approx(np.hypot(queries, left.steps), rel=1e-9)
    assert row["relative_error"] == pytest.approx(row["standard_error"] / abs(row["estimate"]), rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("dtype", "scale"), [("float64", 1.0), ("float32", 2.0**200)])
def test_a_matrix_is_rounded_as_it_is_in_python(form: Any, dtype: str, scale: float, monkeypatch) -> None:
    data = SymmetricMatrix("kernel", form(scale * kernel()), SIZE)
    monkeypatch.setattr(records, "load", lambda _: data)
    settings: Any = SimpleNamespace(dtype=dtype, function="log", matrix=SimpleNamespace(steps=40))
    found = error_of_steps(load(settings, torch.device("cpu")).target)
    plain = error_of_steps(function_of(matrix_of(form(kernel().astype(dtype))), "log", 40))
    assert found.rounding == pytest.approx(plain.rounding, rel=1e-6)
    assert found.rounding > 0


def test_triangles_of_a_graph(files: dict[str, str], run_pipeline, client) -> None:
    result = run_pipeline("+experiment=trace_triangles", f"matrix.path={files['graph.txt']}", *TINY)
    assert result.status == 0, result.err
    assert "**triangles " in result.out
    expected = np.trace(np.linalg.matrix_power(graph(), 3))
    assert runs(client)[0].data.metrics["trace/reference"] == pytest.approx(expected)


def test_an_estrada_index_and_a_bound_on_the_exact_value(files: dict[str, str], run_pipeline, client) -> None:
    path = f"matrix.path={files['graph.npz']}"
    result = run_pipeline("+experiment=trace_estrada", path, "matrix.exact_rows=50", *TINY)
    assert result.status == 0, result.err
    assert "no exact value: 120 rows are more than matrix.exact_rows=50" in result.out
    assert "**Estrada index " in result.out
    found = runs(client)[0].data.metrics
    expected = np.exp(np.linalg.eigvalsh(graph())).sum()
    assert "trace/reference" not in found
    assert abs(found["trace/estimate"] - expected) < 4 * found["trace/standard_error"]


def test_a_run_that_was_stopped_gives_the_same(files: dict[str, str], run_pipeline, client, monkeypatch) -> None:
    # on one thread: several share out sums as they come to be free, which may change the last digit
    arguments = ("+experiment=trace_logdet", f"matrix.path={files['kernel.npy']}", "threads=1", *TINY)

    def stop(*_: object) -> None:
        raise ValueError("stopped on purpose")

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.trace.own.curve", stop)
        assert "stopped on purpose" in run_pipeline(*arguments).error
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.trace.own.exact", stop)  # it was kept
        assert run_pipeline(*arguments, "resume=true").status == 0
    assert run_pipeline(*arguments).status == 0
    one, other = (run.data.metrics for run in runs(client))
    assert {k: v for k, v in one.items() if "seconds" not in k} == {
        k: v for k, v in other.items() if "seconds" not in k
    }


def test_more_queries_than_rows_are_left_out(tmp_path: Path, run_pipeline, client) -> None:
    np.save(tmp_path / "small.npy", kernel()[:30, :30])
    result = run_pipeline("recipe=trace", f"matrix.path={tmp_path / 'small.npy'}", "estimate.queries=[8,28,30,90]")
    assert result.status == 0, result.err
    assert "estimate.queries: 30, 90 left out, as 30 products give the trace of 30 rows exactly" in result.out
    (run,) = runs(client)
    table = pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/trace/estimates.csv")))
    assert sorted(table["queries"].unique()) == [8, 28]
    error = run_pipeline("recipe=trace", f"matrix.path={tmp_path / 'small.npy'}", "estimate.queries=[90]").error
    assert "estimate.queries: 90 are not fewer than the matrix has rows, 30: so many products give the trace" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("problem=own",), "problem=own needs a matrix: matrix.path=FILE (.mtx, .npz, .npy, .txt or .edges)"),
        (("data=matrix",), "data=matrix needs matrix.path=FILE (.mtx, .npz, .npy, .txt or .edges); leave data=matrix"),
        (("data=matrix", "problem=synthetic"), "data=matrix needs matrix.path=FILE"),
        (("function=cube",), "function=cube is for a matrix of one's own; give matrix.path=FILE"),
        (("problem=roget", "matrix.path=a.npz"), "matrix.path=a.npz is for problem=own; leave problem=roget out"),
        (("matrix.path=none.npz",), "none.npz: there is no such file"),
        (("matrix.path=none.npz", "function=sqrt"), "function=sqrt is unknown; choose one of identity, cube, exp"),
        (("matrix.path=none.npz", "matrix.component=giant"), "matrix.component=giant is unknown; choose one of all"),
        (("matrix.path=none.npz", "estimate.distribution=rademacher"), "the standard errors of problem=own are those"),
        (("matrix.path=none.npz", "matrix.exact_rows=-1"), "matrix.exact_rows=-1 must be 0 or greater"),
    ],
)
def test_wrong_settings(arguments: tuple[str, ...], message: str, run_pipeline) -> None:
    error = run_pipeline("recipe=trace", "tracking=off", *arguments).error
    assert message in error, error


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("graph.npz", "log", "the matrix is not positive definite: it has an eigenvalue of"),
        ("graph.npz", "inverse", "the matrix is not positive definite"),
    ],
)
def test_functions_that_the_matrix_has_not(
    name: str, function: str, message: str, files: dict[str, str], run_pipeline
) -> None:
    arguments = (f"matrix.path={files[name]}", f"function={function}", "matrix.exact_rows=0", "tracking=off", *TINY)
    error = run_pipeline("recipe=trace", *arguments).error
    assert message in error, error


@pytest.mark.parametrize(
    ("function", "advice"), [("inverse", "add a ridge to its diagonal"), ("smoother", "raise matrix.smoothing")]
)
def test_a_solve_that_does_not_end_advises_what_can_be_set(
    function: str, advice: str, tmp_path: Path, run_pipeline
) -> None:
    np.save(tmp_path / "ill.npy", np.diag(np.logspace(-14, 0, 60)))
    error = run_pipeline(
        "recipe=trace", f"matrix.path={tmp_path / 'ill.npy'}", f"function={function}", "matrix.smoothing=1e-20",
        "matrix.exact_rows=0", "tracking=off", "size=tiny", "estimate.queries=[8]", "estimate.methods=[hutchinson]",
    ).error  # fmt: skip
    assert error.endswith(f"the matrix is ill-conditioned or singular; {advice}"), error


def test_an_exact_value_that_rounding_decides_is_refused(tmp_path: Path, run_pipeline) -> None:
    np.save(tmp_path / "twice.npy", np.kron(np.ones((2, 2)), kernel()[:60, :60]))
    error = run_pipeline("recipe=trace", f"matrix.path={tmp_path / 'twice.npy'}", "function=inverse", *TINY).error
    assert "the matrix is singular to the rounding of double precision, which decides f(A); a ridge on its" in error, (
        error
    )


@pytest.mark.parametrize("methods", ["[xtrace]", "[hutchinson]"])  # beside which one is chosen
def test_more_queries_than_the_matrix_has_rows(methods: str, files: dict[str, str], run_pipeline) -> None:
    error = run_pipeline(
        "recipe=trace", f"matrix.path={files['kernel.npy']}", "tracking=off", "estimate.queries=[300]",
        f"estimate.methods={methods}",
    ).error  # fmt: skip
    assert "estimate.queries: 300 are not fewer than the matrix has rows, 120" in error, error


def test_a_matrix_of_zeros_is_drawn_without_a_word_from_matplotlib(tmp_path: Path, run_pipeline) -> None:
    np.save(tmp_path / "zeros.npy", np.zeros((30, 30)))
    result = run_pipeline("recipe=trace", f"matrix.path={tmp_path / 'zeros.npy'}", "estimate.queries=[8]")
    assert result.status == 0, result.err
    assert "**trace 0 ± 0**" in result.out


def test_queries_come_in_any_order_and_those_of_timing_play_no_part(tmp_path: Path, run_pipeline) -> None:
    np.save(tmp_path / "small.npy", kernel()[:40, :40])
    arguments = (f"matrix.path={tmp_path / 'small.npy'}", "size=tiny", "estimate.queries=[40,8]")
    result = run_pipeline("recipe=trace", *arguments, "timing.queries=[90]")
    assert result.status == 0, result.err
    assert "estimate.queries: 40 left out" in result.out
    assert "with 8 queries" in result.out
