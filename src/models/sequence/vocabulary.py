"""Text as numbers: byte-level pairs, with tags that no text can spell."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from models.runtime.parameters import whole_number

PAD, BEGIN, END, UNKNOWN, FIRST_TAG = 0, 1, 2, 3, 4
BYTES = 256
PIECES = 2000  # where the texts allow so many
INSTALL = "pip install -c constraints.txt -e '.[text]'"


class Vocabulary:
    """Holds pieces of text as numbers, by byte-level byte pair encoding (Radford et al. 2019).

    Numbers: 0 pad, 1 begin, 2 end, 3 unknown, then the tags, then the pieces. The tokeniser knows its pieces alone, so
    a tag is reached by its number and never by its name: `<2de>` in a text is seven characters. Every text has pieces,
    and comes back as it was. tokeniser: the JSON of a `tokenizers.Tokenizer`. tags: their names.

    Raises ValueError for tags that are named twice, and ImportError without the package tokenizers.
    """

    def __init__(self, tokeniser: str, tags: Sequence[str] = ()) -> None:
        refuse_double_tags(tags)
        self.tokeniser, self.tags = tokeniser, tuple(tags)
        self.first = FIRST_TAG + len(self.tags)

    @classmethod
    def train(
        cls, texts: Iterable[str], *, pieces: int, tags: Sequence[str] = (), prefix_space: bool = False
    ) -> Vocabulary:
        """Returns the vocabulary of so many numbers, learned from the texts: the 256 bytes and the most frequent pairs.

        pieces: all numbers, with the 4 first and the tags. The same texts give the same vocabulary. prefix_space:
        every text is read with a space in front, which `decode` takes off again, so that a word has the same pieces at
        the beginning of a text and behind a space (Kudo and Richardson 2018). Raises ValueError for fewer pieces than
        the bytes need, and for more than the texts allow.
        """
        refuse_double_tags(tags)
        least = BYTES + FIRST_TAG + len(tags)
        if pieces < least:
            raise ValueError(
                f"pieces must be at least {least}, for {BYTES} bytes and {FIRST_TAG} signs (padding, begin, end, "
                f"unknown){f' and {len(tags)} tags that stand before texts' if tags else ''}; got {pieces}"
            )
        made = cls.of_at_most(texts, pieces=pieces, tags=tags, prefix_space=prefix_space)
        if made.size < pieces:
            raise ValueError(f"the texts allow {least} to {made.size} pieces, and {pieces} were asked for")
        return made

    @classmethod
    def of_at_most(
        cls, texts: Iterable[str], *, pieces: int, tags: Sequence[str] = (), prefix_space: bool = False
    ) -> Vocabulary:
        """Returns the vocabulary of so many numbers, or of as many as the texts allow. pieces, prefix_space: as of
        `train`, and not fewer pieces than the bytes need."""
        return cls(trained(texts, pieces - FIRST_TAG - len(tags), prefix_space=prefix_space), tags)

    @cached_property
    def size(self) -> int:
        """Returns how many numbers there are."""
        return self.first + self._tokenizer.get_vocab_size()

    def tag(self, name: str) -> int:
        """Returns the number of a tag. Raises ValueError for a name that there is not."""
        if name not in self.tags:
            raise ValueError(f"there is no tag {name!r}; there are {', '.join(self.tags) or 'none'}")
        return FIRST_TAG + self.tags.index(name)

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Returns the pieces of each text, int32 (piece,), without begin or end; none for an empty text."""
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [np.asarray(own.ids, dtype=np.int32) + np.int32(self.first) for own in encoded]

    def decode(self, ids: Iterable[Iterable[int]]) -> list[str]:
        """Returns the text of each list of numbers; signs and tags have none. Bytes that are no text become �."""
        lists = [[number - self.first for number in own if number >= self.first] for own in ids]
        return self._tokenizer.decode_batch(lists, skip_special_tokens=False)

    def to_json(self) -> str:
        """Returns all of it as text."""
        return json.dumps({"tags": self.tags, "tokeniser": json.loads(self.tokeniser)}, ensure_ascii=False)

    @cached_property
    def digest(self) -> str:
        """Returns the SHA-256 of all of it; with the same one every text has the same numbers."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """Returns the vocabulary that `to_json` wrote. Raises ValueError for other text."""
        try:
            found = json.loads(text)
            return cls(json.dumps(found["tokeniser"], ensure_ascii=False), found["tags"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError("this text is no vocabulary; give what Vocabulary.to_json wrote") from error

    @cached_property
    def _tokenizer(self) -> Any:
        return library().Tokenizer.from_str(self.tokeniser)

    def __getstate__(self) -> dict[str, Any]:
        return {"tokeniser": self.tokeniser, "tags": self.tags, "first": self.first}


def vocabulary_of(
    texts: Iterable[str], pieces: Any, tags: Sequence[str] = (), *, prefix_space: bool = False, stacklevel: int
) -> Vocabulary:
    """Returns the vocabulary of texts with so many pieces; for None with `PIECES`, or as many as the texts allow, and
    then warns. stacklevel: of the warning. Raises as `whole_number` and `Vocabulary.train`."""
    if pieces is not None:
        return Vocabulary.train(texts, pieces=whole_number("pieces", pieces), tags=tags, prefix_space=prefix_space)
    found = Vocabulary.of_at_most(texts, pieces=PIECES, tags=tags, prefix_space=prefix_space)
    if found.size < PIECES:
        warnings.warn(
            f"the texts allow {found.size} pieces of a vocabulary, so these are taken and not {PIECES}; "
            f"pieces={found.size} asks for as many without this warning, and is an error with texts that allow fewer",
            stacklevel=stacklevel,
        )
    return found


def read_vocabulary(path: Path, digest: str | None = None) -> Vocabulary:
    """Returns the vocabulary that a file holds. digest: its SHA-256 as a saved network names it; None where it names
    none, as networks that were saved before it was kept. Raises ValueError for a file that is damaged, and for another
    vocabulary, to which the network's weights would not belong."""
    try:
        found = Vocabulary.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} holds no vocabulary that can be read; save the model again") from error
    if digest is not None and found.digest != digest:
        raise ValueError(
            f"{path} has the SHA-256 {found.digest[:12]}…, and the network learned with the vocabulary "
            f"{digest[:12]}…; put that one there, or save the model again"
        )
    return found


