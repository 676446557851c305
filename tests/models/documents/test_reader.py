"""The reader of documents as a person calls it: learning, tables, files, and what is refused."""

from __future__ import annotations

import json
from copy import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from models import DocumentReader
from models.documents import reader
from models.documents.examples import Example, examples_in, split
from models.documents.predictor import load_predictor
from models.documents.tables import COLUMNS, documents_in, predicted_table
from models.documents.training import tokens_for
from models.documents.words import PageWords
from models.runtime.seeding import generator
from models.sequence.patterns import Distance, DistanceWindow, SlidingWindow

QUICK: dict[str, Any] = {
    "neighbours": 6, "window": 6, "width": 16, "heads": 2, "hidden": 24, "layers": 1, "dropout": 0.0, "pieces": 270,
    "max_length": 120, "stride": 20, "tokens": 400, "epochs": 1, "warmup": 5, "held_out": 0.0,
}  # fmt: skip


def table(count: int = 8, seed: int = 0) -> pd.DataFrame:
    """Words on a line each; "mr who" is an entity, and the last word tells the class."""
    generator, rows = np.random.default_rng(seed), list[dict[str, Any]]()
    for number in range(count):
        words, tags = generator.choice(["ab", "cd", "ef"], 14).tolist(), ["O"] * 14
        place = int(generator.integers(0, 10))
        words[place : place + 2], words[-1] = ["mr", "who"], ("yes", "no")[number % 2]
        tags[place : place + 2] = ["B-a", "I-a"]
        for line, (word, tag) in enumerate(zip(words, tags, strict=True)):
            rows.append(dict(zip(COLUMNS, (f"d{number}", 1, word, 5, 10 * line, 40, 10 * line + 8, 100, 200),
                                 strict=True), tag=tag, label=("yes", "no")[number % 2]))  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def fitted() -> DocumentReader:
    return DocumentReader(**QUICK | {"epochs": 25, "learning_rate": 0.02, "held_out": 0.2, "adjacent": 1}).fit(
        table(20)
    )


def test_few_words_take_as_many_pieces_as_they_allow_and_a_warning_says_so() -> None:
    with pytest.warns(UserWarning, match=r"^the texts allow \d+ pieces of a vocabulary, so these are taken") as said:
        own = DocumentReader(**QUICK | {"pieces": None}).fit(table())
    size = own.predictor_.reading.vocabulary.size
    assert (len(said), said[0].filename) == (1, __file__)
    assert f"allow {size} pieces" in str(said[0].message)
    known = DocumentReader(**QUICK | {"pieces": size})
    assert known.fit(table()).predictor_.reading.vocabulary.size == size
    advice = f"pieces={size} asks for as many without this warning, and is an error with texts that allow fewer"
    assert str(said[0].message).endswith(f"; {advice}")
    with pytest.raises(ValueError, match=r"^the texts allow"):
        known.fit(table().assign(word="ab"))


def test_tags_are_learned_and_come_back_from_disk(fitted: DocumentReader, tmp_path: Path) -> None:
    held = table(6, seed=1)
    scores = fitted.score(held)
    assert scores["entity_f1"] == scores["entity_f1_a"] > 0.8
    assert scores["token_accuracy"] > 0.9
    found = fitted.predict(held.drop(columns=["tag", "label"]))
    assert list(found.columns) == [*COLUMNS, "label", "probability", "entity", "chunks"]
    assert (found["label"] == held["tag"]).mean() == scores["token_accuracy"]
    assert np.isfinite(fitted.curve_).all()
    fitted.save(tmp_path / "kept")
    again = DocumentReader.load(tmp_path / "kept")
    pd.testing.assert_frame_equal(again.predict(held), fitted.predict(held))
    assert repr((again.get_params(), again.curve_)) == repr((fitted.get_params(), fitted.curve_))
    assert not list((tmp_path / "kept").glob("*.pkl"))


def test_a_reader_that_was_saved_before_a_parameter_was_there_has_what_held_then(tmp_path: Path) -> None:
    plain = DocumentReader(**QUICK | {"adjacent": 0, "spelling": False}).fit(table())
    plain.save(tmp_path / "reader")
    path = tmp_path / "reader" / "documents.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    for name in ("adjacent", "places", "spelling", "repeated"):
        del told["more"]["parameters"][name]
        told["architecture"].pop(name, None)
    path.write_text(json.dumps(told), encoding="utf-8")
    loaded = DocumentReader.load(tmp_path / "reader")
    assert loaded.get_params() == plain.get_params()
    pd.testing.assert_frame_equal(clone(loaded).fit(table()).predict(table()), loaded.predict(table()))


