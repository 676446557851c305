"""The figures of translation and its encodings, from small tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pipeline.plotting import REFERENCE
from pipeline.systems.mctn import figures, joined
from pipeline.systems.mctn.figures import Attended
from pipeline.systems.mctn.joined import joint_figures
from pipeline.systems.mctn.joint import Encodings, plane, separation, separations_of


def encodings(apart: float, count: int = 40, kinds: tuple[str, ...] = ("negative", "positive")) -> Encodings:
    """Two groups a kind; kinds lie so far apart in every unit."""
    kind = np.arange(count) % len(kinds)
    chance = np.random.default_rng(0).normal(size=(count, 4))
    return Encodings(chance + apart * kind[:, np.newaxis], kind, np.arange(count) // 4, kinds)


def test_the_learning_curve_has_the_terms_that_there_are_and_the_kept_epoch() -> None:
    curve: Any = pd.DataFrame(
        {"epoch": [0, 1], "train": [2.0, 1.0], "validation": [1.5, 1.2], "translation": [1.0, 0.9]}
    )
    figure = figures.learning(curve.assign(cycle=np.nan), 1, unit="mean absolute error", title="t")
    assert [panel.get_ylabel() for panel in figure.axes] == [
        "training loss", "validation\n(mean absolute error)", "validation\n(standardised squared error)",
    ]  # fmt: skip
    for panel, expected in zip(figure.axes, ([2, 1], [1.5, 1.2], [1, 0.9]), strict=True):
        drawn, kept = panel.lines
        assert np.asarray(drawn.get_ydata()).tolist() == expected
        assert (np.asarray(kept.get_xdata()).tolist(), kept.get_color()) == ([1, 1], REFERENCE["color"])
    assert len(figures.learning(curve[["epoch", "train", "validation"]], 0, unit="nats", title="t").axes) == 2


def test_predictions_stand_against_labels_and_what_has_none_is_left_out() -> None:
    table = pd.DataFrame({"label": [1.0, -1.0, 2.0], "prediction": [0.5, np.nan, 3.0]})
    (panel,) = figures.against_labels(table, title="t").axes
    (marks,) = panel.collections
    assert np.asarray(marks.get_offsets()).tolist() == [[1.0, 0.5], [2.0, 3.0]]
    assert np.asarray(panel.lines[0].get_ydata()).tolist() == [0.5, 3.0]


def test_classes_are_counted() -> None:
    table = pd.DataFrame({"label": [0, 0, 1, 1], "prediction": [0.0, 1.0, 1.0, np.nan]})
    (panel,) = figures.confusion(table, ["bad", "good"], title="t").axes
    assert [words.get_text() for words in panel.texts] == ["1", "1", "0", "1"]


def test_shares_explained_are_bars_and_of_many_features_a_falling_line() -> None:
    rows = [("translation", "video", i, share) for i, share in enumerate([0.5, -3.0, np.nan])]
    rows += [("cycle", "text", i, i / 100) for i in range(80)]
    figure = figures.by_feature(pd.DataFrame(rows, columns=["term", "stream", "feature", "r2"]), title="t")
    few, many = figure.axes
    assert few.get_title() == "into the target: video\n2 features, 1 below −1"
    heights: Any = [bar.get_height() for bar in few.patches]  # pyright: ignore[reportAttributeAccessIssue]
    assert heights == [0.5, -1.0]
    assert many.get_title() == "back into the source: text\n80 features"
    values = np.asarray(many.lines[-1].get_ydata())
    assert values[0] == 0.79
    assert (np.diff(values) < 0).all()


def test_attention_has_words_where_they_are_known() -> None:
    maps = [Attended("a", np.array([[0.2, 0.8]]), ("so", "good")), Attended("b", np.full((20, 30), 1 / 30))]
    figure = figures.attention(maps, read="text", written="audio", title="t")
    first, second, _ = figure.axes
    assert [label.get_text() for label in first.get_xticklabels()] == ["so", "good"]
    assert [label.get_text() for label in second.get_xticklabels()] == ["1", "6", "11", "16", "21", "26"]
    assert [panel.images[0].get_clim() for panel in (first, second)] == [(0, 0.8)] * 2


def test_kinds_that_are_apart_have_neighbours_of_their_kind() -> None:
    near, far = separation(encodings(0.0)), separation(encodings(8.0))
    assert near is not None
    assert far is not None
    assert (far.neighbours, far.majority) == (1.0, 0.5)
    assert near.neighbours < 0.8
    assert far.silhouette > 0.6 > 0.1 > near.silhouette


def test_neighbours_are_those_of_other_groups() -> None:
    """Samples of a group lie on one another and have one kind, drawn by chance: their own group would tell it."""
    chance = np.random.default_rng(1)
    own = Encodings(
        chance.normal(size=(60, 3)).repeat(5, 0),
        chance.integers(0, 2, 60).repeat(5),
        np.arange(60).repeat(5),
        ("n", "p"),
    )
    found = separation(own)
    assert found is not None
    assert found.neighbours < 0.7


def test_what_cannot_be_counted_is_none() -> None:
    own = encodings(1.0)
    one = Encodings(own.encoding, np.zeros(40, int), own.group, own.kinds)
    together = Encodings(own.encoding, own.kind, np.zeros(40), own.kinds)
    for each in (one, together, encodings(1.0, count=6)):
        assert separation(each) is None


def test_samples_without_a_step_are_left_out() -> None:
    values = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 4.0]])
    own = Encodings.of({"encoding": values, "kind": [0, 1, 1], "group": ["a", "b", "c"], "kinds": ["n", "p"]})
    assert (own.encoding.tolist(), own.kind.tolist(), own.kinds) == ([[1, 2], [3, 4]], [0, 1], ("n", "p"))
    assert own.standardised.tolist() == [[-1, -1], [1, 1]]
    assert own.spread(1).kind.tolist() == [0]


def test_the_plane_is_the_same_each_time_and_every_kind_is_in_the_legend() -> None:
    own = encodings(3.0, count=30, kinds=("negative", "neutral", "positive"))
    np.testing.assert_array_equal(plane(own), plane(own))
    figure = figures.joint({"cyclic-t-a": own, "none-t": encodings(0.0, count=6)}, title="t")
    first, second = figure.axes
    assert first.get_title().startswith("cyclic-t-a\n5-NN ")
    assert second.get_title() == "none-t\ntoo few samples to count neighbours"
    assert sum(len(np.asarray(marks.get_offsets())) for marks in first.collections) == 30
    assert [words.get_text() for words in figure.legends[0].texts] == ["negative", "neutral", "positive"]


def test_what_has_no_plane_lies_in_one_place() -> None:
    few, own = encodings(1.0, count=2), encodings(1.0)
    same = Encodings(np.ones((40, 4)), own.kind, own.group, own.kinds)
    for each in (few, same):
        np.testing.assert_array_equal(plane(each), np.zeros((len(each.kind), 2)))
    found = separation(same)
    assert found is not None
    assert found.silhouette == 0


def test_separation_over_seeds_is_a_row_an_arm() -> None:
    rows = [("cycles", "none-t", 0, 0.6), ("cycles", "none-t", 1, 0.8), ("cycles", "median", 0, np.nan)]
    jobs = pd.DataFrame(rows, columns=["data", "arm", "seed", "joint_neighbours"])
    jobs = jobs.assign(joint_majority=0.5, joint_silhouette=jobs["joint_neighbours"] / 10)
    table = separations_of(jobs)
    assert table[["data", "arm", "jobs"]].values.tolist() == [["cycles", "none-t", 2]]
    np.testing.assert_allclose(table["neighbours"], [0.7])
    np.testing.assert_allclose(table["silhouette_sd"], [np.std([0.06, 0.08], ddof=1)])
    assert len(separations_of(jobs.drop(columns="joint_neighbours"))) == 0


class Stored:
    """Stands for a client of MLflow whose runs of these names logged encodings."""

    def __init__(self, folder: Path, runs: list[str]) -> None:
        self.folder, self.runs = folder, runs

    def list_artifacts(self, run: str, path: str | None = None) -> list[Any]:
        assert path is None
        return [SimpleNamespace(path="encodings.npz")] if run in self.runs else []

    def download_artifacts(self, run: str, name: str, _: str) -> str:
        own, path = encodings(self.runs.index(run), count=10), self.folder / f"{run}.npz"
        np.savez(path, encoding=own.encoding, kind=own.kind, group=own.group, kinds=np.array(own.kinds))
        assert name == "encodings.npz"
        return str(path)


def test_arms_stand_side_by_side_by_their_first_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("cycles", arm, seed, f"{arm}{seed}") for arm in ("none-t", "cyclic-t-v", "median") for seed in (1, 0)]
    jobs = pd.DataFrame([*rows, ("mosi", "median", 0, "m")], columns=["data", "arm", "seed", "run_id"])
    client: Any = Stored(tmp_path, ["none-t0", "none-t1", "cyclic-t-v0", "cyclic-t-v1"])
    found = joint_figures(client, jobs, title="a multirun")
    assert list(found) == ["figures/joint"]
    titles = [panel.get_title() for panel in found["figures/joint"].axes]
    assert [title.split("\n")[0] for title in titles] == ["cyclic-t-v", "none-t"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["cyclic-t-v0", "none-t0"]
    monkeypatch.setattr(joined, "MOST_PANELS", 1)
    assert list(joined.encodings_of(client, jobs)) == ["none-t"]
