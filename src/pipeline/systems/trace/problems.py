"""The matrices whose traces are estimated, each with its trace computed in another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from models.features.kernel_matrix import kernel_matrix
from models.features.kernels import Gaussian
from models.trace.hessian import dense
from models.trace.lanczos import Function
from models.trace.oracles import Dense, Diagonal, Oracle, Power, Reordered, sparse
from models.trace.solves import RidgeSmoother
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.job.study import Data
from pipeline.systems.trace import records
from pipeline.systems.trace.config import TraceConfig
from pipeline.systems.trace.hessian import fitted_hessian

SMALLEST = 1e-12  # eigenvalue of a kernel matrix, relative to the largest, below which its inverse means nothing


class Source(NamedTuple):
    """Holds what a run says of its data; see `pipeline.job.study.Data`."""

    name: str
    source: str
    stand_in: bool
    checksum: str


class TraceProblem(NamedTuple):
    """Holds a matrix and its trace. oracle: of the products that failures are counted with; timed: of those that are
    timed. norm: ‖A‖_F, where the spectrum is known. unit: the trace divided by `per` is a number of these."""

    data: Source
    size: int
    oracle: Oracle
    timed: Oracle
    trace: float
    norm: float | None
    what: str
    unit: str
    per: float = 1.0


def synthetic(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of diag(1/i²). Its trace is by `math.fsum`."""
    size = settings.matrix.size
    values = [1 / i**2 for i in range(1, size + 1)]
    oracle = Diagonal(torch.tensor(values, dtype=DTYPES[settings.dtype], device=device))
    norm = math.sqrt(math.fsum(value**2 for value in values))
    data = Source("synthetic", "generated", False, f"diag-{size}")
    return TraceProblem(data, size, oracle, oracle, math.fsum(values), norm, f"diag(1/i²), n = {size}", "trace")


def source_of(data: Data) -> Source:
    """Returns what a run says of its data, without the data themselves."""
    return Source(data.name, data.source, data.stand_in, data.checksum)


def adjacency(nodes: int, edges: np.ndarray) -> sp.csr_array:
    """Returns the adjacency matrix (node, node) of an undirected graph; a loop counts once. edges: (edge, 2), numbers
    of nodes."""
    both = np.concatenate([edges, edges[edges[:, 0] != edges[:, 1]][:, ::-1]])
    return sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(nodes, nodes))


def power(matrix: sp.csr_array, exponent: int, device: torch.device, dtype: torch.dtype) -> Oracle:
    """Returns an oracle of products with A^exponent. They are computed with the nodes in an order in which neighbours
    are near (reverse Cuthill–McKee), which halves the time of a large graph. Processors break ties in that order
    differently; the queries, in the graph's own order, do not depend on it."""
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True).copy()
    inner = Power(sparse(sp.csr_array(matrix[order][:, order]), device, dtype), exponent)
    return Reordered(inner, torch.from_numpy(order).to(device, torch.int64))


def counted(whole: Oracle, implicit: Oracle, settings: TraceConfig) -> Oracle:
    """Returns the oracle that failures are counted with: the whole matrix or implicit products, as `matrix.products`
    says."""
    return whole if settings.matrix.products == "exact" else implicit


def by_eigenvalues(
    spectrum: Any, function: Callable[[Tensor], Tensor], settings: TraceConfig, device: torch.device
) -> tuple[Dense, Tensor]:
    """Returns f(A) whole, and its eigenvalues in float64. spectrum: eigenvalues and eigenvectors, as of `eigh`."""
    values, vectors = spectrum
    transformed = function(values)
    return Dense(((vectors * transformed) @ vectors.T).to(device, DTYPES[settings.dtype])), transformed


