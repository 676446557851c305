"""The two graphs on which traces are estimated: Roget's Thesaurus (Pajek) and ca-CondMat (an edge list of SNAP).

Roget: 1022 categories of the Thesaurus of 1879, an arc where one refers to another (Knuth, The Stanford GraphBase;
Batagelj and Mrvar, Pajek data sets). ca-CondMat: 23,133 authors of condensed-matter papers on arXiv, an edge where two
wrote one together (Leskovec, Kleinberg and Faloutsos, 2007).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial import KDTree

from data.base import DataError
from data.files.download import Opener, open_https
from data.files.published import Published
from data.files.textfile import Line, fail, read_lines
from data.ranges import Seed

FOLDER = "trace_graphs"
# A public copy over https, pinned to a commit.
ADDRESS = "https://raw.githubusercontent.com/11hifish/OptSketchTraceEst/33122fdab9f5e679b19d69487f622ad3d003a32b/data/"


@dataclass(frozen=True, eq=False)
class Graph:
    """Holds an undirected graph without weights.

    nodes: how many there are. edges: int64 (edge, 2), each pair once with the smaller node first, sorted; a loop is a
    pair of equal nodes. source: what `data.source` is tagged with. stand_in: generated; no claim is made from it.
    Raises DataError where an edge names a node that is not there.
    """

    kind: ClassVar[str] = "a graph"

    name: str
    nodes: int
    edges: np.ndarray
    source: str
    stand_in: bool = False

    def __post_init__(self) -> None:
        if len(self.edges) and not 0 <= self.edges.min() <= self.edges.max() < self.nodes:
            raise DataError(f"{self.name}: an edge names a node that is not one of the {self.nodes}")

    @property
    def loops(self) -> int:
        return int((self.edges[:, 0] == self.edges[:, 1]).sum())

    def without_loops(self) -> np.ndarray:
        """Returns the edges between two different nodes, (edge, 2)."""
        return self.edges[self.edges[:, 0] != self.edges[:, 1]]

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over nodes and edges: equal graphs give equal checksums."""
        digest = hashlib.sha256(f"{self.name} {self.nodes}".encode())
        digest.update(np.ascontiguousarray(self.edges).tobytes())
        return digest.hexdigest()


class Raw(NamedTuple):
    """Holds a graph as its file has it: nodes, and pairs of nodes (row, 2) counted from 0, in any order and as
    often as there."""

    nodes: int
    pairs: np.ndarray


class File(NamedTuple):
    """Names a published graph: its file, how that is read, and how many nodes the stand-in has."""

    published: Published
    read: Callable[[Path], Raw]
    stand_in_nodes: int


def undirected(pairs: np.ndarray) -> np.ndarray:
    """Returns each pair once, the smaller node first."""
    return np.unique(np.sort(pairs, axis=1), axis=0) if len(pairs) else np.zeros((0, 2), np.int64)


def whole_numbers(path: Path, line: Line) -> list[int]:
    """Reads the words of a line as whole numbers. Raises DataError, naming file and line, for anything else."""
    try:
        return [int(token) for token in line.tokens]
    except ValueError:
        fail(path, line.number, f"expected whole numbers, found {' '.join(line.tokens[:4])!r}")


def read_pajek(path: Path) -> Raw:
    """Reads Pajek text: `*Vertices N`, N lines of names, `*Arcslist`, then lines of a node and those it points to,
    from 1.

    Raises DataError, naming file and line, for a header that is missing, a name or an arc that is not one.
    """
    first, *rest = read_lines(path, comment="%")
    if first.tokens[0].lower() != "*vertices" or len(first.tokens) != 2 or not first.tokens[1].isdigit():
        fail(path, first.number, "expected '*Vertices N'; is this a Pajek file?")
    nodes = int(first.tokens[1])
    heads = [place for place, line in enumerate(rest) if line.tokens[0].lower() == "*arcslist"]
    if not heads:
        raise DataError(f"{path}: no '*Arcslist'; the file may be cut short")
    if heads[0] != nodes:
        fail(path, rest[heads[0]].number, f"{heads[0]} names of nodes before it, expected {nodes}")
    pairs: list[tuple[int, int]] = []
    for line in rest[heads[0] + 1 :]:
        numbers = whole_numbers(path, line)
        bad = [number for number in numbers if not 1 <= number <= nodes]
        if bad:
            fail(path, line.number, f"node {bad[0]} is not one of 1 to {nodes}")
        pairs += [(numbers[0] - 1, target - 1) for target in numbers[1:]]
    return Raw(nodes, np.array(pairs, np.int64).reshape(-1, 2))


def read_edge_list(path: Path) -> Raw:
    """Reads comment lines that begin with #, then two node numbers a line; the nodes are those that are named.

    Raises DataError, naming file and line, for a line that is not two whole numbers, none of them negative.
    """
    try:
        table = pd.read_csv(path, sep=r"\s+", comment="#", header=None, dtype=np.int64).to_numpy()
    except (ValueError, OSError):  # pandas names no line
        table = np.zeros((0, 0), np.int64)
    if table.shape[1] != 2 or table.min() < 0:
        refuse_edge_list(path)
        raise DataError(f"{path}: not a list of edges; put the original file there")
    names, places = np.unique(table, return_inverse=True)
    return Raw(len(names), places.reshape(-1, 2))


def refuse_edge_list(path: Path) -> None:
    for line in read_lines(path):
        numbers = whole_numbers(path, line)
        if len(numbers) != 2 or min(numbers) < 0:
            fail(path, line.number, f"expected the numbers of two nodes, found {' '.join(line.tokens[:4])!r}")


def stand_in_pairs(*, nodes: int, seed: int) -> Raw:
    """Draws random places in a square and joins those that are near: about ten neighbours each, many triangles."""
    places = np.random.default_rng(seed).random((nodes, 2))
    radius = np.sqrt(10 / (np.pi * nodes))
    return Raw(nodes, KDTree(places).query_pairs(radius, output_type="ndarray").astype(np.int64))


def published(name: str, file: str, sha256: str) -> Published:
    return Published(name, "published", ADDRESS, {file: sha256}, FOLDER, "a generated graph")


ROGET = published("roget", "Roget.net", "7c8c15dc657465c178e6cc9a394c224bc8cb0e9a6c175f4d03f2381ccb0d464c")
CONDMAT = published("condmat", "ca-CondMat.txt", "bb61d14cc6186789566dc81f92e3979261adeab3e2b0f15a77805e498bb0bc4a")
FILES = {"roget": File(ROGET, read_pajek, 1022), "condmat": File(CONDMAT, read_edge_list, 3000)}


def load(
    *, name: str, source: str = "auto", root: str | None = None, seed: Seed = 0, opener: Opener = open_https
) -> Graph:
    """Returns the graph `roget` or `condmat`.

    source: "published": the file, fetched over https where it is missing. "stand_in": a generated graph (`seed` draws
    it). "auto": the file, or, where it is missing and there is no network, the stand-in with a warning.
    root: folder that holds `trace_graphs/`; None: $PIPELINE_DATA_ROOT, else a cache of the user's own.

    Raises DataError for a name or source that is unknown, for a missing file that cannot be fetched, and always for a
    file that is damaged or cut short.
    """
    if name not in FILES:
        raise DataError(f"graph {name!r} is unknown; choose one of {', '.join(FILES)}")
    known = FILES[name]
    files = known.published.find(root, source=source, opener=opener)
    raw = known.read(files[0]) if files else stand_in_pairs(nodes=known.stand_in_nodes, seed=seed)
    return Graph(name, raw.nodes, undirected(raw.pairs), "published" if files else "stand-in", not files)