def test_repeated_acts_in_prediction_as_it_is_set_there(fitted: DocumentReader, tmp_path: Path) -> None:
    held = table(6, seed=1)
    held.loc[held["document"] == "d0", "word"] = ["mr", "ab", "who", "mr", "who"] * 2 + ["who"] * 4
    own = copy(fitted)
    alone, scores = own.predict(held), own.score(held)
    found = own.set_params(repeated=1e-9).predict(held)
    assert own.score(held) != scores
    assert (found["label"] != "O").sum() > (alone["label"] != "O").sum() > 0
    own.save(tmp_path / "reader")
    for again in (DocumentReader.load(tmp_path / "reader"), load_predictor(tmp_path / "reader")):
        said = again.predict(held) if isinstance(again, DocumentReader) else predicted_table(again, held)
        pd.testing.assert_frame_equal(said, found)
    pd.testing.assert_frame_equal(own.set_params(repeated=None).predict(held), alone)
    with pytest.raises(ValueError, match=r"^repeated must be above 0 and at most 1, got 2; None turns it off$"):
        own.set_params(repeated=2).predict(held)


def test_few_documents_are_learned_in_ten_updates_an_epoch_and_many_in_batches_of_4096_tokens() -> None:
    def learned(lengths: list[int]) -> list[Any]:
        return [SimpleNamespace(tokens=SimpleNamespace(ids=range(length))) for length in lengths]

    assert [tokens_for(learned(own)) for own in ([60] * 20, [7], [500] * 4, [90] * 5000)] == [120, 7, 500, 4096]
    assert tokens_for(learned([90] * 5000), most=8192) == 8192
    assert DocumentReader().tokens is None
    kept, nothing = (DocumentReader(**QUICK | {"tokens": tokens}).fit(table()).curve_ for tokens in (400, None))
    assert kept != nothing


@pytest.mark.parametrize(("patience", "longer"), [(5, "epochs=3"), (1, "epochs=3 and patience=3")])
def test_a_reader_that_finds_no_entity_of_the_held_out_documents_says_what_to_try(patience: int, longer: str) -> None:
    with pytest.warns(UserWarning, match="^none of the 4 entities of 4 held-out documents is found; try ") as said:
        DocumentReader(**QUICK | {"held_out": 0.2, "adjacent": 0, "spelling": False, "patience": patience}).fit(
            table(20)
        )
    assert (len(said), said[0].filename) == (1, __file__)
    assert str(said[0].message).endswith(f"; try {longer}, learning_rate=0.003, or more documents")


def test_kinds_that_were_not_learned_count_as_missed_with_a_warning(fitted: DocumentReader) -> None:
    held = table(6, seed=1)
    before = fitted.score(held)["entity_f1"]
    some = held["document"].isin(["d0", "d1"])
    held.loc[some, "tag"] = held.loc[some, "tag"].str.replace("-a", "-b")
    with pytest.warns(UserWarning, match=r"^the model does not know the kinds of entities b; they count as missed$"):
        scores = fitted.score(held)
    assert scores["entity_f1_b"] == 0 < scores["entity_f1"] < before
    assert scores["token_accuracy"] == (fitted.predict(held)["label"] == held["tag"]).mean()


def test_classes_are_learned_from_lists_after_guessing_words() -> None:
    own = table(12)
    documents = [each.document for each in documents_in(own)]
    labels = own.groupby("document", sort=False)["label"].first().tolist()
    reader = DocumentReader("classes", **QUICK | {"epochs": 15, "guessing": 2, "learning_rate": 0.02})
    assert reader.fit(documents, labels).score(documents, labels) == {"accuracy": 1, "macro_f1": 1}
    assert reader.score(own) == {"accuracy": 1, "macro_f1": 1}
    with pytest.warns(UserWarning, match=r"^the model does not know the classes perhaps; they count as missed$"):
        assert reader.score(documents, ["perhaps", *labels[1:]])["accuracy"] == 11 / 12
    assert np.isnan(np.array(reader.curve_)[:, 1]).all()
    found = reader.predict(own)
    assert found["document"].tolist() == [f"d{number}" for number in range(12)]
    assert found["label"].tolist() == labels


def test_the_same_seed_gives_the_same_and_long_documents_are_learned_in_chunks() -> None:
    changed = QUICK | {"max_length": 12, "stride": 4, "attention": "window_random", "random_state": 3, "tokens": 50}
    one, other = (DocumentReader(**changed).fit(table()) for _ in range(2))
    pd.testing.assert_frame_equal(one.predict(table()), other.predict(table()))
    assert one.predict(table())["chunks"].min() > 1
    assert clone(one).get_params() == one.get_params()


