"""Composed forms: boxes that touch their ink, order, parts that share no ink, the same seed for the same bytes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.base import DataError
from data.form_images import CLASSES, DATE, NO_ORDER, NOISE, STAMP, WORD, Form, FormImages, HandwrittenForms
from data.forms.composer import STYLED, ComposedForms
from data.forms.digits import read_mnist, written_digits
from data.forms.hand import stand_in_words
from data.forms.ink import Ink, date_text, ink_of, legible, training_words
from data.forms.layers import INK, ink_box, printed, rotated, shifted, slanted, trimmed, with_gaps
from data.forms.layouts import Label, Line, Plan, free_plan, lines_at, print_layer, real_plan, table_plan
from data.forms.page import FIRST, Page, Piece, equal_parts
from data.forms.scribbles import MAKERS as NOISES
from data.forms.scribbles import noise, signature
from data.forms.stamps import MAKERS as STAMPS
from data.forms.stamps import stamp
from data.pages import Document
from data.pages import Page as Size
from data.word_images import WordImages
from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))
SHAPE = (192, 256)
PARTS = ("train", "validation", "test", STYLED)


def settings(**changed: Any) -> ComposedForms:
    own = {"forms": 6, "validation": 2, "test": 4, "height": 192, "width": 256, "most_boxes": 12, "source": "stand_in"}
    return ComposedForms(**{**own, **changed})


@pytest.fixture(scope="module", autouse=True)
def few_words() -> Any:
    """As many words as the tests need."""
    patch = pytest.MonkeyPatch()
    patch.setattr("data.forms.dhsd.stand_in_words", lambda *, seed: stand_in_words(seed=seed, hands=10, each=6))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def data() -> HandwrittenForms:
    return settings().load()


@pytest.fixture(scope="module")
def ink() -> Ink:
    return ink_of(stand_in_words(seed=3, hands=3, each=4), written_digits(seed=3)["train"])


def page_of(ink: Ink, seed: int, **changed: Any) -> Page:
    generator = np.random.default_rng(seed)
    style = FIRST._replace(grain=(0, 0), **changed)
    return Page(SHAPE, free_plan(SHAPE, generator), style, ink, slant=6.0, generator=generator)


def test_images_that_show_a_speck_are_no_words() -> None:
    words = stand_in_words(seed=3, hands=1, each=2)
    speck = np.full((64, 256), 255, np.uint8)
    speck[30:33, 10:13] = 0
    both = WordImages.of([words.image(0), speck, words.image(1)], [words.texts[0], "Straße", "a"])
    assert legible(both).texts == (words.texts[0], "a")
    assert settings().load().counts == {"words_without_writing": 0}


def test_all_parts_have_forms_with_boxes_of_each_class(data: HandwrittenForms) -> None:
    assert tuple(data.parts) == PARTS
    assert data.tests == ("test", STYLED)
    assert data.stand_in
    assert [row["forms"] for row in data.sizes()] == [6, 2, 4, 4]
    counts = {name: sum(int(row[name]) for row in data.sizes()) for name in CLASSES[1:]}
    assert min(counts.values()) > 0
    assert counts["word"] > counts["stamp"]
    for part in data.parts.values():
        assert part.shapes.tolist() == [[192, 256]] * len(part)
        assert all(3 <= len(form.boxes) <= 12 for form in part.forms())
        assert all(form.characters is not None for form in part.forms())


def test_the_same_seed_gives_the_same_bytes_and_a_form_hangs_on_its_number_alone(data: HandwrittenForms) -> None:
    again = settings(forms=3, test=2).load()
    assert again.parts["train"].image(2).tobytes() == data.parts["train"].image(2).tobytes()
    assert again.parts[STYLED].form(1).texts == data.parts[STYLED].form(1).texts
    assert settings().load().checksum == data.checksum != settings(seed=1).load().checksum


def test_boxes_of_characters_are_part_of_the_checksum_where_they_are_known(data: HandwrittenForms) -> None:
    """Without them it is what it was before they were part of it, so that what was kept under it is found."""
    part = data.parts["train"]
    assert part.characters is not None
    moved = replace(data, parts={**data.parts, "train": replace(part, characters=part.characters + 0.5)})
    assert moved.checksum != data.checksum
    without = {name: replace(own, characters=None, letters=None) for name, own in data.parts.items()}
    digest = hashlib.sha256()
    for name, own in without.items():
        digest.update(repr((name, own.texts, own.offsets.tolist())).encode())
        for values in (own.shapes, own.boxes, own.classes, own.order, own.pixels):
            digest.update(np.ascontiguousarray(values).tobytes())
    assert replace(data, parts=without).checksum == digest.hexdigest() != data.checksum


def test_boxes_touch_their_ink_on_every_side_and_hold_all_of_it(ink: Ink) -> None:
    for seed in range(6):
        page = page_of(ink, seed)
        for number, line in enumerate(page.plan.lines):
            page.fill(number, line, 8)
        for kind in (STAMP, NOISE, DATE):
            page.strew(kind)
        assert page.pieces
        form = page.form()
        dark = np.zeros(SHAPE, np.uint8)
        for piece, box in zip(page.pieces, form.boxes.astype(int), strict=True):
            alone = np.zeros(SHAPE, np.uint8)
            height, width = piece.layer.shape
            alone[piece.y : piece.y + height, piece.x : piece.x + width] = piece.layer
            assert ink_box(alone) == tuple(box)
            dark = np.maximum(dark, alone)
        seen = dark >= INK  # paper is at least 225, less what is printed
        assert (form.image[seen] <= 255 - INK + 3).all()
        assert form.image.dtype == np.uint8


def test_what_is_cut_by_the_edge_is_kept_only_if_most_of_it_is_seen(ink: Ink) -> None:
    page, layer = page_of(ink, 0), np.full((20, 40), 200, np.uint8)
    assert not page.add(Piece(layer, -30, 50, NOISE))
    assert not page.add(Piece(layer, -6, 50, WORD, "a", 0))
    assert page.add(Piece(layer, -6, 50, NOISE))
    assert page.boxes[0].tolist() == [0, 50, 34, 70]
    assert not page.add(Piece(layer, 4, 52, STAMP))  # it hides more than half
    assert page.add(Piece(layer, 30, 60, STAMP))
    assert not page.add(Piece(np.zeros((9, 9), np.uint8), 200, 100, NOISE))
    assert not page.add(Piece(layer, 400, 400, NOISE))


def test_words_are_in_order_of_lines_then_from_left_to_right(data: HandwrittenForms, ink: Ink) -> None:
    for part in data.parts.values():
        for form in part.forms():
            words = form.classes == WORD
            assert sorted(form.order[words]) == list(range(int(words.sum())))
            assert (form.order[~words] == NO_ORDER).all()
            assert form.text() == " ".join(form.texts[i] for i in form.reading())
    page = page_of(ink, 1)
    layer = np.full((10, 30), 99, np.uint8)
    for x, y, text, line in ((150, 22, "b", 0), (20, 60, "c", 1), (10, 20, "a", 0)):
        page.add(Piece(layer, x, y, WORD, text, line))
    page.add(Piece(layer, 70, 20, DATE, "1.1.70"))
    form = page.form()
    assert form.text() == "a b c"
    assert form.order.tolist() == [1, 2, 0, NO_ORDER]
    assert form.crop(2).shape == (10, 30)


def test_characters_share_the_box_of_their_word_equally(data: HandwrittenForms) -> None:
    form = next(form for form in data.parts["test"].forms() if (form.classes == WORD).any())
    assert form.characters is not None
    for box, kind, text, own in zip(form.boxes, form.classes, form.texts, form.characters, strict=True):
        assert len(own) == (len(text) if kind == WORD else 0)
        if len(own):
            np.testing.assert_allclose([own[:, 0].min(), own[:, 2].max()], box[[0, 2]], rtol=1e-6)
            np.testing.assert_allclose(np.diff(own[:, 0]), (box[2] - box[0]) / len(text), rtol=1e-3)
    piece = Piece(np.ones((2, 9), np.uint8), 0, 0, WORD, "abc")
    assert equal_parts(np.array([0, 1, 9, 3], np.float32), piece)[1].tolist() == [3, 1, 6, 3]


def test_no_part_is_made_of_ink_of_another_one() -> None:
    makes = settings().makes()[0]
    inks = {part: {layer.tobytes() for layer in make.ink.words} for part, make in makes.items()}
    assert inks["test"] == inks[STYLED]
    for part, other in (("train", "validation"), ("train", "test"), ("validation", "test")):
        assert not inks[part] & inks[other]
    assert not makes["train"].style.table
    assert makes[STYLED].style.table
    assert not set(makes["train"].style.stamps) >= set(makes[STYLED].style.stamps)


def test_training_ink_may_be_written_by_the_hand_and_test_ink_stays() -> None:
    own, other, both = (settings(ink=kind).makes()[0] for kind in ("dhsd", "synthetic", "both"))
    assert len(both["train"].ink.words) == len(own["train"].ink.words) + len(other["train"].ink.words)
    assert set(other["train"].ink.texts) <= set(own["train"].ink.texts)
    assert own["test"].ink.texts == other["test"].ink.texts
    words = stand_in_words(seed=0, hands=1, each=2)
    assert training_words(words, "dhsd", seed=0) is words


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"layout": "some"}, "^composed_forms: layout=some is unknown; choose one of free, funsd"),
        ({"ink": "blue"}, "^composed_forms: ink=blue is unknown"),
        ({"source": "some"}, "^composed_forms: source=some is unknown; choose one of auto, real, stand_in"),
        ({"slant": 40.0}, r"^composed_forms: slant=40.0 must be from 0 to 20 degrees"),
        ({"least_boxes": 9, "most_boxes": 4}, "^composed_forms: most_boxes must be a whole number of at least 9"),
        ({"height": 20}, "^composed_forms: height must be a whole number of at least 96"),
        ({"writers": "some"}, "^composed_forms: writers=some is unknown"),
        ({"source": "real", "root": "/nowhere"}, "dhsd: .*is missing"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        settings(**changed).load()


BOX = np.array([[1, 2, 5, 6]], np.float32)
GREY = np.full((10, 12), 200, np.uint8)


def form_with(**changed: Any) -> Form:
    own: dict[str, Any] = {"image": GREY, "boxes": BOX, "classes": np.array([WORD]), "texts": ("a",)}
    return Form(**{**own, "order": np.array([0]), **changed})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"boxes": BOX * 3}, "form 1, box 1: it lies outside the form of 12 × 10"),
        ({"boxes": BOX[:, [2, 1, 0, 3]]}, "form 1, box 1: its second corner lies before its first"),
        ({"boxes": BOX[:, [0, 1, 0, 3]]}, "form 1, box 1: it has no area"),
        ({"boxes": BOX * np.nan}, "form 1, box 1: a side is no finite number"),
        ({"classes": np.array([7])}, "form 1, box 1: its class is none of word, signature, stamp, date, noise"),
        ({"texts": (" ",)}, "form 1, box 1: it is a word without a text"),
        ({"classes": np.array([NOISE])}, "form 1, box 1: it is no word and has a place"),
        ({"order": np.array([1])}, "form 1: the order of its 1 words"),
        ({"texts": ()}, "form 1: boxes, classes, texts and order of 1 boxes differ in number"),
        ({name: np.repeat(value, 5001, 0) for name, value in {"boxes": BOX, "classes": np.array([WORD])}.items()}
         | {"texts": ("a",) * 5001, "order": np.arange(5001)}, "form 1: 5001 boxes; 5000 are the most"),
    ],
)  # fmt: skip
def test_what_is_no_form_is_refused_and_the_box_is_named(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        FormImages.of([form_with(**changed)])


def test_forms_come_back_as_they_were_and_one_in_two_parts_is_refused() -> None:
    characters = (np.array([[1, 2, 3, 6], [3, 2, 5, 6]], np.float32),)
    none = np.empty((0, 4), np.float32), np.empty(0, np.int64), (), np.empty(0, np.int64)
    forms = [form_with(characters=characters), Form(GREY[:4] - 1, *none, ())]
    record = FormImages.of(forms)
    assert record.counts() == {"word": 1, "signature": 0, "stamp": 0, "date": 0, "noise": 0}
    back = record.at([1, 0, 0])
    assert back.form(0).texts == ()
    assert back.form(0).text() == ""
    own = back.form(2)
    assert own.characters is not None
    np.testing.assert_array_equal(own.characters[0], characters[0])
    np.testing.assert_array_equal(own.image, GREY)
    assert record.at([1]).form(0).characters == ()
    assert FormImages.of([form_with()]).form(0).characters is None
    parts = {"train": record.at([0]), "validation": record.at([1]), "test": record.at([0])}
    with pytest.raises(DataError, match="form 1 of the test part is form 1 of the train part; leave one"):
        HandwrittenForms("own", parts, "made")
    files = {"train": ("a.png",), "validation": ("b.png",), "test": ("c.png",)}
    said = r"form 1 of the test part, file 'c\.png' is form 1 of the train part, file 'a\.png'; leave one"
    with pytest.raises(DataError, match=said):
        HandwrittenForms("own", parts, "made", files=files)


def test_lines_of_every_plan_are_on_the_page_and_far_enough_apart() -> None:
    for seed in range(5):
        generator = np.random.default_rng(seed)
        for plan in (free_plan(SHAPE, generator), table_plan(SHAPE, generator)):
            bases = np.array([line.base for line in plan.lines])
            assert len(bases) >= 2
            assert (np.diff(bases) >= 0.4 * 24).all()
            assert 0 < bases.min() < bases.max() <= SHAPE[0]
            assert all(0 <= x0 < x1 <= SHAPE[1] for line in plan.lines for x0, x1 in line.rooms if x1 - x0 > 0)
            assert print_layer(plan, SHAPE, 200).max() > 80  # small print is light


def test_places_of_a_real_form_become_lines_and_labels() -> None:
    boxes = np.array(
        [[50 + 300 * (i % 2), 60 * i + 40, 120 + 300 * (i % 2), 60 * i + 55] for i in range(15)], np.float32
    )
    tags = tuple("B-answer" if i % 2 else "B-question" for i in range(15))
    document = Document("f", ("word",) * 15, boxes, np.zeros(15, np.int16), (Size(754, 1000),), tags=tags)
    plan = real_plan(document, (480, 640), np.random.default_rng(0))
    assert len(plan.lines) >= 3
    assert all(x0 == pytest.approx(350 * 640 / 754, abs=1) for line in plan.lines for x0, _ in line.rooms)
    assert {label.text for label in plan.labels} == {"word"}
    answers = np.array([[10, 80, 60, 100], [300, 85, 350, 105], [10, 300, 50, 320]], np.float32)
    beside = np.array([[200, 82, 260, 100]], np.float32)
    found = lines_at(answers, beside, (480, 640))
    assert found == [Line(100.0, ((10.0, 196.0), (300.0, 628.0))), Line(320.0, ((10.0, 628.0),))]
    assert print_layer(Plan((), (Label(5, 5, "Ort", 11),), ()), (40, 60), 128).max() == 128


@pytest.mark.parametrize("kind", STAMPS)
def test_stamps_of_every_kind_have_ink_and_never_come_out_twice(kind: str) -> None:
    own = [stamp((kind,), 60, np.random.default_rng(seed)) for seed in (1, 2)]
    assert all(layer.max() >= 55 and min(layer.shape) > 5 for layer in own)
    assert own[0].tobytes() != own[1].tobytes()


def test_noise_signatures_and_dates_of_every_kind_have_ink(ink: Ink) -> None:
    for kind in NOISES:
        assert all(noise((kind,), size, np.random.default_rng(size)).max() >= INK for size in (6, 40))
    for seed in range(8):
        generator = np.random.default_rng(seed)
        own = signature(40, ink.words[0], generator)
        assert own.max() > 100
        assert max(own.shape) > 20
        layer, text = ink.date(generator)
        assert layer.max() > 100
        assert sum(character.isdigit() for character in text) >= 4
    assert len({date_text(np.random.default_rng(i)) for i in range(30)}) == 30


def test_layers_are_bent_without_a_loss() -> None:
    layer = np.zeros((6, 9), np.uint8)
    layer[2:4, 1:8] = 100
    moved = shifted(layer, np.arange(9) % 3)
    assert moved.sum() == layer.sum() == slanted(layer, 0.7).sum()
    assert moved[:, 2].tolist() == [0, 0, 0, 0, 100, 100, 0, 0]
    assert ink_box(trimmed(layer)) == (0, 0, 7, 2)
    assert trimmed(np.zeros((4, 4), np.uint8)).shape == (1, 1)
    wide = with_gaps(layer, 3, np.random.default_rng(0))
    assert wide.sum() == layer.sum()
    assert wide.shape[1] > 9
    np.testing.assert_array_equal(rotated(layer, 90), layer.T[::-1])
    assert printed("Ort", 11) is printed("Ort", 11)


def test_a_tilted_page_moves_its_columns_alone(ink: Ink) -> None:
    page = page_of(ink, 4)
    layer = np.zeros(SHAPE, np.uint8)
    layer[96] = 255
    moved = page.tilt.moved(layer)
    np.testing.assert_array_equal(moved.argmax(0), 96 + page.tilt.down)
    bent, x, y = page.on_line(np.full((1, 50), 255, np.uint8), 30, 97.0, 0.0)
    np.testing.assert_array_equal(bent.argmax(0) + y, moved.argmax(0)[x : x + 50])


@pytest.mark.skipif(not (ROOT / "mnist").is_dir(), reason=f"no digits: {ROOT}/mnist is not there")
def test_no_digit_of_mnist_is_in_two_parts() -> None:
    parts = read_mnist(
        ROOT / "mnist" / "t10k-images-idx3-ubyte.gz", ROOT / "mnist" / "t10k-labels-idx1-ubyte.gz", seed=0
    )
    assert {part: sum(map(len, own.images)) for part, own in parts.items()} == {
        "train": 6000, "validation": 1000, "test": 3000,
    }  # fmt: skip
    own = [{image.tobytes() for images in digits.images for image in images} for digits in parts.values()]
    assert len(set.union(*own)) == sum(map(len, own)) == 10_000


@pytest.mark.skipif(not (ROOT / "dhsd").is_dir(), reason=f"no words: {ROOT}/dhsd is not there")
def test_forms_of_real_ink_are_composed() -> None:
    data = settings(source="real", root=str(ROOT), forms=2, validation=1, test=1).load()
    assert not data.stand_in
    assert data.source == "composed"
