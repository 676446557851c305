"""The pages of results as a reader meets them: short at the start, all in the navigation, and true to their files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pipeline.compare.contenders import PUBLISHED
from pipeline.compare.statistics import worse
from pipeline.multirun.recompute import read_table

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
RESULTS = DOCS / "results"
sys.path.insert(0, str(DOCS / "extensions"))
from numbers_from_files import REFERENCE  # noqa: E402


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_the_main_page_is_read_in_a_minute_and_its_numbers_are_read_from_files() -> None:
    text = text_of("results.md")
    assert len(text.splitlines()) <= 70
    assert len(REFERENCE.findall(text)) > 30


@pytest.mark.parametrize("page", ["orthogonal", "effort", "series", "etth1", "earlier"])
def test_the_main_tables_are_read_from_files(page: str) -> None:
    assert len(REFERENCE.findall(text_of(f"results-{page}.md"))) > 50


@pytest.mark.parametrize("section", ["random-features", "idea", "readouts", "stability"])
def test_the_main_page_says_where_its_terms_are_explained(section: str) -> None:
    assert f"](method.md#{section})" in text_of("results.md")


def has_typed_numbers(text: str) -> bool:
    rows = [re.sub(r"`[^`]*`", "", REFERENCE.sub("", row)) for row in re.findall(r"^\|.*", text, re.MULTILINE)]
    return any(re.search(r"\d\.\d|\| \d+ %", row) for row in rows)


def test_every_page_with_a_table_that_is_typed_is_named_in_the_rules() -> None:
    _, _, section = text_of("results-rules.md").partition("## Numbers that are typed by hand\n")
    named = set(re.findall(r"\]\((results[\w-]*\.md)", section.partition("\n## ")[0]))
    pages = DOCS.glob("results*.md")
    assert {page.name for page in pages if has_typed_numbers(text_of(page.name))} == named


def test_every_page_of_results_is_in_the_navigation() -> None:
    named = set(re.findall(r'= "([^"]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8")))
    pages = [*RESULTS.glob("*.md"), *DOCS.glob("results*.md"), *(DOCS / "notebooks").glob("*.md")]
    assert {page.relative_to(DOCS).as_posix() for page in pages} <= named


@pytest.mark.parametrize("page", sorted(DOCS.glob("results-*.md")), ids=lambda page: page.name)
def test_the_main_page_leads_to_every_page_beside_it(page: Path) -> None:
    assert f"]({page.name})" in text_of("results.md")


NAMES = {
    "echo_state": "echo state network", "gru": "GRU", "kalman": "Kalman filter", "lstm": "LSTM", "min_gru": "minGRU",
    "no_state": "no state", "psrnn_cp": "factorised PSRNN", "var": "VAR",
}  # fmt: skip


def ahead_of_the_psrnn(study: Path, horizon: int) -> str:
    """The models that the PSRNN is worse than, the least error first, in the words of the page."""
    paired = read_table(study / "paired.csv")
    rows = paired[(paired["claim"] == PUBLISHED) & (paired["horizon"] == horizon)]
    means = read_table(study / "means.csv")
    errors = means[means["horizon"] == horizon].set_index("arm")["error"]
    names = sorted(rows.loc[worse(rows), "against"], key=lambda arm: errors[arm])
    return ", ".join(NAMES[name] for name in names) or "nobody"


@pytest.mark.parametrize("data", ["mocap", "swimmer", "handwriting"])
def test_who_is_ahead_with_equal_effort_is_what_the_files_say(data: str) -> None:
    (line,) = re.findall(rf"^\| `{data}`.*", text_of("results-effort.md"), re.MULTILINE)
    cells = re.findall(r"ahead of it: ([^|;]+?)(?:;[^|]*)? \|", line)
    assert cells == [ahead_of_the_psrnn(RESULTS / f"effort-{data}", horizon) for horizon in (1, 5, 20)]