def test_attention_is_a_name_a_pattern_or_one_for_each_layer(tmp_path: Path) -> None:
    named = DocumentReader(**QUICK | {"layers": 2}).fit(table())
    given = DocumentReader(**QUICK | {"layers": 2, "attention": DistanceWindow(6, 6)}).fit(table())
    pd.testing.assert_frame_equal(given.predict(table()), named.predict(table()))
    patterns = ["sliding_window", Distance(3, global_tokens=())]
    mixed = DocumentReader(**QUICK | {"layers": 2, "attention": patterns}).fit(table())
    assert mixed.predictor_.reading.patterns == (SlidingWindow(6), Distance(3, global_tokens=()))
    assert (mixed.predict(table())["probability"] != named.predict(table())["probability"]).any()
    mixed.save(tmp_path / "reader")
    loaded = DocumentReader.load(tmp_path / "reader")
    assert loaded.attention == patterns
    pd.testing.assert_frame_equal(loaded.predict(table()), mixed.predict(table()))


def test_text_alone_needs_no_boxes() -> None:
    own = table()
    own[["x0", "y0", "x1", "y1"]] = np.nan
    reader = DocumentReader(**QUICK, attention="sliding_window", layout="text").fit(own)
    assert reader.predict(own)["label"].notna().all()
    with pytest.raises(ValueError, match=r"give boxes, or read it with a model of the text alone$"):
        DocumentReader(**QUICK).fit(table()).predict(own)
    with pytest.raises(ValueError, match=r"give boxes, or set layout='text' and attention='sliding_window'$"):
        DocumentReader(**QUICK).fit(own)


