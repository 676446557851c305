"""The result pages: their numbers are those of their files, and the files follow from what was measured."""

from __future__ import annotations

import math
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from data.files.exact_numbers import EXACT
from pipeline.export import MADE_AGAIN, export_again
from pipeline.host.errors import PipelineError
from pipeline.multirun.chosen import said_by
from pipeline.multirun.recompute import compare_of, read_table, remade

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
sys.path.insert(0, str(DOCS / "extensions"))
from numbers_from_files import END, number, resolved, with_numbers  # noqa: E402


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_the_numbers_of_a_page_are_those_of_the_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert with_numbers(text, DOCS) == text  # else: make numbers
    assert not re.search(rf"-->nan{END}", text)


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "form", "shown"),
    [("0.0000256", ".3g", "0.0000256"), ("1.0059376", ".4f", "1.0059"), ("0.00740012", ".3g", "0.00740"),
     ("0.0099999", ".3g", "0.0100"), ("1234.5", ".3g", "1234"), ("holds", ".3g", "holds"), ("", ".2f", "nan")],
)  # fmt: skip
def test_numbers_by_hand(text: str, form: str, shown: str) -> None:
    assert number(text, form) == shown


def test_references_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "paired.csv"
    path.write_text("data,count,ratio,low,high,pairs\nwalk,5,0.936,0.7,1.25,19\nwalk,10,0.5,,,2\n")
    shown = [resolved(path, f"data=walk count={count}", "ratio low high pairs", ".2f") for count in (5, 10)]
    assert shown == ["0.94 (0.70–1.25; 19)", "0.50 (2)"]
    begin = "<!-- paired.csv; count=5; ratio -->"
    for old in ("", "0.5", "0.936"):
        assert with_numbers(f"a {begin}{old}{END} b", tmp_path) == f"a {begin}0.936{END} b"
    for broken, words in [
        (f"a <!-- paired.csv; data=walk; ratio -->{END}", "2 rows with data=walk"),
        (f"a <!-- none.csv; a=b; c -->{END}", "is missing"),
        (f"a <!-- paired.csv; count=5; error -->{END}", "has no column error"),
        (f"a <!-- paired.csv, ratio -->{END}", "is no reference"),
        ("a {{ paired.csv; count=5; ratio }}", "is no reference"),
        (f"a {begin}0.5", "is no reference"),
        (f"a\n{begin}{END} b", "beginning of a line"),
        (f"* {begin}{END} b", "beginning of a line"),
    ]:
        with pytest.raises(ValueError, match=words):
            with_numbers(broken, tmp_path)


def from_file(path: str, where: str, columns: str, form: str) -> str:
    return resolved(RESULTS / path, where, columns, form)


