"""`recipe=trace`: every problem at tiny size, the traces that are known, and wrong settings in one line."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir
from mlflow.artifacts import load_text
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from data import graphs
from data.regression import precipitation
from models.features.kernel_matrix import kernel_matrix
from models.features.kernels import Gaussian
from models.theory.dense import KernelSpectrum
from models.trace.estimators import METHODS
from models.trace.hessian import ChunkLoss, dense
from models.trace.oracles import Dense, Diagonal
from pipeline.compare.claims import NO_CLAIM, VERDICTS
from pipeline.compare.mcnemar import difference_interval
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.settings.build import settings_of
from pipeline.settings.schema import register_schemas
from pipeline.systems.registry import schemas
from pipeline.systems.trace import recipe
from pipeline.systems.trace.claims import CLAIMS, claims, paired
from pipeline.systems.trace.config import EstimateConfig, MatrixConfig, TimingConfig, TraceConfig
from pipeline.systems.trace.hessian import fitted_hessian
from pipeline.systems.trace.problems import PROBLEMS, Source, TraceProblem, refuse_singular
from pipeline.systems.trace.trials import products_metrics
from test_real_data import ROOT

TINY = ("size=tiny", "timing.processes=1", "timing.trials=1", "timing.queries=[10]")


PROBLEM_OF = {"data": "roget", "hessian": "hessian"}  # that has settings of this section
NO_DATA = ("trace", "trace_hessian")  # experiments


def data_of(problem: str) -> dict[str, Any] | None:
    """The section `data` of a problem."""
    where = {"root": str(ROOT), "source": "published" if ROOT.is_dir() else "stand_in", "seed": 0}
    if problem in ("roget", "condmat"):
        return {"_target_": "data.graphs.load", "name": problem, **where}
    return (
        {"_target_": "data.regression.precipitation.load", **where}
        if problem in ("precipitation", "smoother")
        else None
    )


def settings(problem: str, **matrix: float | str) -> TraceConfig:
    made: dict[str, Any] = {
        "component": "all",
        "exact_rows": 0,
        "size": 50,
        "points": 30,
        "length": 1.0,
        "ridge": 0.0,
        "smoothing": 0.01,
        "steps": 40,
        "products": "exact",
        **matrix,
    }
    estimate = EstimateConfig(list(METHODS), [10], "gaussian", 0.01, 2, 1)
    return TraceConfig(
        problem=problem,
        function="identity",
        data=data_of(problem),
        matrix=MatrixConfig(**made),
        estimate=estimate,
    )


WALKER = ("data@hessian.data=mocap", "hessian.data.source=stand_in", "hessian.horizon=8")


@pytest.mark.parametrize(
    "experiment", ["trace", "trace_roget", "trace_precipitation", "trace_smoother", "trace_hessian"]
)
def test_a_tiny_run(experiment: str, run_pipeline, client) -> None:
    source = () if experiment in NO_DATA else ("data.source=stand_in",)
    result = run_pipeline(
        f"+experiment={experiment}", *TINY, *source, *(WALKER if experiment == "trace_hessian" else ())
    )
    assert result.status == 0, result.err
    (run,) = (
        run for run in client.search_runs([e.experiment_id for e in client.search_experiments()]) if run.data.metrics
    )
    assert run.info.status == "FINISHED"
    assert run.data.tags["data.stand_in"] == str(experiment != "trace").lower()
    assert run.info.run_name.startswith("STAND-IN-") == (experiment != "trace")
    assert {f"trace/{name}/{what}" for name in METHODS for what in ("failures", "rms_error", "seconds")} <= {
        *run.data.metrics
    }
    if experiment != "trace":
        assert run.data.metrics["trace/products_difference"] < 1e-4
    table = pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/trace/failures.csv")))
    assert len(table) == len(METHODS) * 6
    assert table["failures"].between(0, 100).all()
    pairs = pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/trace/paired.csv")))
    assert len(pairs) == len(CLAIMS) * 6
    assert set(pairs["verdict"]) <= ({NO_CLAIM} if experiment != "trace" else set(VERDICTS) - {NO_CLAIM})
    for path in ("trace/runs.csv", "trace/claims.csv", "trace/seconds.csv", "trace/failures.svg"):
        assert load_text(f"{run.info.artifact_uri}/{path}")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "problem=graph",
            "problem=graph is unknown; choose one of auto, condmat, hessian, own, precipitation, roget, smoother",
        ),
        ("estimate.methods=[hutch]", "estimate.methods=hutch is unknown; choose one of hutchinson, hutch_pp"),
        ("estimate.queries=[11]", "estimate.queries: xtrace asks for as many queries twice; 11 is odd"),
        ("estimate.queries=[]", "estimate.queries is empty"),
        ("estimate.methods=[]", "estimate.methods is empty; give at least one value"),
        ("estimate.distribution=rademacher", "the trace itself for every x of ±1 and the diagonal matrix of"),
        ("estimate.epsilon=0", "estimate.epsilon=0.0 must be greater than 0"),
        (
            "matrix.size=1",
            "estimate.queries: hutch_pp with 10 queries makes a sketch of 3 vectors of a matrix of size 1",
        ),
        ("matrix.ridge=-1", "matrix.ridge=-1.0 must be 0 or greater"),
        ("estimate.distribution=uniform", "choose one of gaussian, rademacher"),
        ("data.source=web", "error: data: roget: source=web is unknown; choose one of"),
        ("hessian.features.projection=5000", "error: hessian.features.projection must lie between 1 and the number of"),
        ("hessian.features.bandwidth.rule=mean", "error: hessian.features.bandwidth: "),
    ],
)
def test_wrong_settings(argument: str, message: str, run_pipeline) -> None:
    problem = (f"problem={PROBLEM_OF.get(argument.partition('.')[0], 'synthetic')}",)
    error = run_pipeline("recipe=trace", "size=tiny", "tracking=off", *problem, argument).error
    assert message in error, error


def test_a_projection_of_random_parameters_is_refused_by_the_settings_of_the_hessian(run_pipeline) -> None:
    chosen = ("hessian.initialise.method=random", "hessian.features.projection=2")
    error = run_pipeline("recipe=trace", "size=tiny", "tracking=off", "problem=hessian", *chosen).error
    assert error.startswith(
        "error: hessian.initialise.method=random has no regression to find hessian.features.projection by; leave one"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("problem=roget", "data=mocap"), "gives sequences; problem=roget takes a graph: choose data=condmat, roget"),
        (("problem=smoother", "data=roget"), "gives a graph; problem=smoother takes a table of points: choose data=ab"),
        (("problem=own", "data=roget"), "gives a graph; problem=own takes a symmetric matrix: choose data=matrix"),
        (("data=roget",), "problem=synthetic takes no data: leave data out, or choose problem=roget, condmat, precipi"),
        (("problem=hessian", "data=mocap"), "problem=hessian takes no data: leave data out, and choose hessian's own"),
        (("problem=synthetic", "data.source=published"), "data.source is not a setting of the data chosen"),
        (("problem=synthetic", "+experiment=own_roget"), "problem=roget has no data; choose both by problem=roget"),
    ],
)
def test_data_of_another_kind_are_refused_before_loading(
    arguments: tuple[str, ...], message: str, run_pipeline, tmp_path
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "own_roget.yaml").write_text("# @package _global_\nproblem: roget\n")
    result = run_pipeline("recipe=trace", "tracking=off", *arguments, f"--config-dir={tmp_path}")
    assert message in result.error, result.error
    assert "load" not in result.out


def test_a_problem_takes_any_data_of_its_kind(run_pipeline, client) -> None:
    table = ("data=abalone", "data.source=stand_in", "matrix.ridge=0.1")
    assert run_pipeline("recipe=trace", "problem=smoother", *table, *TINY).status == 0
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert run.data.tags["data"] == "abalone"
    few = ("data.points=5", "data.validation=0", "data.test=0", "data.source=stand_in")
    error = run_pipeline("recipe=trace", "problem=smoother", *few, "tracking=off").error
    assert "matrix.points=1000: there are 5 points; lower it, or raise data.points" in error, error


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("estimate.methods=[xtrace,xtrace]", "estimate.methods=['xtrace', 'xtrace'] names one twice; name each once"),
        ("estimate.queries=[10,30,10]", "estimate.queries=[10, 30, 10] names one twice"),
        ("timing.queries=[10,10]", "timing.queries=[10, 10] names one twice"),
    ],
)
def test_repeats_are_refused_before_anything_runs(argument: str, message: str, run_pipeline) -> None:
    """Not at size=tiny, whose caps make budgets equal, which are then one."""
    result = run_pipeline("recipe=trace", "tracking=off", argument)
    assert message in result.error, result.error
    assert "load" not in result.out


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model@hessian.model=lstm", "hessian.model=LSTM: the Hessian is that of a PSRNN; use model=psrnn"),
        ("model@hessian.model=psrnn_cp", "hessian.model=FactorisedPsrnn: the Hessian is that of a PSRNN"),
        ("dtype=float32", "dtype=float32: problem=hessian computes in float64; leave dtype out"),
        ("hessian.features.count=0", "hessian.features.count=0 must be greater than 0"),
        ("hessian.chunks=0", "hessian.chunks=0 must be greater than 0"),
        ("estimate.epsilon=inf", "estimate.epsilon=inf must be finite"),
        ("hessian.update=kalman", "hessian.update=kalman is unknown; choose one of bayes"),
        (
            "hessian.horizon=101",
            "hessian.horizon=101: no chunk of so many steps, counted from the begin of a sequence, is observed through",
        ),
        ("+hessian.wrong=1", "hessian.wrong is not a setting; choose one of data, kernel"),
    ],
)
def test_wrong_settings_of_the_hessian(argument: str, message: str, run_pipeline) -> None:
    error = run_pipeline("+experiment=trace_hessian", "size=tiny", "tracking=off", *WALKER, argument).error
    assert message in error, error


def test_a_hessian_that_is_too_large_is_refused(run_pipeline, monkeypatch) -> None:
    monkeypatch.setattr("pipeline.systems.trace.problems.MOST_PARAMETERS", 100)
    error = run_pipeline("+experiment=trace_hessian", "size=tiny", "tracking=off", *WALKER).error
    assert "needs the whole Hessian, of at most 100; lower it" in error, error


def test_a_table_of_points_has_no_sequences(run_pipeline) -> None:
    table = ("data@hessian.data=precipitation", "hessian.data.source=stand_in")
    error = run_pipeline("+experiment=trace_hessian", "size=tiny", "tracking=off", *table).error
    assert "is a table of points, not sequences" in error, error


def second_difference(loss: ChunkLoss, parameters: Sequence[torch.nn.Parameter], direction: torch.Tensor) -> float:
    """Of the objective's own loss, which refinement minimises, along a direction."""
    here, step, found = parameters_to_vector(parameters).detach(), 1e-4, []
    for sign in (1, 0, -1):
        vector_to_parameters(here + sign * step * direction, parameters)
        found.append(float(loss.objective.loss(loss.batch).mean.detach()))
    vector_to_parameters(here, parameters)
    return (found[0] - 2 * found[1] + found[2]) / step**2


