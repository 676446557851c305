"""What the products of a dense matrix cost beside all of its eigenvalues."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from torch import Tensor

from models.trace.exact import FEW_ROWS
from models.trace.matrices import Matrix
from models.trace.oracles import Dense, Oracle

EIGENVALUES = 6  # products a row, at most, in the time that all eigenvalues take; 2.5 to 5.4 were measured
NOTICED = 3e10  # multiplications and additions, about a second of a core


@dataclass
class Counted:
    """Passes on what another oracle finds, and counts the vectors that it was asked for."""

    oracle: Oracle
    vectors: int = 0

    def __call__(self, queries: Tensor) -> Tensor:
        self.vectors += queries.numel() // queries.shape[-1]
        return self.oracle(queries)


def with_cost(matrix: Matrix) -> Matrix:
    """Returns a dense matrix of few rows with an oracle that counts; any other one as it is."""
    few = isinstance(matrix.oracle, Dense) and matrix.size <= FEW_ROWS
    return matrix._replace(oracle=Counted(matrix.oracle)) if few else matrix


def warn_of_cost(matrix: Matrix) -> None:
    """Warns where the products that a matrix of `with_cost` was asked for took longer than its eigenvalues would have,
    by what is noticed. A product with a vector takes 2n² multiplications and additions."""
    asked, size = matrix.oracle, matrix.size
    if not isinstance(asked, Counted):
        return
    spared = asked.vectors - EIGENVALUES * size
    if 2 * size**2 * spared > NOTICED:
        warnings.warn(
            f"the estimate took {asked.vectors} products with the matrix of {size} rows, and all of its eigenvalues "
            f"take the time of about {EIGENVALUES * size} or fewer: products={size}, without a method, is exact and "
            "faster",
            stacklevel=4,
        )
