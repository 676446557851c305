"""Each oracle against the dense matrix that it stands for; and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

import rank_work
from models.forecasting.bptt import TruncatedBPTT
from models.psrnn.cell import PSRNN
from models.trace.estimators import independent_estimates
from models.trace.hessian import ChunkLoss, Hessian, dense, step_by_step_loss, whole_chunks
from models.trace.lanczos import Function, lanczos
from models.trace.oracles import (
    Dense,
    Diagonal,
    Oracle,
    OracleError,
    Power,
    Reordered,
    Shifted,
    Sparse,
    SparseTensor,
    check_symmetric,
    sparse,
)
from models.trace.parallel import OverRanks, over_processes
from models.trace.solves import Inverse, RidgeSmoother
from rank_work import on_ranks
from small_problems import oscillation, with_gap

N = 30


def chance(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=chance(seed), dtype=torch.float64)


ROOT = normal(0, N, N) / N**0.5
KERNEL = ROOT @ ROOT.T + 0.05 * torch.eye(N, dtype=torch.float64)
GRAPH = sp.csr_array(((ROOT + ROOT.T).abs() > 0.6).double().numpy())
EYE = torch.eye(N, dtype=torch.float64)
SPARSE = torch.from_numpy(GRAPH.toarray())
ORDER = torch.randperm(N, generator=chance(8)).numpy()
CASES: dict[str, tuple[Oracle, Tensor]] = {
    "diagonal": (Diagonal(ROOT[0]), ROOT[0].diag()),
    "dense": (Dense(KERNEL), KERNEL),
    "sparse": (sparse(GRAPH, torch.device("cpu")), SPARSE),
    "cube": (Power(Sparse(GRAPH), 3), torch.linalg.matrix_power(SPARSE, 3)),
    "cube in another order": (
        Reordered(Power(Sparse(sp.csr_array(GRAPH[ORDER][:, ORDER])), 3), torch.from_numpy(ORDER)),
        torch.linalg.matrix_power(SPARSE, 3),
    ),
    "exponential": (Function(Sparse(GRAPH), torch.exp, 30), torch.matrix_exp(SPARSE)),
    "inverse": (Inverse(Dense(KERNEL)), torch.linalg.inv(KERNEL)),
    "inverse by Lanczos": (Function(Dense(KERNEL), torch.reciprocal, 30), torch.linalg.inv(KERNEL)),
    "shifted": (Shifted(Dense(KERNEL), 2.0), KERNEL + 2 * EYE),
    "smoother": (RidgeSmoother(Dense(KERNEL), 0.3), KERNEL @ torch.linalg.inv(KERNEL + 0.3 * EYE)),
}


@pytest.mark.parametrize("name", CASES)
def test_products_are_those_of_the_matrix(name: str) -> None:
    oracle, matrix = CASES[name]
    queries = normal(1, 2, 5, N)
    torch.testing.assert_close(oracle(queries), queries @ matrix, rtol=1e-7, atol=1e-7)
    check_symmetric(oracle, N, generator=chance(2), dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_too_small_to_multiply_fast_are_zero_and_change_no_product(dtype: torch.dtype) -> None:
    least = torch.finfo(dtype).tiny
    matrix = KERNEL.to(dtype).clone()
    matrix[0, 1] = matrix[1, 0] = least / 2
    matrix[2, 3] = matrix[3, 2] = least
    found, queries = Dense(matrix), normal(1, 5, N).to(dtype)
    assert found.matrix[0, 1] == 0
    assert found.matrix[2, 3] == least
    assert matrix[0, 1] > 0
    torch.testing.assert_close(found(queries), queries @ matrix, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_the_sparse_tensor_of_other_devices() -> None:
    parts = (torch.from_numpy(part) for part in (GRAPH.indptr, GRAPH.indices, GRAPH.data))
    oracle = SparseTensor(torch.sparse_csr_tensor(*parts, GRAPH.shape, check_invariants=True))
    queries = normal(1, 2, 5, N)
    torch.testing.assert_close(oracle(queries), queries @ SPARSE)


def test_the_trace_of_the_smoother_is_the_statistical_dimension() -> None:
    oracle, matrix = CASES["smoother"]
    found = independent_estimates(oracle, method="xtrace", queries=40, size=N, trials=40, generator=chance(3))
    assert abs(found.mean() / matrix.trace() - 1) < 0.02


def test_a_krylov_space_that_is_exhausted() -> None:
    """Two different eigenvalues, and a query that is an eigenvector; f has a pole at 0."""
    values = torch.tensor([2.0] * 15 + [5.0] * 15, dtype=torch.float64)
    queries = torch.cat([normal(4, 3, N), EYE[:1], torch.zeros(1, N).double()])
    found = Function(Diagonal(values), torch.reciprocal, 20)(queries)
    torch.testing.assert_close(found, queries / values, rtol=1e-12, atol=1e-12)


def test_the_lanczos_basis_stays_orthonormal() -> None:
    values = 10.0 ** torch.linspace(-12, 0, N, dtype=torch.float64)
    basis = lanczos(Diagonal(values), normal(5, 2, N), 12).basis
    torch.testing.assert_close(basis @ basis.mT, torch.eye(12).expand(2, 12, 12).double(), rtol=0, atol=1e-13)


def test_a_matrix_that_is_not_symmetric_is_refused() -> None:
    with pytest.raises(OracleError, match=r"not symmetric: xᵀAy and yᵀAx differ by .*; give \(A \+ Aᵀ\)/2"):
        check_symmetric(Dense(ROOT), N, generator=chance(0), dtype=torch.float64)


def test_solves_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(OracleError, match=r"not positive definite.*add a ridge"):
        Inverse(Dense(-KERNEL))(normal(6, 2, N))
    twice = torch.ones(N, N, dtype=torch.float64)  # duplicate rows: rank 1
    with pytest.raises(OracleError, match=r"not positive definite|or singular"):
        Inverse(Dense(twice))(normal(6, 2, N))
    for function in (torch.reciprocal, torch.log):
        with pytest.raises(OracleError, match=r"singular to the rounding of double precision, which decides f\(A\); a"):
            Function(Dense(twice), function)(normal(6, 2, N))
    with pytest.raises(OracleError, match=r"3 conjugate-gradient steps leave a relative residual.*allow more steps"):
        Inverse(Dense(KERNEL), most=3)(normal(6, 2, N))
    with pytest.raises(OracleError, match="returned a number that is not finite"):
        Inverse(lambda queries: queries * torch.nan)(normal(6, 2, N))
    with pytest.raises(OracleError, match="a query holds a number that is not finite"):
        Inverse(Dense(KERNEL))(normal(6, 2, N) / 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_functions_that_a_singular_matrix_has_are_not_refused(dtype: torch.dtype) -> None:
    """Of a graph Laplacian; and an inverse whose condition number single precision still tells from infinity."""
    laplacian = (SPARSE.sum(1).diag() - SPARSE).to(dtype)
    values, vectors = torch.linalg.eigh(laplacian.double())
    queries = normal(6, 2, N).to(dtype)
    functions = (torch.exp, lambda v: torch.exp(-v), lambda v: (v < 5).to(v), lambda v: 1 / (v + 1e-3))
    for function in functions:
        exact = queries.double() @ (vectors * function(values)) @ vectors.T
        found = Function(Dense(laplacian), function, N)(queries)
        torch.testing.assert_close(found.double(), exact, rtol=0.0, atol=2e-3 * float(exact.abs().max()))
    spread = torch.logspace(-4, 0, N).to(dtype)
    found = Function(Diagonal(spread), torch.reciprocal, N)(queries)
    assert bool(found.isfinite().all())


def small_psrnn() -> PSRNN:
    model = PSRNN(frequencies=2, dimension=2, state=3, lags=1)
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(0.5 * normal(i, *parameter.shape))
        model.features.frequencies.copy_(normal(20, 2, 2))
        model.reference.copy_(normal(21, 3))
        model.initial.copy_(model.initial / model.initial.norm())
    return model.double()


def test_the_hessian_of_a_psrnn() -> None:
    """Against second differences of the gradient that the model's own, hand-written form gives."""
    model, part = small_psrnn(), oscillation(1, sequences=2, steps=12)
    parameters = [p for p in model.parameters() if p.requires_grad]
    oracle = Hessian(lambda: step_by_step_loss(model, part), parameters)
    check_symmetric(oracle, oracle.size, generator=chance(0), dtype=torch.float64)
    query = normal(7, 1, oracle.size)
    torch.testing.assert_close(oracle(query), second_difference(model, part, parameters, query), rtol=1e-5, atol=1e-7)
    matrix = oracle(torch.eye(oracle.size, dtype=torch.float64))
    found = independent_estimates(
        oracle, method="hutch_pp", queries=30, size=oracle.size, trials=20, generator=chance(8)
    )
    assert abs(found.mean() - matrix.trace()) < 4.5 * found.std() / 20**0.5


