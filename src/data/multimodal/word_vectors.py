"""Vectors of words, learned elsewhere or from the training texts: fixed, so that they hold no label.

The table of `wordllama` has a vector for each of 32000 pieces of words. A word gets the mean of its pieces. The words
of the texts at hand are kept, and all pieces that are words themselves: a text of later on needs no tokeniser.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from data.base import DataError
from data.utterances import WORD, Words, words_of

CHOICES = ("auto", "wordllama", "own")
TABLE, TOKENISER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
BEGIN = "▁"  # marks the first piece of a word
# Of vectors from the training texts: words that stand at least twice, the most frequent of them; neighbours on each
# side that count as context; numbers of a vector at most.
LEAST, MOST, WINDOW, WIDTH = 2, 4000, 5, 300
INSTALL = "install them with: pip install -c constraints.txt -e '.[words]'"


def make_words(texts: Sequence[str], train: Sequence[str], *, choice: str) -> Words:
    """Returns vectors for the words of `texts`.

    choice "wordllama": by its table, which needs the extra `words`. "own": learned from the texts `train` alone; their
    words are all that is known. "auto": the first where it is installed, else the second, said in a warning.
    Raises DataError for another choice, and for a table that is not installed or of another version.
    """
    if choice not in CHOICES:
        raise DataError(f"words={choice} is unknown; choose one of {', '.join(CHOICES)}")
    folder = None if choice == "own" else wordllama_folder()
    if folder is not None:
        return pretrained(texts, folder, f"wordllama {version('wordllama')}")
    if choice == "wordllama":
        raise DataError(f"words=wordllama needs wordllama, safetensors and tokenizers; {INSTALL}")
    if choice == "auto":
        warnings.warn(
            f"word vectors are learned from the training texts alone; for better ones {INSTALL}", stacklevel=2
        )
    return own_vectors(train)


def wordllama_folder() -> Path | None:
    """Returns the folder of the installed package, without importing it; None where it or a reader lacks."""
    found = [find_spec(name) for name in ("wordllama", "safetensors", "tokenizers")]
    places = found[0].submodule_search_locations if found[0] else None
    return Path(next(iter(places))) if places and all(found) else None


def pretrained(texts: Iterable[str], folder: Path, source: str) -> Words:
    """Returns the words of `texts` and those that are pieces of the table, by the alphabet.

    The files are read by safetensors and tokenizers: wordllama's own loader looks for the tokeniser in a folder that is
    not there, and downloads one. Raises DataError for files that are not there.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    for file in (TABLE, TOKENISER):
        if not (folder / file).is_file():
            raise DataError(f"{folder / file}: there is no such file; install the version of constraints.txt")
    (table,) = load_file(folder / TABLE).values()
    tokeniser = Tokenizer.from_file(str(folder / TOKENISER))
    words = sorted({word for text in texts for word in words_of(text)} | whole_words(tokeniser))
    pieces = [encoded.ids for encoded in tokeniser.encode_batch(words, add_special_tokens=False)]
    return Words(tuple(words), rounded(means(table, pieces)), source)


def whole_words(tokeniser: Any) -> set[str]:
    """Returns the pieces that are a word from begin to end."""
    begun = (piece.removeprefix(BEGIN) for piece in tokeniser.get_vocab() if piece.startswith(BEGIN))
    return {piece for piece in begun if WORD.fullmatch(piece)}


def means(table: np.ndarray, pieces: Sequence[Sequence[int]]) -> np.ndarray:
    """Returns (word, entry), the means of the rows of each word's pieces, in float64."""
    lengths = np.array([len(own) for own in pieces])
    starts = np.cumsum(lengths) - lengths
    rows = table[np.concatenate([np.asarray(own, dtype=np.int64) for own in pieces])].astype(np.float64)
    return np.add.reduceat(rows, starts) / lengths[:, np.newaxis]


def rounded(vectors: np.ndarray) -> torch.Tensor:
    """Returns the vectors as float32 with values of float16, below a row of zeros."""
    half = vectors.astype(np.float16).astype(np.float32)
    return torch.from_numpy(np.concatenate([np.zeros((1, half.shape[1]), np.float32), half]))


def own_vectors(texts: Sequence[str]) -> Words:
    """Returns vectors of the words that stand at least twice in the texts, U √|λ| of the largest eigenvalues λ of their
    positive pointwise mutual information (O. Levy and Y. Goldberg 2014).

    Raises DataError where fewer than two words do.
    """
    spoken = [words_of(text) for text in texts]
    counts = Counter(word for words in spoken for word in words)
    frequent = sorted(
        (word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word)
    )
    words = sorted(frequent[:MOST])
    if len(words) < 2:
        raise DataError(
            "fewer than two words stand twice in the training texts, too few to learn vectors of; give more texts"
        )
    vectors = factors(positive_information(together(spoken, words)))
    return Words(tuple(words), rounded(vectors), "PPMI and SVD of the training texts")


def together(spoken: Sequence[Sequence[str]], words: Sequence[str]) -> np.ndarray:
    """Counts how often two words stand at most five apart, float64 (word, word), symmetric."""
    rows = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(words), len(words)))
    for text in spoken:
        ids = np.array([rows.get(word, -1) for word in text])
        for distance in range(1, min(WINDOW, len(ids) - 1) + 1):
            first, second = ids[:-distance], ids[distance:]
            known = (first >= 0) & (second >= 0)
            np.add.at(counts, (first[known], second[known]), 1.0)
    return counts + counts.T


def positive_information(counts: np.ndarray) -> np.ndarray:
    """Returns max(0, log p(a, b) / (p(a) p(b))), and 0 for words that never stand together."""
    alone = counts.sum(0)
    expected = np.outer(alone, alone) / max(counts.sum(), 1.0)
    ratio = np.divide(counts, expected, out=np.ones_like(counts), where=counts > 0)
    return np.maximum(np.log(ratio), 0.0)


def factors(matrix: np.ndarray) -> np.ndarray:
    """Returns U √|λ|, (word, number), of the largest |λ| of a symmetric matrix; the largest entry of each eigenvector
    is positive."""
    values, vectors = np.linalg.eigh(matrix)
    largest = np.argsort(-np.abs(values), kind="stable")[:WIDTH]
    chosen = vectors[:, largest]
    signs = np.sign(chosen[np.abs(chosen).argmax(0), np.arange(len(largest))])
    return chosen * signs * np.sqrt(np.abs(values[largest]))