def test_words_without_boxes_are_counted_while_learning() -> None:
    own = table()
    own.loc[:2, ["x0", "y0", "x1", "y1"]] = np.nan
    with pytest.warns(UserWarning, match=r"^3 of 112 words have no box; each is taken to stand at the last") as said:
        DocumentReader(**QUICK | {"epochs": 1}).fit(own)
    assert len(said) == 1
    assert said[0].filename == __file__


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"task": "forms"}, "task must be one of tags, classes, got 'forms'"),
        ({"attention": "near"}, r"attention must be one of distance_window, .*, a pattern such as .*; got 'near'$"),
        ({"attention": Distance}, r"attention must be one of .*; got <class"),
        ({"window": 5}, "window must be an even number of at least 2, got 5"),
        ({"neighbours": 0}, "neighbours must be a whole number of at least 1, got 0"),
        ({"layout": "text"}, r"attention looks at the page \(DistanceWindow\), and layout=text does not"),
        ({"attention": ["full"] * 3}, "attention lists 3, and layers=1; list as many, or give no list"),
        ({"attention": ["full", 7]}, r"attention must be one of .*, or a list of these; got 7$"),
        ({"task": "classes", "attention": Distance(4, global_tokens=())}, "a class is read off the first token"),
        ({"layout": "pictures"}, "layout must be one of boxes, text"),
        ({"width": 15}, "width must be a multiple of heads, got 15 and 2"),
        ({"layers": 10**9}, "layers must be at most 10000, got 1000000000"),
        ({"dropout": 1.0}, "dropout must be a number of 0 or more and at most 0.95"),
        ({"adjacent": -1}, "adjacent must be a whole number of at least 0, got -1"),
        ({"places": "near"}, "places must be one of drawn, smooth, got 'near'"),
        (
            {"pieces": 100},
            r"pieces must be at least 260, for 256 bytes and 4 signs \(padding, begin, end, unknown\); got",
        ),
        ({"pieces": 10**6}, "the texts allow"),
        ({"lower_case": 1}, "lower_case must be True or False, got 1"),
        ({"max_length": 1}, "max_length must be a whole number of at least 2, got 1"),
        ({"stride": 119}, "stride must be at least 0 and below max_length - 1, got 119"),
        ({"tokens": 100}, "tokens must be a whole number of at least 120, got 100"),
        ({"guessing": -1}, "guessing must be a whole number of at least 0, got -1"),
        ({"class_weight": -1}, "class_weight must be a number of 0 or more"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
        ({"warmup": 0}, "warmup must be a whole number of at least 1"),
        ({"clip": 0}, "clip must be a number above 0"),
        ({"patience": 0}, "patience must be a whole number of at least 1"),
        ({"held_out": 0.95}, "held_out must be a number of 0 or more and at most 0.9"),
        ({"repeated": 1.5}, "repeated must be above 0 and at most 1, got 1.5; None turns it off$"),
        ({"repeated": "no"}, "repeated must be above 0 and at most 1, got 'no'; None turns it off$"),
        ({"repeated": 0.3, "task": "classes"}, "repeated=0.3 is for tags of words, and this reader tells classes; "),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^{reason}"):
        DocumentReader(**QUICK | changed).fit(table(4))


TAGS_ALONE = table(2).drop(columns="label")


@pytest.mark.parametrize("empty", [None, np.nan, pd.NA, " "])
def test_words_without_a_tag_among_others_that_have_o_are_counted(empty: Any) -> None:
    own = table()
    outside = own.index[own["tag"] == "O"]
    own["tag"] = own["tag"].astype(object)
    own.loc[outside[[3, 40]], "tag"] = empty
    to_do = "give them a tag, or leave documents without tags out"
    said_first = f"row {outside[3]}, document d0; they are taken for O, which others have; {to_do}$"
    with pytest.warns(UserWarning, match=f"^2 of 112 words have no tag, the first in {said_first}") as said:
        DocumentReader(**QUICK).fit(own)
    assert (len(said), said[0].filename) == (1, __file__)
    own.loc[outside, "tag"] = empty
    DocumentReader(**QUICK).fit(own)  # empty is O throughout, and no warning says so


@pytest.mark.parametrize(
    ("given", "task", "reason"),
    [
        (
            TAGS_ALONE.drop(columns="tag"),
            "tags",
            r"column tag is missing; task=tags learns from it and is scored by it; the table has doc",
        ),
        (
            TAGS_ALONE.rename(columns={"tag": "label"}),
            "tags",
            r"column tag is missing; .* scored by it; task=classes learns from label, which is there",
        ),
        (
            TAGS_ALONE,
            "classes",
            r"column label is missing; .* scored by it; task=tags learns from tag, which is there",
        ),
        (pd.concat([TAGS_ALONE, TAGS_ALONE["tag"]], axis=1), "tags", r"column tag is there twice; task=tags learns"),
        (
            TAGS_ALONE.rename(columns={"word": "text"}),
            "tags",
            r"column word is missing; documents need document, .*; the table has document, page, text, x0, .*, tag$",
        ),
        (
            TAGS_ALONE.assign(tag="I-a"),
            "tags",
            r"document d0, page 1, word 1 \('\w+'\): its tag 'I-a' is not O, B-kind",
        ),
        (TAGS_ALONE.assign(tag="person"), "tags", r"document d0, page 1, word 1 .*: its tag 'person' is not O"),
        (TAGS_ALONE.assign(tag=3.0), "tags", r"column tag, row 0: 3.0 is no tag; give O, B-kind or I-kind"),
        (TAGS_ALONE.assign(tag=None), "tags", r"no word has a tag but O; give documents with tags"),
        (TAGS_ALONE.assign(label="u"), "classes", r"there is one class alone; give documents of two at least"),
        (TAGS_ALONE.assign(label=range(28)), "classes", r"document d0: it has two labels; give all its rows the same"),
        (TAGS_ALONE.assign(label=None), "classes", r"document d0: it has no label; give all its rows the same one"),
        (TAGS_ALONE.assign(label=" "), "classes", r"document d0: it has no label; give all its rows the same one"),
        (
            TAGS_ALONE.assign(label=["u", None, *["u"] * 26]),
            "classes",
            r"document d0: its label is empty in some rows; give all its rows the same one",
        ),
        (TAGS_ALONE.assign(y1=-1), "tags", r"document d0, page 1, word 1 .*: it has a box whose second corner"),
        ([], "tags", r"answers must be a list with tags of each of 0 documents"),
        ("page", "tags", r"documents must be a table, or a list of PageWords; got 'page'"),
        (7, "classes", r"documents must be a table, or a list of PageWords; got 7"),
    ],
)
def test_documents_that_nothing_can_be_learned_from_are_refused(given: Any, task: str, reason: str) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^{reason}"):
        DocumentReader(task, **QUICK).fit(given)


def test_a_reader_that_was_fitted_stays_when_fit_fails(fitted: DocumentReader) -> None:
    before = fitted.predictor_
    with pytest.raises(ValueError, match=r"^document d0: it has no words; leave it out$"), pytest.warns(UserWarning):  # noqa: PT030
        fitted.fit(table(2).assign(word=""))
    assert fitted.predictor_ is before
    with pytest.raises(TypeError, match=r"^answers stand in the table, in column tag; leave answers out$"):
        fitted.fit(table(2), [])
    with pytest.raises(TypeError, match=r"^documents must be a table with a word a row"):
        fitted.predict([1])
    with pytest.raises(NotFittedError):
        DocumentReader().predict(table())
    with pytest.raises(ValueError, match="holds no saved model"):
        DocumentReader.load("nowhere")


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        ([1.0, 2.0], ["1", "2"]), (["1", "2"], ["1", "2"]), ([np.float32(1), 2], ["1", "2"]),
        ([1.5, 1e20], ["1.5", "100000000000000000000"]), ([" a", "b "], ["a", "b"]), ([True, 0.0], ["True", "0"]),
    ],
)  # fmt: skip
def test_classes_are_read_without_blanks_and_whole_numbers_without_decimals(cells: list[Any], read: list[str]) -> None:
    own = table(2)
    own["label"] = pd.Series([cells[name == "d1"] for name in own["document"]], dtype=object)
    assert [each.answer for each in examples_in(own, None, "classes")] == read


