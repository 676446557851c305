"""`forms.stage=pipeline`, tiny, from the command line to the store, a folder of images and a parent's tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch

from data.base import DataError
from data.form_images import Form, FormImages, HandwrittenForms
from data.forms.augment import Augmentation
from data.forms.composer import ComposedForms
from data.forms.moved_boxes import MovedBoxes
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.forms.detect.boxes import Detections, Truth
from models.forms.detect.detector import Detector
from models.forms.images import as_ink
from models.forms.placing import Placing
from models.forms.reader import FormReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.objective import RecognitionObjective
from models.forms.scale import Scale
from pipeline.export import export, export_again
from pipeline.systems.forms.comparison import columns
from pipeline.systems.forms.reading.load import cut_out, words_of
from pipeline.systems.forms.reading.multirun import errors_of, sets_of
from pipeline.systems.forms.reading.parts import moved_of
from pipeline.systems.forms.reading.report import boxes_said
from pipeline.systems.forms.reading.stages import log_copies, reader_of
from pipeline.systems.forms.recognition.fitting import enough_frames
from pipeline.systems.forms.recognition.load import Copies, Moved
from pipeline.systems.forms.segmentation.servable import table_of
from pipeline.systems.forms.servable import png_of

TINY = ("size=tiny", "data.source=stand_in")
OWN = ("recipe=forms", "forms.stage=pipeline", "detector=components", "forms.scored=words", *TINY)
QUICK = "recogniser.language.beam=2"  # what has learned little searches long
SMALL = ("data.height=96", "data.width=128", "data.layout=free")
SUMMARY = ("tracking.detail=summary", "tracking.log_model=false")
COUNTS = ["faults", "characters", "word_faults", "words"]


def test_a_run_leaves_scores_readings_figures_and_a_model_that_reads_the_same(
    run_pipeline: Callable, client, tmp_path
) -> None:
    result = run_pipeline("+experiment=forms", "detector=components", QUICK, *TINY, *SMALL)
    assert result.status == 0, result.err
    run = only_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert (tags["arm"], tags["stage"], tags["detector.found"]) == (
        "components + crnn, language model",
        "pipeline",
        "false",
    )
    assert tags["reader.edges"] in ("found", "ink")
    read = table(run, "read.csv")
    own = read[(read["part"] == "test") & (read["reading"] == "read")]
    assert metrics["evaluate/test_error"] == metrics["evaluate/test_cer"]
    assert metrics["evaluate/test_cer"] == pytest.approx(100 * own["faults"].sum() / own["characters"].sum())
    assert metrics["evaluate/test_cer_mean"] == pytest.approx(100 * (own["faults"] / own["characters"]).mean())
    wanted = {"wer", "order", "cer_corrected", "cer_given_boxes", "wer_given_boxes_corrected", "ap_word"}
    assert {f"evaluate/test_{name}" for name in wanted} | {"evaluate/test_style_cer"} <= set(metrics)
    assert not {"evaluate/test_map", "evaluate/test_ap_stamp"} & set(metrics)  # it finds words alone
    assert metrics["evaluate/test_order_given_boxes"] > 0.5
    hits, true = table(run, "found.csv"), table(run, "forms.csv").set_index("part")["word"]
    assert hits.loc[hits["part"] == "test", "hit"].sum() / true["test"] == metrics["evaluate/test_recall_word"]
    curve = hits[hits["part"] == "test"].sort_values("score", ascending=False, kind="stable")["hit"].to_numpy()
    envelope = np.maximum.accumulate((curve.cumsum() / np.arange(1, len(curve) + 1))[::-1])[::-1]
    assert metrics["evaluate/test_ap_word"] == pytest.approx(envelope[curve == 1].sum() / true["test"])
    assert f"average precision, word | {metrics['evaluate/test_ap_word']:.4g}" in result.out
    assert 0 < metrics["data/words_unseen"] <= 1
    shown = artifacts(client, run, "figures")
    assert {"figures/test_forms.svg", "figures/test_style_forms.svg", "figures/recogniser.svg"} <= shown
    assert "figures/test_precision.svg" in shown
    assert "figures/changes_word.svg" in shown
    assert "figures/changes_form.svg" not in shown  # connected ink learns from no copies
    uri = f"runs:/{run.info.run_id}/model"
    forms = ComposedForms(forms=6, validation=6, test=6, height=96, width=128, layout="free", source="stand_in").load()
    model, test = mlflow.pyfunc.load_model(uri), forms.parts["test"]
    said = model.predict(table_of(test, 6))
    boxes = table(run, "boxes.csv")
    boxes = boxes[boxes["form"].str.fullmatch(r"test \d+")].reset_index(drop=True)
    np.testing.assert_array_equal(said["text"], boxes["text"].fillna(""))
    np.testing.assert_array_equal(said[["order", "x0", "y1"]], boxes[["order", "x0", "y1"]])
    with_vocabulary = model.predict(table_of(test, 6), params={"vocabulary": True, "least_score": 0.05})
    assert len(with_vocabulary) >= len(said)
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "0.png").write_bytes(png_of(test.image(0)))
    asked = ("recipe=predict", f"model={uri}", f"data.path={tmp_path / 'scans'}", f"output={tmp_path / 'out.csv'}")
    for settings, expected in (((), said), (("vocabulary=true", "least_score=0.05"), with_vocabulary)):
        assert "boxes on 1 forms" in run_pipeline(*asked, *settings).out
        written = pd.read_csv(tmp_path / "out.csv")["text"].fillna("").tolist()
        assert written == expected[expected["form"] == "form 1"]["text"].tolist()


def test_a_run_that_was_stopped_goes_on_and_another_run_finds_its_recogniser(
    run_pipeline: Callable, client, store: Path, monkeypatch
) -> None:
    asked = (*OWN, *SMALL, *SUMMARY, "recognition.batch=3", "recogniser.units=8", QUICK,
             "forms.moved=0.3", "forms.moved_after=0.5")  # fmt: skip
    assert run_pipeline(*asked, "tracking=off").status == 0
    losses = stopped_and_resumed(run_pipeline, asked, RecognitionObjective, 3, monkeypatch)
    stopped = only_run(client)
    steps = len(losses)
    assert stopped.data.tags["recogniser.found"] == "false"
    (kept,) = (store / "shared").glob("forms-recogniser-*")
    assert {path.name for path in kept.iterdir()} == {"lock", "model", "seconds.json", "validation.json"}
    assert stopped.data.metrics["recogniser/validation_cer_moved_boxes"] > 0
    result = run_pipeline(*asked, "forms.boxes=truth")
    assert result.status == 0, result.err
    assert len(losses) == steps
    assert "recogniser: found, trained before" in result.err + result.out
    arm = "true boxes + crnn, language model"
    given = next(run for run in client.search_runs(["1", "2", "0"]) if run.data.tags["arm"] == arm)
    assert given.data.tags["recogniser.found"] == "true"
    assert given.data.tags["language"] == stopped.data.tags["language"]
    assert math.isnan(given.data.metrics["recogniser/seconds"])  # it was trained by two processes
    monkeypatch.setattr("pipeline.systems.forms.reading.parts.seconds_of", lambda _: 1000)
    assert run_pipeline(*asked, "forms.boxes=truth", "run_name=third").status == 0
    third = next(run for run in client.search_runs(["1", "2", "0"]) if "third" in run.info.run_name)
    assert columns(third)["seconds"] == third.data.metrics["recogniser/seconds"] == pytest.approx(1000, abs=60)
    assert given.data.metrics["evaluate/test_cer"] == stopped.data.metrics["evaluate/test_cer_given_boxes"]
    assert "evaluate/test_ap_word" not in given.data.metrics
    assert "reader.edges" not in given.data.tags


def test_what_cannot_be_is_refused_in_one_line(run_pipeline: Callable) -> None:
    for asked, said in (
        (("data=dhsd",), "forms.stage=pipeline takes images of forms: choose data=composed_forms, forms_folder"),
        (("forms.scored=classes",), "forms.scored=classes: Components finds words alone"),
        (("recogniser.height=20",), "recogniser: height=20"),
        (("forms.boxes=none",), "forms.boxes"),
        (("recogniser=word",), "names of the test part are none; take data.vocabulary=parts data.least=3"),
        (("reader=convolve_attend_spell", "forms.edges=ink"), "forms.edges=ink: no words are found and read here"),
    ):
        assert said in run_pipeline(*OWN, "tracking=off", *asked).error


def test_a_word_is_shown_at_a_moved_box_where_that_has_frames_enough() -> None:
    forms = ComposedForms(forms=2, validation=1, test=1, height=96, width=128, layout="free", source="stand_in").load()
    words, cut = cut_out(forms.parts["train"]), MovedBoxes(forms.parts["train"], deviation=0.5, seed=0)
    recogniser = CRNN(width=32, units=4).network(Alphabet.of_texts(words.texts))
    number = max(range(len(words)), key=lambda place: len(words.texts[place]))
    fits = enough_frames(recogniser, words.texts)
    assert fits(number, words.image(number).shape)
    assert not fits(number, (words.image(number).shape[0], 2))
    for enough in (fits, lambda *_: False):
        copies = Copies(words, Augmentation("none"), Moved(cut, cut, first_epoch=2), enough)
        shown = cut.image(number, 12345) if enough is fits else words.image(number)
        assert torch.equal(copies(number, 12345, 2), as_ink(shown))
        assert torch.equal(copies(number, 12345, 1), as_ink(words.image(number)))
    assert cut.image(number, 12345).shape != words.image(number).shape


def test_a_slanted_word_is_shown_where_it_has_frames_enough_and_else_as_it_is() -> None:
    words = ComposedForms(forms=2, validation=1, test=1, height=96, width=128, layout="free", source="stand_in").load()
    cut, slant = cut_out(words.parts["train"]), Augmentation("affine", seed=0, share=1.0)
    slanted = slant.word(cut.image(0), epoch=5, number=0)
    assert slanted.shape != cut.image(0).shape
    for fits, shown in ((True, slanted), (False, cut.image(0))):
        copies = Copies(cut, slant, None, lambda _, shape, fits=fits: fits and shape == slanted.shape)
        assert torch.equal(copies(0, 5, 5), as_ink(shown))


class Sizes:
    """Reads the width and height of an image."""

    alphabet = Alphabet.of_texts(["0123456789x"])

    def read_words(self, images: Sequence[torch.Tensor]) -> list[tuple[str, float]]:
        return [(f"{image.shape[1]}x{image.shape[0]}", 1.0) for image in images]


class Wider(Detector):
    """Finds the ink of a form, a little too wide, twice."""

    def losses(self, images: torch.Tensor, truths: Sequence[Truth]) -> dict[str, torch.Tensor]:  # noqa: ARG002
        return {}

    def detect(self, images: torch.Tensor, least_score: float = 0.05) -> list[Detections]:  # noqa: ARG002
        rows, columns = images[0, 0].nonzero().T
        box = torch.stack([columns.min() - 5, rows.min(), columns.max() + 4, rows.max() + 1]).float()
        return [Detections(torch.stack([box, box + 1]), torch.tensor([1, 1]), torch.tensor([0.9, 0.7]))]


@pytest.mark.parametrize(("true", "chosen"), [("25x10", "ink"), ("33x10", "found")])
@pytest.mark.parametrize("asked", ["auto", "found", "ink"])
def test_validation_chooses_where_the_edges_of_words_are(true: str, chosen: str, asked: str) -> None:
    image = np.full((40, 80), 255, np.uint8)
    image[10:20, 30:42] = image[10:20, 43:55] = 0
    form = Form(image, np.array([[30, 10, 55, 20]], np.float32), np.array([1]), (true,), np.array([0]))
    data = SimpleNamespace(parts=dict.fromkeys(("train", "validation"), FormImages.of([form])))
    settings = SimpleNamespace(forms=SimpleNamespace(edges=asked, most_shared=0.2), reader=None,
                               recognition=SimpleNamespace(epochs=1))  # fmt: skip
    detector, recogniser = SimpleNamespace(model=Wider()), SimpleNamespace(model=(Sizes(), None))
    reader, (sheet,) = reader_of(*cast("Any", (settings, data, detector, recogniser)))
    assert isinstance(reader, FormReader)
    assert reader.placing == Placing(0.2, chosen if asked == "auto" else asked)
    assert reader.scale == Scale(word=10, ink=10, side=80)
    assert [found.text for found in sheet.read[""]] == [{"ink": "25x10", "found": "33x10"}[reader.placing.edges]]
    assert sheet.found is not None
    assert len(sheet.found.boxes) == 2  # average precision is of what the detector found
    assert [found.text for found in sheet.read["_given_boxes"]] == ["25x10"]


@pytest.mark.parametrize(
    ("after", "epochs", "first"), [(0.75, 8, 6), (0.75, 1, 0), (0.75, 3, 2), (0.28, 25, 7), (0, 9, 0), (0.99, 4, 3),
                                   (0.5, 0, 0)]
)  # fmt: skip
def test_the_last_epochs_have_moved_boxes(after: float, epochs: int, first: int) -> None:
    forms = ComposedForms(forms=2, validation=1, test=1, height=96, width=128, layout="free", source="stand_in").load()
    settings = SimpleNamespace(forms=SimpleNamespace(moved=0.2, moved_after=after), seed=0,
                               recognition=SimpleNamespace(epochs=epochs))  # fmt: skip
    moved = moved_of(cast("Any", settings), forms)
    assert moved is not None
    assert moved.first_epoch == first
    assert len(moved.held) == len(moved.held_inks()) == len(cut_out(forms.parts["validation"]))
    assert all(map(torch.equal, moved.held_inks(), moved.held_inks()))
    settings.forms.moved = 0.0
    assert moved_of(cast("Any", settings), forms) is None


def printed(mark: int) -> FormImages:
    """A form with one printed word, the same on all, and a mark of its own."""
    image = np.full((20, 40), 255, np.uint8)
    image[4:12, 4:20], image[15, mark] = 0, 0
    return FormImages.of(
        [Form(image, np.array([[3, 3, 22, 13]], np.float32), np.array([1]), ("river",), np.array([0]))]
    )


def test_words_of_different_forms_may_look_equal_and_forms_may_not() -> None:
    forms = {"train": printed(1), "validation": printed(2), "test": printed(3)}
    words = words_of(HandwrittenForms("own", forms, "made"))
    assert {part: own.texts for part, own in words.parts.items()} == dict.fromkeys(forms, ("river",))
    assert len({own.digests for own in words.parts.values()}) == 1
    with pytest.raises(DataError, match="form 1 of the test part is form 1 of the train part"):
        HandwrittenForms("own", {**forms, "test": printed(1)}, "made")


def test_words_are_cut_out_in_reading_order() -> None:
    forms = ComposedForms(forms=2, validation=1, test=1, height=96, width=128, layout="free", source="stand_in").load()
    train = forms.parts["train"]
    words = cut_out(train)
    assert words.texts == tuple(form.texts[box] for form in train.forms() for box in form.reading())
    form = train.form(0)
    np.testing.assert_array_equal(words.image(0), form.crop(form.reading()[0]))


def test_an_error_rate_is_that_of_all_forms_and_of_drawn_ones() -> None:
    read = pd.DataFrame({"form": [1, 0, 2], "faults": [1, 0, 2], "characters": [4, 5, 3], "word_faults": [1, 0, 1],
                         "words": [1, 1, 2]})  # fmt: skip
    assert errors_of(read, "CER")[0] == pytest.approx(25.0)
    assert errors_of(read, "WER")[0] == pytest.approx(50.0)


def test_arms_are_compared_by_what_all_of_them_have() -> None:
    rows = [(run, reading, pairs) for run, pairs in (("a", 0), ("b", 3)) for reading in ("read", "true boxes")]
    read = pd.DataFrame([
        {"run_id": run, "part": "test", "reading": reading, "characters": 4, "words": 1, "pairs": pairs}
        for run, reading, pairs in rows if (run, reading) != ("a", "true boxes")
    ])  # fmt: skip
    assert [names["rate"] for names, _ in sets_of("forms", read)] == ["CER", "WER"]
    two = read[read["run_id"] == "b"]
    assert [names["reading"] for names, _ in sets_of("forms", two)] == ["read", "true boxes"] * 3


def test_a_part_without_scores_is_left_out_of_the_table_of_boxes() -> None:
    data: Any = SimpleNamespace(name="mine", tests=("test", "test_style", "test_far"))
    metrics = {"test_ap_word": 0.5, "test_recall_word": 0.75, "test_map": 0.5, "test_cer": 3.0,
               "test_style_map": math.nan, "test_far_ap_word": 0.25, "test_far_recall_stamp": 1.0,
               "test_far_map": 0.125}  # fmt: skip
    (own,) = boxes_said(metrics, data)
    assert list(own) == ["mine, detector", "test", "test far"]
    names = ["average precision, word", "recall, word", "recall, stamp", "mean average precision"]
    assert own["mine, detector"].tolist() == names
    np.testing.assert_array_equal(own["test"], [0.5, 0.75, np.nan, 0.5])
    np.testing.assert_array_equal(own["test far"], [0.25, np.nan, 1.0, 0.125])
    assert not boxes_said({"test_cer": 3.0, "test_style_map": math.nan}, data)


@pytest.mark.parametrize(
    ("experiment", "asked", "arms"),
    [
        ("forms_pipeline", ("detector=pixel_link", "recogniser=crnn", QUICK, "reader=two_phase"),
         ["pixel_link + crnn, language model"]),
        ("forms_given_boxes", ("forms.augment=none", "recogniser=crnn_best_path"), ["true boxes + crnn, none"]),
        ("forms_order", ("data.slant=10", "detector=components", "recogniser=crnn", QUICK), ["up to 10 degrees"]),
        ("forms_ablation", ("detector=components", "recogniser=crnn", QUICK),
         ["components + crnn, language model", "true boxes + crnn, language model"]),
    ],
)  # fmt: skip
def test_every_experiment_of_whole_forms_runs_tiny_and_its_page_is_made_again(
    experiment: str, asked: tuple[str, ...], arms: list[str], run_pipeline: Callable, tmp_path
) -> None:
    given = ("seed=0", "run_name=page", "recognition.epochs=0", "fit.epochs=1", *SMALL, "recogniser.units=8",
             "size.sequences=2")  # fmt: skip
    result = run_pipeline(f"+experiment={experiment}", *TINY, *given, *asked)
    assert result.status == 0, result.err
    export("STAND-IN-page (data not real)", tmp_path)
    page = next(tmp_path.glob("*/means.csv")).parent
    kept = {
        path.name: path.read_bytes()
        for path in page.glob("*.csv")
        if path.name in ("means.csv", "paired.csv", "costs.csv")
    }
    assert ("costs.csv" in kept) == (experiment != "forms_given_boxes")
    assert sorted(set(pd.read_csv(page / "means.csv")["arm"])) == arms
    export_again(page)
    assert kept == {name: (page / name).read_bytes() for name in kept}


@pytest.mark.slow
def test_a_sweep_over_readers_detectors_and_recognisers_makes_every_claim_of_its_arms(
    run_pipeline: Callable, tmp_path
) -> None:
    swept = ("reader=two_phase,convolve_attend_spell", "detector=pixel_link,r_fcn", "recogniser=moran,ctc_seq2seq")
    small = ("recognition.epochs=1", "fit.epochs=1", "size.sequences=2", "detector.width=16", "recogniser.units=8")
    result = run_pipeline("+experiment=forms_pipeline", *TINY, *SMALL, "seed=0", "run_name=sweep", *swept, *small)
    assert result.status == 0, result.err
    page = export("STAND-IN-sweep (data not real)", tmp_path).read_text(encoding="utf-8")
    assert "5 jobs, 0 failed" in page  # of 8: to a reader of whole forms detector and recogniser mean nothing
    claims = pd.read_csv(next(tmp_path.glob("*/claims.csv")))
    own = claims[(claims["rate"] == "CER") & (claims["part"] == "test") & (claims["reading"] == "read")]
    whole = "convolve_attend_spell"
    two_phase = [f"{finds} + {reads}" for finds in ("pixel_link", "r_fcn") for reads in ("ctc_seq2seq", "moran")]
    assert sorted(zip(own["arm"], own["against"], strict=True)) == sorted([
        *((arm, whole) for arm in two_phase),
        ("r_fcn + moran", "pixel_link + moran"), ("r_fcn + ctc_seq2seq", "pixel_link + ctc_seq2seq"),
        ("r_fcn + ctc_seq2seq", "r_fcn + moran"), ("pixel_link + ctc_seq2seq", "pixel_link + moran"),
    ])  # fmt: skip
    assert set(own["verdict"]) == {"no claim (stand-in data)"}


@pytest.mark.parametrize(("augment", "full"), [("none", True), ("thesis", False)])
def test_no_form_is_looked_at_where_no_change_is_drawn(augment: str, full: bool) -> None:
    settings = SimpleNamespace(forms=SimpleNamespace(augment=augment), seed=0, reader=None)
    unread: Any = SimpleNamespace(parts={"train": None})
    log_copies(cast(Any, settings), unread, cast(Any, SimpleNamespace(full=full)))
