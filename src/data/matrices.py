"""A person's own symmetric matrix or graph: Matrix Market, NPZ, NPY, or a list of edges."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.io import mminfo, mmread
from scipy.sparse.csgraph import connected_components

from data.base import DataError
from data.files.edge_lists import read_edges
from data.files.npz import read_arrays

COMPONENTS = ("all", "largest")
NEAR = 1e-8  # of the largest entry: A and Aᵀ may differ by so much
Matrix = np.ndarray | sp.csr_array


@dataclass(frozen=True, eq=False)
class SymmetricMatrix:
    """Holds a symmetric matrix (n, n) in double precision, dense or sparse.

    rows_in_file: of the matrix before a component was taken. source: what `data.source` is tagged with.
    """

    kind: ClassVar[str] = "a symmetric matrix"

    name: str
    matrix: Matrix
    rows_in_file: int
    source: str = "file"
    stand_in: bool = False

    @property
    def size(self) -> int:
        """Returns n."""
        return len(self.matrix.diagonal())

    @cached_property
    def is_graph(self) -> bool:
        """Returns whether it is the adjacency matrix of a graph without weights and loops."""
        values = self.matrix.data if isinstance(self.matrix, sp.csr_array) else self.matrix
        return bool(np.isin(values, (0.0, 1.0)).all()) and not self.matrix.diagonal().any()

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over size and entries: equal matrices give equal checksums."""
        digest = hashlib.sha256(repr(self.matrix.shape).encode())
        own: Any = self.matrix
        for part in (own.indptr, own.indices, own.data) if isinstance(own, sp.csr_array) else (own,):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()


def read_matrix_market(path: Path) -> Any:
    """Reads a Matrix Market file. Raises ValueError for a symmetric one that lists an entry twice, as one that lists
    both triangles does: these would be added."""
    matrix: Any = mmread(path)
    if sp.issparse(matrix) and mminfo(path)[-1] == "symmetric":
        size = matrix.shape[1]
        places = np.sort(matrix.row.astype(np.int64) * size + matrix.col)
        twice = places[1:][np.diff(places) == 0]
        if len(twice):
            column, row = divmod(int(twice[0]), size)
            told = f"entry ({row + 1}, {column + 1}) stands twice"
            if row == column:
                raise ValueError(f"{told}; write their sum once, or keep one of them")
            raise ValueError(
                f"{told}, and a symmetric file lists one triangle, each entry once; leave out the other triangle, or "
                "write general for symmetric in its first line"
            )
    return matrix


def read_npy(path: Path) -> Any:
    with path.open("rb") as file:
        try:
            return np.lib.format.read_array(file, allow_pickle=False)
        except ValueError as error:
            if "Object arrays" not in str(error):
                raise
            raise ValueError(
                "it holds Python objects; save numbers, by np.save(path, A.astype(float)), and a sparse matrix by "
                "scipy.sparse.save_npz('matrix.npz', A)"
            ) from error


