"""Matrices as people have them (arrays, sparse matrices, tensors, operators) as oracles of products, checked."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from torch import Tensor

from models.runtime.parameters import in_a_line
from models.trace.oracles import Checked, Dense, Oracle, OracleError, refuse_asymmetric_products, sparse
from models.trace.queries import QueryDraw
from models.trace.rounding import Entries, Rounding, entries_of
from models.trace.scale import Rescaled, divided, exponent_of

MOST_ROWS = 10**9  # a vector of so many numbers takes 8 GB
RESHAPED = re.compile(r"cannot reshape array of size (\d+) into shape \((\d+),1?\)")  # how NumPy refuses a matvec
KINDS = "a square array, sparse matrix, tensor or LinearOperator"


class Matrix(NamedTuple):
    """Holds a symmetric matrix 2^exponent · B + shift · I, (n, n): the oracle of B, n as `size`, and the type and
    device of its queries.

    largest: about the largest entry of B, by which log B is made small. inexact: whether products come of an iteration,
    whose error is not to be taken for that of a matrix that is not symmetric. given: the type of the entries as they
    were given, where that is shorter than the type of the queries, as half precision is. entries: of B, where known.
    """

    oracle: Oracle
    size: int
    dtype: torch.dtype
    device: torch.device
    exponent: int = 0
    shift: float = 0.0
    largest: float = 1.0
    inexact: bool = False
    given: torch.dtype | None = None
    entries: Entries = Entries()

    @property
    def rounding(self) -> Rounding:
        """Returns how the entries were rounded when the matrix was given."""
        return Rounding(self.rounded_to, self.entries)

    @property
    def rounded_to(self) -> torch.dtype:
        """Returns the type to which the entries were rounded when the matrix was given."""
        return self.given or self.dtype


def scaled(oracle: Oracle, size: int, dtype: torch.dtype, device: torch.device, largest: float) -> Matrix:
    """Returns the matrix whose oracle is of its 2^−exponent-th part; largest: about its largest entry."""
    exponent = exponent_of(largest)
    return Matrix(oracle, size, dtype, device, exponent, largest=math.ldexp(largest, -exponent) or 1.0)


@dataclass(frozen=True)
class Operator:
    """Is the oracle of a symmetric `scipy.sparse.linalg.LinearOperator` (n, n), on the CPU.

    Raises OracleError for an answer of another shape or of other than real numbers, and where its own product fails.
    """

    operator: LinearOperator

    def __call__(self, queries: Tensor) -> Tensor:
        rows = queries.reshape(-1, queries.shape[-1]).numpy()
        products = self._products(rows.T).T
        if products.dtype.kind not in "biuf":
            raise OracleError(f"the operator answers by {products.dtype}; real numbers are needed")
        if products.shape != rows.shape:
            raise OracleError(f"the operator answers {rows.shape[::-1]} by {products.shape[::-1]}; mend its matmat")
        own = np.array(products, rows.dtype, order="C")  # a copy: the operator may write its next answer over this one
        return torch.from_numpy(own).view(queries.shape)

    def _products(self, columns: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.operator.matmat(columns))
        except Exception as error:  # whatever it is that a product of one's own raises
            raise OracleError(fault_of(error, columns.shape)) from error


def fault_of(error: Exception, shape: tuple[int, ...]) -> str:
    """Returns what an operator's product with an array of this shape failed by, in a line."""
    said = in_a_line(error)
    found, rows = answered.groups() if (answered := RESHAPED.match(said)) else (None, None)
    if rows == str(shape[0]) and found != rows:  # of another length: the function itself reshapes, and fails
        return f"the operator's matvec answers a vector of {rows} numbers by {found}; let it return {rows}"
    return f"the operator fails at a product with {shape}: {said}; mend it"


def as_operator(matrix: Any) -> LinearOperator:
    """Returns an object that has `matvec` and `shape` as an operator of scipy. Raises ValueError for a shape that is
    not square, and OracleError where its product, which shows its type, fails."""
    check_shape(matrix.shape if isinstance(matrix.shape, tuple) else (matrix.shape,))
    try:
        return aslinearoperator(matrix)
    except Exception as error:  # as of `Operator`
        raise OracleError(fault_of(error, matrix.shape[-1:])) from error