def test_the_hessian_is_that_of_the_loss_that_refinement_minimises() -> None:
    register_schemas(schemas())
    with initialize_config_dir(str(conf_folder()), version_base=None):
        configured = settings_of(compose("config", ["+experiment=trace_hessian", "size=tiny", *WALKER]))
    fitted = fitted_hessian(configured, torch.device("cpu"))
    loss: Any = fitted.oracle.loss
    assert fitted.loss == pytest.approx(float(loss.objective.loss(loss.batch).mean.detach()), rel=1e-12)
    assert (fitted.chunks, fitted.oracle.size) == (6, 4**3 + 4 + 4 + 22 * 5)
    matrix = dense(fitted.oracle)
    torch.testing.assert_close(matrix, matrix.T, rtol=0.0, atol=1e-12 * float(matrix.abs().max()))
    direction = torch.randn(len(matrix), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = float(direction @ matrix @ direction)
    assert second_difference(loss, fitted.oracle.parameters, direction) == pytest.approx(expected, rel=1e-4)
    problem = PROBLEMS["hessian"](configured, torch.device("cpu"))
    assert (problem.trace, problem.norm) == pytest.approx((float(matrix.trace()), float(matrix.norm())), rel=1e-12)


def test_queries_do_not_depend_on_the_order_that_a_graph_is_multiplied_in(monkeypatch) -> None:
    """Which order reverse Cuthill–McKee finds differs between processors."""
    small = settings("condmat")
    small.data["source"] = "stand_in"
    here = PROBLEMS["condmat"](small, torch.device("cpu"))
    x = torch.randn(3, here.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = here.oracle(x)
    order = np.random.default_rng(0).permutation(here.size)
    monkeypatch.setattr("pipeline.systems.trace.problems.reverse_cuthill_mckee", lambda *_, **__: order)
    found = PROBLEMS["condmat"](small, torch.device("cpu")).oracle(x)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-10)


def toy(stand_in: bool = False) -> TraceProblem:
    oracle = Diagonal(torch.ones(100, dtype=torch.float64))
    return TraceProblem(Source("toy", "generated", stand_in, "0"), 100, oracle, oracle, 100.0, 10.0, "I", "trace")


def test_methods_are_compared_by_the_trials_in_which_one_alone_fails() -> None:
    """ε = 0.01 of a trace of 100: an estimate of 102 fails, one of 100.5 does not."""
    asked = settings("synthetic")
    asked.estimate.queries = [10, 30, 50]
    old, new = torch.full((2, 3, 20), 102.0), torch.full((2, 3, 20), 102.0)
    new[:, 0, :8] = 100.5  # at 10 queries the challenger is right in 16 trials more
    old[:, 1, :8] = 100.5  # at 30 the other way round
    old[0, 2, :5], new[1, 2, :6] = 100.5, 100.5  # at 50, 5 against 6
    table = paired({"hutchinson": old, "hutch_pp": new}, toy(), asked)
    assert table["verdict"].to_list() == ["holds", "does not hold", "undecided"]
    assert table["difference"].to_list() == pytest.approx([-40, 40, -2.5])
    assert table[["only_baseline", "only_challenger"]].to_numpy().tolist() == [[16, 0], [0, 16], [6, 5]]
    assert table["p"].to_list() == pytest.approx([2**-15, 2**-15, 1.0])
    assert table["p_holm"].to_list() == pytest.approx([3 * 2**-15, 3 * 2**-15, 1.0])
    assert all(low < d < high for low, d, high in zip(table["low"], table["difference"], table["high"], strict=True))
    row = claims(table).iloc[0]
    assert row["claim"] == "hutch_pp fails less often than hutchinson"
    assert [row[name] for name in VERDICTS] == ["10", "30", "50", "–"]
    assert set(paired({"hutchinson": old, "hutch_pp": new}, toy(stand_in=True), asked)["verdict"]) == {NO_CLAIM}
    assert paired({"xtrace": new}, toy(), asked).empty


def test_the_interval_of_a_difference_is_that_of_bonett_and_price() -> None:
    low, high = difference_interval(0, 0, 100)  # no pair differs: still no certainty
    assert (low, high) == pytest.approx((-1.959964 * 2**0.5 / 102, 1.959964 * 2**0.5 / 102))
    assert difference_interval(8, 0, 8).low == -1.0
    first, second = difference_interval(3, 9, 40), difference_interval(9, 3, 40)
    assert first == pytest.approx((-second.high, -second.low))


def test_the_timed_products_are_compared_with_the_matrix() -> None:
    exact, device = toy(), torch.device("cpu")
    off = exact._replace(timed=Diagonal(torch.full((100,), 0.98, dtype=torch.float64)))
    found = products_metrics(off, settings("synthetic"), device)
    assert found["trace/products_error"] == pytest.approx(0.02)
    assert found["trace/products_bias"] == pytest.approx(-0.02, rel=0.2)
    assert 0.01 < found["trace/products_difference"] < 0.04
    assert set(products_metrics(exact, settings("synthetic"), device).values()) == {0.0}


@pytest.mark.parametrize(("device", "ranks"), [("cuda", 1), ("cpu", 2)])
def test_where_nothing_is_timed_it_is_said(device: str, ranks: int, monkeypatch, capsys) -> None:
    monkeypatch.setattr(recipe, "world", lambda: ranks)
    asked = replace(settings("synthetic"), timing=TimingConfig([10], trials=1, processes=1))
    no_study: Any = None
    recipe.time_stage(no_study, toy(), asked, torch.device(device))
    assert capsys.readouterr().out.startswith("timing: left out, as one process on the CPU alone is timed")
    recipe.time_stage(no_study, toy(), replace(asked, timing=replace(asked.timing, trials=0)), torch.device(device))
    assert capsys.readouterr().out == ""


def test_the_timed_products_are_compared_at_the_least_budget_however_budgets_are_typed() -> None:
    off = toy()._replace(timed=Diagonal(torch.full((100,), 0.98, dtype=torch.float64)))
    asked, device = settings("synthetic"), torch.device("cpu")
    found = [products_metrics(off, replace(asked, estimate=replace(asked.estimate, queries=queries)), device)
             for queries in ([10, 30], [30, 10])]  # fmt: skip
    assert found[0] == found[1]


def test_products_are_compared_without_a_timing(run_pipeline, client) -> None:
    arguments = ("problem=roget", "size=tiny", "data.source=stand_in", "timing.trials=0", "estimate.trials=2")
    assert run_pipeline("recipe=trace", *arguments).status == 0
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert 0 < run.data.metrics["trace/products_difference"] < 1e-4


@pytest.mark.parametrize("problem", ["roget", "precipitation", "smoother"])
def test_failures_are_counted_with_the_products_that_are_asked_for(problem: str) -> None:
    exact, implicit = (
        PROBLEMS[problem](settings(problem, products=how), torch.device("cpu")) for how in ("exact", "implicit")
    )
    assert isinstance(exact.oracle, Dense)
    assert implicit.oracle is implicit.timed
    x = torch.randn(4, exact.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(implicit.oracle(x), exact.oracle(x), rtol=0.0, atol=1e-5 * float(exact.oracle(x).max()))


def test_a_tiny_run_by_products_with_the_hessian(run_pipeline, client) -> None:
    more = ("matrix.products=implicit", "timing.processes=2", "estimate.trials=2")
    result = run_pipeline("+experiment=trace_hessian", *TINY, *WALKER, *more)
    assert result.status == 0, result.err
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert "trace/products_difference" not in run.data.metrics  # what is counted is what is timed
    seconds = pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/trace/seconds.csv")))
    assert (seconds["processes"] == 2).all()
    assert (seconds[["sequential", "parallel"]] > 0).all(axis=None)


def test_the_smoother_has_the_statistical_dimension_as_its_trace() -> None:
    """That of recipe=theory, on the same points."""
    asked = settings("smoother", ridge=0.5)
    asked.data["source"] = "stand_in"
    points = precipitation.load(points=30, seed=0, source="stand_in").inputs
    kernel = kernel_matrix(Gaussian(), points, bandwidth=1.0) + 0.5 * torch.eye(30)
    found = PROBLEMS["smoother"](asked, torch.device("cpu"))
    assert found.trace == pytest.approx(float(KernelSpectrum(kernel).dimension(0.01)))


def test_a_singular_kernel_is_refused() -> None:
    points = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    points[7] = points[3]  # duplicate rows
    kernel = kernel_matrix(Gaussian(), points, bandwidth=1.0)
    with pytest.raises(PipelineError, match=r"the kernel matrix is singular .*points coincide.*matrix\.ridge"):
        refuse_singular(torch.linalg.eigvalsh(kernel))
    refuse_singular(torch.linalg.eigvalsh(kernel + 0.01 * torch.eye(20)))


@pytest.mark.skipif(not (ROOT / graphs.FOLDER).is_dir(), reason=f"the published graphs are not in {ROOT}")
@pytest.mark.parametrize(
    ("problem", "trace"),
    [("synthetic", math.pi**2 / 6 - 1 / 50 + 1 / 5000), ("roget", 237997.70), ("condmat", 6 * 173361)],
)
def test_the_traces_that_are_known(problem: str, trace: float) -> None:
    found = PROBLEMS[problem](settings(problem), torch.device("cpu"))
    assert found.trace == pytest.approx(trace, rel=1e-6)
    if found.norm is not None:  # tr(A)² ≤ n‖A‖²
        assert found.trace**2 <= found.size * found.norm**2
