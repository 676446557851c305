"""Lists of edges: text files with a line for each edge of an undirected graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from data.base import DataError
from data.files.textfile import Line, fail, read_lines, read_numbers

LARGEST_NODE = 2**53  # from which doubles leave whole numbers out
SHOWN = 40  # characters of a line that is refused


def read_edges(path: Path) -> sp.csr_array:
    """Reads a line for each edge: two nodes, and its weight where it has one (else 1); # and % begin comments.

    The nodes are those that are named, by whole numbers. An edge may stand in both directions, with one weight.
    """
    lines = [line for line in read_lines(path) if not line.tokens[0].startswith("%")]
    if not lines:
        raise DataError(f"{path}: there are no edges")
    refuse_words(path, lines)
    width = len(lines[0].tokens)
    table = np.array([read_numbers(path, line.number, line.tokens, width) for line in lines])
    refuse_counts(path, lines[0], table)
    whole = ((table[:, :2] == np.rint(table[:, :2])) & (np.abs(table[:, :2]) < LARGEST_NODE)).all(axis=1)
    if not whole.all():
        bad = lines[int(np.argmin(whole))]
        fail(path, bad.number, f"expected two whole numbers, found {' '.join(bad.tokens[:2])!r} (2^53 is too large)")
    return adjacency(path, table[:, :2].astype(np.int64), table[:, 2] if width == 3 else np.ones(len(table)))


def refuse_words(path: Path, lines: Sequence[Line]) -> None:
    """Raises DataError for a first line of words, which is a header where the next line holds numbers, and for what
    networkx writes behind an edge."""
    first = lines[0]
    found = " ".join(first.tokens)[:SHOWN]
    if len(first.tokens) > 2 and first.tokens[2].startswith("{"):
        ways = "data=False, or data=['weight'] for weights"
        fail(path, first.number, f"{found!r} has a dictionary behind the edge; write the file by networkx with {ways}")
    if len(first.tokens) not in (2, 3):
        fail(path, first.number, f"expected two nodes and at most a weight, parted by blanks, found {found!r}")
    if not are_numbers(first):
        header = len(lines) > 1 and are_numbers(lines[1])
        way = "begin a header with #" if header else "name the nodes by whole numbers"
        fail(path, first.number, f"expected the numbers of two nodes, found {found!r}; {way}")


def are_numbers(line: Line) -> bool:
    """Returns true for a line that holds numbers alone."""
    try:
        return bool([float(token) for token in line.tokens])
    except ValueError:
        return False


def refuse_counts(path: Path, first: Line, table: np.ndarray) -> None:
    """Raises DataError for a first line that tells how many nodes (once, or twice) and edges follow, and warns of one
    that may. table: all lines, (line, 2 or 3).

    Two numbers may be counts where the other lines name no more nodes than they say, numbered from 0 or from 1 on. They
    are where all nodes are named and the second number is none of them: in a tree it is, and may be an end of an edge.
    """
    *nodes, edges = table[0].tolist()
    if edges != len(table) - 1 or not edges or min(nodes) != max(nodes):
        return
    named = np.unique(table[1:, :2])
    told = f"{' '.join(first.tokens)!r} may be a header, as {edges:.0f} edge{'s follow' if edges > 1 else ' follows'}"
    way = "begin a header with #; if it is an edge, move this line further down"
    possible = named[0] >= 0 and named[-1] < nodes[0] + (named[0] > 0)
    all_named = nodes[0] == len(named) and edges not in named
    if (len(nodes) > 1 and nodes[0] >= len(named)) or (len(nodes) == 1 and possible and all_named):
        fail(path, first.number, f"{told}; {way}")
    if len(nodes) == 1 and possible:
        warnings.warn(f"{path}, line {first.number}: {told}, and is read as an edge; {way}", stacklevel=5)


def adjacency(path: Path, ends: np.ndarray, weights: np.ndarray) -> sp.csr_array:
    """Returns the adjacency matrix of edges (edge, 2) in any direction. Raises DataError for an edge of two weights."""
    names, places = np.unique(ends, return_inverse=True)
    pairs, first, back = np.unique(
        np.sort(places.reshape(-1, 2), axis=1), axis=0, return_index=True, return_inverse=True
    )
    differ = weights != weights[first][back.ravel()]
    if differ.any():
        one, other = ends[int(np.argmax(differ))].tolist()
        raise DataError(f"{path}: the edge {one} {other} stands there with two weights; keep one of them")
    beside = pairs[:, 0] != pairs[:, 1]
    rows, columns = np.concatenate([pairs, pairs[beside][:, ::-1]]).T
    values = np.concatenate([weights[first], weights[first][beside]])
    return sp.csr_array((values, (rows, columns)), shape=(len(names), len(names)))