def test_numbers_of_the_readme_are_those_of_the_files() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    psrnn = from_file("beyond-mocap/means.csv", "arm=psrnn", "error", ".3g")
    reservoir = np.exp(np.log(pd.read_csv(RESULTS / "reservoir-1000-seeds.csv")["test_mse"]).mean())
    published = '"claim=ahead of every published baseline" horizon=1'
    swimmer = from_file(
        "effort-swimmer/paired.csv", f"{published} against=echo_state", "ratio ratio_low ratio_high pairs", ".2f"
    )
    handwriting = {
        name: float(from_file("effort-handwriting/paired.csv", f"{published} against={name}", "ratio", ".6f"))
        for name in ("echo_state", "min_gru")
    }
    assert {round(100 * (1 - ratio)) for ratio in handwriting.values()} == {3}
    mocap = from_file("reservoir-1000.csv", "data=mocap", "ratio ratio_low ratio_high pairs", ".4f")
    ratio, low_high, pairs = re.fullmatch(r"(\S+) \((\S+); (\d+)\)", mocap).groups()
    means = {key: from_file("figure4-paper/means.csv", f"data=mocap arm={key}", "error", ".2g") for key in ("lstm",)}
    interval = "ratio ratio_low ratio_high pairs"
    walking = from_file("figure3-paper/paired.csv", "data=mocap count=20", interval, ".2f")
    of_theory = "inputs=normal_n32 kernel=gaussian count=64 quantity=delta baseline=iid challenger=orthogonal"
    theory = from_file("theory/paired.csv", of_theory, interval, ".2f")
    tag = from_file("experts-ciphers-beside-tags.csv", "against=dense_total+tag", interval, ".2f")
    claims = read_table(RESULTS / "figure3-paper" / "claims.csv")
    holding, undecided = (claims.loc[claims["verdict"] == verdict, "data"] for verdict in ("holds", "undecided"))
    for words in (
        f"both with `readout=skip` | {psrnn} / {reservoir:.6f} |",
        f"| last value | {from_file('beyond-mocap/means.csv', 'arm=last_value', 'error', '.3g')} |",
        f"number of trials | {means['lstm']} |",
        f"error ratio {ratio}, 95 % interval {low_high}, {pairs} pairs",
        "{} times that network's ({}, {} pairs)".format(*re.fullmatch(r"(\S+) \((\S+); (\d+)\)", swimmer).groups()),
        f"orthogonal features have {walking.replace(')', ' pairs)')} of the error of independent ones",
        f"with 64 frequencies, the spectral error Δ is {theory.replace(')', ' pairs)')} of that of independent ones",
        "({}, {}, of one with a task tag; {} pairs)".format(*re.fullmatch(r"(\S+) \((\S+); (\d+)\)", tag).groups()),
        f"holds on {' and '.join(holding)} and is undecided on {' and '.join(undecided)}",
    ):
        assert words in text


def test_the_larger_reservoir_is_paired_with_the_committed_jobs() -> None:
    seeds = pd.read_csv(RESULTS / "reservoir-1000-seeds.csv", **EXACT)
    jobs = read_table(RESULTS / "beyond-mocap" / "jobs.csv")
    committed = jobs[jobs["arm"] == "psrnn"].set_index("seed")["test_mse"]
    np.testing.assert_array_equal(seeds["test_mse_psrnn"], committed.loc[seeds["seed"]])
    logs = np.log(seeds["test_mse_psrnn"] / seeds["test_mse"])
    stored = pd.read_csv(RESULTS / "reservoir-1000.csv")
    assert stored["ratio"].iloc[0] == pytest.approx(np.exp(logs.mean()))
    assert stored["pairs"].iloc[0] == len(seeds) == 10


def test_experts_beside_networks_with_a_tag_follow_from_the_jobs_of_both_pages() -> None:
    """Ratios of nats as `paired_of` has them, of the seeds that both pages have."""
    own, tagged = (read_table(RESULTS / name / "jobs.csv") for name in ("experts-ciphers", "experts-ciphers-tags"))
    stored = pd.read_csv(RESULTS / "experts-ciphers-beside-tags.csv", **EXACT).set_index("against")
    assert stored.index.tolist() == ["dense_total+tag", "token+tag"]
    nats = [name for name in tagged if str(name).startswith("nll_")]
    assert len(nats) == 8
    for against, row in stored.iterrows():
        sides = [jobs[jobs["arm"] == arm].set_index("seed")[nats]
                 for jobs, arm in ((own, row["challenger"]), (tagged, against))]  # fmt: skip
        assert len(sides[1]) == row["pairs"] == 3
        logs = np.log(sides[0].loc[sides[1].index] / sides[1]).mean(axis=1)
        half = stats.t.ppf(0.975, 2) * logs.std(ddof=1) / math.sqrt(3)
        expected = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
        np.testing.assert_allclose(row[["ratio", "ratio_low", "ratio_high"]].astype(float), expected, rtol=1e-12)


