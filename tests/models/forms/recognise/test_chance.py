"""Control: a recogniser learns what labels say of images, and stays at chance where they say nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.word import Word

TEXTS = tuple("abcdefghijkl")
CHANCE = 1 - 1 / len(TEXTS)


def drawn(each: int, generator: np.random.Generator) -> tuple[list[Tensor], list[str]]:
    """So many images of every text, with noise: a pattern of 4 × 4 blocks of two pixels."""
    patterns = np.kron(np.random.default_rng(0).random((len(TEXTS), 4, 4)) < 0.5, np.ones((1, 2, 2)))
    inks = np.tile(patterns, (each, 1, 1)) * generator.uniform(0.6, 1, (each * len(TEXTS), 1, 1))
    noisy = (inks + generator.normal(0, 0.05, inks.shape)).clip(0, 1)
    return list(torch.from_numpy(noisy).float()), list(TEXTS) * each


@pytest.mark.parametrize("shuffled", [False, True])
def test_shuffled_labels_stay_at_chance_where_true_ones_are_learned(shuffled: bool, learn: Callable[..., None]) -> None:
    generator = np.random.default_rng(1)
    (images, texts), (held, true) = drawn(3, generator), drawn(5, generator)
    if shuffled:
        texts = generator.permutation(texts).tolist()
    alphabet = Alphabet.of_texts(TEXTS)
    network = Word(height=8, width=8).prepared(texts, alphabet).network(alphabet, seed=0)
    learn(network, images, texts, steps=40, rate=0.003)
    error = error_of([own.text for own in network.eval().read_words(held)], true)
    assert error > CHANCE - 0.3 if shuffled else error < 0.1


def error_of(read: Sequence[str], true: Sequence[str]) -> float:
    """The share of texts that are read wrong."""
    return float(np.mean([own != wanted for own, wanted in zip(read, true, strict=True)]))
