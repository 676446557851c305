"""Graphs: the two file formats, what is said of damaged ones, and the published files where they lie beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data import graphs
from data.base import DataError
from test_real_data import ROOT

PAJEK = '*Vertices 4\n1 "one"\n2 "two words"\n3 "three"\n4 "four"\n*Arcslist\n1 2 3\n2 1\n3 3\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "graph.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_pajek_arcs_become_edges(tmp_path: Path) -> None:
    raw = graphs.read_pajek(write(tmp_path, PAJEK))
    assert raw.nodes == 4
    assert graphs.undirected(raw.pairs).tolist() == [[0, 1], [0, 2], [2, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n", r"graph\.txt, line 1: expected '\*Vertices N'; is this a Pajek file\?"),
        ('*Vertices 2\n1 "a"\n2 "b"\n', r"graph\.txt: no '\*Arcslist'; the file may be cut short"),
        ('*Vertices 3\n1 "a"\n*Arcslist\n1 2\n', r"line 3: 1 names of nodes before it, expected 3"),
        (PAJEK + "2 9\n", r"line 10: node 9 is not one of 1 to 4"),
        (PAJEK + "2 x\n", r"line 10: expected whole numbers, found '2 x'"),
        ("", r"graph\.txt: the file is empty"),
    ],
)
def test_damaged_pajek_files_are_named_with_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        graphs.read_pajek(write(tmp_path, text))


def test_an_edge_list_with_gaps_in_its_numbers(tmp_path: Path) -> None:
    raw = graphs.read_edge_list(write(tmp_path, "# from\tto\n7\t90\n90\t7\n7\t12\n12\t12\n"))
    assert raw.nodes == 3
    assert graphs.undirected(raw.pairs).tolist() == [[0, 1], [0, 2], [1, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# c\n1 2\n3 x\n", r"graph\.txt, line 3: expected whole numbers, found '3 x'"),
        ("# c\n1 2\n3\n", r"line 3: expected the numbers of two nodes, found '3'"),
        ("1 2\n3 -4\n", r"line 2: expected the numbers of two nodes, found '3 -4'"),
        ("1 2 3\n4 5 6\n", r"line 1: expected the numbers of two nodes, found '1 2 3'"),
        ("# nothing\n", r"graph\.txt: the file is empty"),
    ],
)
def test_damaged_edge_lists_are_named_with_the_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        graphs.read_edge_list(write(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: cannot be read as text"):
        graphs.read_edge_list(tmp_path / "none.txt")


def test_the_stand_in_is_marked_and_its_seed_draws_it() -> None:
    graph, again, other = (graphs.load(name="roget", source="stand_in", seed=seed) for seed in (0, 0, 1))
    assert graph.stand_in
    assert (graph.source, graph.nodes, graph.loops) == ("stand-in", 1022, 0)
    assert graph.checksum == again.checksum != other.checksum
    assert 3 < len(graph.edges) / graph.nodes < 7


def test_a_graph_refuses_edges_to_nowhere() -> None:
    with pytest.raises(DataError, match="an edge names a node that is not one of the 2"):
        graphs.Graph("small", 2, np.array([[0, 2]]), "published")


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(DataError, match="graph 'cora' is unknown; choose one of roget, condmat"):
        graphs.load(name="cora")
    with pytest.raises(DataError, match=r"^roget: source=web is unknown; choose one of auto, published, stand_in"):
        graphs.load(name="roget", source="web")


def test_a_file_of_another_checksum_is_refused(tmp_path: Path) -> None:
    (tmp_path / graphs.FOLDER).mkdir()
    (tmp_path / graphs.FOLDER / "Roget.net").write_text(PAJEK, encoding="utf-8")
    with pytest.raises(DataError, match=r"Roget\.net: damaged or cut short"):
        graphs.load(name="roget", root=str(tmp_path))


@pytest.mark.skipif(not (ROOT / graphs.FOLDER).is_dir(), reason=f"the published graphs are not in {ROOT}")
def test_the_published_graphs() -> None:
    roget, condmat = (graphs.load(name=name, source="published", root=str(ROOT)) for name in graphs.FILES)
    assert (roget.nodes, len(roget.edges), roget.loops) == (1022, 3649, 1)
    assert (condmat.nodes, len(condmat.without_loops()), condmat.loops) == (23133, 93439, 58)
