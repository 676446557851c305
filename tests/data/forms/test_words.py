"""Images of words: record and split, the published names and what stands in for them, and who is in which part."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from data.base import DataError
from data.forms import dhsd
from data.forms.dhsd import Dhsd
from data.forms.hand import Hand, draw_hand, stand_in_words, write, write_word, write_words
from data.forms.letters import SHAPES, writable
from data.word_images import HandwrittenWords, WordImages
from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))
needs_dhsd = pytest.mark.skipif(not (ROOT / "dhsd").is_dir(), reason=f"no images: {ROOT}/dhsd is not there")


def grey(shape: tuple[int, int], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


@pytest.fixture(scope="module")
def words() -> WordImages:
    """Sixty images of five writers, of unequal size."""
    images = [grey((6 + i % 5, 10 + i), i) for i in range(60)]
    return WordImages.of(images, [f"word {i}" for i in range(60)], [f"w{i % 5}" for i in range(60)])


def test_images_of_unequal_size_come_back_as_they_were(words: WordImages) -> None:
    assert len(words) == 60
    np.testing.assert_array_equal(words.image(7), grey((8, 17), 7))
    some = words.at([9, 2])
    assert some.texts == ("word 9", "word 2")
    assert some.writers == ("w4", "w2")
    assert some.shapes.tolist() == [[10, 19], [8, 12]]
    np.testing.assert_array_equal(some.image(1), words.image(2))
    assert len(words.at([])) == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"texts": ("a",)}, "as many texts"),
        ({"writers": ("w",)}, "as many writers"),
        ({"texts": ("a", " ")}, "text of image 2 is empty"),
        ({"pixels": np.zeros(11, np.uint8)}, "12 pixels of uint8"),
        ({"shapes": np.array([[1, 4, 3]])}, "height and width of each image"),
        ({"shapes": np.array([[3, 4], [0, 4]], np.int32)}, "image 2 has no pixels"),
    ],
)
def test_what_is_no_record_is_refused(changed: dict, said: str) -> None:
    own = {"pixels": np.zeros(12, np.uint8), "shapes": np.array([[1, 4], [2, 4]], np.int32), "texts": ("a", "b")}
    with pytest.raises(DataError, match=said):
        WordImages(**{**own, **changed})


def test_an_image_in_two_parts_is_refused_and_named_but_for_words_of_forms(words: WordImages) -> None:
    parts = {"train": words.at([0, 1]), "validation": words.at([2]), "test": words.at([3, 1])}
    with pytest.raises(DataError, match=r"image 2 of the test part \('word 1'\) is image 2 of the train part"):
        HandwrittenWords("own", parts, "made")
    assert HandwrittenWords("own", parts, "made", of_forms=True).shortened(train=2).parts["test"].texts[1] == "word 1"
    data = HandwrittenWords("own", {**parts, "test": words.at([3, 3])}, "made")
    assert data.unseen == 1
    assert data.shortened() is data
    assert data.shortened(train=9, held=9).checksum == data.checksum
    assert [row["images"] for row in data.sizes()] == [2, 1, 2]
    assert data.checksum != HandwrittenWords("own", {**parts, "test": words.at([3])}, "made").checksum


def writers_shared(data: HandwrittenWords) -> bool:
    """Whether someone wrote in the test part and in another one."""
    train, validation, test = (set(part.writers or ()) for part in data.parts.values())
    return bool(test & (train | validation))


@pytest.mark.parametrize(("writers", "shared"), [("shared", True), ("disjoint", False)])
def test_parts_have_no_image_in_common_and_with_disjoint_writers_no_writer(
    writers: str, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(stand_in_words, each=3)
    monkeypatch.setattr(dhsd, "stand_in_words", few)
    data = Dhsd(source="stand_in", writers=writers).load()
    assert data.stand_in
    assert data.source == "stand-in"
    assert writers_shared(data) is shared
    counts = [int(row["images"]) for row in data.sizes()]
    assert sum(counts) == 37 * 3
    if not shared:
        assert [row["writers"] for row in data.sizes()] == [27, 3, 7]
    monkeypatch.setattr(dhsd, "stand_in_words", lambda **_: few(seed=0))
    again, other = (Dhsd(source="stand_in", writers=writers, seed=seed).load() for seed in (0, 1))
    assert again.checksum == data.checksum != other.checksum


def test_ink_of_training_images_alone_is_written_by_the_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dhsd, "stand_in_words", partial(stand_in_words, each=3))
    own, written, both = (Dhsd(source="stand_in", ink=ink).load() for ink in ("dhsd", "synthetic", "both"))
    train, hand = own.parts["train"], written.parts["train"]
    assert hand.texts == train.texts
    assert hand.pixels.tobytes() != train.pixels.tobytes()
    assert (*train.texts, *hand.texts) == both.parts["train"].texts
    assert both.parts["train"].writers == (*(train.writers or ()), *(hand.writers or ()))
    assert written.counts["written"] == both.counts["written"] == len(hand)
    for name in ("validation", "test"):
        assert written.parts[name].pixels.tobytes() == own.parts[name].pixels.tobytes()


def test_settings_and_damaged_or_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^dhsd: writers=some is unknown; choose one of shared, disjoint"):
        Dhsd(writers="some").load()
    with pytest.raises(DataError, match=r"^dhsd: validation=1.5 must lie between 0 and 1"):
        Dhsd(validation=1.5).load()
    with pytest.raises(DataError, match=r"^dhsd: ink=blue is unknown; choose one of dhsd, synthetic, both"):
        Dhsd(ink="blue").load()
    with pytest.raises(DataError, match="is missing; put it there"):
        Dhsd(root=str(tmp_path), source="published").load()
    (tmp_path / "dhsd").mkdir()
    (tmp_path / "dhsd" / "data.csv").write_text("file_name,text\n")
    with pytest.raises(DataError, match="damaged, or of another version"):
        Dhsd(root=str(tmp_path)).load()
    other = tmp_path / "images.npz"
    np.savez(other, images=np.zeros((2, 64, 256), np.uint8))
    with pytest.raises(DataError, match=r"images.npz: damaged, or of another version"):
        dhsd.read_images(other)
    other.write_bytes(other.read_bytes()[:100])
    with pytest.raises(DataError, match=r"images.npz: cannot be read"):
        dhsd.read_images(other)


def test_the_archive_is_made_of_the_published_images_blank_ones_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    greys = np.stack([grey((64, 256), 1), np.full((64, 256), 255, np.uint8)])
    for i, image in enumerate(greys):
        Image.fromarray(image).convert("RGBA").save(tmp_path / f"{i}.png")
    (tmp_path / "data.csv").write_text("file_name,text,writer_id\n0.png,a,1\n1.png,b,2\n")
    with pytest.raises(DataError, match="of another version"):
        dhsd.packed(tmp_path, tmp_path / "images.npz")
    monkeypatch.setitem(dhsd.CHECKSUMS, dhsd.IMAGES, hashlib.sha256(greys.tobytes()).hexdigest())
    dhsd.packed(tmp_path, tmp_path / "images.npz")
    np.testing.assert_array_equal(dhsd.read_images(tmp_path / "images.npz"), greys)


@needs_dhsd
def test_published_names_are_as_they_were_counted() -> None:
    data = Dhsd(root=str(ROOT), source="published").load()
    assert [row["images"] for row in data.sizes()] == [4270, 474, 1194]
    assert data.counts == {"without_ink": 1}
    assert writers_shared(data)
    apart = Dhsd(root=str(ROOT), source="published", writers="disjoint").load()
    assert [row["writers"] for row in apart.sizes()] == [27, 3, 7]
    assert sum(int(row["images"]) for row in apart.sizes()) == 5938
    assert set(map(tuple, apart.parts["test"].shapes.tolist())) == {(64, 256)}


def test_every_letter_is_written_within_its_image() -> None:
    generator = np.random.default_rng(0)
    for letter in [*SHAPES, *"äöüÄÖÜéšóç"]:
        image = write_word(letter, draw_hand(generator), generator)
        assert image.min() < 160, letter
        border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
        assert border.min() == 255, letter


def test_a_hand_is_told_by_its_habits_and_a_word_never_comes_out_twice() -> None:
    hand = Hand(4, 1, 0, 0.4, 0, jitter=0.0, own=0.3, gap=1, rise=0, pace=0.6, seed=3)
    letters = [write("a", hand, np.random.default_rng(0)).paths[0] for _ in range(2)]
    np.testing.assert_array_equal(letters[0], letters[1])
    np.testing.assert_array_equal(hand.habit("a", 9), hand.habit("a", 9))
    images = write_words(["Ähre", "Ähre"], [4, 4], seed=0, shape=(64, 256))
    assert images.shapes.tolist() == [[64, 256]] * 2
    assert images.digests[0] != images.digests[1]
    one = stand_in_words(seed=1, hands=2, each=3)
    assert one.digests == stand_in_words(seed=1, hands=2, each=3).digests
    assert one.writers == tuple(f"hand {i}" for i in (0, 0, 0, 1, 1, 1))


def test_characters_of_a_word_are_told_apart_and_unknown_ones_named() -> None:
    generator = np.random.default_rng(2)
    written = write("i ß", draw_hand(generator), generator)
    assert written.characters == (0, 0, 2)
    assert writable("Groß Köris")
    assert not writable("中")
    with pytest.raises(DataError, match="the letter '中' has no shape"):
        write("中", draw_hand(generator), generator)
