"""What the estimates of a person's own matrix are told: how many products, how sure, by which method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

import numpy as np
import torch

from models.runtime.parameters import shown

AUTO, EXACT = "auto", "exact"
PRODUCTS, MOST = 100, 1000  # by default: without, and with a tolerance
PRECISION = {torch.float64: "double", torch.float32: "single", torch.float16: "half"}
LARGEST_SEED = 2**63 - 1
FIRST = 31  # products, at least, after which an estimate with a tolerance is looked at first


Estimate = TypeVar("Estimate", bound="Sure")
Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raises ValueError, which names the choices, for what is none of these words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={shown(value)} is unknown; choose one of {', '.join(choices)}")


def check_whole(name: str, value: int, least: int) -> None:
    """Raises TypeError for what is no whole number, ValueError for one that is below the least."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}={shown(value)} is no whole number")
    if value < least:
        raise ValueError(f"{name}={value} must be at least {least}")


def naming_the_seed(estimate: Callable[Asked, Answer]) -> Callable[Asked, Answer]:
    """Returns a function of these estimates that refuses the argument `random_state`, as estimators in scikit-learn's
    manners call a seed, with a TypeError that names its own. It is one more call between a warning and its line."""

    @wraps(estimate)
    def named(*given: Asked.args, **by_name: Asked.kwargs) -> Answer:
        if "random_state" in by_name:
            raise TypeError(f"{estimate.__name__}() takes no random_state; call it seed")
        return estimate(*given, **by_name)

    return named


def check_budget_arguments(products: int | None, tolerance: float | None, seed: int) -> int:
    """Returns how many products there may be: as given, else 100, or 1000 with a tolerance.

    Raises ValueError or TypeError for a value that makes no sense whatever the matrix is.
    """
    check_whole("seed", seed, 0)
    if seed > LARGEST_SEED:
        raise ValueError(f"seed={seed} must be below 2^63")
    if isinstance(tolerance, bool) or not isinstance(tolerance, float | int | np.number | None):
        raise TypeError(f"tolerance={shown(tolerance)} must be a share of the estimate between 0 and 1, such as 0.01")
    if tolerance is not None and not 0 < tolerance < 1:
        raise ValueError(f"tolerance={tolerance} must be a share of the estimate between 0 and 1, such as 0.01")
    if products is not None:
        check_whole("products", products, 4)
        return int(products)
    return PRODUCTS if tolerance is None else MOST


def budgets(most: int, tolerance: float | None, first: int = FIRST) -> Iterator[int]:
    """Yields the numbers of products at which an estimate is looked at: `most` without a tolerance, else `most` halved
    as often as `first` are left, and from there up. So half of each, by which a method is chosen, is the one before."""
    halvings = 0
    while tolerance is not None and most >> (halvings + 1) >= first:
        halvings += 1
    for left in range(halvings, -1, -1):
        yield most >> left


def ends_exact(size: int, spent: int, budget: int, most: int) -> bool:
    """Returns whether n products, of at most `most`, are asked in place of those that a look at `budget` lacks: it
    takes as many, or leaves fewer than n for a later one. size: n. spent: products that were asked before."""
    return spent + size <= most and (budget >= size or budget + size > most)


class Sure(Protocol):
    """Says how sure an estimate is, relative to its size, and what it took."""

    @property
    def relative_error(self) -> float: ...

    @property
    def lacking(self) -> str: ...

    def is_within(self, tolerance: float) -> bool: ...

    @property
    def products(self) -> int: ...

    @property
    def method(self) -> str: ...


def until_sure(
    estimates: Iterable[Estimate],
    tolerance: float | None,
    dtype: torch.dtype,
    more_steps: str = "give more steps",
    *,
    stacklevel: int = 4,
) -> list[Estimate]:
    """Returns the estimates up to the first one within the tolerance; all of them, with a warning, where none is.
    dtype: of the matrix. more_steps: how they are given. stacklevel: of the warning, 4 for the line that calls what
    calls this, which is `naming_the_seed`."""
    so_far: list[Estimate] = []
    for estimate in estimates:
        so_far.append(estimate)
        if tolerance is not None and estimate.is_within(tolerance):
            return so_far
    if tolerance is not None:
        last = so_far[-1]
        warnings.warn(
            f"the relative standard error is {last.relative_error:.2g} after {last.products} products, and "
            f"{tolerance:g} was asked for; {advice(last, dtype, more_steps)}",
            stacklevel=stacklevel,
        )
    return so_far


def precision_word(dtype: torch.dtype) -> str:
    """Returns what the precision of this type is called; for types without such a word, their own name."""
    return PRECISION.get(dtype, str(dtype).removeprefix("torch."))


def short_of_steps(estimate: Sure, tolerance: float | None) -> bool:
    """Returns whether a tolerance was missed for want of Lanczos steps, which the warning of `until_sure` says."""
    if tolerance is None or estimate.method == EXACT or estimate.is_within(tolerance):
        return False
    return estimate.lacking == "steps"


def advice(estimate: Sure, dtype: torch.dtype, more_steps: str) -> str:
    """Returns what is to be done for a smaller error than that of an estimate, of a matrix of this type."""
    lacking = "precision" if estimate.method == EXACT else estimate.lacking
    if lacking != "precision":
        return more_steps if lacking == "steps" else "give more products"
    if dtype != torch.float64:
        word = precision_word(dtype)
        return f"the rounding of {word} precision may leave so much: give the matrix in double precision"
    return "the rounding of the matrix may leave so much, and less only of another matrix, such as one with a ridge"
