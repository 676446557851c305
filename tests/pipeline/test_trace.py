"""`recipe=trace`: every problem at tiny size, the traces that are known, and wrong settings in one line."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir
from mlflow.artifacts import load_text
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from data import graphs
from models.features.kernel_matrix import kernel_matrix
from models.features.kernels import Gaussian
from models.trace.estimators import METHODS
from models.trace.hessian import ChunkLoss, dense
from pipeline.build import settings_of
from pipeline.config import TraceConfig, register_schemas
from pipeline.config_trace import EstimateConfig, MatrixConfig, TraceDataConfig
from pipeline.errors import PipelineError
from pipeline.paths import conf_folder
from pipeline.stages.trace_hessian import fitted_hessian
from pipeline.stages.trace_problems import PROBLEMS, refuse_singular
from test_real_data import ROOT

TINY = ("size=tiny", "data.source=stand_in", "timing.processes=1", "timing.trials=1", "timing.queries=[10]")


def settings(problem: str, **matrix: float) -> TraceConfig:
    made = {"size": 50, "points": 30, "length": 1.0, "ridge": 0.0, "steps": 40, "products": "exact", **matrix}
    source = "published" if ROOT.is_dir() else "stand_in"
    estimate = EstimateConfig(list(METHODS), [10], "gaussian", 0.01, 2, 1)
    return TraceConfig(
        problem=problem, data=TraceDataConfig(str(ROOT), source, 0), matrix=MatrixConfig(**made), estimate=estimate
    )


WALKER = ("data@hessian.data=mocap", "hessian.data.source=stand_in", "hessian.horizon=8")


@pytest.mark.parametrize("experiment", ["trace", "trace_roget", "trace_precipitation", "trace_hessian"])
def test_a_tiny_run(experiment: str, run_pipeline, client) -> None:
    result = run_pipeline(f"+experiment={experiment}", *TINY, *(WALKER if experiment == "trace_hessian" else ()))
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
    for path in ("trace/runs.csv", "trace/seconds.csv", "trace/failures.svg"):
        assert load_text(f"{run.info.artifact_uri}/{path}")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("problem=graph", "problem=graph is unknown; choose one of synthetic, roget, condmat, precipitation, hessian"),
        ("estimate.methods=[hutch]", "estimate.queries: method hutch is unknown; choose one of hutchinson"),
        ("estimate.queries=[11]", "estimate.queries: xtrace asks for as many queries twice; 11 is odd"),
        ("estimate.queries=[]", "estimate.queries is empty"),
        ("estimate.epsilon=0", "estimate.epsilon=0.0 must be greater than 0"),
        (
            "matrix.size=1",
            "estimate.queries: hutch_pp with 10 queries makes a sketch of 3 vectors of a matrix of size 1",
        ),
        ("matrix.ridge=-1", "matrix.ridge=-1.0 must be 0 or greater"),
        ("estimate.distribution=uniform", "choose one of gaussian, rademacher"),
        ("data.source=web", "data.source=web is unknown"),
    ],
)
def test_wrong_settings(argument: str, message: str, run_pipeline) -> None:
    problem = ("problem=roget",) if argument.startswith("data.") else ()
    error = run_pipeline("recipe=trace", "size=tiny", "tracking=off", *problem, argument).error
    assert message in error, error


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model@hessian.model=lstm", "hessian.model=LSTM: the Hessian is that of a PSRNN; use model=psrnn"),
        ("model@hessian.model=psrnn_cp", "hessian.model=FactorisedPsrnn: the Hessian is that of a PSRNN"),
        ("dtype=float32", "dtype=float32: problem=hessian computes in float64; leave dtype out"),
        ("hessian.features.count=0", "hessian.features.count=0 must be greater than 0"),
        ("hessian.chunks=0", "hessian.chunks=0 must be greater than 0"),
        ("hessian.update=kalman", "hessian.update=kalman is unknown; choose one of bayes"),
        (
            "hessian.horizon=101",
            "hessian.horizon=101: no training sequence has so many observed steps in a row; lower it",
        ),
        ("+hessian.wrong=1", "hessian.wrong is not a setting; choose one of data, kernel"),
    ],
)
def test_wrong_settings_of_the_hessian(argument: str, message: str, run_pipeline) -> None:
    error = run_pipeline("+experiment=trace_hessian", "size=tiny", "tracking=off", *WALKER, argument).error
    assert message in error, error


def test_a_table_of_points_has_no_sequences(run_pipeline) -> None:
    table = ("data@hessian.data=precipitation", "hessian.data.source=stand_in")
    error = run_pipeline("+experiment=trace_hessian", "size=tiny", "tracking=off", *table).error
    assert "is a table of points, not sequences" in error, error


def second_difference(loss: ChunkLoss, parameters: Sequence[torch.nn.Parameter], direction: torch.Tensor) -> float:
    """Of the objective's own loss, which refinement minimises, along a direction."""
    here, step, found = parameters_to_vector(parameters).detach(), 1e-4, []
    for sign in (1, 0, -1):
        vector_to_parameters(here + sign * step * direction, parameters)
        found.append(float(loss.objective.loss(loss.batch).detach()))
    vector_to_parameters(here, parameters)
    return (found[0] - 2 * found[1] + found[2]) / step**2


def test_the_hessian_is_that_of_the_loss_that_refinement_minimises() -> None:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base=None):
        configured = settings_of(compose("config", ["+experiment=trace_hessian", "size=tiny", *WALKER]))
    fitted = fitted_hessian(configured, torch.device("cpu"))
    loss: Any = fitted.oracle.loss
    assert fitted.loss == pytest.approx(float(loss.objective.loss(loss.batch).detach()), rel=1e-12)
    assert (fitted.chunks, fitted.oracle.size) == (6, 4**3 + 4 + 4 + 22 * 5)
    matrix = dense(fitted.oracle)
    torch.testing.assert_close(matrix, matrix.T, rtol=0.0, atol=1e-12 * float(matrix.abs().max()))
    direction = torch.randn(len(matrix), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = float(direction @ matrix @ direction)
    assert second_difference(loss, fitted.oracle.parameters, direction) == pytest.approx(expected, rel=1e-4)
    problem = PROBLEMS["hessian"](configured, torch.device("cpu"))
    assert (problem.trace, problem.norm) == pytest.approx((float(matrix.trace()), float(matrix.norm())), rel=1e-12)


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