def test_held_out_documents_are_weighed_as_those_that_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their own counts of classes are by chance, and another loss would choose the epoch."""
    given = list[Any]()
    monkeypatch.setattr(reader, "train", lambda *own, **_: given.extend(own[:2]) or [])
    own = table(9).assign(label=lambda rows: rows["document"].isin(["d0", "d1"]).map({True: "yes", False: "no"}))
    DocumentReader("classes", **QUICK | {"held_out": 0.4, "class_weight": 1.0}).fit(own)
    learned, held_out = given
    assert held_out.weights.tolist() == learned.weights.tolist()
    assert learned.weights[0] < learned.weights[1]
    assert len(held_out.documents) == 3


def test_documents_with_the_same_words_are_held_out_together() -> None:
    own = [Example(PageWords(("a", str(number // 2)), np.zeros((2, 4)), np.zeros(2, int), ((1, 1),)), "x")
           for number in range(20)]  # fmt: skip
    for seed in range(5):
        learned, held_out = split(own, 0.25, "classes", seed=seed)
        assert len(held_out) == 4
        assert not {each.document.words for each in learned} & {each.document.words for each in held_out}


def test_documents_that_are_too_much_alike_to_hold_one_out_are_told_of() -> None:
    own = [Example(PageWords(("a",), np.zeros((1, 4)), np.zeros(1, int), ((1, 1),)), "x") for _ in range(20)]
    words = r"chosen, as each has the same words as 19 others or more; give other documents, or raise held_out$"
    with pytest.warns(UserWarning, match=words):
        learned, held_out = split(own, 0.25, "classes", seed=0)
    assert (len(learned), len(held_out)) == (20, 0)


def test_few_documents_of_which_none_is_held_out_are_told_of() -> None:
    words = r"^no document is held out, so that no epoch is chosen; give more documents, or raise held_out$"
    with pytest.warns(UserWarning, match=words):
        DocumentReader("classes", **QUICK | {"held_out": 0.15}).fit(table(6))


def example(number: int, answer: tuple[str, ...] | str) -> Example:
    """Returns a document of two words that no other one has."""
    page = PageWords(("a", f"b{number}"), np.zeros((2, 4)), np.zeros(2, int), ((1, 1),))
    return Example(page, answer)


@pytest.mark.parametrize(("task", "often", "rare"), [
    ("classes", "bill", "letter"), ("tags", ("B-sum", "O"), ("B-sum", "B-date")),
])  # fmt: skip
def test_documents_that_alone_have_a_class_or_a_kind_are_learned_from(task: str, often: Any, rare: Any) -> None:
    own = [example(number, rare if number == 3 else often) for number in range(10)]
    places = torch.randperm(10, generator=generator(0, "documents/held_out")).tolist()
    for seed in range(20):
        learned, held_out = split(own, 0.5, task, seed=seed)
        assert own[3] in learned
        assert len(held_out) == 5
    wanted = [place for place in places if place != 3][:5]
    assert [each.document.words for each in split(own, 0.5, task, seed=0)[1]] == [
        own[place].document.words for place in sorted(wanted)
    ]


def test_a_class_of_two_documents_with_the_same_words_is_learned_from() -> None:
    own = [example(number // 2, "letter" if number < 2 else "bill") for number in range(10)]
    for seed in range(20):
        learned, held_out = split(own, 0.4, "classes", seed=seed)
        assert [each.answer for each in learned].count("letter") == 2
        assert len(held_out) == 4


def test_documents_of_which_each_alone_has_a_class_are_told_of() -> None:
    words = r"chosen, as none would be left of a class, or of a kind of entity; give more documents of each$"
    with pytest.warns(UserWarning, match=words) as told:
        DocumentReader("classes", **QUICK | {"held_out": 0.5}).fit(table(2))
    assert [own.filename for own in told if "held out" in str(own.message)] == [__file__]
