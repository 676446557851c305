"""Forms whose writers are known: whole writers are drawn, and few of them decide nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from data.forms.composer import ComposedForms
from logged import only_run, table
from models.forms.detect.boxes import CLASSES
from pipeline.compare.words import Summary
from pipeline.systems.forms.multirun import rows_in
from pipeline.systems.forms.reading import multirun as reading
from pipeline.systems.forms.segmentation import multirun as segmentation
from pipeline.systems.forms.writers import said_of_forms, writers_in

FORMS = 24
MOST = np.arange(FORMS) % 6 > 0  # the forms of five of six writers


def jobs_of(arms: tuple[str, ...], seeds: int = 3) -> pd.DataFrame:
    """Jobs of arms with so many seeds."""
    runs = [(f"{arm}{seed}", arm, seed) for arm in arms for seed in range(seeds)]
    return pd.DataFrame(runs, columns=["run_id", "arm", "seed"]).assign(
        model=[arm for _, arm, _ in runs], augment="none", settings=[()] * len(runs), seconds=1.0, parameters=1.0,
        data="forms_folder", scored="words",
    )  # fmt: skip


def written(rows: pd.DataFrame, writers: int) -> pd.DataFrame:
    """Rows of forms with a column of so many writers; none for 0."""
    return rows.assign(writer=[f"w{form % writers}" for form in rows["form"]]) if writers else rows


def readings(writers: int) -> Summary:
    """The summary of readers, of which "r_fcn + word" has a fault in most forms and the other none."""
    jobs = jobs_of(("r_fcn + word", "r_fcn + ctc_seq2seq"))
    counts = {"characters": 4, "words": 1, "out_of_order": 0, "pairs": 0}
    read = pd.concat([
        pd.DataFrame({"run_id": run, "part": "test", "form": range(FORMS), "reading": way, **counts,
                      "faults": MOST * arm.endswith("word"), "word_faults": MOST * arm.endswith("word")})
        for run, arm in zip(jobs["run_id"], jobs["arm"], strict=True) for way in ("read", "true boxes")
    ])  # fmt: skip
    return reading.summary_of(jobs, {"read.csv": written(read, writers)}, "t")


def detections(writers: int) -> Summary:
    """The summary of detectors, of which "r_fcn" finds the one word of most forms and the other none."""
    jobs, none = jobs_of(("pixel_link", "r_fcn")), dict.fromkeys((*CLASSES[1:], "narrow_word"), 0)
    boxes = pd.concat([pd.DataFrame({"run_id": run, "part": "test", "form": range(FORMS), **none, "word": 1})
                       for run in jobs["run_id"]])  # fmt: skip
    found = boxes[["run_id", "part", "form"]].assign(
        **{
            "class": "word",
            "narrow_word": 0,
            "score": 0.9,
            "hit": (boxes["run_id"].str.startswith("r_fcn") & MOST[boxes["form"]]).astype(int),
        }
    )
    return segmentation.summary_of(jobs, {"found.csv": found, "boxes.csv": written(boxes, writers)}, "t")


@pytest.mark.parametrize("summary", [readings, detections])
@pytest.mark.parametrize(
    ("writers", "verdict", "said"),
    [
        (0, "holds", ""),
        (1, "undecided: 1 writer", "The forms of forms_folder are of 1 writer: forms are drawn."),
        (5, "undecided: 5 writers", "The forms of forms_folder are of 5 writers: whole writers with all their forms"),
        (6, "holds", "The forms of forms_folder are of 6 writers: whole writers with all their forms are drawn"),
    ],
)
def test_forms_of_few_writers_tell_no_arms_apart(
    summary: Callable[[int], Summary], writers: int, verdict: str, said: str
) -> None:
    own = summary(writers)
    for name in ("paired.csv", "claims.csv"):
        assert set(own.tables[name]["verdict"]) == {verdict}
    assert said in own.text
    assert ("undecided: " in own.text) is verdict.startswith("undecided")
    if not writers:
        assert "writers" not in own.text


@pytest.mark.parametrize(("summary", "arm"), [(readings, "r_fcn + word"), (detections, "r_fcn")])
def test_intervals_over_six_writers_are_wider_than_those_over_their_forms(
    summary: Callable[[int], Summary], arm: str
) -> None:
    widths = list[float]()
    for writers in (0, 6):
        means = summary(writers).tables["means.csv"]
        row = means[means["arm"] == arm].iloc[0]
        widths.append(row["high"] - row["low"])
    assert widths[1] > 1.5 * widths[0] > 0


def test_what_finding_words_costs_is_undecided_of_few_writers() -> None:
    known = {writers: set(readings(writers).tables["costs.csv"]["verdict"]) for writers in (0, 2, 6)}
    assert known == {0: {"holds"}, 2: {"undecided: 2 writers"}, 6: {"holds"}}


def test_whole_writers_are_drawn_with_all_their_forms() -> None:
    """Of two writers the one has a fault in every form: a quarter of the draws has each of them twice."""
    faults = [1] * 10 + [0] * 30
    read = pd.DataFrame({"form": range(40), "faults": faults, "characters": 1, "writer": [*"a" * 10, *"b" * 30]})
    whole, drawn = reading.errors_of(read, "CER", "writer")
    boxes = read.assign(part="test", word=1).sample(frac=1.0, random_state=0)
    found = boxes.assign(**{"class": "word", "score": 0.9, "hit": 1 - boxes["faults"]})
    missed, of_boxes = segmentation.errors_of(found[found["hit"] == 1], boxes, {"part": "test", "scored": "words"},
                                              "writer")  # fmt: skip
    assert whole == pytest.approx(25.0)
    assert missed == pytest.approx(0.25)
    for rates in (drawn / 100, of_boxes):
        assert np.unique(rates.round(9)).tolist() == [0.0, 0.25, 1.0]
        assert [np.mean(rates.round(9) == rate) for rate in (0.0, 1.0)] == pytest.approx([0.25, 0.25], abs=0.03)


def test_forms_of_unknown_writers_are_drawn_one_by_one() -> None:
    for writers in ([""] * 2, [np.nan] * 2, ["a", ""]):
        rows = pd.DataFrame({"form": [0, 1], "writer": writers})
        assert writers_in(rows) == 0
        assert said_of_forms("forms_folder", rows) == ""


def own_forms(folder: Path, count: int) -> Path:
    """A table of so many composed forms, each second one of the same writer."""
    data = ComposedForms(forms=count, validation=1, test=1, height=96, width=128, layout="free", source="stand_in")
    rows = list[dict[str, Any]]()
    for number, form in enumerate(data.load().parts["train"].forms()):
        Image.fromarray(form.image).save(folder / f"{number}.png")
        rows += [
            {"file": f"{number}.png", **dict(zip(("x0", "y0", "x1", "y1"), form.boxes[place].tolist(), strict=True)),
             "class": "word", "text": form.texts[place], "writer": f"w{number % 2}"}
            for place in form.reading().tolist()
        ]  # fmt: skip
    pd.DataFrame(rows).to_csv(folder / "boxes.csv", index=False)
    return folder / "boxes.csv"


@pytest.mark.parametrize(("stage", "file"), [("segmentation", "boxes.csv"), ("pipeline", "read.csv")])
def test_a_run_says_who_wrote_each_form(
    stage: str, file: str, run_pipeline: Callable, client: Any, tmp_path: Path
) -> None:
    result = run_pipeline(
        "recipe=forms", f"forms.stage={stage}", "data=forms_folder", f"data.path={own_forms(tmp_path, 10)}",
        "detector=components", "forms.scored=words", "recogniser=crnn_best_path", "size=tiny",
        "tracking.detail=summary", "tracking.log_model=false",
    )  # fmt: skip
    assert result.status == 0, result.err
    run = only_run(client)
    files = table(run, "files.csv")
    names = files[files["part"] == "test"]["file"].tolist()
    own = table(run, file)
    assert len(names) >= 2
    assert own["writer"].tolist() == [f"w{int(names[form].removesuffix('.png')) % 2}" for form in own["form"]]


@pytest.mark.parametrize("columns", [["form", "writer"], None])
def test_names_of_writers_are_read_as_they_are_written(columns: list[str] | None, tmp_path: Path) -> None:
    """NA was nobody, and 01, 1 and 1.0 were one."""
    rows = pd.DataFrame({"form": range(6), "writer": ["NA", "1", "01", "1.0", "2", "02"], "faults": 1})
    rows.to_csv(tmp_path / "own.csv", index=False)
    assert writers_in(rows_in(tmp_path / "own.csv", columns)) == 6
    rows.drop(columns="writer").to_csv(tmp_path / "own.csv", index=False)
    assert writers_in(rows_in(tmp_path / "own.csv", columns)) == 0
