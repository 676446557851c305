"""Estimators against dense traces: exact where they have to be, unbiased, of the budget and the rounds they state."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from models.choices import TRACE_METHODS
from models.trace.basis import orthonormal_rows
from models.trace.estimators import METHODS, check_budget, estimate_traces, independent_estimates
from models.trace.oracles import Dense, Diagonal, OracleError
from models.trace.queries import QueryDraw

SIZE, NAMES = 60, list(METHODS)


def test_settings_are_checked_by_the_names_of_all_methods() -> None:
    assert tuple(METHODS) == TRACE_METHODS


def chance(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def symmetric(seed: int, *, rank: int = SIZE) -> Tensor:
    """Positive semi-definite, eigenvalues that fall by a tenth each."""
    q = torch.linalg.qr(torch.randn(SIZE, rank, generator=chance(seed), dtype=torch.float64)).Q
    return (q * 0.9 ** torch.arange(rank)) @ q.T


class Counted:
    """An oracle that notes how many queries each call brought."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix, self.calls = matrix, []

    def __call__(self, queries: Tensor) -> Tensor:
        self.calls.append(queries.shape[-2])
        return queries @ self.matrix


@pytest.mark.parametrize("queries", [10, 12, 16, 38])
@pytest.mark.parametrize("name", NAMES)
def test_exactly_the_budget_is_asked_in_the_stated_rounds(name: str, queries: int) -> None:
    oracle = Counted(symmetric(0))
    independent_estimates(oracle, method=name, queries=queries, size=SIZE, trials=3, generator=chance(1))
    assert sum(oracle.calls) == queries
    assert len(oracle.calls) == METHODS[name].rounds


@pytest.mark.parametrize("distribution", ["gaussian", "rademacher"])
@pytest.mark.parametrize("name", NAMES)
def test_estimates_are_unbiased(name: str, distribution: str) -> None:
    matrix = symmetric(2) - 0.02 * torch.eye(SIZE, dtype=torch.float64)  # not definite
    found = independent_estimates(
        Dense(matrix), method=name, queries=16, size=SIZE, trials=4000, distribution=distribution, generator=chance(3)
    )
    assert abs(found.mean() - matrix.trace()) < 4.5 * found.std() / len(found) ** 0.5
    assert found.std() > 0