def second_difference(model: PSRNN, part, parameters: list[nn.Parameter], query: Tensor, step: float = 1e-5) -> Tensor:
    found = []
    for sign in (1, -1):
        torch.nn.utils.vector_to_parameters(
            torch.nn.utils.parameters_to_vector(parameters).detach() + sign * step * query[0], parameters
        )
        filtered = model.filter_observed(model.initial_state(len(part.values)), part.values)
        loss = (filtered.predictions - part.values).square()[part.scored].mean()
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)]))
        torch.nn.utils.vector_to_parameters(
            torch.nn.utils.parameters_to_vector(parameters).detach() - sign * step * query[0], parameters
        )
    return ((found[0] - found[1]) / (2 * step)).unsqueeze(0)


def test_the_hessian_of_a_linear_loss_is_zero_and_gaps_are_refused() -> None:
    weight = nn.Parameter(torch.ones(4, dtype=torch.float64))
    assert Hessian(lambda: weight.sum(), [weight])(normal(9, 2, 4)).abs().sum() == 0
    with pytest.raises(OracleError, match="sequences without gaps"):
        step_by_step_loss(small_psrnn(), with_gap(oscillation(1, steps=60)))


def test_parameters_that_do_not_meet_have_no_product() -> None:
    """The loss w³ + 2b: the Hessian is diag(6w, 0), by more queries than are answered at once."""
    weight, offset = (nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64)) for _ in range(2))
    oracle = Hessian(lambda: (weight**3).sum() + 2 * offset.sum(), [weight, offset])
    queries = normal(11, 3, 50, 4)
    diagonal = torch.tensor([6.0, 12.0, 0.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(oracle(queries), queries * diagonal)
    torch.testing.assert_close(dense(oracle), diagonal.diag())


def test_a_hessian_that_is_not_finite_is_refused() -> None:
    weight = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    with pytest.raises(OracleError, match="returned a number that is not finite"):
        dense(Hessian(lambda: weight.abs().sqrt().sum(), [weight]))


def test_chunks_with_a_gap_are_left_out() -> None:
    part = with_gap(oscillation(1, sequences=2, steps=80))  # steps 30 to 39 are missing
    objective = TruncatedBPTT(small_psrnn(), part, horizon=16, batch_size=4)
    chosen = whole_chunks(objective)
    assert objective.chunks.start[chosen].tolist() == [0, 48, 64] * 2
    objective.refresh()
    assert float(ChunkLoss(objective, chosen)().detach()) == pytest.approx(float(objective.loss(chosen).mean.detach()))


def test_processes_find_what_one_finds() -> None:
    queries = normal(10, 2, 5, N)
    with over_processes(CASES["exponential"][0], processes=2) as oracle:
        torch.testing.assert_close(oracle(queries), CASES["exponential"][0](queries), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["na_hutch_pp", "hutch_pp"])
def test_ranks_find_what_one_finds(method: str, tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.traced, tmp_path, method=method)
    alone = rank_work.traced(method=method)
    assert torch.equal(first["estimates"], second["estimates"])
    torch.testing.assert_close(first["estimates"], alone["estimates"], rtol=1e-12, atol=0.0)
    assert first["calls"] == first["reductions"] == {"na_hutch_pp": 1, "hutch_pp": 2}[method]
    assert first["asked"] + second["asked"] == alone["asked"]


def test_a_rank_alone_asks_all() -> None:
    assert OverRanks(Dense(KERNEL))(EYE).equal(KERNEL)
