"""`forms.stage=recognition`, tiny, from the command line to the store, a folder of images and a parent's tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch

from data.forms.dhsd import Dhsd
from data.word_images import HandwrittenWords, WordImages
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.forms.images import crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.correction import Correction
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.frames import FrameRecogniser
from models.forms.recognise.language import Language
from models.forms.recognise.objective import RecognitionObjective
from pipeline.export import export, export_again
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.recipe import model_of
from pipeline.systems.forms.recognition import fitting, remarks
from pipeline.systems.forms.recognition.fitting import refuse_too_long
from pipeline.systems.forms.recognition.load import (
    alphabet_in_words,
    alphabet_metrics,
    alphabet_of,
    ink_height,
)
from pipeline.systems.forms.recognition.multirun import compared, errors_of, summary_of, words_read
from pipeline.systems.forms.recognition.report import log_language
from pipeline.systems.forms.recognition.scores import confusion
from pipeline.systems.forms.recognition.servable import table_of
from pipeline.systems.forms.servable import png_of
from pipeline.systems.forms.writers import unit_of
from pipeline.systems.predict.forms import words_about_texts

OWN = ("recipe=forms", "forms.stage=recognition", "data=dhsd", "data.source=stand_in", "size=tiny")
SMALL_SEQ2SEQ = (
    "recogniser=ctc_seq2seq", "recogniser.channels=16", "recogniser.units=16", "recogniser.encoder_layers=1",
    "recogniser.decoder_layers=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def words() -> HandwrittenWords:
    return Dhsd(source="stand_in").load().shortened(train=6, held=6)


def test_a_run_leaves_scores_readings_figures_and_a_model_that_reads_the_same(
    run_pipeline: Callable, client, words: HandwrittenWords, tmp_path, monkeypatch
) -> None:
    """With the language model, however little the run has learned."""
    monkeypatch.setattr(FrameRecogniser, "leave_language_out", lambda _: None)
    monkeypatch.setattr(remarks, "BEHIND", -1000.0)  # so that the run has something to say of it
    result = run_pipeline(*OWN)
    assert result.status == 0, result.err
    run = only_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert (tags["arm"], tags["stage"], tags["augment"]) == ("crnn, language model", "recognition", "thesis")
    read = table(run, "read.csv")
    assert set(read["nearest"]) <= set(words.parts["train"].texts)
    assert metrics["evaluate/test_word_accuracy_retrieval"] == (read["nearest"] == read["true"]).mean()
    assert metrics["evaluate/test_cer_retrieval"] > 0
    assert metrics["evaluate/test_error"] == metrics["evaluate/test_cer"]
    assert metrics["evaluate/test_cer"] == pytest.approx(100 * read["faults"].sum() / read["characters"].sum())
    assert metrics["evaluate/test_word_accuracy_path"] == (read["path"] == read["true"]).mean()
    assert {
        "evaluate/test_cer_mean",
        "evaluate/test_cer_path",
        "evaluate/test_word_accuracy_corrected",
        "data/words_unseen",
    } <= set(metrics)
    curve = table(run, "curves/recogniser.csv")
    assert curve["epoch"].tolist() == [0, 1, 2]
    kept = int(curve["validation_cer"].idxmin())
    assert f"Kept: epoch {kept} of 2" in result.out
    assert ("before training" in result.out) == (kept == 0)
    assert f"at a glance ({curve['validation_cer'][kept]:.4g} %)" in result.out
    assert f"After {int(curve['step'].iloc[-1])} updates " in result.out
    assert "; to try: recognition.epochs=1500 (about 1500 updates)" in result.out
    np.testing.assert_allclose(curve["ctc_loss"][1:], curve["train_loss"][1:], rtol=1e-5)
    assert {
        "figures/recogniser.svg",
        "figures/changes_word.svg",
        "figures/error_rates.svg",
        "figures/samples.svg",
    } <= artifacts(client, run, "figures")
    uri = f"runs:/{run.info.run_id}/model"
    model, test = mlflow.pyfunc.load_model(uri), words.parts["test"]
    said = model.predict(table_of(test, 6))
    np.testing.assert_array_equal(said["text"], read["read"].fillna(""))
    np.testing.assert_allclose(said["probability"], read["probability"], rtol=1e-6)
    with pytest.raises(ValueError, match="expected a table with the column image"):
        model.predict(pd.DataFrame({"form": ["a"]}))
    with pytest.raises(ValueError, match="image 1: image is no base64"):
        model.predict(pd.DataFrame({"image": ["?"]}))
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "0.png").write_bytes(png_of(test.image(0)))
    asked = ("recipe=predict", f"model={uri}", f"data.path={tmp_path / 'scans'}", f"output={tmp_path / 'out.csv'}")
    out, (word,) = run_pipeline(*asked).out, model.predict(table_of(test, 1))["text"]
    assert ("1 word read" if word else "0 words read; no text on 0.png") in out
    assert list(pd.read_csv(tmp_path / "out.csv")) == ["file", "text", "probability", "corrected"]


def test_images_without_a_text_are_not_counted_as_read() -> None:
    found = pd.DataFrame({"file": [f"{number}.png" for number in range(8)], "text": ["", "a", " ", *[""] * 5]})
    assert words_about_texts(found) == "1 word read; no text on 0.png, 2.png, 3.png, 4.png, 5.png and 2 more"
    assert words_about_texts(found[1:2]) == "1 word read"


@pytest.mark.parametrize(
    ("recogniser", "language", "said"),
    [("crnn", {}, "crnn, language model"), ("crnn", None, "crnn"), ("crnn_best_path", None, "crnn"),
     ("mine_best_path", None, "mine_best_path"), ("character", {}, "character, language model"),
     ("word", "none", "word")],
)  # fmt: skip
def test_a_language_model_is_part_of_the_arm(recogniser: str, language: Any, said: str) -> None:
    """So that what is compared with CRNN alone has none either."""
    own = {} if language == "none" else {"language": language}
    job: Any = SimpleNamespace(choices={"recogniser": recogniser, "detector": "r_fcn"})
    for stage, found in (("recognition", said), ("pipeline", f"r_fcn + {said}"), ("segmentation", "r_fcn")):
        forms = SimpleNamespace(stage=stage, boxes="found")
        settings: Any = SimpleNamespace(reader=None, refiner=None, recogniser=own, forms=forms)
        assert model_of(settings, job) == found


@pytest.mark.parametrize(("with_it", "use"), [(9.0, "used"), (10.0, "used"), (11.0, "left out")])
def test_a_language_model_that_makes_the_validation_part_worse_is_left_out(
    with_it: float, use: str, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(fitting, "held_out_scores", lambda *_: {"validation_cer": with_it})
    tags = dict[str, str]()
    here: Any = SimpleNamespace(run=SimpleNamespace(tags=tags.update))
    settings: Any = SimpleNamespace(recogniser={"language": {}})
    network = CRNN(height=16, units=8, language=Language(texts=("ab",))).network(Alphabet(("a", "b")))
    data: Any = None  # its score is that above
    assert fitting.settled(network, 10.0, data) == min(with_it, 10.0)
    log_language(here, network, settings)
    assert (tags, network.settings.language is None) == ({"language": use}, use == "left out")
    assert ("without it, 11 % with it" in capsys.readouterr().out) == (use == "left out")
    log_language(here, network, settings, found=True)
    assert ("where this recogniser was trained" in capsys.readouterr().out) == (use == "left out")
    tags.clear()
    log_language(here, network, cast("Any", SimpleNamespace(recogniser={"language": None})))
    assert not tags


@pytest.mark.parametrize("augment", ["affine", "thesis"])
def test_a_run_that_was_stopped_goes_on_to_the_same_numbers_with_changed_copies(
    augment: str, run_pipeline: Callable, client, tmp_path, monkeypatch
) -> None:
    (tmp_path / "streets.txt").write_text("Ölweg\nAm Markt\nÖlweg\n", encoding="utf-8")
    asked = (*OWN, *SMALL_SEQ2SEQ, "tracking.detail=summary", "tracking.log_model=false", "recognition.batch=3",
             f"forms.augment={augment}", f"forms.vocabulary={tmp_path / 'streets.txt'}")  # fmt: skip
    result = run_pipeline(*asked)
    assert result.status == 0
    assert "left out 1 of 3 texts (an earlier one says the same), the first 'Ölweg'" in result.out
    whole = only_run(client)
    assert whole.data.metrics["recogniser/decoder_loss"] + whole.data.metrics["recogniser/ctc_loss"] == pytest.approx(
        whole.data.metrics["recogniser/train_loss"], rel=1e-5
    )
    client.delete_run(whole.info.run_id)
    losses = stopped_and_resumed(run_pipeline, asked, RecognitionObjective, 3, monkeypatch)
    assert len(losses) > 3
    pd.testing.assert_frame_equal(table(whole, "read.csv"), table(only_run(client), "read.csv"), check_exact=True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("data=composed_forms",), "forms.stage=recognition takes images of words: choose data=composed_words, dhsd"),
        (("recogniser.height=20",), "recogniser: height=20"),
        (("forms.vocabulary=nowhere.txt",), "forms.vocabulary: nowhere.txt cannot be read"),
        (("forms.vocabulary=pyproject.toml", "forms.corrected_within=0"), "with forms.corrected_within=0: nothing is"),
        (
            ("forms.augment=flip",),
            "forms.augment=flip: images of words are never mirrored, and no detector is trained;",
        ),
        (("recogniser.language.beam=0",), "recogniser.language.beam=0 must be 1 or greater"),
        (("recogniser.language.weight=-1",), "recogniser.language.weight=-1 must be 0 or greater"),
        (("recogniser.language.length=1",), "recogniser.language.length is not"),
        (("recogniser=word",), "recogniser=word with data.vocabulary=strings: a word model reads training texts alone"),
        (("recogniser=character", "recogniser.start=word"), "recogniser.start=word with data.vocabulary=strings"),
        (("data=words_folder",), "data.path"),
        (("forms.stage=segmentation",), "forms.stage=segmentation takes images of forms"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(asked: tuple[str, ...], said: str, run_pipeline: Callable) -> None:
    own = tuple(name for name in OWN if "source" not in name)
    assert said in run_pipeline(*own, "tracking=off", *asked).error


def corrected_by(alphabet: Alphabet, **given: Any) -> Correction | None:
    forms = SimpleNamespace(**{"corrected_within": 2, "alphabet": "alphanumeric", "vocabulary": None, **given})
    return fitting.correction_of(cast("Any", SimpleNamespace(forms=forms)), alphabet, ["b", "a", "a"])


def test_texts_are_corrected_by_a_vocabulary_of_ones_own_as_the_alphabet_spells_it(tmp_path: Path) -> None:
    file = tmp_path / "streets.txt"
    file.write_text("Am Markt\nÖlweg\nam markt\n", encoding="utf-8")
    folded = Alphabet(tuple("amrktlweg"), folded=True)
    assert corrected_by(folded, vocabulary=str(file)) == Correction(("ammarkt", "lweg"), 2)
    assert corrected_by(folded) == Correction(("a", "b"), 2)
    assert corrected_by(folded, corrected_within=0) is None
    with pytest.raises(PipelineError, match=r"has no character of any of its 3 texts; take forms.alphabet=texts"):
        corrected_by(Alphabet(tuple("0"), folded=True), vocabulary=str(file))


def test_texts_of_a_vocabulary_that_are_left_out_are_counted_with_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "streets.txt"
    file.write_text("Am Markt\n???\nÖlweg\nAm Markt\nam markt\n!\n", encoding="utf-8")

    def said(symbols: str, *, folded: bool, **given: Any) -> list[str]:
        forms = SimpleNamespace(**{"corrected_within": 2, "alphabet": "NAME", "vocabulary": str(file), **given})
        settings = cast("Any", SimpleNamespace(forms=forms))
        fitting.say_what_vocabulary_loses(settings, Alphabet(tuple(symbols), folded=folded))
        return capsys.readouterr().out.splitlines()

    front = f"forms.vocabulary={file}: left out"
    assert said("amrktlweg", folded=True) == [
        f"{front} 2 of 6 texts (an earlier one says the same), the first 'Am Markt'",
        f"{front} 2 of 6 texts (no character of forms.alphabet=NAME), the first '???'",
    ]
    assert said("a", folded=False) == [f"{front} 1 of 6 texts (an earlier one says the same), the first 'Am Markt'"]
    assert said("a", folded=True, corrected_within=0) == said("a", folded=True, vocabulary=None) == []


def test_texts_that_are_too_long_or_have_no_character_of_the_alphabet_are_named(words: HandwrittenWords) -> None:
    train = words.parts["train"]
    narrow = WordImages.of([image[:, :6] for image in train.images()], train.texts, train.writers)
    data, alphabet = replace(words, parts={**words.parts, "train": narrow}), Alphabet.of_texts(train.texts)
    network = CRNN(units=8).network(alphabet)
    refuse_too_long(network, words, train.texts)
    with pytest.raises(PipelineError, match=r"image 1 of the train part .* needs \d+ frames and has 4; make the image"):
        refuse_too_long(network, data, train.texts)
    odd = WordImages.of([train.image(0)], ["-"], ["a"])
    with pytest.raises(PipelineError, match=r"forms.alphabet=alphanumeric: image 1 of the train part \('-'\) has no"):
        alphabet_of("alphanumeric", replace(words, parts={**words.parts, "train": odd}))
    assert len(alphabet_of("alphanumeric", words)) == 35


def test_texts_are_held_against_the_widths_that_the_network_sees(words: HandwrittenWords) -> None:
    """An image of 9000 pixels is read in 4096, one of 3 pixels in 8."""
    network = CRNN(units=8).network(Alphabet(("a", "b", "d")))

    def given(width: int, text: str) -> HandwrittenWords:
        train = WordImages.of([np.eye(32, width, dtype=np.uint8)], [text], ["a"])
        return replace(words, parts={**words.parts, "train": train})

    refuse_too_long(network, given(3, "ada"), ["ada"])
    assert network.losses(crops_of([torch.eye(32, 3)], 32), ["ada"])["ctc_loss"].isfinite()
    long = "ab" * 1100
    with pytest.raises(PipelineError, match="needs 2200 frames and has 2048; no image is read wider than 4096 pixels"):
        refuse_too_long(network, given(9000, long), [long])


def test_a_run_says_how_many_characters_its_alphabet_cannot_read() -> None:
    """Of "Zoë 7b" a blank, a z and an ë; of "Ada" nothing: a small letter for a capital is left."""
    folded, own, texts = Alphabet.alphanumeric(), Alphabet.of_texts(["Ada b7oZ"]), ["Zoe\u0308 7b", "Ada"]
    assert alphabet_metrics(folded, texts) == {"data/characters_left_out": pytest.approx(3 / 9)}
    assert "leaves 33.3% of the characters of test texts out" in alphabet_in_words(folded, texts)
    assert alphabet_metrics(own, texts) == {"data/characters_unknown": pytest.approx(1 / 9)}
    assert alphabet_in_words(own, texts).startswith("11.1% of the characters of test texts stand in no training text")
    assert alphabet_in_words(own, ["Ada"]) == ""


def test_confusion_counts_replaced_missing_and_additional_characters_and_ink_has_a_height() -> None:
    rows = confusion(["axc", "ab", "abcd"], ["abc", "abc", "abc"])
    faults = rows[rows["true"] != rows["read"]]
    assert sorted(map(tuple, faults.to_numpy().tolist())) == [("", "d", 1), ("b", "x", 1), ("c", "", 1)]
    assert rows["count"].sum() == 10
    grey = np.full((9, 5), 200, np.uint8)
    grey[2:6, 1] = 20
    assert ink_height(grey) == 4


def test_arms_are_compared_by_image() -> None:
    read = pd.DataFrame({"run_id": ["a"] * 3 + ["b"] * 3, "image": [0, 1, 2] * 2, "characters": [4] * 6,
                         "faults": [0, 2, 0, 0, 0, 1]})  # fmt: skip
    whole, drawn = errors_of(read[read["run_id"] == "a"], "image")
    assert whole == pytest.approx(100 * 2 / 12)
    assert drawn.mean() == pytest.approx(whole, abs=1)


def test_whole_writers_are_drawn_where_they_are_known() -> None:
    """Of two writers the one has a fault in every image: half of the draws have one writer twice."""
    read = pd.DataFrame({"run_id": "a", "image": range(40), "writer": [7] * 20 + [8] * 20, "characters": 4,
                         "faults": [2] * 20 + [0] * 20})  # fmt: skip
    assert unit_of(read, "image") == "writer"
    whole, drawn = errors_of(read, "writer")
    assert whole == pytest.approx(25.0)
    assert set(np.unique(drawn)) == {0.0, 25.0, 50.0}
    assert [np.mean(drawn == rate) for rate in (0.0, 50.0)] == pytest.approx([0.25, 0.25], abs=0.03)
    for unknown in (read.drop(columns="writer"), read.assign(writer=""), read.assign(writer=np.nan),
                    read.assign(writer=["", *"a" * 39]), read.assign(writer="a")):  # fmt: skip
        assert unit_of(unknown, "image") == "image"


def test_words_are_compared_by_writer_too() -> None:
    faults = {"one": [1] * 30 + [0] * 10, "other": [0] * 40}
    jobs, read = readings_of(faults, 3)
    names = {"data": "dhsd", "part": "test"}
    by_image = words_read(jobs, read, names)["p"][0]
    by_writer = words_read(jobs, read.assign(writer=[*"a" * 20, *"b" * 20] * 6), names)
    assert (by_writer["images"][0], by_writer["arm_ahead"][0]) == (40, 30)
    assert by_writer["p"][0] == by_image  # never below 0, however few are drawn
    assert by_writer["high"][0] > words_read(jobs, read, names)["high"][0]


@pytest.mark.parametrize(
    ("writers", "said"),
    [(1, "undecided: 1 writer"), (2, "undecided: 2 writers"), (5, "undecided: 5 writers"), (6, "holds")],
)
def test_few_writers_tell_no_arms_apart(writers: int, said: str) -> None:
    """Of one writer images are drawn, and they are no more decided than those of two."""
    jobs, read = readings_of({"one": [1] * 40, "other": [0] * 40}, 3)
    read = read.assign(writer=[f"w{place % writers}" for place in read["image"]])
    names = {"data": "dhsd", "part": "test"}
    for pairs in (compared(jobs, read, names)["paired"], words_read(jobs, read, names)):
        assert pairs["verdict"].tolist() == [said]
        assert pairs["p"][0] < 0.01
    text = summary_of(jobs.assign(data="dhsd"), {"read.csv": read.assign(part="test")}, "t").text
    assert f"Drawn of dhsd: {f'{writers} writers' if writers > 1 else '40 images'}." in text
    stand_in = compared(jobs.assign(stand_in=True), read, names)["paired"]
    assert stand_in["verdict"].tolist() == ["no claim (stand-in data)"]


def readings_of(faults: dict[str, list[int]], seeds: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Jobs of arms with so many seeds, each of which reads the images with the same faults; and their readings."""
    runs = [(f"{arm}{seed}", arm, seed) for arm in faults for seed in range(seeds)]
    jobs = pd.DataFrame(runs, columns=["run_id", "arm", "seed"]).assign(
        model=[arm for _, arm, _ in runs], augment="none", settings=[()] * len(runs), seconds=1.0, parameters=1.0
    )
    read = pd.concat([pd.DataFrame({"run_id": run, "image": range(len(faults[arm])), "characters": 4,
                                    "faults": faults[arm]}) for run, arm, _ in runs])  # fmt: skip
    return jobs, read


