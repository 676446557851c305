"""The scale of a matrix, taken out of it as a power of two, so that no square of an entry is too large or small to be
held: an estimate of c·A is then that of A, put back by the rule of the function."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from models.trace.oracles import Oracle, OracleError

LEAST = 1e6 * sys.float_info.min * sys.float_info.epsilon  # of a number that six digits are left of


def exponent_of(largest: float) -> int:
    """Returns e with 2^e ≤ largest < 2^(e + 1); 0 for a largest entry of 0."""
    return math.frexp(largest)[1] - 1 if largest else 0


def divided(values: Any, exponent: int) -> Any:
    """Returns values · 2^−exponent, of a tensor or an array: exact, and without a factor that cannot be held."""
    half = exponent // 2
    return values * 2.0**-half * 2.0 ** (half - exponent) if exponent else values


@dataclass(frozen=True)
class Rescaled:
    """Is the oracle of 2^−exponent · A: half of the exponent is taken out of the queries, the rest of the products."""

    oracle: Oracle
    exponent: int

    def __call__(self, queries: Tensor) -> Tensor:
        half = self.exponent // 2
        return divided(self.oracle(divided(queries, half)), self.exponent - half)


def refuse_underflow(value: float, exponent: int) -> None:
    """Raises OracleError where 2^exponent · value is not 0, and so small that a number holds fewer than six digits of
    it."""
    if value and abs(math.ldexp(value, exponent)) < LEAST:
        raise OracleError("the estimate is too small for a number; scale the matrix, and keep the scaled one's trace")


def put_back(value: float, exponent: int, shift: float = 0.0) -> float:
    """Returns 2^exponent · value + shift. Raises OracleError where that cannot be held."""
    try:
        return math.ldexp(value, exponent) + shift
    except OverflowError:
        raise OracleError("the estimate is too large for a number; scale the matrix, and its trace back") from None
