"""A matrix of one's own: estimates of tr(f(A)) with their standard errors against the number of queries."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor

from data.matrices import SymmetricMatrix
from models.trace.arguments import AUTO
from models.trace.estimate import error_of_steps, including, of_budget, warn_of_steps
from models.trace.functions import function_of, logarithm
from models.trace.lanczos import function_of_values
from models.trace.matrices import Matrix, matrix_of
from models.trace.parallel import OverRanks
from models.trace.pool import Pool
from models.trace.scale import divided, exponent_of
from models.trace.solves import Inverse, RidgeSmoother
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.job.checkpoint import find, save
from pipeline.job.study import Study
from pipeline.systems.trace import records
from pipeline.systems.trace.config import OWN, TraceConfig

MOST_COUNTED = 2 * 10**8  # products of two entries that are made to count triangles exactly
WORDS = {
    "identity": "A", "cube": "A³", "exp": "exp(A)", "inverse": "A⁻¹", "log": "log A", "smoother": "A(A + λn·I)⁻¹",
}  # fmt: skip
STEPPED = ("exp", "log")  # functions that take `matrix.steps` of Lanczos
MEANINGS = {"exp": "Estrada index", "log": "log-determinant", "smoother": "statistical dimension"}


class OwnMatrix(NamedTuple):
    """Holds a matrix of one's own. data: the matrix as it was read. target: f(A), known by its products, on the device
    of the job. what: f(A) in words, with the number of rows."""

    data: SymmetricMatrix
    target: Matrix
    what: str


def check(settings: TraceConfig) -> None:
    """Raises PipelineError, before anything is loaded, for settings of problem=own that do not go together."""
    path = settings.matrix.path
    if settings.problem != OWN:
        if path is not None:
            raise PipelineError(f"matrix.path={path} is for problem=own; leave problem={settings.problem} out")
        if settings.function != "identity":
            raise PipelineError(f"function={settings.function} is for a matrix of one's own; give matrix.path=FILE")
        return
    if settings.estimate.distribution != "gaussian":
        raise PipelineError(
            f"estimate.distribution={settings.estimate.distribution}: the standard errors of problem=own are those of "
            "gaussian queries; leave it out"
        )


def on_device(matrix: np.ndarray | sp.csr_array, device: torch.device, dtype: torch.dtype) -> Tensor | sp.csr_array:
    """Returns the matrix in this precision on the device; a sparse one stays as it is on the CPU."""
    if not isinstance(matrix, sp.csr_array):
        return torch.from_numpy(matrix).to(device, dtype)
    if device.type == "cpu":
        return sp.csr_array(matrix, dtype=np.float32 if dtype == torch.float32 else np.float64)
    entries = matrix.tocoo()
    places = torch.from_numpy(np.stack([entries.row, entries.col]).astype(np.int64))
    return torch.sparse_coo_tensor(places, torch.from_numpy(entries.data), matrix.shape).to(device, dtype)


def shift_of(settings: TraceConfig, size: int) -> float:
    """Returns λn of the smoother. size: n."""
    return settings.matrix.smoothing * size


def load(settings: TraceConfig, device: torch.device) -> OwnMatrix:
    """Returns the matrix that the settings name, and f of it."""
    data: SymmetricMatrix = records.load(settings)
    dtype, name, exponent = DTYPES[settings.dtype], settings.function, exponent_of(float(abs(data.matrix).max()))
    own = matrix_of(on_device(divided(data.matrix, exponent), device, dtype))  # single precision cannot hold all scales
    own = own._replace(exponent=own.exponent + exponent)
    if name == "smoother":
        shift = math.ldexp(shift_of(settings, data.size), -own.exponent)
        smoother = RidgeSmoother(own.oracle, shift, advice="raise matrix.smoothing")
        target = own._replace(oracle=smoother, exponent=0, inexact=True)
    else:
        target = function_of(own, name, settings.matrix.steps if name in STEPPED else None)
    if isinstance(target.oracle, Inverse):
        target = target._replace(oracle=replace(target.oracle, advice="add a ridge to its diagonal"))
    part = "" if data.size == data.rows_in_file else f", the largest component of {data.rows_in_file:,}"
    return OwnMatrix(data, target._replace(oracle=OverRanks(target.oracle)), f"{WORDS[name]}, {data.size:,} rows{part}")


def values_under(settings: TraceConfig, size: int) -> Callable[[Tensor], Tensor]:
    """Returns f as it is applied to eigenvalues, of any shape. size: n. The identity is not among the functions."""
    shift = shift_of(settings, size)
    functions: dict[str, Callable[[Tensor], Tensor]] = {
        "cube": lambda values: values**3, "exp": torch.exp, "inverse": torch.reciprocal, "log": logarithm(),
        "smoother": lambda values: values / (values + shift),
    }  # fmt: skip
    return functions[settings.function]


def counted_cube(matrix: np.ndarray | sp.csr_array) -> float | None:
    """Returns tr(A³) of a sparse matrix by Σ (A²)_ij A_ij, where that takes at most `MOST_COUNTED` products; else
    None."""
    if not isinstance(matrix, sp.csr_array):
        return None
    degrees = np.diff(matrix.indptr).astype(float)
    if float((degrees**2).sum()) > MOST_COUNTED:
        return None
    squared: Any = matrix @ matrix
    return float(squared.multiply(matrix).sum())


def exact(own: OwnMatrix, settings: TraceConfig) -> float | None:
    """Returns tr(f(A)) in another way: from the diagonal for A, counted for a sparse A³, else from all eigenvalues of
    up to `matrix.exact_rows` rows; None for more. Raises OracleError where rounding decides f of an eigenvalue."""
    matrix = own.data.matrix
    if settings.function == "identity":
        return float(math.fsum(matrix.diagonal()))
    counted = counted_cube(matrix) if settings.function == "cube" else None
    if counted is not None:
        return counted
    if own.data.size > settings.matrix.exact_rows:
        return None
    dense = torch.from_numpy(matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix)
    values = torch.linalg.eigvalsh(dense).unsqueeze(0)
    return float(function_of_values(values_under(settings, own.data.size), values).sum())


def known_trace(here: Study, own: OwnMatrix, settings: TraceConfig) -> float | None:
    """Returns the trace of `exact`, which is found again where the run was stopped after it."""
    path = here.folder / "exact.npz"
    saved = find(path)
    if saved is not None:
        return saved.values["exact"]
    trace = exact(own, settings)
    save(path, {}, {"exact": trace})
    return trace


def curve(own: OwnMatrix, settings: TraceConfig) -> pd.DataFrame:
    """Estimates the trace: a row for each number of queries and each method, and for the method that is chosen. All ask
    the same queries. The standard errors include what the Lanczos steps of f(A) leave; warns where that is much."""
    left = error_of_steps(own.target)
    pool = Pool(own.target, seed=settings.seed)
    rows, estimates = [], []
    for queries in sorted(settings.estimate.queries):
        for method in (AUTO, *settings.estimate.methods):
            estimate = including(of_budget(pool, method, queries), left)
            estimates.append(estimate)
            rows.append(
                {
                    "method": method, "used": estimate.method, "queries": queries, "estimate": estimate.estimate,
                    "standard_error": estimate.standard_error, "relative_error": estimate.relative_error,
                    "flatness": estimate.flatness, "tail": math.nan if estimate.tail is None else estimate.tail,
                }
            )  # fmt: skip
    surest = min(estimates, key=lambda estimate: estimate.standard_error)
    warn_of_steps(own.target, surest, setting="matrix.steps")
    return pd.DataFrame(rows)
