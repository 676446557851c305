"""`estimate_trace` on matrices as people have them: against the exact trace, with errors that hold it, refusals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import astuple, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from torch import Tensor

from models.trace import cost, pool
from models.trace.basis import orthonormal_rows
from models.trace.diagonal import estimate_diagonal
from models.trace.estimate import choose, estimate_trace, trace_estimates
from models.trace.estimators import METHODS, ask
from models.trace.logdet import estimate_logdet
from models.trace.matrices import Matrix, matrix_of
from models.trace.oracles import Diagonal, OracleError
from models.trace.queries import QueryDraw
from models.trace.standard_errors import ERRORS
from models.trace.unfinished import Left

SIZE = 200
INDEX = torch.arange(1, SIZE + 1, dtype=torch.float64)
SPECTRA = {
    "1/i²": INDEX**-2,
    "0.8^i": 0.8**INDEX,
    "1/√i": INDEX**-0.5,
    "flat": 1 + (INDEX * 0.7).sin() / 2,
    "indefinite": (INDEX * 0.7).sin() + 0.01,
}


def rotated(values: Tensor, seed: int = 0) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (q * values.numpy()) @ q.T


def symmetric(spectrum: str, seed: int = 0) -> np.ndarray:
    return rotated(SPECTRA[spectrum], seed)


class Counted:
    """An oracle of a diagonal matrix that counts the products."""

    def __init__(self, values: Tensor) -> None:
        self.values, self.count = values, 0

    def __call__(self, queries: Tensor) -> Tensor:
        self.count += queries.shape[-2]
        return queries * self.values


def known(oracle: Any, size: int = SIZE) -> Matrix:
    return Matrix(oracle, size, torch.float64, torch.device("cpu"))


FORMS = {
    "array": lambda a: a,
    "lists": lambda a: a.tolist(),
    "csr_matrix": sp.csr_matrix,
    "coo_array": sp.coo_array,
    "tensor": torch.from_numpy,
    "sparse tensor": lambda a: torch.from_numpy(a).to_sparse(),
    "operator": aslinearoperator,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_matrix_gives_the_same(form: str) -> None:
    matrix = symmetric("1/i²")
    found, expected = estimate_trace(FORMS[form](matrix), products=40), estimate_trace(matrix, products=40)
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-10)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-6)
    assert (found.method, found.products) == ("xtrace", 40)
    assert abs(found.estimate - matrix.trace()) < 4 * found.standard_error < 0.02 * matrix.trace()


def test_single_precision_and_whole_numbers() -> None:
    matrix = symmetric("1/i²").astype(np.float32)
    assert estimate_trace(matrix, products=40).estimate == pytest.approx(float(np.trace(matrix)), rel=0.02)
    counts = np.eye(5, dtype=int) * 3
    assert estimate_trace(counts).estimate == 15.0
    assert estimate_trace(np.eye(5, dtype=bool)).estimate == 5.0


def share_held(error: np.ndarray, stated: np.ndarray) -> float:
    """Returns how often two stated errors hold the trace, and asserts that the estimates are unbiased."""
    assert abs(error.mean()) < 4.5 * error.std() / len(error) ** 0.5
    return float((np.abs(error) <= 2 * stated).mean())


@pytest.mark.parametrize("products", [16, 60])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_two_standard_errors_hold_the_trace(spectrum: str, method: str, products: int) -> None:
    """The limits are what the docstring states, less what 1000 trials scatter by."""
    values, shares = SPECTRA[spectrum], METHODS[method].shares(products)
    queries = QueryDraw(size=SIZE, trials=1000).queries(shares.first_round, generator=torch.Generator().manual_seed(0))
    asked = ask(Diagonal(values), queries, basis=shares.basis, turned=True)
    moments = METHODS[method].moments(asked, shares)
    error = (METHODS[method].estimate(moments, shares) - values.sum()).numpy()
    stated = ERRORS[method](asked, moments, shares).numpy()
    least, most = (0.88, 0.995) if method == "xtrace" else (0.925, 0.975)
    assert least < share_held(error, stated) < most
    assert 0.9 < np.median(stated) / np.median(np.abs(error)) / 1.48 < 2.1


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_two_standard_errors_hold_the_trace_where_the_method_is_chosen(spectrum: str) -> None:
    values = SPECTRA[spectrum]
    found = [
        trace_estimates(known(Diagonal(values)), method="auto", products=30, tolerance=None, seed=seed)[0]
        for seed in range(200)
    ]
    error = np.array([one.estimate - float(values.sum()) for one in found])
    assert share_held(error, np.array([one.standard_error for one in found])) > 0.88


@pytest.mark.parametrize("spectrum", SPECTRA)
def test_auto_takes_what_errs_less(spectrum: str) -> None:
    """Of Hutchinson and XTrace, over 60 seeds, by root mean square; ties within a quarter either way."""
    values = SPECTRA[spectrum]

    def wrong(method: str) -> float:
        found = [
            trace_estimates(known(Diagonal(values)), method=method, products=60, tolerance=None, seed=seed)[0]
            for seed in range(60)
        ]
        return float(np.sqrt(np.mean([(one.estimate - float(values.sum())) ** 2 for one in found])))

    assert wrong("auto") < 1.25 * min(wrong("hutchinson"), wrong("xtrace"))


@pytest.mark.parametrize("method", ["auto", "hutchinson", "hutch_pp", "na_hutch_pp", "xtrace"])
@pytest.mark.parametrize(("products", "tolerance"), [(40, None), (150, 0.05)])
def test_the_products_are_those_that_were_asked(method: str, products: int, tolerance: float | None) -> None:
    oracle = Counted(SPECTRA["flat"])
    steps = trace_estimates(known(oracle), method=method, products=products, tolerance=tolerance, seed=0)
    assert steps[-1].products == oracle.count <= products
    assert [step.products for step in steps] == sorted({step.products for step in steps})


def test_a_tolerance_stops_as_soon_as_it_is_reached() -> None:
    steps = trace_estimates(known(Diagonal(SPECTRA["1/√i"])), method="xtrace", products=180, tolerance=0.01, seed=0)
    assert [step.products for step in steps] == [44, 90, 180][: len(steps)]
    assert [step.relative_error <= 0.01 for step in steps] == [False] * (len(steps) - 1) + [True]


CROSSING = torch.where(INDEX <= 138, (-1) ** INDEX, 0)  # 64 queries leave more than half of its ‖A‖_F², 75 less
NEAR_HALF = torch.cat([torch.tensor([13.7]), (-1) ** INDEX[1:]])  # 16 queries leave a half, give or take


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_diagonal])
@pytest.mark.parametrize(("spectrum", "most"), [(CROSSING, 150), (NEAR_HALF, 64)])
def test_a_choice_that_changes_takes_no_more_products_than_there_may_be(
    spectrum: Tensor, most: int, estimate: Any
) -> None:
    matrix = rotated(spectrum)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tolerance is not reached
        found = [estimate(matrix, products=most, tolerance=1e-9, seed=seed) for seed in range(20)]
    assert max(one.products for one in found) <= most


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_diagonal])
@pytest.mark.parametrize(
    ("most", "tolerance", "spent"),
    [
        (300, 1e-9, 300),  # a look would leave too few
        (341, 0.9, 300),
        (342, 1e-9, 342),  # after 42: one at 85 would leave too few
        (512, 1e-9, 428),
        (1024, 1e-9, 556),
        (512, 0.9, 32),
    ],
)
def test_a_matrix_of_no_more_rows_than_products_is_exact_where_no_look_reaches_the_tolerance(
    estimate: Any, most: int, tolerance: float, spent: int
) -> None:
    matrix = np.random.default_rng(0).normal(size=(300, 300))
    matrix = matrix + matrix.T + 30 * np.eye(300)
    found = estimate(matrix, products=most, tolerance=tolerance)
    assert (found.products, found.method == "exact") == (spent, spent >= 300)
    if spent >= 300:
        np.testing.assert_allclose(found.estimate, (np.trace if estimate is estimate_trace else np.diag)(matrix))


def test_a_tolerance_is_compared_with_all_that_the_standard_error_holds() -> None:
    """Five steps leave far more than 5 % of a logarithm whose queries alone would be sure after 32 products."""
    matrix = np.diag(np.logspace(-8, 0, 300))
    said = r"after 32 products, and 0\.05 was asked for; raise steps, as function=\(\"log\", 10\) does$"
    with pytest.warns(UserWarning, match=said) as caught:
        found = estimate_trace(matrix, function=("log", 5), products=64, tolerance=0.05)
    assert len(caught) == 1  # more steps are asked for once
    assert found.left.taken_out(found.standard_error) < 0.05 * abs(found.estimate) < found.left.steps
    assert (found.lacking, found.is_within(0.05)) == ("steps", False)


@pytest.mark.parametrize("method", ["hutchinson", "hutch_pp", "na_hutch_pp", "xtrace"])
def test_growing_by_steps_is_asking_at_once(method: str) -> None:
    """The last look of a tolerance that is never reached is what one look at as many products is."""
    values = SPECTRA["1/√i"]
    with pytest.warns(UserWarning, match=r"the relative standard error is 0\.0\d+ after 128 products, and 1e-09 was"):
        grown = trace_estimates(known(Diagonal(values)), method=method, products=128, tolerance=1e-9, seed=1)
    (once,) = trace_estimates(known(Diagonal(values)), method=method, products=128, tolerance=None, seed=1)
    # queries are drawn in other blocks, so they are others: the laws agree, the stated errors nearly
    assert [step.products for step in grown] == [32, 64, 128]
    assert grown[-1].standard_error == pytest.approx(once.standard_error, rel=0.5)
    assert abs(grown[-1].estimate - float(values.sum())) < 5 * grown[-1].standard_error


def test_a_small_matrix_is_exact() -> None:
    matrix = symmetric("flat")
    found = estimate_trace(matrix, products=SIZE)
    assert (found.method, found.products, found.standard_error) == ("exact", SIZE, 0.0)
    assert found.estimate == pytest.approx(matrix.trace(), rel=1e-13)
    assert found.flatness == pytest.approx(matrix.trace() ** 2 / (SIZE * np.sum(matrix**2)), rel=1e-12)
    assert str(found).startswith(f"{matrix.trace():,.6g} ± 0 (exact, 200 products, flatness 0.")


@pytest.mark.parametrize("rank", [1, 7])
def test_a_low_rank_is_exact_to_rounding_also_where_the_basis_grows(rank: int) -> None:
    factor = np.random.default_rng(0).normal(size=(SIZE, rank))
    matrix = factor @ factor.T
    with pytest.warns(UserWarning, match="give more products"):
        found = estimate_trace(matrix, products=128, method="xtrace", tolerance=1e-18)
    assert found.estimate == pytest.approx(matrix.trace(), rel=1e-11)
    assert found.standard_error < 1e-10 * matrix.trace()
    zero = estimate_trace(sp.csr_array((SIZE, SIZE)), tolerance=0.1)
    assert (zero.estimate, zero.standard_error, zero.relative_error) == (0.0, 0.0, 0.0)


def test_the_measured_flatness_and_tail() -> None:
    found = estimate_trace(np.eye(SIZE) * 3, products=100)
    assert found.flatness == pytest.approx(1, abs=0.05)
    assert found.tail == pytest.approx(1 - 49 / SIZE, abs=0.05)  # 49 directions of 200 are taken out
    assert estimate_trace(symmetric("1/i²"), products=100).tail < 1e-4
    assert estimate_trace(symmetric("flat"), products=100, method="hutchinson").tail is None


FUNCTIONS = {
    "identity": lambda v: v,
    "cube": lambda v: v**3,
    "exp": np.exp,
    "inverse": lambda v: 1 / v,
    "log": np.log,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_of_a_matrix(function: str) -> None:
    matrix = symmetric("flat")
    expected = FUNCTIONS[function](np.linalg.eigvalsh(matrix)).sum()
    exact = estimate_trace(matrix, function=function, products=SIZE)
    assert exact.estimate == pytest.approx(expected, rel=1e-8)
    found = estimate_trace(sp.csr_array(matrix), function=function, products=60)
    assert abs(found.estimate - expected) < 4 * found.standard_error


def test_a_function_of_ones_own() -> None:
    matrix = symmetric("flat")
    found = estimate_trace(matrix, function=lambda values: values / (values + 0.5), products=SIZE)
    values = np.linalg.eigvalsh(matrix)
    assert found.estimate == pytest.approx((values / (values + 0.5)).sum(), rel=1e-8)


def test_it_is_imported_from_models() -> None:
    import models

    matrix = symmetric("flat") + np.eye(SIZE)
    assert models.estimate_trace(matrix, products=SIZE).estimate == pytest.approx(matrix.trace())
    assert models.estimate_logdet(matrix).estimate == pytest.approx(np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(models.estimate_diagonal(matrix, products=SIZE).estimate, matrix.diagonal())


def test_equal_seeds_are_equal_and_others_are_not() -> None:
    matrix = symmetric("flat")
    one, same, other = (estimate_trace(matrix, products=30, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.estimate != other.estimate


def with_entry(value: float, *, both: bool = True) -> np.ndarray:
    matrix = symmetric("flat")
    matrix[3, 5] = value
    if both:
        matrix[5, 3] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "error", "message"),
    [
        (np.ones((3, 4)), ValueError, r"the matrix has shape \(3, 4\); a square one \(n, n\) is needed"),
        (np.ones(4), ValueError, r"the matrix has shape \(4,\); a square one"),
        (sp.csr_array((3, 4)), ValueError, r"the matrix has shape \(3, 4\)"),
        (aslinearoperator(np.ones((3, 4))), ValueError, r"the matrix has shape \(3, 4\)"),
        (torch.ones(3, 4).to_sparse(), ValueError, r"the matrix has shape \(3, 4\)"),
        (np.zeros((0, 0)), ValueError, "the matrix has no rows"),
        ([[1, 2], [3]], ValueError, "the matrix has rows of different lengths"),
        (np.eye(3) * 1j, TypeError, "the matrix holds complex128; real numbers are needed"),
        (torch.eye(3) * 1j, TypeError, r"the matrix holds torch\.complex64; real numbers are needed"),
        (sp.eye_array(3) * 1j, TypeError, "the matrix holds complex128; real numbers"),
        ([["a"]], TypeError, "the matrix holds <U1; real numbers are needed"),
        (3.0, TypeError, "the matrix is a float; a square array, sparse matrix, tensor or LinearOperator is needed"),
        (None, TypeError, "the matrix is a NoneType; a square array"),
        (with_entry(np.nan), ValueError, r"the matrix has an entry that is not finite \(NaN or infinity\)"),
        (torch.from_numpy(with_entry(np.inf)), ValueError, "the matrix has an entry that is not finite"),
        (sp.csr_array(with_entry(np.nan)), ValueError, "the matrix has an entry that is not finite"),
        (aslinearoperator(with_entry(np.nan)), OracleError, "the oracle returned a number that is not finite"),
        (with_entry(9.0, both=False), OracleError, r"not symmetric: an entry and its mirror image differ by 9\.0"),
        (sp.csr_array(with_entry(9.0, both=False)), OracleError, "not symmetric: an entry and its mirror image"),
        (torch.from_numpy(with_entry(9.0, both=False)), OracleError, "not symmetric: an entry and its mirror image"),
        (aslinearoperator(with_entry(9.0, both=False)), OracleError, "not symmetric: xᵀAy and yᵀAx differ by"),
    ],
)
def test_a_matrix_that_has_no_trace_here_is_refused_in_one_line(
    matrix: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        estimate_trace(matrix)
    assert "\n" not in str(caught.value)


def test_a_small_operator_is_checked_too() -> None:
    with pytest.raises(OracleError, match="not symmetric: xᵀAy and yᵀAx differ by 1"):
        estimate_trace(aslinearoperator(np.array([[0.0, 1.0], [0.0, 0.0]])))
    wrong = LinearOperator((5, 5), matvec=lambda x: x, matmat=lambda x: x[:, :1], dtype=float)
    with pytest.raises(OracleError, match=r"the operator answers \(5, 2\) by \(5, 1\); mend its matmat"):
        estimate_trace(wrong)


class ThreeNumbers:
    """Has a matvec that forgets most rows, and no type, so that scipy asks for a product to find it."""

    shape = (5, 5)

    def matvec(self, vector: np.ndarray) -> np.ndarray:
        return np.asarray(vector).reshape(-1)[:3]


def test_a_matvec_of_another_length_is_refused_by_its_lengths() -> None:
    """Not in the words of NumPy, which cannot reshape what it answers."""
    said = r"^the operator's matvec answers a vector of 5 numbers by 3; let it return 5$"
    for wrong in (ThreeNumbers(), LinearOperator((5, 5), matvec=ThreeNumbers().matvec, dtype=float)):
        with pytest.raises(OracleError, match=said):
            estimate_trace(wrong)


def test_a_matvec_that_fails_at_a_reshape_of_its_own_is_refused_in_the_words_of_numpy() -> None:
    wrong = LinearOperator((20, 20), matvec=lambda x: x.reshape(7, 3).ravel(), dtype=float)
    said = r"cannot reshape array of size 20 into shape \(7,\s*3\); mend it"
    with pytest.raises(OracleError, match=said):
        estimate_trace(wrong)


@pytest.mark.parametrize("shape", [(20,), 20, None, (3, 4)])
def test_an_operator_that_is_not_square_is_refused_by_its_shape(shape: Any) -> None:
    wrong = SimpleNamespace(shape=shape, matvec=lambda x: x)
    with pytest.raises(ValueError, match=r"^the matrix has shape \(.*\); a square one \(n, n\) is needed$"):
        estimate_trace(wrong)


def test_an_estimate_is_a_number() -> None:
    matrix = np.diag([1.0, 2.0, 3.0])
    assert float(estimate_trace(matrix)) == pytest.approx(6.0)
    assert float(estimate_logdet(matrix)) == pytest.approx(math.log(6.0))


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_logdet, estimate_diagonal])
def test_the_seed_is_named_where_it_is_given_as_estimators_take_it(estimate: Callable[..., Any]) -> None:
    name = estimate.__name__
    with pytest.raises(TypeError, match=rf"^{name}\(\) takes no random_state; call it seed$"):
        estimate(np.eye(3), random_state=0)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"method": "hutch"}, ValueError, "method='hutch' is unknown; choose one of auto, hutchinson, hutch_pp"),
        ({"function": "sqrt"}, ValueError, "function='sqrt' is unknown; choose one of identity, cube, exp, inverse"),
        ({"products": 3}, ValueError, "products=3 must be at least 4"),
        ({"products": 20.5}, TypeError, r"products=20\.5 is no whole number"),
        ({"products": True}, TypeError, "products=True is no whole number"),
        ({"tolerance": "small"}, TypeError, "tolerance=.small. must be a share of the estimate"),
        ({"tolerance": True}, TypeError, "tolerance=True must be a share of the estimate"),
        ({"seed": 2**70}, ValueError, r"seed=\d+ must be below 2\^63"),
        ({"function": ("cube", 100)}, ValueError, r'function=\("cube", 100\): cube takes no steps; leave them out$'),
        ({"function": ("identity", 50)}, ValueError, "identity takes no steps"),
        ({"function": ["exp"]}, ValueError, r"function=\[.exp.\] is unknown; choose one of identity"),
        ({"seed": -1}, ValueError, "seed=-1 must be at least 0"),
        ({"tolerance": 0.0}, ValueError, r"tolerance=0\.0 must be a share of the estimate"),
        ({"tolerance": float("nan")}, ValueError, "tolerance=nan must be a share of the estimate"),
        ({"method": "xtrace", "products": 31}, ValueError, "xtrace asks for as many queries twice; 31 is odd"),
        ({"method": "xtrace", "products": 400}, ValueError, "makes a sketch of 200 vectors of a matrix of size 200"),
        ({"function": "log"}, OracleError, "not positive definite: it has an eigenvalue of -0"),
        ({"function": "inverse"}, OracleError, "not positive definite"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        estimate_trace(symmetric("indefinite"), **settings)


def test_a_function_of_numpy_is_that_of_torch() -> None:
    """But for the last digits: the two libraries have programs of their own for an exponential."""
    matrix = symmetric("0.8^i")
    one, other = (estimate_trace(matrix, function=f, products=12, seed=3) for f in (np.exp, torch.exp))
    assert one.left == pytest.approx(other.left, rel=0.1)  # what rounding may make of it is itself made of last digits
    for value, same in zip(*(astuple(replace(own, left=Left())) for own in (one, other)), strict=True):
        assert value == (pytest.approx(same, rel=1e-12) if isinstance(same, float) else same)


def test_a_tolerance_is_a_share() -> None:
    with pytest.raises(ValueError, match="tolerance=5 must be a share of the estimate between 0 and 1, such as 0"):
        estimate_trace(symmetric("flat"), tolerance=5)


def test_no_basis_is_found_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one by which the method is chosen is that of XTrace. A pool that grows finds a new one."""
    found: list[int] = []

    def counted(vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found.append(vectors.shape[1])
        return orthonormal_rows(vectors)

    monkeypatch.setattr(pool, "orthonormal_rows", counted)
    matrix = symmetric("1/i²")
    chosen, asked_for = (estimate_trace(matrix, products=40, method=method) for method in ("auto", "xtrace"))
    assert found == [20, 20]
    assert (chosen.method, chosen.estimate) == ("xtrace", asked_for.estimate)
    own = pool.Pool(known(Diagonal(SPECTRA["flat"])), seed=0)
    for count in (10, 20):
        own.ask(count)
        rows, factor = own.factorised(count)
        torch.testing.assert_close(factor.mT @ rows, own.products)


def test_an_operator_may_answer_in_the_same_memory_each_time() -> None:
    matrix, answers = 32 * symmetric("1/√i"), np.empty((SIZE, 20), order="F")

    def product(columns: np.ndarray) -> np.ndarray:
        return np.matmul(matrix, columns, out=answers[:, : columns.shape[1]])

    operator = LinearOperator((SIZE, SIZE), matvec=lambda x: matrix @ x, matmat=product, dtype=matrix.dtype)
    assert matrix_of(operator).exponent == 0  # its answers are not multiplied by anything
    found = estimate_trace(operator, products=40, method="xtrace")
    assert found.estimate == pytest.approx(estimate_trace(matrix, products=40, method="xtrace").estimate, rel=1e-12)


def dense(size: int) -> np.ndarray:
    """Returns a positive definite matrix whose inverse takes a few steps."""
    return np.diag(np.linspace(1.0, 20.0, size)) + 0.1


def test_products_that_cost_more_than_all_eigenvalues_are_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "NOTICED", 0.0)
    with pytest.warns(UserWarning, match=r"took \d+ products with the matrix of 60 rows.*: products=60, without a"):
        estimate_trace(dense(60), function="inverse", products=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = estimate_trace(dense(60), function="inverse", products=60)
        estimate_trace(dense(60), products=50)  # a product each
        estimate_trace(sp.csr_array(dense(60)), function="inverse", products=50)
    assert (exact.method, exact.products) == ("exact", 60)


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_diagonal, estimate_logdet])
def test_a_tolerance_that_is_missed_is_said_where_the_estimate_is_asked_for(estimate: Any) -> None:
    with pytest.warns(UserWarning, match=r"after 1\d\d products, and 1e-09 was asked for") as caught:
        estimate(dense(200), products=170, tolerance=1e-9)
    assert caught[0].filename == __file__


def test_what_was_asked_before_does_not_choose_the_method() -> None:
    """The first queries of a pool are the same, whatever else it has been asked."""
    target = known(Diagonal(0.45 + (INDEX[:60] * 0.7).sin()), 60)  # a tail times (1 − flatness) near a half

    def choice(seed: int, before: int) -> tuple[str, float]:
        own = pool.Pool(target, seed=seed)
        own.ask(10)
        own.ask(before)
        return choose(own, 20, widened=False)

    assert [choice(seed, 10) for seed in range(60)] == [choice(seed, 40) for seed in range(60)]


def test_a_cost_that_nobody_notices_is_not_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_trace(dense(60), function="inverse", products=50)
