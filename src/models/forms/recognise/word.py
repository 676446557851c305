"""The word model: ResNet-18 and a softmax over a vocabulary of whole words (thesis, 2.2.3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.recogniser import Reading, Recogniser
from models.forms.recognise.resnet import ResNet18, refuse_odd_sizes
from models.ranges import Count
from models.runtime.seeding import drawn


@dataclass(frozen=True, kw_only=True)
class Word:
    """`recogniser=word`. height: that images are brought to, in pixels, even. width: channels of the first stage, 8 or
    a multiple of 16; the last one has 8 times as many. vocabulary: the words that can be read, None to take those of
    the training texts. Raises TypeError and ValueError for others."""

    height: Count = 32
    width: Count = 8
    vocabulary: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        refuse_odd_sizes(self.height, self.width)
        if self.vocabulary is not None:
            object.__setattr__(self, "vocabulary", tuple(self.vocabulary))

    def prepared(self, texts: Sequence[str], alphabet: Alphabet) -> Word:
        """Returns the settings with the words of the training texts, in order, where no vocabulary is set. Raises
        ValueError for texts that the alphabet cannot write, and for those that a vocabulary has not."""
        alphabet.encode(texts)
        spelt = [alphabet.spelt(text) for text in texts]
        if self.vocabulary is None:
            return replace(self, vocabulary=tuple(sorted(set(spelt))))
        places_of(spelt, spelt_vocabulary(self.vocabulary, alphabet))
        return self

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> WordNetwork:
        """Returns the network, with first weights drawn by that seed. Raises ValueError without a vocabulary, and for
        one with a word that comes twice or that the alphabet cannot write."""
        if self.vocabulary is None:
            raise ValueError("the word model needs a vocabulary; give words, or take those of texts by `prepared`")
        words = spelt_vocabulary(self.vocabulary, alphabet)
        with drawn(seed, "forms/word"):
            return WordNetwork(self, alphabet, words)


def spelt_vocabulary(words: Sequence[str], alphabet: Alphabet) -> tuple[str, ...]:
    """Returns words as the alphabet spells them. Raises ValueError for none, for one that the alphabet cannot write,
    and for one that comes twice."""
    if not words:
        raise ValueError("the vocabulary has no word; give one at least")
    alphabet.encode(words)
    spelt = tuple(alphabet.spelt(word) for word in words)
    twice = next((word for word, count in Counter(spelt).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"in the vocabulary {twice!r} comes twice, as the alphabet spells it; leave one out")
    return spelt


def places_of(texts: Sequence[str], words: Sequence[str]) -> list[int]:
    """Returns the place of each text in a vocabulary. Raises ValueError for a text that it has not."""
    place = {word: number for number, word in enumerate(words)}
    unknown = sorted(set(texts) - place.keys())
    if unknown:
        raise ValueError(
            f"the word model cannot learn {unknown[0]!r}: it is not in the vocabulary of {len(words)} words, nor are "
            f"{len(unknown) - 1} more; give a larger vocabulary, or leave them out"
        )
    return [place[text] for text in texts]


class WordNetwork(Recogniser):
    """Gives each word w of a vocabulary p(w) = softmax_w(W m + b), m the mean of ResNet-18's maps over an image's own
    pixels. An image of a word outside the vocabulary is read as one of its words."""

    def __init__(self, settings: Word, alphabet: Alphabet, words: tuple[str, ...]) -> None:
        super().__init__()
        self.settings, self.alphabet, self.words = settings, alphabet, words
        self.trunk = ResNet18(settings.width)
        self.say = nn.Linear(self.trunk.channels, len(words))

    def forward(self, crops: Crops) -> Tensor:
        """Returns ln p (image, word)."""
        maps = self.trunk(crops.ink, crops.widths)  # 0 past the end
        mean = maps.mean(2).sum(2) / self.trunk.frames(crops.widths).unsqueeze(1)
        return self.say(mean).log_softmax(1)

    def losses(self, crops: Crops, texts: Sequence[str]) -> dict[str, Tensor]:
        """Returns word_loss, −ln p(text), the mean over the texts."""
        places = places_of([self.alphabet.spelt(text) for text in texts], self.words)
        log_p = self(crops)
        return {"word_loss": nn.functional.nll_loss(log_p, torch.tensor(places, device=log_p.device))}

    def read(self, crops: Crops) -> list[Reading]:
        """Returns the most probable word of each image, and its probability."""
        log_p, places = self(crops).max(1)
        return [
            Reading(self.words[place], own) for place, own in zip(places.tolist(), log_p.exp().tolist(), strict=True)
        ]
