"""`forms.stage=data`: counts of every part, figures, and nothing trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.form_images import WORD, FormImages, HandwrittenForms
from data.forms.composer import ComposedForms
from logged import artifacts, only_run, table
from pipeline.systems.forms.contents import COPIES, counts_of
from pipeline.systems.forms.recipe import log_files

TINY = ("size=tiny", "data.source=stand_in", "data.height=96", "data.width=128", "data.layout=free")


def test_an_experiment_counts_and_draws_every_part(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=forms_data", *TINY)
    assert result.status == 0, result.err
    run = only_run(client)
    counts = table(run, "counts.csv")
    assert counts["part"].tolist() == ["train", "validation", "test", "test_style", COPIES]
    assert counts["forms"].tolist() == [6, 6, 6, 6, 12]  # two epochs
    assert run.data.tags["arm"] == "data"
    assert "detector/train_loss" not in run.data.metrics
    shown = artifacts(client, run, "figures")
    assert {
        f"figures/{name}.svg" for name in ("train", "validation", "test", "test_style", "train_changed", "changes_form")
    } <= shown


def test_a_run_writes_down_the_file_of_each_form_where_there_are_files(forms: HandwrittenForms) -> None:
    tables = dict[str, pd.DataFrame]()
    here: Any = SimpleNamespace(run=SimpleNamespace(table=lambda table, name: tables.update({name: table})))
    log_files(here, forms, "forms")
    assert not tables
    log_files(here, replace(forms, files={"train": ("a.png", "b.png", "c.png"), "test": ("d.png",)}), "forms")
    rows = [("train", 0, "a.png"), ("train", 1, "b.png"), ("train", 2, "c.png"), ("test", 0, "d.png")]
    assert list(tables["files.csv"].itertuples(index=False, name=None)) == rows
    assert list(tables["files.csv"]) == ["part", "form", "file"]


@pytest.fixture(scope="module")
def forms() -> HandwrittenForms:
    return ComposedForms(forms=3, validation=1, test=2, height=96, width=128, layout="free", source="stand_in").load()


def test_boxes_and_unseen_words_are_those_counted_one_by_one(forms: HandwrittenForms) -> None:
    rows = counts_of(forms, 5).set_index("part")
    said = {form.texts[box] for form in forms.parts["train"].forms() for box in form.reading()}
    asked = [form.texts[box] for form in forms.parts["test"].forms() for box in form.reading()]
    assert rows.loc["test", "word"] == len(asked)
    assert rows.loc["test", "unseen"] == np.mean([text not in said for text in asked])
    assert rows.loc["train", "unseen"] == 0
    assert rows.loc[COPIES, "word"] == 5 * int((forms.parts["train"].classes == WORD).sum())
    assert rows.loc[COPIES, "different"] == rows.loc["train", "different"] == len(said)


def test_a_part_without_a_word_has_no_share_and_without_copies_there_is_no_row_of_them(
    forms: HandwrittenForms,
) -> None:
    form = forms.parts["test"].form(0)
    blank = form._replace(boxes=form.boxes[:0], classes=form.classes[:0], texts=(), order=form.order[:0], characters=())
    rows = counts_of(replace(forms, parts={**forms.parts, "test": FormImages.of([blank])}), 0).set_index("part")
    assert list(rows.index) == list(forms.parts)
    assert rows.loc["test", "word"] == 0
    assert np.isnan(rows.loc["test", "unseen"])


def test_what_cannot_be_is_refused_in_one_line(run_pipeline: Callable) -> None:
    for asked, said in (
        (("data=dhsd",), "forms.stage=data takes images of forms"),
        (("tracking.register=mine",), "tracking.register: forms.stage=data makes no model; leave it out"),
    ):
        assert said in run_pipeline("recipe=forms", "forms.stage=data", "size=tiny", *asked).error
