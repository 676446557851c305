"""What rounding to half precision, bfloat16 and single precision makes of functions by Lanczos steps: what is stated,
what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from models import estimate_logdet, estimate_trace
from models.trace.oracles import OracleError

SIZE, ROWS = 300, 240


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_error_by_lanczos_steps_includes_the_rounding_of_the_precision_that_a_matrix_is_given_in(
    dtype: torch.dtype,
) -> None:
    """The matrix has the eigenvalue 1 often: rounding by ε/2 of it, alike, moves each log 1 by ε/2. One entry is 4."""
    own = torch.ones(SIZE, dtype=dtype).index_fill(0, torch.tensor([0]), 4.0).diag()
    found, known = (estimate_logdet(one, products=202, steps=20) for one in (own, own.double()))
    epsilon = torch.finfo(dtype).eps
    assert found.rounding_error == pytest.approx(np.hypot(SIZE, 4 * SIZE**0.5) * epsilon / 2, rel=0.05)
    assert found.standard_error == pytest.approx(np.hypot(known.standard_error, found.rounding_error), rel=1e-3)
    assert known.rounding_error < 1e-10
    traced = estimate_trace(own, function="log", products=40)
    assert traced.left.rounding == pytest.approx(found.rounding_error, rel=0.1)
    assert traced.standard_error > traced.left.rounding


@pytest.mark.parametrize("estimate", [estimate_logdet, partial(estimate_trace, function="log")])
def test_lanczos_steps_refuse_what_short_precision_does_not_tell_from_singular(estimate: Any) -> None:
    own = torch.cat([torch.ones(SIZE - 20), torch.full((20,), 0.0005)]).diag().half()
    with pytest.raises(OracleError, match=r"singular to the rounding of half precision.*give it in double"):
        estimate(own, products=202)
    estimate(own.double(), products=202)


def kernel(width: float, ridge: float) -> Tensor:
    places = torch.linspace(0.0, 1.0, ROWS, dtype=torch.float64)
    return torch.exp(-0.5 * ((places[:, None] - places) / width).square()) + ridge * torch.eye(ROWS)


def random() -> Tensor:
    drawn = torch.randn(ROWS, 2 * ROWS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return drawn @ drawn.T / (2 * ROWS)


def rotated() -> Tensor:
    """Returns a matrix with the eigenvalues 1/k² + 0.05."""
    drawn = torch.randn(ROWS, ROWS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rotation = torch.linalg.qr(drawn)[0]
    return rotation / torch.arange(1, ROWS + 1).square() @ rotation.T + 0.05 * torch.eye(ROWS)


MATRICES = {
    "narrow kernel": kernel(0.02, 0.15),
    "kernel": kernel(0.1, 0.15),
    "random": random(),
    "rotated": rotated(),
    "alike": 1.07 * torch.eye(ROWS, dtype=torch.float64),
}
FUNCTIONS = {"log": torch.log, "root": torch.sqrt, "exp": torch.exp}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("case", MATRICES)
def test_the_stated_rounding_is_of_the_size_of_the_real_one(case: str, name: str, dtype: torch.dtype) -> None:
    """At most it is that of entries that are all rounded by ε/2 in one direction."""
    own, function = MATRICES[case], FUNCTIONS[name]
    before, after = (float(function(torch.linalg.eigvalsh(one)).sum()) for one in (own, own.to(dtype).double()))
    found = estimate_trace(own.to(dtype), function=function, products=ROWS)
    assert found.method == "exact"
    assert abs(after - before) < 2 * found.standard_error
    values, epsilon = torch.linalg.eigvalsh(own), torch.finfo(dtype).eps
    assert found.standard_error < float(function(values * (1 + epsilon)).sum() - function(values).sum()) * 40


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_well_conditioned_matrix_in_short_precision_is_not_refused(dtype: torch.dtype) -> None:
    own = kernel(0.02, 0.1)
    exact = torch.linalg.eigvalsh(own)
    logdet = estimate_logdet(own.to(dtype), products=202, steps=40)
    assert abs(logdet.estimate - float(exact.log().sum())) < 2 * logdet.standard_error
    root = estimate_trace(own.to(dtype), function=torch.sqrt)
    assert abs(root.estimate - float(exact.sqrt().sum())) < 2 * root.standard_error


def test_a_root_whose_argument_is_0_to_rounding_is_not_refused() -> None:
    own = kernel(0.1, 1e-4)
    found = estimate_trace(own.half(), function=torch.sqrt, products=ROWS)
    assert abs(found.estimate - float(torch.linalg.eigvalsh(own).sqrt().sum())) < 2 * found.standard_error


@pytest.mark.parametrize("products", [100, ROWS])
def test_the_precision_that_a_matrix_was_given_in_is_named_without_a_tolerance(products: int) -> None:
    with pytest.raises(OracleError, match=r"singular to the rounding of half precision, which decides f\(A\); give"):
        estimate_trace(kernel(0.1, 1e-4).half(), function="log", products=products)


@pytest.mark.parametrize(("function", "said"), [("log", '"log"'), (torch.log, "f")])
def test_more_steps_are_advised_for_the_function_that_was_asked_for(function: Any, said: str) -> None:
    own = np.diag(np.logspace(-8, 0, SIZE))
    with pytest.warns(UserWarning, match=rf"raise steps, as function=\({said}, 10\) does$"):
        estimate_trace(own, function=(function, 5), products=60)


@pytest.mark.parametrize(
    ("estimate", "first_look"),
    [(partial(estimate_logdet, steps=10), 7 * 10 + 2), (partial(estimate_trace, function="log"), 36)],
)
def test_products_that_lower_nothing_are_not_asked(estimate: Any, first_look: int) -> None:
    """The rounding of bfloat16 alone leaves more than a tolerance of 0.1 %, and more than the vectors do."""
    own = (1.05 + 0.01 * torch.linspace(-1, 1, SIZE)).diag().bfloat16()
    with pytest.warns(UserWarning, match=r"asked for; the rounding of bfloat16 precision may leave .* double prec"):
        found = estimate(own, products=290, tolerance=0.001)
    assert found.products == first_look


def test_products_that_lower_nothing_are_spent_on_an_exact_trace_where_they_suffice() -> None:
    own = np.diag(np.logspace(-8, 0, SIZE))
    found = estimate_trace(own, function=("log", 5), products=1000, tolerance=0.001)
    assert (found.method, found.products) == (
        "exact",
        30 + SIZE,
    )  # 31 at the first look, and XTrace takes an even number
