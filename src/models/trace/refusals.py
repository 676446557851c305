"""Refusals of matrices of which a function is not a number, or is decided by rounding: one rule and wording for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import torch
from torch import Tensor

from models.trace.arguments import precision_word
from models.trace.oracles import OracleError


def refuse_negative(least: float, exponent: int, why: str) -> NoReturn:
    """Raises OracleError for a matrix with an eigenvalue, or a diagonal entry, that is not above 0. least: of the
    matrix over 2^exponent. why: what that means, and what to do."""
    raise OracleError(
        f"the matrix is not positive definite: it has an eigenvalue of {least * 2.0**exponent:.3g} or below{why}"
    )


def refuse_singular(dtype: torch.dtype, decided: str) -> NoReturn:
    """Raises OracleError for a matrix of this type with an eigenvalue that its rounding does not tell from 0. decided:
    what depends on it."""
    way = "" if dtype == torch.float64 else "give it in double precision; "
    raise OracleError(
        f"the matrix is singular to the rounding of {precision_word(dtype)} precision, which decides {decided}; "
        f"{way}a ridge on its diagonal makes another matrix of it"
    )


@dataclass(frozen=True)
class OfPositive:
    """Is f at eigenvalues above 0, and NaN at others. exponent: of the power of two that was taken out of them. why:
    what an eigenvalue that is not above 0 means."""

    function: Callable[[Tensor], Tensor]
    why: str
    exponent: int = 0

    def __call__(self, values: Tensor) -> Tensor:
        return self.function(values).where(values > 0, torch.nan)

    def check(self, values: Tensor, rounding: Tensor) -> None:
        """Raises OracleError, naming the least, where an eigenvalue is further below 0 than its rounding."""
        if bool((values < -rounding).any()):
            refuse_negative(float(values.min()), self.exponent, f", {self.why}; add a ridge to its diagonal")