def read_npz(path: Path) -> Any:
    """Reads what `scipy.sparse.save_npz` writes (CSR, CSC or COO), or the only array of the file."""
    arrays = read_arrays(path)
    form = arrays["format"].item() if "format" in arrays else None
    form = form.decode() if isinstance(form, bytes) else form
    if form in ("csr", "csc"):
        make = sp.csr_array if form == "csr" else sp.csc_array
        made = make((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
        made.check_format()  # a place outside of the matrix would be read beyond the memory of its arrays
        return made
    if form == "coo":
        return sp.coo_array((arrays["data"], (arrays["row"], arrays["col"])), shape=tuple(arrays["shape"]))
    if form is not None or len(arrays) != 1:
        raise ValueError(
            f"it holds {', '.join(arrays) or 'no array'}; save one array, or a sparse matrix as CSR or COO"
        )
    return next(iter(arrays.values()))


READERS: dict[str, Callable[[Path], Any]] = {
    ".mtx": read_matrix_market,
    ".mtx.gz": read_matrix_market,
    ".npz": read_npz,
    ".npy": read_npy,
    ".txt": read_edges,
    ".edges": read_edges,
}
UNREADABLE = (ValueError, OSError, EOFError, KeyError, MemoryError, TypeError, zlib.error, zipfile.BadZipFile)


def read(path: Path) -> Matrix:
    """Returns the matrix of a file in double precision. Raises DataError, in one line, for what is no real matrix."""
    reader = next((reader for ending, reader in READERS.items() if path.name.lower().endswith(ending)), None)
    if reader is None:
        raise DataError(f"{path}: unknown kind of file; readable are {', '.join(READERS)}")
    try:
        matrix = reader(path)
    except DataError:
        raise
    except UNREADABLE as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise DataError(f"{path}: cannot be read: {reason}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise DataError(f"{path}: the matrix has shape {tuple(matrix.shape)}; a square one (n, n) with rows is needed")
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"{path}: the matrix holds {matrix.dtype}; real numbers are needed")
    if not sp.issparse(matrix):
        return np.asarray(matrix, np.float64)
    wide = matrix if matrix.dtype.kind == "b" else matrix.astype(np.float64)  # entries that stand twice are added
    return without_zeros(sp.csr_array(wide, dtype=np.float64))


def without_zeros(matrix: sp.csr_array) -> sp.csr_array:
    """Returns the matrix without entries of 0 that are written down, and with each entry once."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def check(path: Path, matrix: Any) -> None:
    """Raises DataError for an entry that is not finite, and for a matrix that is not symmetric, naming the entry."""
    values = matrix.data if isinstance(matrix, sp.csr_array) else matrix
    if not np.isfinite(values).all():
        raise DataError(f"{path}: an entry is not finite (NaN or infinity); mend it, or leave out its row and column")
    difference: Any = abs(matrix - matrix.T)
    largest = float(abs(matrix).max())
    if float(difference.max()) > NEAR * largest:
        row, column = divmod(int(difference.argmax()), len(matrix.diagonal()))
        raise DataError(
            f"{path}: not symmetric: entry ({row}, {column}) is {matrix[row, column]:g} and ({column}, {row}) is "
            f"{matrix[column, row]:g}, counted from 0; save (A + A.T)/2"
        )


def largest_component(matrix: Any) -> Matrix:
    """Returns rows and columns of the largest set of rows that entries join."""
    _, labels = connected_components(sp.csr_array(matrix), directed=False)
    kept = np.flatnonzero(labels == np.argmax(np.bincount(labels)))
    return matrix[kept][:, kept]


def without_diagonal(matrix: Any) -> Matrix:
    """Returns the matrix with a diagonal of zeros: a graph without its loops."""
    if isinstance(matrix, sp.csr_array):
        return sp.csr_array(matrix - sp.diags_array(matrix.diagonal()))
    return matrix - np.diag(matrix.diagonal())


def load(*, path: str | None, component: str = "all", loops: bool = True) -> SymmetricMatrix:
    """Reads a symmetric matrix, or the edges of an undirected graph.

    path: .mtx (Matrix Market), .npz (an array, or `scipy.sparse.save_npz`), .npy, or .txt and .edges, a line for each
    edge with an optional weight. component: "all", or "largest": the rows of the largest connected component alone.
    loops: keep the diagonal; False: put zeros there.
    Raises DataError, in one line, for what cannot be read, is not square, real, finite or symmetric.
    """
    if component not in COMPONENTS:
        raise DataError(f"component={component} is unknown; choose one of {', '.join(COMPONENTS)}")
    if path is None:
        raise DataError(f"a matrix needs a file ({', '.join(READERS)})")
    file = Path(path).expanduser()
    if not file.is_file():
        raise DataError(f"{file}: there is no such file")
    matrix: Any = read(file)
    check(file, matrix)
    own = largest_component(matrix) if component == "largest" else matrix
    own = own if loops else without_diagonal(own)
    return SymmetricMatrix(file.name.split(".")[0], own, int(matrix.shape[0]))
