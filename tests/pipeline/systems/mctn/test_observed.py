"""Data as simple baselines take them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from data.utterances import Part, Utterances, Words
from models.mctn.baselines import OWN_WORDS, baseline
from pipeline.host.errors import PipelineError
from pipeline.systems.mctn.observed import observed_parts

TEXTS = ("good film", "bad film", "a good good film", "so bad")
WORDS = Words(("bad", "good"), torch.tensor([[0.0, 0.0], [-1.0, 0.5], [1.0, 0.5]]), "by hand")


def utterances() -> Utterances:
    def part(name: str, times: int) -> Part:
        texts = TEXTS * times
        steps = [WORDS.ids(text)[:, np.newaxis].astype(np.float64) for text in texts]
        labels = np.array([text.count("good") - text.count("bad") for text in texts], dtype=np.float64)
        return Part.of({"text": steps}, labels, [f"{name}{i}" for i in range(len(texts))], texts=texts)

    parts = {"train": part("train", 5), "validation": part("validation", 2), "test": part("test", 1)}
    return Utterances("films", parts, "score", "made up", words=WORDS)


def test_vectors_stand_in_place_of_words() -> None:
    parts = observed_parts(utterances(), "word_vectors")
    np.testing.assert_array_equal(parts["test"].modalities["text"][2], [[0, 0], [1, 0.5], [1, 0.5], [0, 0]])
    fitted = baseline("word_vectors").fit(parts["train"], parts["validation"])
    assert np.corrcoef(fitted.predict(parts["test"]), parts["test"].labels)[0, 1] > 0.8


def test_own_vectors_are_learned_from_the_training_texts() -> None:
    parts = observed_parts(utterances(), "own_vectors")
    fitted = baseline("own_vectors").fit(parts["train"], parts["validation"])
    assert [len(own) for own in parts["test"].modalities[OWN_WORDS]] == [2, 2, 4, 2]
    assert np.corrcoef(fitted.predict(parts["test"]), parts["test"].labels)[0, 1] > 0.8
    data = utterances()
    without = replace(data, parts={name: replace(part, texts=None) for name, part in data.parts.items()})
    with pytest.raises(PipelineError, match=r"mctn\.arm=own_vectors: films has no texts"):
        observed_parts(without, "own_vectors")