def test_what_is_said_of_families_and_adapters_follows_from_the_shares() -> None:
    table = pd.read_csv(RESULTS / "experts-ciphers" / "shares.csv")
    own = table[(table["kind"] == "adapter") & (table["arm"] == "token+shared")]
    found = {}
    for layer, rows in own.groupby(own["layer"]):
        family = rows["task"].str.extract(r"(\d+)", expand=False).astype(int) % 2
        tokens = pd.crosstab(family, rows["expert"], values=rows["tokens"], aggfunc="sum").to_numpy(np.float64)
        joint = tokens / tokens.sum()
        apart = joint.sum(1, keepdims=True) * joint.sum(0)
        found[str(layer)] = float((joint * np.log(joint / apart)).sum())
    words = " ".join(text_of("results-experts.md").split())
    first, second = (f"{found[name]:.2f}" for name in ("encoder.0", "encoder.1"))
    assert f"is {first} nats in the first layer and {second} in the second, of log 2 = 0.69" in words
    assert max(found["decoder.0"], found["decoder.1"]) < 0.001


@pytest.mark.parametrize("name", ["beyond-mocap", "figure4-moving-mnist-paper", "ssgp-precipitation-30000"])
def test_a_page_made_again_from_its_files_is_the_page(name: str, tmp_path: Path) -> None:
    shutil.copytree(RESULTS / name, tmp_path / name)
    shutil.copy(RESULTS / f"{name}.md", tmp_path)
    (tmp_path / name / "claims.csv").unlink()
    assert export_again(tmp_path / name).read_text() == (RESULTS / f"{name}.md").read_text()
    for path in (RESULTS / name).glob("*.csv"):
        old, new = read_table(path), read_table(tmp_path / name / path.name)
        pd.testing.assert_frame_equal(old, new, rtol=1e-9, obj=path.name)


@pytest.mark.parametrize("name", ["figure4-projected-mocap", "figure4-projected-swimmer"])
def test_a_page_of_curves_of_several_contenders_is_made_again(name: str, tmp_path: Path) -> None:
    shutil.copytree(RESULTS / name, tmp_path / name)
    shutil.copy(RESULTS / f"{name}.md", tmp_path)
    for made in ("claims.csv", "means_by_epoch.csv"):
        (tmp_path / name / made).unlink()
    again = export_again(tmp_path / name).read_text()
    assert again.replace(MADE_AGAIN, "") == (RESULTS / f"{name}.md").read_text().replace(MADE_AGAIN, "")
    for path in (RESULTS / name).glob("*.csv"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name / path.name), read_table(path), rtol=1e-9)


def test_a_page_follows_from_what_was_measured(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "beyond-mocap", tmp_path / "beyond-mocap")
    shutil.copy(RESULTS / "beyond-mocap.md", tmp_path)
    jobs = read_table(tmp_path / "beyond-mocap" / "jobs.csv")
    jobs.loc[jobs["arm"] == "psrnn", "test_mse"] *= 0.5
    jobs.to_csv(tmp_path / "beyond-mocap" / "jobs.csv", index=False)
    export_again(tmp_path / "beyond-mocap")
    assert read_table(tmp_path / "beyond-mocap" / "claims.csv")["verdict"].tolist() == ["holds"]
    (tmp_path / "beyond-mocap" / "jobs.csv").unlink()
    with pytest.raises(PipelineError, match="nothing to make the page from"):
        export_again(tmp_path / "beyond-mocap")


def test_a_page_made_again_still_says_that_its_jobs_were_stopped(tmp_path: Path) -> None:
    shutil.copytree(RESULTS / "beyond-mocap", tmp_path / "beyond-mocap")
    before = (RESULTS / "beyond-mocap.md").read_text()
    stopped = before.replace(MADE_AGAIN, f"{MADE_AGAIN} It was stopped before all of its jobs.")
    (tmp_path / "beyond-mocap.md").write_text(stopped)
    again = export_again(tmp_path / "beyond-mocap").read_text()
    assert again == before.replace(MADE_AGAIN, f" It was stopped before all of its jobs.{MADE_AGAIN}")