def check_shape(shape: tuple[int, ...]) -> None:
    """Raises ValueError unless a matrix of this shape is square and has a row, and not more than memory holds."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the matrix has shape {tuple(shape)}; a square one (n, n) is needed")
    if shape[0] == 0:
        raise ValueError("the matrix has no rows")
    if shape[0] > MOST_ROWS:
        raise ValueError(f"the matrix must have at most {MOST_ROWS:g} rows, got {shape[0]}")


def precision(dtype: np.dtype) -> torch.dtype:
    """Returns float32 for half and single precision, else float64. Raises TypeError for what is not a real number."""
    if dtype.kind not in "fiub":
        raise TypeError(f"the matrix holds {dtype}; real numbers are needed")
    return torch.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else torch.float64


def shorter(dtype: torch.dtype) -> torch.dtype | None:
    """Returns a type of real numbers that are rounded further than those of single precision; None for another type."""
    short = dtype.is_floating_point and torch.finfo(dtype).eps > torch.finfo(torch.float32).eps
    return dtype if short else None


def refuse_not_finite(finite: bool) -> None:
    """Raises ValueError where an entry of the matrix is NaN or infinite."""
    if not finite:
        raise ValueError("the matrix has an entry that is not finite (NaN or infinity); mend or leave out its row")


def refuse_asymmetric(furthest: float, largest: float, epsilon: float) -> None:
    """Raises OracleError where A − Aᵀ has an entry `furthest` from 0 by more than √ε of the largest entry of A."""
    if furthest > epsilon**0.5 * largest:
        raise OracleError(
            f"the matrix is not symmetric: an entry and its mirror image differ by {furthest:.3g}; give (A + A.T)/2"
        )


def of_dense(matrix: Tensor) -> Matrix:
    """Returns the oracle of a tensor (n, n) in whole. Errors: as `matrix_of`."""
    check_shape(tuple(matrix.shape))
    if matrix.is_complex():
        raise TypeError(f"the matrix holds {matrix.dtype}; real numbers are needed")
    half = matrix.is_floating_point() and matrix.dtype != torch.float64
    own = matrix.detach().to(torch.float32 if half else torch.float64)
    refuse_not_finite(bool(own.isfinite().all()))
    furthest, largest = float((own - own.T).abs().max()), float(own.abs().max())
    refuse_asymmetric(furthest, largest, torch.finfo(own.dtype).eps)
    own = divided(own, exponent_of(largest))
    found = scaled(Dense(own), len(own), own.dtype, own.device, largest)
    entries = entries_of(float(own.norm(dim=1).max()), own.diagonal())
    return found._replace(given=shorter(matrix.dtype), entries=entries)


def of_sparse(matrix: Any, device: torch.device) -> Matrix:
    """Returns the oracle of a sparse matrix of scipy, for queries on the device. Errors: as `matrix_of`."""
    check_shape(matrix.shape)
    dtype = precision(matrix.dtype)
    own = sp.csr_array(matrix, dtype=np.float32 if dtype == torch.float32 else np.float64)
    refuse_not_finite(bool(np.isfinite(own.data).all()))
    difference: Any = abs(own - own.T)
    largest = float(abs(own).max())
    refuse_asymmetric(float(difference.max()), largest, torch.finfo(dtype).eps)
    own = divided(own, exponent_of(largest))
    found = scaled(sparse(own, device, dtype), int(matrix.shape[0]), dtype, device, largest)
    row = float((own * own).sum(axis=1).max()) ** 0.5
    return found._replace(entries=entries_of(row, torch.from_numpy(own.diagonal())))


def of_tensor(matrix: Tensor) -> Matrix:
    """Returns the oracle of a tensor, dense or sparse, on its device. Errors: as `matrix_of`."""
    if matrix.is_meta:
        raise TypeError("the matrix is a tensor on the device meta, which holds no numbers; give one on another device")
    if matrix.layout == torch.strided:
        return of_dense(matrix)
    check_shape(tuple(matrix.shape))
    if matrix.is_complex():
        raise TypeError(f"the matrix holds {matrix.dtype}; real numbers are needed")
    entries = matrix.detach().to_sparse_coo().coalesce().cpu()
    half = entries.is_floating_point() and entries.dtype != torch.float64
    values = entries.values().to(torch.float32 if half else torch.float64).numpy()
    places = entries.indices().numpy()
    found = of_sparse(sp.coo_array((values, (places[0], places[1])), shape=tuple(matrix.shape)), matrix.device)
    return found._replace(given=shorter(matrix.dtype))


def of_operator(operator: LinearOperator) -> Matrix:
    """Returns the oracle of a linear operator; whether it is symmetric and finite, and its scale, two products show."""
    check_shape(operator.shape)
    dtype = torch.float64 if operator.dtype is None else precision(np.dtype(operator.dtype))
    draw, own = QueryDraw(size=operator.shape[0], distribution="rademacher", dtype=dtype), Operator(operator)
    queries = draw.queries(2, generator=torch.Generator().manual_seed(0))[0]
    products = Checked(own)(queries)
    largest = float(products.abs().max()) / operator.shape[0] ** 0.5
    exponent = exponent_of(largest)
    refuse_asymmetric_products(queries, divided(products, exponent), exponent)
    oracle = Rescaled(own, exponent) if exponent else own
    found = scaled(oracle, operator.shape[0], dtype, torch.device("cpu"), largest)
    return found._replace(given=torch.float16 if operator.dtype == np.float16 else None)


def matrix_of(matrix: Any) -> Matrix:
    """Returns the oracle of a symmetric matrix: an array, a sparse matrix of scipy, a tensor or a linear operator.

    Single precision is kept, half precision is computed in single and remembered as `given`, whole numbers become
    double precision. Raises TypeError for what is no matrix of real
    numbers, ValueError for one that is not square, empty or not finite, OracleError for one that is not symmetric.
    """
    if isinstance(matrix, Tensor):
        return of_tensor(matrix)
    if sp.issparse(matrix):
        return of_sparse(matrix, torch.device("cpu"))
    if hasattr(matrix, "matvec") and hasattr(matrix, "shape"):
        return of_operator(as_operator(matrix))
    if isinstance(matrix, np.ma.MaskedArray) and np.ma.is_masked(matrix):
        raise ValueError("the matrix has masked entries; fill them, or leave out their rows and columns")
    try:
        array = np.asarray(matrix)
    except ValueError as error:
        raise ValueError(f"the matrix has rows of different lengths; {KINDS} is needed") from error
    if array.ndim == 0:
        raise TypeError(f"the matrix is a {type(matrix).__name__}; {KINDS} is needed")
    dtype = precision(array.dtype)
    own = of_dense(torch.from_numpy(np.array(array, np.float32 if dtype == torch.float32 else np.float64)))
    return own._replace(given=torch.float16 if array.dtype == np.float16 else None)
