"""Matrices of one's own: every kind of file gives the same matrix, and what is none is refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

from data.base import DataError
from data.matrices import load

# nodes 0 … 3 in a square with one diagonal, and 4, 5 apart
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [4, 5]])


def adjacency() -> np.ndarray:
    matrix = np.zeros((6, 6))
    matrix[EDGES[:, 0], EDGES[:, 1]] = 1
    return matrix + matrix.T


def dense(found: np.ndarray | sp.csr_array) -> np.ndarray:
    return found.toarray() if isinstance(found, sp.csr_array) else found


WRITERS: dict[str, Callable[[Path, np.ndarray], object]] = {
    "a.mtx": lambda path, a: mmwrite(path, sp.coo_array(a), symmetry="symmetric"),
    "general.mtx": lambda path, a: mmwrite(path, sp.coo_array(a), symmetry="general"),
    "dense.mtx": lambda path, a: mmwrite(path, a),
    "a.npy": np.save,
    "dense.npz": lambda path, a: np.savez_compressed(path, anything=a),
    "csr.npz": lambda path, a: sp.save_npz(path, sp.csr_array(a)),
    "csc.npz": lambda path, a: sp.save_npz(path, sp.csc_array(a)),
    "coo.npz": lambda path, a: sp.save_npz(path, sp.coo_array(a)),
    "edges.txt": lambda path, a: path.write_text("# a graph\n" + "".join(f"{i} {j}\n" for i, j in EDGES)),  # noqa: ARG005
    "both.edges": lambda path, a: path.write_text("".join(f"{i}\t{j} 1.0\n" for i, j in np.argwhere(a))),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name, adjacency())
    found = load(path=str(tmp_path / name))
    np.testing.assert_array_equal(dense(found.matrix), adjacency())
    assert (found.name, found.size, found.is_graph, found.stand_in) == (name.split(".")[0], 6, True, False)


@pytest.mark.parametrize("name", ["csr.npz", "a.npy"])
def test_the_largest_component(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / name, adjacency())
    found = load(path=str(tmp_path / name), component="largest")
    np.testing.assert_array_equal(dense(found.matrix), adjacency()[:4, :4])
    assert (found.size, found.rows_in_file) == (4, 6)
    assert found.checksum != load(path=str(tmp_path / name)).checksum


def test_weights_loops_and_names_of_nodes(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("10 7 0.5\n7 10 0.5\n7 7 2\n% a comment\n10 30 -1\n")
    found = load(path=str(tmp_path / "w.txt"))
    np.testing.assert_array_equal(dense(found.matrix), [[2, 0.5, 0], [0.5, 0, -1], [0, -1, 0]])
    assert not found.is_graph
    bare = load(path=str(tmp_path / "w.txt"), loops=False)
    np.testing.assert_array_equal(dense(bare.matrix).diagonal(), [0, 0, 0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "1 2\n",
            r"a\.csv: unknown kind of file; readable are \.mtx, \.mtx\.gz, \.npz, \.npy, \.txt, \.edges",
        ),
        ("a.txt", "", r"a\.txt: the file is empty"),
        ("a.txt", "% none\n", r"a\.txt: there are no edges"),
        ("a.txt", "1 2\n3\n", r"a\.txt, line 2: expected 2 numbers, found 1"),
        (
            "a.txt",
            "1 2 3 4\n",
            r"a\.txt, line 1: expected two nodes and at most a weight, parted by blanks, found '1 2 3 4'",
        ),
        ("a.txt", "1,2\n2,3\n", r"a\.txt, line 1: expected two nodes .* parted by blanks, found '1,2'"),
        ("a.txt", "alice bob\nbob carol\n", r"a\.txt, line 1: .*, found 'alice bob'; name the nodes by whole numbers$"),
        ("a.txt", "0 1 {}\n1 2 {}\n", r"a\.txt, line 1: '0 1 {}' has a dictionary .* networkx with data=False, or"),
        ("a.txt", "0 1 {'weight': 2.0}\n1 2 {}\n", r"a\.txt, line 1: .* has a dictionary behind the edge; write"),
        ("a.txt", "from to\n1 2\n", r"a\.txt, line 1: .*, found 'from to'; begin a header with #$"),
        (
            "a.txt",
            "# a\n4 5\n0 1\n0 2\n0 3\n1 2\n2 3\n",
            r"a\.txt, line 2: '4 5' may be a header, as 5 edges follow; begin a header with #; if it is an edge, move",
        ),
        ("a.txt", "3 3 2\n1 2 1\n2 3 1\n", r"a\.txt, line 1: '3 3 2' may be a header, as 2 edges follow"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 5\n2 1 1\n1 2 1\n",
            r"a\.mtx: cannot be read: entry \(2, 1\) stands twice, and a symmetric file lists one triangle",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 5\n2 1 1\n1 1 1\n",
            r"a\.mtx: cannot be read: entry \(1, 1\) stands twice; write their sum once, or keep one of them$",
        ),
        ("a.txt", "1 2\n3 x\n", r"a\.txt, line 2: expected numbers"),
        ("a.txt", "1 2\n3 4.5\n", r"a\.txt, line 2: expected two whole numbers, found '3 4\.5'"),
        ("a.txt", "9007199254740993 2\n", r"a\.txt, line 1: expected two whole numbers, found '9007199254740993 2' "),
        ("a.txt", "1 2 inf\n", r"a\.txt, line 1: a number that is not finite"),
        ("a.txt", "1 2 1\n2 1 3\n", r"a\.txt: the edge 2 1 stands there with two weights; keep one of them"),
        ("a.mtx", "no matrix\n", r"a\.mtx: cannot be read: "),
        ("a.npy", "no matrix\n", r"a\.npy: cannot be read: "),
        ("a.npz", "no matrix\n", r"a\.npz: cannot be read: "),
    ],
)
def test_files_that_hold_no_matrix(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        load(path=str(tmp_path / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 3)), r"the matrix has shape \(2, 3\); a square one"),
        (np.zeros((0, 0)), r"the matrix has shape \(0, 0\); a square one"),
        (np.eye(2) * 1j, "the matrix holds complex128; real numbers are needed"),
        (
            np.array([[1.0, 2.0], [2.5, 1.0]]),
            r"not symmetric: entry \(0, 1\) is 2 and \(1, 0\) is 2\.5, counted from 0",
        ),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "an entry is not finite"),
        (np.array([None, "a"]), r"cannot be read: it holds Python objects; save numbers, by np\.save"),
        (np.array(sp.eye_array(2), dtype=object), r"and a sparse matrix by scipy\.sparse\.save_npz"),
    ],
)
def test_matrices_that_are_refused(matrix: np.ndarray, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", matrix, allow_pickle=True)
    with pytest.raises(DataError, match=message):
        load(path=str(tmp_path / "a.npy"))


def test_a_sparse_one_that_is_not_symmetric(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.csr_array(np.triu(np.ones((3, 3)))))
    with pytest.raises(DataError, match=r"not symmetric: entry \(0, 1\) is 1 and \(1, 0\) is 0"):
        load(path=str(tmp_path / "a.npz"))


def test_what_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        load(path=str(tmp_path / "none.npz"))
    with pytest.raises(DataError, match="a matrix needs a file"):
        load(path=None)
    with pytest.raises(DataError, match="component=giant is unknown; choose one of all, largest"):
        load(path=None, component="giant")
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(DataError, match="it holds a, b; save one array"):
        load(path=str(tmp_path / "two.npz"))


def test_entries_of_0_join_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("0 1 0\n1 2 0\n3 4 1\n")
    assert load(path=str(tmp_path / "a.txt"), component="largest").size == 2


def test_a_sparse_one_with_places_outside_of_it(tmp_path: Path) -> None:
    parts = {"data": np.ones(2), "indices": np.array([0, 9]), "indptr": np.array([0, 1, 2]), "shape": np.array([2, 2])}
    np.savez(tmp_path / "a.npz", format=b"csr", allow_pickle=False, **parts)
    with pytest.raises(DataError, match=r"a\.npz: cannot be read: indices must be < 2"):
        load(path=str(tmp_path / "a.npz"))


@pytest.mark.parametrize("content", ["0 1\n1 2\n", "# nodes\n0 1\n1 2\n"])
def test_a_byte_order_mark_is_passed_over(content: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(content, encoding="utf-8-sig")
    assert load(path=str(tmp_path / "e.txt")).size == 3


@pytest.mark.parametrize(
    ("edges", "follow"),
    [
        ("6 4\n6 1\n6 2\n6 3\n6 5\n", "4 edges follow"),
        ("7 1\n3 4\n", "1 edge follows"),
        ("4 3\n3 2\n2 1\n1 0\n", "3 edges follow"),
        ("2 1\n1 0\n", "1 edge follows"),
    ],
)
def test_a_first_edge_that_may_be_a_header_is_told(edges: str, follow: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(edges)
    with pytest.warns(
        UserWarning, match=rf"e\.txt, line 1: '. .' may be a header, as {follow}, and is read as an edge;"
    ):
        assert load(path=str(tmp_path / "e.txt")).matrix.sum() == 2 * len(edges.splitlines())


@pytest.mark.parametrize("edges", ["5 4\n5 3\n5 2\n5 1\n5 0\n", "0 1\n5 6\n", "1 2\n"])
def test_a_short_list_of_edges_has_no_header(edges: str, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text(edges)
    found = load(path=str(tmp_path / "e.txt"))
    assert found.matrix.sum() == 2 * len(edges.splitlines())


def test_entries_that_stand_twice_are_added_in_double_precision(tmp_path: Path) -> None:
    twice = sp.coo_array((np.array([100, 100], dtype=np.int8), ([1, 1], [1, 1])), shape=(2, 2))
    sp.save_npz(tmp_path / "a.npz", twice)
    np.testing.assert_array_equal(dense(load(path=str(tmp_path / "a.npz")).matrix), [[0, 0], [0, 200]])
