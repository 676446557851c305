"""Inverses as oracles, by conjugate gradients, batched over the query vectors."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from models.numerics.conjugate_gradients import IndefiniteDirection, NotConverged, conjugate_gradients
from models.trace.oracles import Checked, Oracle, OracleError, Shifted

SOLVING = 1000  # steps at most


@dataclass(frozen=True)
class Inverse:
    """Is the oracle of A⁻¹ for a positive definite A (n, n), solved for each query until ‖b − Ax‖ ≤ tolerance·‖b‖, by
    the residual that the recurrence of conjugate gradients carries on; rounding moves the true one away from it.

    oracle: of A. advice: what is to be done where the products are not enough.

    Raises OracleError for a direction p with pᵀAp ≤ 0, where `most` products a query are not enough, and for queries or
    products that are not finite.
    """

    oracle: Oracle
    tolerance: float = 1e-10
    most: int = SOLVING
    advice: str = "allow more steps, or add a ridge to its diagonal"

    def __call__(self, queries: Tensor) -> Tensor:
        columns, oracle = queries.reshape(-1, queries.shape[-1]).T, Checked(self.oracle)
        if not columns.isfinite().all():
            raise OracleError("a query holds a number that is not finite")
        try:
            solutions = conjugate_gradients(lambda v: oracle(v.T).T, columns, tolerance=self.tolerance, most=self.most)
        except IndefiniteDirection:
            raise OracleError(
                "the matrix is not positive definite (pᵀAp ≤ 0 for some p); add a ridge to its diagonal"
            ) from None
        except NotConverged as error:
            raise OracleError(
                f"{error.products} conjugate-gradient steps leave a relative residual of {error.residual:.2g}, asked "
                f"for {error.tolerance:.2g}; the matrix is ill-conditioned or singular; {self.advice}"
            ) from None
        return solutions.values.T.reshape(queries.shape)


@dataclass(frozen=True)
class RidgeSmoother:
    """Is the oracle of K(K + λN·I)⁻¹ = I − λN·(K + λN·I)⁻¹ of a kernel matrix K (N, N).

    Its trace is the statistical dimension.
    kernel: the oracle of K. shift: λN, greater than 0. tolerance, most, advice, errors: as for `Inverse`.
    """

    kernel: Oracle
    shift: float
    tolerance: float = 1e-10
    most: int = SOLVING
    advice: str = "allow more steps, or raise the shift"

    def __call__(self, queries: Tensor) -> Tensor:
        inverse = Inverse(Shifted(self.kernel, self.shift), self.tolerance, self.most, self.advice)
        return queries - self.shift * inverse(queries)