def remade_copy(name: str, folder: Path, *, without: str = "") -> dict[str, str]:
    """Figures of a study that is made again from a copy of its files, by name."""
    folder.mkdir()
    shutil.copytree(RESULTS / name, folder / name)
    shutil.copy(RESULTS / f"{name}.md", folder)
    if without:
        (folder / name / without).unlink()
    assert export_again(folder / name).read_text() == (RESULTS / f"{name}.md").read_text()
    return {path.stem: path.read_text() for path in (folder / name).glob("*.svg")}


@pytest.mark.parametrize(
    ("name", "own"), [("ssgp-abalone-seven", "clusters"), ("ssgp-stream", "stream"), ("ssgp-precipitation-full", "")]
)
def test_figures_of_a_study_are_drawn_again_from_its_tables(name: str, own: str, tmp_path: Path) -> None:
    figures = remade_copy(name, tmp_path / "a", without=f"{own}.svg" if own else "")
    assert set(figures) == ({"rmse", own} if own else set())
    assert remade_copy(name, tmp_path / "b") == figures
    assert all(f"<!-- {name}: " in text for text in figures.values())
    assert not own or "#173f85" in figures[own]


def test_a_study_whose_figure_does_not_say_its_target_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"rmse\.svg does not say what the target is; export the study again"):
        remade_copy("ssgp-precipitation-30000", tmp_path / "a", without="rmse.svg")


def sweeps(choice: str) -> list[pd.DataFrame]:
    """The trials of a choice in trials-settings.csv, of one model and update at a time: a column per data set, with
    their geometric mean, the least first; the settings in use are marked as on the page."""
    table = read_table(RESULTS / "trials-settings.csv")
    found = []
    for _, rows in table[table["choice"] == choice].groupby(["model", "update"], sort=False):
        names = rows["settings"].str.replace(r"\S+=", "", regex=True).str.replace(" ", ", ")
        marked = names.where(~rows["chosen"], "**" + names + "**")
        wide = rows.assign(settings=marked).pivot(index="settings", columns="data", values="validation_mse")
        found.append(wide.assign(mean=np.exp(np.log(wide).mean(axis=1))).sort_values("mean"))
    return found


def shown(values: pd.Series | pd.Index) -> list[str]:
    return [number(repr(float(value)), ".3g") for value in values]


def test_trials_of_figure_4_are_on_the_page_and_the_least_are_in_use() -> None:
    text = text_of("results-orthogonal.md")
    tables = sweeps("figure 4 again")
    assert len(tables) == 3
    for table in tables:
        assert len(table) == 6
        assert [name.startswith("**") for name in table.index] == [True] + [False] * 5
        lines = [
            f"| {name} | {' | '.join(shown(row[['swimmer', 'mocap', 'mean']]))} |" for name, row in table.iterrows()
        ]
        assert all(line in text for line in lines)


def test_trials_of_the_main_job_are_on_the_page_and_another_than_that_in_use_is_the_least() -> None:
    text = text_of("results-main-job.md")
    (table,) = sweeps("main job again")
    assert [name.startswith("**") for name in table.index] == [False, True] + [False] * 4
    assert f"| rate, damping | {' | '.join(table.index)} |" in text
    assert f"| validation error | {' | '.join(shown(table['mocap']))} |" in text


def test_the_larger_reservoir_is_the_least_of_its_trials() -> None:
    (table,) = sweeps("reservoir of 1000 units")
    assert [name.startswith("**") for name in table.index] == [True] + [False] * 5
    least, second, *_, most = (f"{value:.6f}" for value in table["mocap"])
    text = " ".join(text_of("results-earlier.md").split())
    assert f"of six trials the least, {least}; the others {second} to {most}" in text