def roget(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of exp(A) of a graph, with loops kept. Its trace is from all eigenvalues."""
    graph = records.load(settings)
    matrix = adjacency(graph.nodes, graph.edges)
    own = sparse(matrix, device, DTYPES[settings.dtype])
    whole, values = by_eigenvalues(torch.linalg.eigh(torch.from_numpy(matrix.toarray())), torch.exp, settings, device)
    timed = Function(own, torch.exp, settings.matrix.steps)
    oracle = counted(whole, timed, settings)
    what = f"exp(A), {graph.nodes} nodes"
    return TraceProblem(
        source_of(graph), graph.nodes, oracle, timed, float(values.sum()), float(values.norm()), what, "Estrada index"
    )


def condmat(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of A³ of a graph without loops. Its trace is counted: Σ over the edges of the common
    neighbours of their ends."""
    graph = records.load(settings)
    matrix = adjacency(graph.nodes, graph.without_loops())
    squared: Any = matrix @ matrix
    trace = float(squared.multiply(matrix).sum())
    oracle = power(matrix, 3, device, DTYPES[settings.dtype])
    what = f"A³, {graph.nodes} nodes, {graph.loops} loops dropped"
    return TraceProblem(source_of(graph), graph.nodes, oracle, oracle, trace, None, what, "triangles", per=6.0)


def kernel_of_points(settings: TraceConfig) -> tuple[Source, Tensor]:
    """Returns the Gaussian kernel matrix (N, N) of the inputs of points, with `matrix.ridge` added to the diagonal, and
    what is said of the points."""
    points = records.load_points(settings)
    kernel = kernel_matrix(Gaussian(), points.inputs, bandwidth=settings.matrix.length)
    kernel.diagonal().add_(settings.matrix.ridge)
    return source_of(points), kernel


def kernel_inverse(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of K⁻¹ of `kernel_of_points`. Its trace is from all eigenvalues.

    Raises PipelineError for a kernel that is singular.
    """
    name, kernel = kernel_of_points(settings)
    spectrum = torch.linalg.eigh(kernel)
    refuse_singular(spectrum.eigenvalues)
    own = Dense(kernel.to(device, DTYPES[settings.dtype]))
    whole, values = by_eigenvalues(spectrum, torch.reciprocal, settings, device)
    timed = Function(own, torch.reciprocal, settings.matrix.steps)
    oracle = counted(whole, timed, settings)
    what = f"K⁻¹, {len(kernel)} points, length {settings.matrix.length:g}"
    return TraceProblem(name, len(kernel), oracle, timed, float(values.sum()), float(values.norm()), what, "trace")


def smoother(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of K(K + λN·I)⁻¹ of `kernel_of_points`, whose trace is the statistical dimension of ridge
    regression. The trace is from all eigenvalues; products are by conjugate gradients."""
    name, kernel = kernel_of_points(settings)
    shift = settings.matrix.smoothing * len(kernel)
    timed = RidgeSmoother(Dense(kernel.to(device, DTYPES[settings.dtype])), shift)
    whole, values = by_eigenvalues(torch.linalg.eigh(kernel), lambda v: v / (v + shift), settings, device)
    oracle = counted(whole, timed, settings)
    what = f"K(K + λN·I)⁻¹, {len(kernel)} points, length {settings.matrix.length:g}, λ = {settings.matrix.smoothing:g}"
    trace, norm = float(values.sum()), float(values.norm())
    return TraceProblem(name, len(kernel), oracle, timed, trace, norm, what, "statistical dimension")


def refuse_singular(values: Tensor) -> None:
    """Raises PipelineError unless a kernel matrix with these eigenvalues, in rising order, has an inverse."""
    if not values[0] > SMALLEST * values[-1]:
        raise PipelineError(
            f"the kernel matrix is singular (eigenvalues {values[0]:.2g} to {values[-1]:.3g}: points coincide, or "
            "nearly so); shorten matrix.length, or give a matrix.ridge"
        )


MOST_PARAMETERS = 10_000  # whose Hessian is written out: 800 MB


def loss_hessian(settings: TraceConfig, device: torch.device) -> TraceProblem:
    """Returns the problem of the Hessian of a PSRNN's loss. Its trace is from the whole matrix, by a product with every
    basis vector.

    Raises PipelineError for data and models that have none, and for more than `MOST_PARAMETERS` parameters, and
    OracleError for a Hessian that is not finite.
    """
    fitted = fitted_hessian(settings, device)
    if fitted.oracle.size > MOST_PARAMETERS:
        raise PipelineError(
            f"hessian.features.count={settings.hessian.features.count} makes {fitted.oracle.size:,} parameters; the "
            f"trace to compare with needs the whole Hessian, of at most {MOST_PARAMETERS:,}; lower it"
        )
    matrix, size = dense(fitted.oracle), fitted.oracle.size
    oracle = counted(Dense(matrix), fitted.oracle, settings)
    name = source_of(fitted.dataset)
    what = f"Hessian, {size} parameters, {fitted.chunks} chunks, loss {fitted.loss:.3g}"
    return TraceProblem(name, size, oracle, fitted.oracle, float(matrix.trace()), float(matrix.norm()), what, "trace")


PROBLEMS: dict[str, Callable[[TraceConfig, torch.device], TraceProblem]] = {
    "synthetic": synthetic,
    "roget": roget,
    "condmat": condmat,
    "precipitation": kernel_inverse,
    "smoother": smoother,
    "hessian": loss_hessian,
}
