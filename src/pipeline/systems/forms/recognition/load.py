"""Images of words as a recogniser learns from them, changed anew in each epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from data.forms.augment import Augmentation
from data.forms.moved_boxes import MovedBoxes
from data.word_images import HandwrittenWords, WordImages
from models.forms.images import as_ink
from models.forms.recognise.alphabet import Alphabet, nfc
from pipeline.host.errors import PipelineError, said_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.load import data_of


def load(settings: FormsConfig, *, shared: bool) -> HandwrittenWords:
    """Returns the images, cut as `size` says. shared: as of `data_of`. Raises PipelineError where data= names none."""
    said = "forms.stage=recognition takes images of words; choose data=words_folder (your own), dhsd or composed_words"
    return data_of(settings, HandwrittenWords, said, shared=shared)


def alphabet_of(name: str, data: HandwrittenWords) -> Alphabet:
    """Returns the characters of the training texts, or the alphabet of 35. Raises PipelineError for a text of which
    that leaves nothing, as it cannot be scored."""
    texts = data.parts["train"].texts
    with said_of("forms.alphabet"):
        alphabet = Alphabet.alphanumeric() if name == "alphanumeric" else Alphabet.of_texts(texts)
    for part, own in data.parts.items():
        blank = next((place for place, text in enumerate(own.texts) if not alphabet.spelt(text)), None)
        if blank is not None:
            raise PipelineError(
                f"forms.alphabet={name}: {data.called(part, blank)} has no character of it; leave the image out"
            )
    return alphabet


def spelt(alphabet: Alphabet, words: WordImages) -> list[str]:
    """Returns the texts as the alphabet has them."""
    return [alphabet.spelt(text) for text in words.texts]


def unknown_share(alphabet: Alphabet, texts: list[str]) -> float:
    """Returns the share of characters in texts that the alphabet has not, so that none of them can be read."""
    letters = "".join(texts)
    return sum(own not in alphabet.symbols for own in letters) / len(letters)


def inks_of(words: WordImages) -> list[Tensor]:
    """Returns the ink (height, width) of each image."""
    return [as_ink(image) for image in words.images()]


def left_out_share(alphabet: Alphabet, texts: Sequence[str]) -> float:
    """Returns the share of characters in texts, in NFC and small letters, that a folded alphabet leaves out of them."""
    written = sum(len(nfc(text).lower()) for text in texts)
    return 1 - sum(len(alphabet.spelt(text)) for text in texts) / written


def alphabet_metrics(alphabet: Alphabet, texts: Sequence[str]) -> dict[str, float]:
    """Returns the share of characters in test texts that cannot be read, by the name of its metric: those that a
    folded alphabet leaves out of what is scored, else those that stand in no training text."""
    if alphabet.folded:
        return {"data/characters_left_out": left_out_share(alphabet, texts)}
    return {"data/characters_unknown": unknown_share(alphabet, [alphabet.spelt(text) for text in texts])}


def alphabet_in_words(alphabet: Alphabet, texts: Sequence[str]) -> str:
    """Returns what `alphabet_metrics` measures, as a sentence; "" where an alphabet that is not folded has all
    characters."""
    (share,) = alphabet_metrics(alphabet, texts).values()
    if alphabet.folded:
        return (f"forms.alphabet leaves {share:.1%} of the characters of test texts out and makes capitals small, in "
                "what is scored too: error rates are of what is left. ")  # fmt: skip
    return (
        f"{share:.1%} of the characters of test texts stand in no training text and cannot be read. " if share else ""
    )


def ink_height(grey: np.ndarray) -> int:
    """Returns how many rows of pixels lie between the first and the last that has ink: darker than half way between the
    darkest and the lightest pixel of the image."""
    dark = grey.astype(int) * 2 < int(grey.max()) + int(grey.min())
    rows = np.flatnonzero(dark.any(1))
    return int(rows[-1] - rows[0] + 1) if len(rows) else 0


class Moved(NamedTuple):
    """Holds words that are cut out of their forms at moved boxes: those of training, which are shown so from an epoch
    on, and those of the validation part."""

    train: MovedBoxes
    held: MovedBoxes
    first_epoch: int

    def held_inks(self) -> list[Tensor]:
        """Returns the ink of the words of the validation part, moved in the same way at every call."""
        return [as_ink(self.held.image(number, 0)) for number in range(len(self.held))]


class Copies:
    """Gives training images, changed by an augmentation; the same image in the same turn is changed in the same way.

    moved: cuts the same words out of their forms at moved boxes; None leaves them as they are. fits: says whether an
    image of such a shape has frames enough for the text of a word; where it has not, at moved boxes or after an
    augmentation that changes the shape, the word is shown as it is without that.
    """

    def __init__(
        self, words: WordImages, augmentation: Augmentation, moved: Moved | None,
        fits: Callable[[int, tuple[int, ...]], bool],
    ) -> None:  # fmt: skip
        self.words, self.augmentation, self.moved, self.fits = words, augmentation, moved, fits

    def __call__(self, number: int, turn: int, epoch: int) -> Tensor:
        """Returns the ink of an image in a turn, which is an epoch, counted from 0 on."""
        cut = self.cut(number, turn, epoch)
        changed = self.augmentation.word(cut, epoch=turn, number=number)
        return as_ink(changed if changed.shape == cut.shape or self.fits(number, changed.shape) else cut)

    def cut(self, number: int, turn: int, epoch: int) -> np.ndarray:
        """Returns the image before the augmentation."""
        if self.moved is None or epoch < self.moved.first_epoch:
            return self.words.image(number)
        moved = self.moved.train.image(number, turn)
        return moved if self.fits(number, moved.shape) else self.words.image(number)