def test_the_whitening_in_use_is_the_least_of_its_trials() -> None:
    (table,) = sweeps("whitening")
    assert [name.startswith("**") for name in table.index] == [True, False, False, False]
    tried = table["moving_mnist"].reindex(["0.00001", "0.0001", "**0.001**", "0.01"])
    names, errors = list(tried.index), [f"{error:.4f}" for error in tried]
    text = " ".join(text_of("results-earlier.md").split())
    words = [f"{', '.join(group[:-1])} and {group[-1]}" for group in (names, errors)]
    assert f"{words[0]} have validation errors of {words[1]}" in text


def test_what_is_compared_is_what_the_command_says() -> None:
    found = compare_of("python -m pipeline +experiment=figure3 data=mocap compare.baseline=sobol run_name=x")
    assert vars(found) == {"figure": "count", "arm": None, "baseline": "sobol", "challenger": "orthogonal"}


EFFORT = RESULTS / "equal-effort"
READOUTS = ("linear", "skip", "kernel")


def chosen_in(trials: pd.DataFrame) -> str:
    """What was drawn for the first trial of a table, as it is typed, without what is the same for all."""
    same = (
        "tune.",
        "data=",
        "model=",
        "run_name=",
        "threads=",
        "resume=",
        "+experiment=",
        "readout.grouped",
        "readout.direct",
    )
    typed = [each for each in str(trials["overrides"].iloc[0]).split(" ") if not each.startswith(same)]
    return " ".join(re.sub(r"(?<==)(\d\S*\.\d+(e-\d+)?)$", lambda m: f"{float(m[0]):.3g}", each) for each in typed)


def effort_rows(data: str) -> list[str]:
    """The lines of a data set on the page: a model each, the least validation error first."""
    rows = []
    for file in EFFORT.glob(f"{data}-*.csv"):
        trials: Any = pd.read_csv(file)
        done = trials[trials["state"] == "finished"]
        kinds = done["overrides"].map(said_by)
        by_readout = [
            done.loc[[f"readout={kind}" in said for said in kinds], "validation_mse"].min() for kind in READOUTS
        ]
        least = [number(repr(float(error)), ".4g") if error == error else "–" for error in by_readout]
        best, label = done["validation_mse"].min(), file.stem.removeprefix(f"{data}-")
        counts = f"{len(trials)} ({len(trials) - len(done)})"
        seconds = f"{trials['seconds'].median():.0f} / {trials['seconds'].max():.0f}"
        cells = [label, counts, number(repr(float(best)), ".4g"), *least, seconds, f"`{chosen_in(done)}`"]
        rows.append((best, f"| {' | '.join(cells)} |"))
    return [line for _, line in sorted(rows)]


@pytest.mark.parametrize("data", sorted({file.stem.split("-")[0] for file in EFFORT.glob("*.csv")}))
def test_the_page_of_equal_effort_is_that_of_its_trials_and_all_models_had_as_many(data: str) -> None:
    text = (RESULTS / "equal-effort.md").read_text(encoding="utf-8")
    assert "\n".join(effort_rows(data)) in text
    tables: Any = [pd.read_csv(file) for file in EFFORT.glob(f"{data}-*.csv")]
    assert len({len(table) for table in tables}) == 1
    assert not any("test" in column for table in tables for column in table)
    assert all((table["data"] == data).all() for table in tables)


def test_a_page_of_a_command_in_several_lines_and_of_other_files_is_refused_in_a_line() -> None:
    page = (RESULTS / "equal-effort.md").read_text()
    with pytest.raises(PipelineError, match=r"equal-effort has neither jobs\.csv nor curves\.csv with means\.csv"):
        remade(RESULTS / "equal-effort", page)


@pytest.mark.parametrize("page", [None, "# Made by hand\n\n    python -m pipeline … \\\n"])
def test_what_is_no_exported_page_is_not_made_again(page: str | None, tmp_path: Path) -> None:
    if page is not None:
        (tmp_path / "mine.md").write_text(page)
    with pytest.raises(
        PipelineError, match=r"mine\.md is no page of pipeline\.export; name the folder beside such a page"
    ):
        export_again(tmp_path / "mine")