@pytest.mark.parametrize("rank", [1, 5])
@pytest.mark.parametrize("name", ["hutch_pp", "na_hutch_pp", "xtrace"])
def test_a_low_rank_is_found_exactly(name: str, rank: int) -> None:
    matrix = symmetric(4, rank=rank)
    found = independent_estimates(Dense(matrix), method=name, queries=24, size=SIZE, trials=20, generator=chance(5))
    torch.testing.assert_close(found, matrix.trace().expand(20), rtol=1e-10, atol=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_a_matrix_of_zeros(name: str) -> None:
    zero = Diagonal(torch.zeros(SIZE, dtype=torch.float64))
    assert independent_estimates(zero, method=name, queries=12, size=SIZE, trials=2, generator=chance(0)).tolist() == [
        0,
        0,
    ]


def hutch_pp_by_hand(matrix: Tensor, queries: Tensor, third: int) -> Tensor:
    """Algorithm 1 as it is printed; query vectors as columns."""
    s, g = queries.T[:, :third], queries.T[:, third:]
    q = torch.linalg.qr(matrix @ s).Q
    outside = torch.eye(SIZE).to(q) - q @ q.T
    return (q.T @ matrix @ q).trace() + (g.T @ outside @ matrix @ outside @ g).trace() / g.shape[1]


def na_hutch_pp_by_hand(matrix: Tensor, queries: Tensor, sizes: list[int]) -> Tensor:
    """Algorithm 2 as it is printed."""
    s, r, g = queries.T.split(sizes, 1)
    z, w = matrix @ r, matrix @ s
    inverse = torch.linalg.pinv(s.T @ z)
    rest = (g.T @ matrix @ g).trace() - (g.T @ z @ inverse @ w.T @ g).trace()
    return (inverse @ (w.T @ z)).trace() + rest / g.shape[1]


def xtrace_by_hand(matrix: Tensor, queries: Tensor) -> Tensor:
    """For each query a basis of the products of the others, and the query on what is left."""
    k, found = len(queries), []
    for i in range(k):
        others = torch.cat([queries[:i], queries[i + 1 :]])
        q = torch.linalg.qr(matrix @ others.T).Q
        u = queries[i] - q @ (q.T @ queries[i])
        u = u * ((SIZE - k + 1) ** 0.5 / u.norm())
        found.append((q.T @ matrix @ q).trace() + u @ matrix @ u)
    return torch.stack(found).mean()


def test_the_formulae_are_those_of_the_algorithms() -> None:
    matrix, m = symmetric(6), 20
    drawn = torch.randn(1, m, SIZE, generator=chance(7), dtype=torch.float32).double()[0]

    def found(name: str) -> Tensor:
        return independent_estimates(Dense(matrix), method=name, queries=m, size=SIZE, generator=chance(7))[0]

    torch.testing.assert_close(found("hutchinson"), (drawn @ matrix @ drawn.T).trace() / m)
    fewer = torch.randn(1, 14, SIZE, generator=chance(7), dtype=torch.float32).double()[0]
    torch.testing.assert_close(found("hutch_pp"), hutch_pp_by_hand(matrix, fewer, 6))
    torch.testing.assert_close(found("na_hutch_pp"), na_hutch_pp_by_hand(matrix, drawn, [5, 10, 5]))
    half = torch.randn(1, 10, SIZE, generator=chance(7), dtype=torch.float32).double()[0]
    torch.testing.assert_close(found("xtrace"), xtrace_by_hand(matrix, half))


def test_budgets_share_queries_and_change_nothing_by_it() -> None:
    """The largest budget's queries are those that it asks alone, where the shares agree."""
    matrix = Dense(symmetric(8))
    draw = QueryDraw(size=SIZE, trials=5)
    both, alone = (
        estimate_traces(matrix, draw, methods=NAMES, budgets=budgets, generator=chance(9))
        for budgets in ([8, 24], [24])
    )
    for name in NAMES:
        assert both[name].shape == (2, 5)
        torch.testing.assert_close(both[name][1], alone[name][0])


def test_single_precision() -> None:
    matrix = symmetric(10).float()
    for name in NAMES:
        found = independent_estimates(
            Dense(matrix), method=name, queries=40, size=SIZE, trials=50, generator=chance(11), dtype=torch.float32
        )
        assert found.dtype == torch.float32
        assert abs(found.mean() / matrix.trace() - 1) < 0.1


@pytest.mark.parametrize(
    ("name", "queries", "size", "message"),
    [
        ("hutch", 10, 60, "method hutch is unknown; choose one of hutchinson, hutch_pp, na_hutch_pp, xtrace"),
        ("hutch_pp", 2, 60, "hutch_pp needs at least 3 queries, not 2"),
        ("hutchinson", 0, 60, "hutchinson needs at least 1 queries, not 0"),
        ("xtrace", 11, 60, "xtrace asks for as many queries twice; 11 is odd"),
        ("hutch_pp", 30, 10, "a sketch of 10 vectors of a matrix of size 10; ask for fewer"),
        ("na_hutch_pp", 4, 1, "a sketch of 2 vectors of a matrix of size 1"),
    ],
)
def test_budgets_that_make_no_sense(name: str, queries: int, size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_budget(name, queries, size)


@pytest.mark.parametrize(("name", "queries"), [("hutch_pp", 2), ("hutch_pp", 30), ("xtrace", 11), ("xtrace", 30)])
def test_a_budget_that_is_split_for_another_method_is_refused_by_its_name(name: str, queries: int) -> None:
    with pytest.raises(ValueError, match=r"^sketched hutch_pp .*queries") as refused:
        check_budget(name, queries, 10, called="sketched hutch_pp")
    assert "xtrace" not in str(refused.value)


def test_bad_answers_are_refused() -> None:
    settings = {"method": "hutch_pp", "queries": 9, "size": 5, "generator": chance(0)}
    with pytest.raises(OracleError, match="a number that is not finite"):
        independent_estimates(Diagonal(torch.tensor([1.0, torch.nan, 1, 1, 1])), **settings)
    with pytest.raises(OracleError, match=r"answers \(1, 6, 5\) by \(1, 6\); it has to return a product for each"):
        independent_estimates(lambda queries: queries.sum(-1), **settings)
    with pytest.raises(ValueError, match="distribution=cauchy is unknown; choose one of gaussian, rademacher"):
        independent_estimates(Diagonal(torch.ones(5)), distribution="cauchy", **settings)


@pytest.mark.parametrize("dependent", [False, True])
def test_the_basis_is_orthonormal_also_of_dependent_vectors(dependent: bool) -> None:
    vectors = torch.randn(2, 8, SIZE, generator=chance(12), dtype=torch.float64)
    vectors = vectors * 10.0 ** -torch.arange(8).unsqueeze(1)
    if dependent:
        vectors[:, 5] = vectors[:, 2]
    rows, factor = orthonormal_rows(vectors)
    torch.testing.assert_close(rows @ rows.mT, torch.eye(8).expand(2, 8, 8).double(), rtol=0.0, atol=1e-13)
    torch.testing.assert_close(factor.mT @ rows, vectors)
    assert torch.equal(factor, factor.triu())
