"""Words cut out of images of several: where the gaps are clear, and only there; what is known often enough."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from data.base import DataError
from data.forms import dhsd
from data.forms.dhsd import Dhsd
from data.forms.hand import stand_in_words
from data.forms.pieces import cuts, in_parts, parts_of, vocabulary_of
from data.word_images import PARTS, HandwrittenWords, WordImages
from pipeline.host.paths import PACKAGE

BESIDE = PACKAGE.parent.parent.parent / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT_FOR_TESTS", BESIDE))


def image_of(*stretches: tuple[int, int], width: int = 100) -> np.ndarray:
    """Ink in some columns, each stretch of letters 4 wide with 2 between them."""
    image = np.full((30, width), 255, np.uint8)
    for begin, end in stretches:
        for x in range(begin, end, 6):
            image[10:20, x : min(end, x + 4)] = 50
    return image


def test_parts_are_cut_at_the_widest_gaps() -> None:
    image = image_of((4, 32), (44, 60), (72, 94))
    assert cuts(image, "abcde fgh ijkl") == [(4, 32), (44, 60), (72, 94)]
    assert cuts(image_of((4, 32)), "abcde") == [(4, 32)]
    words, share = parts_of(WordImages.of([image, image_of((4, 32))], ["abcde fgh ijkl", "mnopq"], ["u", "v"]))
    assert share == 1
    assert words.texts == ("abcde", "fgh", "ijkl", "mnopq")
    assert words.writers == ("u", "u", "u", "v")
    assert words.shapes[1].tolist() == [14, 20]
    assert words.image(1).min() == 50


def test_what_is_in_doubt_is_not_cut() -> None:
    assert cuts(image_of((4, 32), (41, 60), (72, 94)), "abcdefgh ijkl") is None  # a gap within a word is nearly as wide
    assert cuts(image_of((4, 10), (30, 94)), "abcdefgh ijkl") is None  # a part is too short for what it says
    assert cuts(image_of((4, 32)), "a b c d e f g") is None
    assert cuts(np.full((9, 9), 255, np.uint8), "a") is None


def test_a_line_below_the_word_hides_no_gap() -> None:
    image = image_of((4, 32), (50, 94))
    image[26, 2:96] = 40
    assert cuts(image, "abcde fghijkl") == [(4, 32), (50, 94)]


def test_only_what_training_says_often_enough_is_kept_everywhere() -> None:
    def part(texts: list[str], shade: int) -> WordImages:
        images = [np.full((8, 9), 255, np.uint8) for _ in texts]
        for number, image in enumerate(images):
            image[2:6, 2:7] = shade + number
        return WordImages.of(images, texts)

    parts: dict[str, WordImages] = {
        name: part(texts, 40 * place)
        for place, (name, texts) in enumerate(zip(PARTS, (["a", "b", "a", "c"], ["a", "c"], ["b", "a"]), strict=True))
    }
    data = in_parts(HandwrittenWords("own", parts, "made"), 2)
    assert [own.texts for own in data.parts.values()] == [("a", "a"), ("a",), ("a",)]
    assert data.counts == {"cut_train": 1, "cut_validation": 1, "cut_test": 1, "vocabulary": 1}
    assert len(in_parts(data, 1).parts["train"]) == 2
    with pytest.raises(DataError, match=r"^own: least=3 leaves a part of the data without a word; lower it"):
        in_parts(data, 3)
    assert vocabulary_of(["b", "a", "b", "a", "c"], 2) == ("a", "b")


def test_names_that_stand_in_are_cut_as_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dhsd, "stand_in_words", lambda *, seed: stand_in_words(seed=seed, hands=10, each=4))
    data = Dhsd(source="stand_in", vocabulary="parts").load()
    assert not any(" " in text for part in data.parts.values() for text in part.texts)
    assert 0.5 < data.counts["cut_train"] <= 1
    with pytest.raises(DataError, match=r"^dhsd: vocabulary=tf_idf is unknown; choose one of strings, parts"):
        Dhsd(vocabulary="tf_idf").load()
    with pytest.raises(DataError, match=r"^dhsd: least=3 needs vocabulary=parts"):
        Dhsd(least=3).load()


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "dhsd").is_dir(), reason=f"no images: {ROOT}/dhsd is not there")
def test_parts_of_the_published_names_are_as_they_were_counted() -> None:
    data = Dhsd(root=str(ROOT), source="published", vocabulary="parts", least=3).load()
    assert [row["images"] for row in data.sizes()] == [1734, 176, 417]
    assert data.counts["vocabulary"] == 132
    assert data.unseen == 0
