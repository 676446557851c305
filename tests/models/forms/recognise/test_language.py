"""Reading with a language model: it decides where the ink does not, and ends with the texts that it is made of."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest
import torch

from models.forms.images import Crops, crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.character import Character
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.language import Language

TEXTS = ("hof", "hofgasse", "gasse")
ALPHABET = Alphabet.of_texts(TEXTS)


def said_of(letters: list[dict[str, float]]) -> tuple[torch.Tensor, torch.Tensor]:
    """ln p of frames in which these letters share the probability, as a batch of one, with a blank after each."""
    rows = torch.full((2 * len(letters), len(ALPHABET) + 1), 1e-9, dtype=torch.float64)
    rows[1::2, 0] = 1.0
    for place, shares in enumerate(letters):
        for letter, share in shares.items():
            rows[2 * place, ALPHABET.encode([letter])[0][0]] = share
    return rows.log()[None], torch.tensor([len(rows)])


@pytest.mark.parametrize(("weight", "text"), [(0.0, "has"), (1.0, "hof")])
def test_it_decides_where_the_ink_does_not(weight: float, text: str) -> None:
    ink = said_of([{"h": 1.0}, {"a": 0.51, "o": 0.49}, {"s": 0.51, "f": 0.49}])
    (said,) = Language(order=3, weight=weight, bonus=0.0, texts=TEXTS).reader(ALPHABET)(*ink)
    assert ALPHABET.decode(said.symbols) == text
    assert said.log_p == pytest.approx(2 * torch.tensor(0.51 if weight == 0 else 0.49).log().item(), abs=1e-6)


def test_a_bonus_is_for_characters_and_makes_texts_longer() -> None:
    maybe = said_of([{"h": 1.0}, {"o": 1.0}, {"f": 0.3}])
    maybe[0][0, 4, 0] = torch.tensor(0.7).log()
    lengths = [
        len(Language(weight=0.0, bonus=bonus, texts=TEXTS).reader(ALPHABET)(*maybe)[0].symbols)
        for bonus in (0.0, 0.84, 0.85)  # ln(0.7 / 0.3) = 0.847
    ]
    assert lengths == [2, 2, 3]


def test_each_text_of_a_batch_ends_with_its_own_frames() -> None:
    ink, _ = said_of([{"h": 1.0}, {"o": 1.0}, {"f": 1.0}])
    read = Language(texts=TEXTS).reader(ALPHABET)(ink.repeat(2, 1, 1), torch.tensor([6, 4]))
    assert [ALPHABET.decode(own.symbols) for own in read] == ["hof", "ho"]


@pytest.mark.parametrize("settings", [CRNN(height=16, units=8, language=Language()), Character(language=Language())])
def test_a_recogniser_takes_training_texts_and_glances_without_them(settings: CRNN | Character) -> None:
    own = settings.prepared(TEXTS, ALPHABET)
    assert own.language == Language(texts=TEXTS)
    assert own.prepared(["other"], ALPHABET) == own
    chance = torch.Generator().manual_seed(0)
    crops: Crops = crops_of([torch.rand(16, 60, generator=chance)], settings.height)
    with_language, without = own.network(ALPHABET, seed=1), replace(own, language=None).network(ALPHABET, seed=1)
    assert with_language.glance(crops) == without.read(crops)
    (read,) = with_language.read(crops)
    assert read.probability > 0
    images = [torch.rand(16, 60, generator=chance)]
    assert with_language.read_words(images, search=False) == without.read_words(images)
    with pytest.raises(ValueError, match="the language model has no text; give texts, or take those of training"):
        settings.network(ALPHABET)


def test_a_recogniser_with_it_can_be_pickled_and_copied() -> None:
    network = CRNN(height=16, units=8, language=Language(texts=TEXTS)).network(ALPHABET, seed=1)
    images = [torch.rand(16, 60, generator=torch.Generator().manual_seed(0))]
    read = network.read_words(images)
    assert read[0].text
    for other in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network)):  # noqa: S301
        assert other.read_words(images) == read


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"order": 0}, "order must be a whole number"), ({"order": 21}, "order must be at most 20"),
        ({"beam": 0}, "beam must be a whole number"),
        ({"weight": -0.1}, "weight must be a number of 0 or more"), ({"bonus": float("nan")}, "bonus must be a number"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Language(**wrong)


def test_a_text_that_the_alphabet_cannot_write_is_refused_by_the_name_of_its_setting() -> None:
    said = (
        "language.texts: text 'Zug' has characters that the alphabet has not; .* put these characters into the alphabet"
    )
    with pytest.raises(ValueError, match=said):
        CRNN(language=Language(texts=("hof", "Zug"))).network(ALPHABET)


@pytest.mark.parametrize("texts", ["Hof", (1, 2)])
def test_what_are_no_texts_is_refused(texts: object) -> None:
    with pytest.raises(ValueError, match=r"texts must be a list of texts, got .*; put numbers into quotes"):
        Language(texts=texts)  # pyright: ignore[reportArgumentType]


def test_what_is_no_language_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"language must be a Language, or None \(null\) for none, got 'de'"):
        CRNN(language="de")  # pyright: ignore[reportArgumentType]