def refuse_double_tags(tags: Sequence[str]) -> None:
    """Raises ValueError for tags that are named twice."""
    double = [name for place, name in enumerate(tags) if name in tags[:place]]
    if double:
        raise ValueError(f"tag {double[0]!r} is named twice")


def library() -> Any:
    """Returns the package tokenizers. Raises ImportError, which says how to install it."""
    if find_spec("tokenizers") is None:
        raise ImportError(f"a vocabulary of pieces needs tokenizers; install it with: {INSTALL}")
    import tokenizers

    return tokenizers


def trained(texts: Iterable[str], size: int, *, prefix_space: bool) -> str:
    """Returns the JSON of a byte-level tokeniser with at most so many pieces."""
    package = library()
    tokenizer = package.Tokenizer(package.models.BPE())
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = package.decoders.ByteLevel()
    if prefix_space:
        put_space_in_front(tokenizer)
    alphabet = package.pre_tokenizers.ByteLevel.alphabet()
    trainer = package.trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str()


def put_space_in_front(tokenizer: Any) -> None:
    """Has a tokeniser read every text but an empty one with one more space in front, and take it off what it decodes.

    `add_prefix_space` of ByteLevel puts none in front of a text that begins with a space, which would not come back.
    """
    package = library()
    tokenizer.normalizer = package.normalizers.Prepend(" ")
    tokenizer.decoder = package.decoders.Sequence([tokenizer.decoder, package.decoders.Strip(" ", 1, 0)])