def test_copies_of_images_are_no_more_images() -> None:
    """Three seeds that read the same twelve images in the same way say of images what one says."""
    faults = {"one": [0, 2, 0, 0] * 3, "other": [0, 0, 0, 1] + [0, 0, 0, 0] * 2}
    once, thrice = (words_read(*readings_of(faults, seeds), {"data": "dhsd", "part": "test"}) for seeds in (1, 3))
    (row,) = thrice.to_dict("records")
    assert (row["arm"], row["images"], row["arm_ahead"], row["against_ahead"]) == ("other", 12, 3, 1)
    assert row["difference"] == pytest.approx(100 * (1 - 3) / 12)
    assert row["p"] == once["p"][0] > 0.2


@pytest.mark.parametrize(
    ("experiment", "asked", "arms"),
    [
        ("forms_recognition", ("forms.augment=none", "recogniser=crnn_best_path,moran"), ["crnn, none", "moran, none"]),
        ("forms_recognition_words", ("forms.augment=thesis", "recogniser=word", "data=dhsd_parts"), ["word"]),
        ("forms_character", ("forms.augment=none", "data=dhsd_parts"),
         ["from a word model, none", "from scratch, none"]),
        ("forms_attention", (*SMALL_SEQ2SEQ, "forms.alphabet=alphanumeric"), ["attention", "equal weights"]),
        ("forms_losses", (*SMALL_SEQ2SEQ, "recogniser.ctc_share=1", "recogniser.normalise=patches"),
         ["CTC 1, by patches"]),
        ("forms_augmentation", ("forms.augment=none,affine,thesis",),
         ["crnn", "crnn, affine", "crnn, none"]),
        ("forms_ink", ("contender=ink/synthetic",), ["synthetic ink"]),
    ],
)  # fmt: skip
def test_every_experiment_of_recognition_runs_tiny_and_its_page_is_made_again(
    experiment: str, asked: tuple[str, ...], arms: list[str], run_pipeline: Callable, tmp_path
) -> None:
    given = ("size=tiny", "data.source=stand_in", "seed=0", "run_name=page", "recognition.epochs=1")
    result = run_pipeline(f"+experiment={experiment}", *given, *asked)
    assert result.status == 0, result.err
    export("STAND-IN-page (data not real)", tmp_path)
    page = next(tmp_path.glob("*/means.csv")).parent
    again = ("means.csv", "paired.csv", "claims.csv", "positions.csv", "rates.csv")
    kept = {path.name: path.read_bytes() for path in page.glob("*.csv") if path.name in again}
    assert ("positions.csv" in kept) == (experiment == "forms_attention")
    assert ("claims.csv" in kept) == (experiment == "forms_augmentation")
    assert sorted(pd.read_csv(page / "means.csv")["arm"]) == sorted([*arms, "nearest training image"])
    rates = pd.read_csv(page / "rates.csv").set_index("reading")
    assert rates.loc["nearest", "arm"] == "nearest training image"
    export_again(page)
    assert kept == {name: (page / name).read_bytes() for name in kept}
