"""Embeddings, curves and translations of a multirun's jobs side by side, from tables that are written out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.text import Text

from pipeline.compare.markdown import escaped, markdown_table
from pipeline.compare.statistics import mean_interval
from pipeline.compare.words import Summary
from pipeline.plotting import Grid, new_panels
from pipeline.systems.experts.curves import MEAN, curve_figures, means_by_epoch
from pipeline.systems.experts.embeddings import READ, embedding_figures, mean_cosines
from pipeline.systems.experts.extra_tables import with_extra_tables
from pipeline.systems.experts.figures import DIVERGING, cosine_maps, number_in_cell
from pipeline.systems.experts.side_by_side import examples_in_words, examples_of, said_of, side_by_side

TASKS = ["de-en", "fr-en"]


def jobs_of(arms: list[str], seeds: int = 2, **more: Any) -> pd.DataFrame:
    rows = [
        {"run_id": f"{arm}{seed}", "arm": arm, "seed": seed} for arm in arms for seed in range(seeds)
    ]  # fmt: skip
    same = {"data": "mt_small", "data_source": "published", "asked": 0, "tasks": " ".join(TASKS)}
    return pd.DataFrame(rows).assign(**{**same, **more})


def cosines_of(value: float) -> pd.DataFrame:
    return pd.DataFrame({"task": TASKS, "de-en": [1.0, value], "fr-en": [value, 1.0]})


def test_cosines_are_means_over_the_jobs_that_have_some() -> None:
    jobs = jobs_of(["dense", "token+shared"])
    found = mean_cosines(jobs, {"token+shared0": cosines_of(-0.75), "token+shared1": cosines_of(0.25)})
    assert found["arm"].unique().tolist() == ["token+shared"]
    own = found.set_index(["task", "other"])
    assert own["cosine"].to_dict() == {
        ("de-en", "de-en"): 1, ("fr-en", "de-en"): -0.25, ("de-en", "fr-en"): -0.25, ("fr-en", "fr-en"): 1
    }  # fmt: skip
    assert own.loc[("de-en", "fr-en"), ["jobs", "cosine_sd"]].tolist() == [2, pytest.approx(0.5**0.5)]
    figure = embedding_figures(found, "mine")["figures/embeddings"]
    panel, bar = figure.axes
    assert (panel.get_title(), bar.get_ylim()) == ("token+shared", (-1, 1))
    assert [text.get_text() for text in panel.texts] == ["1.00", "-.25", "-.25", "1.00"]
    assert panel.images[0].get_array().tolist() == [[1, -0.25], [-0.25, 1]]
    assert " ".join(figure.get_suptitle().split()) == "mine: cosines of embeddings of tasks, mean over 2 jobs"
    assert mean_cosines(jobs, {}).empty
    assert embedding_figures(mean_cosines(jobs, {}), "mine") == {}


def test_a_cosine_that_is_missing_is_left_out_of_means_and_keeps_its_cell(tmp_path: Path) -> None:
    """One job has no cosine of a task with any other, as those of numbers that are none."""
    (tmp_path / "e.csv").write_text("task,de-en,fr-en\nde-en,1.0,\nfr-en,,\n", encoding="utf-8")
    missing = pd.read_csv(tmp_path / "e.csv", **READ)
    jobs = jobs_of(["token+shared"])
    found = mean_cosines(jobs, {"token+shared0": missing, "token+shared1": cosines_of(0.25)})
    own = found.set_index(["task", "other"])
    assert own["jobs"].tolist() == [2, 1, 1, 1]
    assert own.loc[("fr-en", "de-en"), "cosine"] == 0.25
    alone = embedding_figures(mean_cosines(jobs, {"token+shared0": missing}), "t")["figures/embeddings"]
    shown = alone.axes[0].images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(shown, [[1, np.nan], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("value", "words"), [(-0.001, ".00"), (0.004, ".00"), (-0.25, "-.25"), (-1.0, "-1.00"), (0.999, "1.00")]
)
def test_numbers_in_cells_are_short_and_what_rounds_to_0_has_no_sign(value: float, words: str) -> None:
    (panel,) = new_panels(["one"], "", x="", y="", grid=Grid(1, (1, 1)))[1].values()
    number_in_cell(panel, 0, 0, value, "black")
    assert panel.texts[0].get_text() == words


def test_cosines_of_many_tasks_are_shades_that_a_grey_print_tells_apart() -> None:
    names = [f"c{i}-en" for i in range(11)]
    many = pd.DataFrame(np.eye(11), index=pd.Index(names), columns=pd.Index(names))
    assert not cosine_maps({"token+shared": many}, title="t").axes[0].texts
    grey = colormaps[DIVERGING](np.linspace(0, 1, 64))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) > 0).all()


def test_of_several_numbers_of_pairs_the_most_are_drawn_and_all_are_in_the_table() -> None:
    few, most = (jobs_of([f"token+shared pairs={pairs}"], seeds=1, asked=pairs) for pairs in (16, 256))
    jobs = pd.concat([few, most])
    found = mean_cosines(jobs, {run: cosines_of(0.5) for run in jobs["run_id"]})
    assert set(found["asked"]) == {16, 256}
    figure = embedding_figures(found, "t")["figures/embeddings"]
    assert [panel.get_title() for panel in figure.axes[:-1]] == ["token+shared pairs=256"]


def points_of(arm: str, curves: list[list[float]], data: str = "mt_small") -> list[dict[str, Any]]:
    front = {"data": data, "arm": arm, "asked": 0}
    return [
        front | {"run_id": f"{arm}{data}{seed}", "task": task, "epoch": epoch, "nll": nll + (task != MEAN)}
        for seed, curve in enumerate(curves) for task in (MEAN, *TASKS) for epoch, nll in enumerate(curve)
    ]  # fmt: skip


def test_curves_are_means_over_seeds_and_training_that_ended_stays_where_it_was() -> None:
    jobs = [[5.0, 3.0, 2.0], [5.0, 4.0], [5.0, 2.0, 1.0]]
    points = points_of("token", jobs) + points_of("dense", [[6.0, 4.0, 3.0, 2.5]])
    found = means_by_epoch(pd.DataFrame(points))
    assert found["task"].unique().tolist() == [MEAN, *TASKS]
    own = found[(found["arm"] == "token") & (found["task"] == "de-en")]
    assert own["nll"].tolist() == pytest.approx([6, 4, (3 + 5 + 2) / 3, (3 + 5 + 2) / 3])
    assert own["training"].tolist() == [3, 3, 2, 0]
    assert set(own["jobs"]) == {3}
    low, high = mean_interval(np.array([4.0, 5.0, 3.0]))
    assert own.iloc[1][["nll_low", "nll_high"]].tolist() == pytest.approx([low, high])
    assert found[found["arm"] == "dense"]["nll_low"].isna().all()  # of one job
    figure = curve_figures(found, "mine")["figures/curves"]
    assert [panel.get_title() for panel in figure.axes] == [MEAN, *TASKS]
    lines = {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].get_lines()}
    assert lines["dense"] == [6, 4, 3, 2.5]
    assert len(figure.axes[0].collections) == 2  # bands
    assert 4 < figure.axes[0].get_ylim()[1] < 5  # nats before training are cut off
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["token", "dense"]
    assert curve_figures(pd.DataFrame(), "mine") == {}


def test_curves_of_several_data_sets_end_each_at_its_own_last_epoch() -> None:
    points = points_of("dense", [[5.0, 3.0]], "a") + points_of("token", [[5.0, 3.0, 2.0]], "b")
    found = means_by_epoch(pd.DataFrame(points))
    assert found.groupby("data")["epoch"].max().to_dict() == {"a": 1, "b": 2}
    figure = curve_figures(found, "t")["figures/curves"]
    assert [panel.get_title() for panel in figure.axes[:1]] == [f"a: {MEAN}"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dense", "token"]


@pytest.mark.parametrize(("tasks", "arms"), [(1, 25), (16, 6)])
def test_all_words_of_curves_are_within_the_figure(tasks: int, arms: int) -> None:
    """A figure of one panel is narrow, and one of many arms has a long legend."""
    front = {"data": "ciphers", "asked": 0, "jobs": 1, "training": 1, "nll_low": np.nan, "nll_high": np.nan}
    rows = [
        {**front, "arm": f"token+dynamic temperature-{arm}", "task": f"c{task}-en", "epoch": epoch, "nll": 3.0 - epoch}
        for task in range(tasks) for arm in range(arms) for epoch in range(2)
    ]  # fmt: skip
    figure = curve_figures(pd.DataFrame(rows), "experts-ciphers-routing")["figures/curves"]
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    words = [artist for artist in figure.get_children() if isinstance(artist, Text | Legend)]
    assert len(words) == 4  # title, labels of both axes, legend
    boxes = [artist.get_window_extent(canvas.get_renderer()) for artist in (*words, *figure.axes)]
    for box in boxes:
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width
        assert 0 <= box.y0 < box.y1 <= figure.bbox.height
        assert box.count_overlaps(boxes) == 1  # with itself
    sizes = [panel.get_window_extent().size for panel in figure.axes]
    assert np.min(sizes) > 1.2 * figure.dpi


def test_jobs_without_finite_nats_are_no_part_of_a_mean() -> None:
    points = points_of("token", [[5.0, 3.0], [5.0, np.inf], [5.0, 4.0], [5.0, 2.0]]) + points_of("task", [[np.inf] * 2])
    found = means_by_epoch(pd.DataFrame(points))
    own = found[found["task"] == MEAN].set_index(["arm", "epoch"])
    assert own["jobs"].to_dict() == {("token", 0): 4, ("token", 1): 3, ("task", 0): 0, ("task", 1): 0}
    assert own.loc[("token", 1), "nll"] == 3
    assert own.loc[("token", 1), ["nll_low", "nll_high"]].tolist() == list(mean_interval(np.array([3.0, 4.0, 2.0])))
    assert own.loc["task", "nll"].isna().all()
    lines = curve_figures(found, "t")["figures/curves"].axes[0].get_lines()
    assert [np.isfinite(line.get_ydata()).all() for line in lines] == [True, False]


def written_of(jobs: pd.DataFrame, count: int = 12) -> dict[str, pd.DataFrame]:
    rows = [{"task": task, "source": f"{task} {i}", "reference": f"r {i}"} for task in TASKS for i in range(count)]
    table = pd.DataFrame(rows)
    return {run: table.assign(translation=[f"{run} {i}" for i in range(len(rows))]) for run in jobs["run_id"]}


def test_arms_stand_one_below_the_other_under_the_same_ten_sentences() -> None:
    jobs = jobs_of(["dense", "token", "task"]).query("run_id != 'token0'")  # failed, so seed 1 has more arms
    written = written_of(jobs)
    written["dense1"] = written["dense1"].drop(index=2)  # the third sentence is not in common
    found = side_by_side(jobs, written)
    assert set(found["seed"]) == {1}
    of_german, of_french = [0, 1, *range(3, 11)], range(10)
    shown = [*(f"de-en {i}" for i in of_german), *(f"fr-en {i}" for i in of_french)]
    assert found["source"].tolist() == [source for source in shown for _ in range(3)]
    text = said_of(found, jobs)
    assert text.count("| *source* |") == 2 * 10
    assert "### fr-en\n\n| by | text |\n|---|---|\n| *source* | fr-en 0 |\n| *reference* | r 0 |\n" in text
    assert "| *reference* | r 0 |\n| dense | dense1 12 |\n| token | token1 12 |\n| task | task1 12 |" in text
    assert "Jobs of seed 1.\n" in text
    without = jobs.query("run_id not in ('token0', 'token1')")
    assert "Jobs of seed 0; without translations of this seed: token." in said_of(
        side_by_side(jobs, written_of(without)), jobs
    )
    assert side_by_side(jobs, {}).empty


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>a</b> & b", "&lt;b&gt;a&lt;/b&gt; &amp; b"),
        ("[a](javascript:x)", r"\[a\](javascript:x)"),
        ("a\nb\t c\u2028d", "a b c d"),
        (r"a\|b", r"a\\\|b"),
        ("*a* _b_ `c` ~d~ $e$", r"\*a\* \_b\_ \`c\` \~d\~ \$e\$"),
        ("a\x1b[1m\u202eb\x00", "a\ufffd\\[1m\ufffdb\ufffd"),
        ("a | b", r"a \| b"),
        ("", ""),
    ],
)
def test_texts_of_others_are_shown_letter_by_letter(text: str, shown: str) -> None:
    assert markdown_table(pd.DataFrame({"text": [escaped(text)]})).splitlines()[2] == f"| {shown} |"


def test_pages_show_few_translations_and_of_generated_data_alone() -> None:
    name = "ciphers, data.families=1"
    jobs = pd.concat([jobs_of(["dense"]), jobs_of(["token", "task"], data=name, data_source="simulated")])
    found = examples_of(side_by_side(jobs, written_of(jobs)), jobs)
    assert set(found["data"]) == {name}
    assert found["source"].tolist() == ["de-en 0", "de-en 0", "fr-en 0", "fr-en 0"]
    text = with_extra_tables(Summary({}, {}, "Words"), {"examples.csv": found}, "t").text
    assert text == f"Words\n\n{examples_in_words(found)}"
    assert "### fr-en\n\n| by | text |" in text
    assert examples_of(pd.DataFrame(), jobs).empty
    assert with_extra_tables(Summary({}, {}, "Words"), {}, "t").text == "Words"


@pytest.mark.parametrize("source", ["published", "stand-in", "table:ciphers.csv"])
def test_a_page_shows_no_sentences_of_data_that_are_only_called_like_the_generated_ones(source: str) -> None:
    own = jobs_of(["dense"], data="ciphers", data_source=source)
    made = jobs_of(["token"], data="ciphers", data_source="simulated")
    for jobs in (own, pd.concat([own, made])):  # a name that both have tells them not apart
        shown = side_by_side(jobs, written_of(jobs))
        assert len(shown)
        assert examples_of(shown, jobs).empty


def test_the_name_of_data_on_a_page_is_shown_letter_by_letter() -> None:
    jobs = jobs_of(["dense"], data="a_b_<i>", data_source="simulated")
    text = examples_in_words(examples_of(side_by_side(jobs, written_of(jobs)), jobs))
    assert r"a\_b\_&lt;i&gt;, seed 0" in text
