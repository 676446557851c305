"""The trace of a matrix of which every row is known: sums of its diagonal, or of f at all eigenvalues."""

from __future__ import annotations

import torch
from torch import Tensor

from models.trace.functions import iterated
from models.trace.lanczos import function_of_values
from models.trace.matrices import Matrix
from models.trace.oracles import Power
from models.trace.pool import whole
from models.trace.rounding import deviation, moved_by_rounding
from models.trace.scale import put_back, refuse_underflow
from models.trace.standard_errors import Terms

FEW_ROWS = 5000  # of which all eigenvalues take seconds, or a minute


def whole_trace(matrix: Matrix, trace: float) -> float:
    """Returns tr(A) from that of its oracle. Raises OracleError where it is too large or too small for a
    number."""
    found = put_back(trace, matrix.exponent, matrix.size * matrix.shift)
    refuse_underflow(trace, matrix.exponent)
    return found


def exact_sums(matrix: Matrix) -> tuple[float, float, float, Terms]:
    """Returns the trace and ‖·‖_F² of a matrix, in float64, what rounding may make of the trace, and its terms.

    Of f(A), where its products come from an iteration, which is not exact, they are found by all eigenvalues of A; the
    rounding is that of the entries to the precision that A is given in, see `models.trace.rounding`, 0 for any other
    matrix. Raises OracleError as `models.trace.pool.whole` and f do.
    """
    asked = iterated(matrix)
    if asked is None:
        dense = whole_in_double(matrix)
        return float(dense.trace()), float(dense.square().sum()), 0.0, Terms()
    (inner_matrix, function), rounding = asked, matrix.rounding
    eigenvalues = torch.linalg.eigvalsh(whole(inner_matrix).double()).unsqueeze(0)
    values = function_of_values(function, eigenvalues, rounding)
    error = deviation(*rounding.of_sum(function, eigenvalues, torch.ones_like(eigenvalues))[0].tolist())
    own = float(moved_by_rounding(function, eigenvalues, rounding.epsilon * eigenvalues.abs()).abs().sum())
    terms = Terms(float((values + matrix.shift).abs().sum()), own)
    return float(values.sum()), float(values.square().sum()), error, terms


def whole_in_double(matrix: Matrix) -> Tensor:
    """Returns A (n, n), or a power of it, in float64, from products of A in its own precision. Raises OracleError as
    `models.trace.pool.whole`."""
    if isinstance(matrix.oracle, Power):
        inner_matrix = matrix._replace(oracle=matrix.oracle.oracle)
        return torch.linalg.matrix_power(whole(inner_matrix).double(), matrix.oracle.exponent)
    return whole(matrix).double()
