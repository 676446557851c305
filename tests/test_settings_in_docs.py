"""The pages of settings name every setting that a choice of conf/ has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.settings.fields import rules_of
from pipeline.systems.registry import SYSTEMS, schemas

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("configuration", "theory", "cluster")
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXPERIMENTS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "conf" / "experiment").glob("*.yaml")}
VALUES = (
    "experiment",
    "contender",
    "space",
    "size",
    "budget",
    "reader",
)  # groups whose choices set what others declare
ELSEWHERE = {
    "data.name",  # which graph a choice of data is; no one sets it
    "tune.trial",  # the multirun sets it
    "datasets.precipitation.source",  # as data.source of data=precipitation
    "datasets.precipitation.root",
    "model.uri",  # given as model=URI
}
FILES = sorted(
    path.relative_to(ROOT / "conf") for path in (ROOT / "conf").glob("*/*.yaml") if path.parent.name not in VALUES
)


def named() -> set[str]:
    """Returns the words that stand as code on the pages."""
    texts = "\n".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
    return {word for code in re.findall(r"`([^`\n]+)`", texts) for word in re.findall(r"[A-Za-z_][\w.]*", code)}


def keys(node: dict[str, Any], section: str) -> Iterator[str]:
    """Yields the names of all settings below a section."""
    for key, value in node.items():
        if key in ("defaults", "hydra") or key.startswith("_"):
            continue
        if isinstance(value, dict):
            yield from keys(value, f"{section}{key}.")
        else:
            yield f"{section}{key}"


@pytest.mark.parametrize("path", FILES, ids=str)
def test_the_pages_name_every_setting(path: Path) -> None:
    text = (ROOT / "conf" / path).read_text(encoding="utf-8")
    section = "" if "@package _global_" in text else f"{path.parent}."
    words = named()
    unnamed = [
        key
        for key in keys(yaml.safe_load(text) or {}, section)
        if key not in ELSEWHERE and not {key, key.partition(".")[2], key.rpartition(".")[2]} & words
    ]
    assert not unnamed


def test_each_limit_of_size_names_the_settings_that_it_lowers() -> None:
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    said = {cap: re.findall(r"`([\w.]+)`", row) for cap, row in re.findall(r"^\| `size\.(\w+)` \|(.*)$", text, re.M)}
    lowered = {(rule.cap, key) for schema in schemas().values() for key, rule in rules_of(schema).items() if rule.cap}
    assert lowered
    assert [(cap, key) for cap, key in sorted(lowered) if key not in said[cap]] == []


def row_of(page: str, key: str) -> str:
    """Returns the first row of a table that begins with the key."""
    return re.findall(rf"^\| `{key}` \|.*$", page, re.M)[0]


def test_the_row_of_recipes_names_all_of_them() -> None:
    named_there = set(re.findall(r"\[`(\w+)`\]\(", row_of(CONFIGURATION, "recipe")))
    assert named_there == {path.stem for path in (ROOT / "conf" / "recipe").glob("*.yaml")} == set(SYSTEMS)


def test_each_experiment_has_a_row() -> None:
    cells = re.findall(r"^\| (`.*?) \|", CONFIGURATION, re.M)
    assert EXPERIMENTS.keys() - {word for cell in cells for word in re.findall(r"`(\w+)`", cell)} == set()


def test_the_page_says_which_experiments_are_single_runs() -> None:
    (paragraph,) = (text for text in CONFIGURATION.split("\n\n") if "single runs unless" in text)
    sentence = paragraph.partition("single runs unless")[0]
    names, prefix = set(re.findall(r"`(\w+)`", sentence)), "all that begin with `trace`"
    assert prefix in sentence
    traces = {name for name in EXPERIMENTS if name.startswith("trace")}
    single = {name for name, text in EXPERIMENTS.items() if not re.search(r"MULTIRUN|^  - tune$", text, re.M)}
    assert names | traces == single


def test_a_setting_that_no_page_names_is_seen() -> None:
    assert list(keys({"estimate": {"trials": 1, "more": {"of": 2}}, "defaults": []}, "")) == [
        "estimate.trials",
        "estimate.more.of",
    ]
    assert "estimate.trials" in named()
    assert "estimate.more.of" not in named()
