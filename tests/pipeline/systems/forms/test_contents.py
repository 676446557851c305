"""`forms.stage=data`: counts of every part, figures, and nothing trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from data.form_images import WORD, FormImages, HandwrittenForms
from data.forms.composer import ComposedForms
from data.word_images import PARTS, HandwrittenWords, WordImages
from logged import artifacts, only_run, table
from pipeline.job.clock import Clock
from pipeline.systems.forms.contents import COPIES, counts_of, stages
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


def test_an_experiment_counts_and_draws_images_of_words(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=forms_data", "data=dhsd", "size=tiny", "data.source=stand_in")
    assert result.status == 0, result.err
    run = only_run(client)
    counts = table(run, "counts.csv").set_index("part")
    assert list(counts.index) == ["train", "validation", "test", COPIES]
    assert list(counts) == ["images", "writers", "characters", "different", "unseen"]
    assert counts.loc[COPIES, "images"] == 2 * counts.loc["train", "images"]  # two epochs
    assert run.data.metrics["data/test_words_unseen"] == counts.loc["test", "unseen"]
    shown = {f"figures/{name}.svg" for name in ("train", "validation", "test", "train_changed", "changes_word")}
    assert shown <= artifacts(client, run, "figures")


def test_writers_and_characters_are_those_counted_one_by_one() -> None:
    images = [np.full((4, 4), shade, np.uint8) for shade in range(6)]
    texts = (["ab", "cd", "ab"], ["ab"], ["cd", "xyz"])
    ends, who = np.cumsum([0, 3, 1, 2]), ["x", "y", "x", "y", "z", "x"]
    parts = {
        name: WordImages.of(images[begin:end], own, who[begin:end])
        for name, own, begin, end in zip(PARTS, texts, ends, ends[1:], strict=False)
    }
    words = HandwrittenWords("mine", parts, "here")
    rows = counts_of(words, 3).set_index("part")
    assert rows.loc["train"].tolist() == [3, 2, 6, 2, 0]
    assert rows.loc["validation"].tolist() == [1, 1, 2, 1, 0]
    assert rows.loc["test"].tolist() == [2, 2, 5, 2, 0.5]
    assert rows.loc[COPIES].tolist() == [9, 2, 18, 2, 0]
    assert list(counts_of(words, 0)["part"]) == list(PARTS)


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
    rows = counts_of(without_words(forms), 0).set_index("part")
    assert list(rows.index) == list(forms.parts)
    assert rows.loc["test", "word"] == 0
    assert np.isnan(rows.loc["test", "unseen"])


def without_words(forms: HandwrittenForms) -> HandwrittenForms:
    """The forms with one in the test part, which has no box."""
    form = forms.parts["test"].form(0)
    blank = form._replace(boxes=form.boxes[:0], classes=form.classes[:0], texts=(), order=form.order[:0], characters=())
    return replace(forms, parts={**forms.parts, "test": FormImages.of([blank])})


def test_the_share_of_unseen_words_is_logged_but_for_a_part_without_a_word(forms: HandwrittenForms) -> None:
    settings: Any = SimpleNamespace(forms=SimpleNamespace(augment="none"), fit=SimpleNamespace(epochs=1))
    names = ["data/words_unseen", "data/test_words_unseen", "data/test_style_words_unseen"]
    shares = counts_of(forms, 0).set_index("part")["unseen"]
    for data, there in ((forms, names), (without_words(forms), names[2:])):
        logged = dict[str, float]()
        run = SimpleNamespace(metric=logged.__setitem__, table=lambda *_: None, dataset=lambda *_, **__: None)
        here: Any = SimpleNamespace(run=run, full=False, clock=Clock(), close=lambda *_: None)
        stages(settings, data, torch.device("cpu"), here)
        assert {name: value for name, value in logged.items() if "unseen" in name} == {
            name: shares["test_style" if "style" in name else "test"] for name in there
        }


def test_what_cannot_be_is_refused_in_one_line(run_pipeline: Callable) -> None:
    for asked, said in (
        (("data=funsd",), "forms.stage=data takes images of forms or images of words: choose"),
        (("data=dhsd", "data.source=stand_in", "forms.augment=flip"), "forms.augment=flip: images of words are never"),
        (
            ("data=composed_forms", "data.source=stand_in", "forms.augment=affine"),
            "forms.augment=affine: images of words",
        ),
        (("tracking.register=mine",), "tracking.register: forms.stage=data makes no model; leave it out"),
    ):
        assert said in run_pipeline("recipe=forms", "forms.stage=data", "size=tiny", *asked).error
