"""The parts of a data set as simple baselines take them."""

from __future__ import annotations

import numpy as np

from data.multimodal.word_vectors import own_vectors
from data.utterances import Part, Utterances, Words
from models.mctn.baselines import OWN_WORDS, Observed
from pipeline.host.errors import PipelineError


def observed_parts(data: Utterances, name: str) -> dict[str, Observed]:
    """Returns training, validation and test part for the baseline of a name, in their own units.

    For `own_vectors` they have the word vectors that the training texts teach. Raises PipelineError where there are no
    texts to learn these from, and DataError where they hold too few words.
    """
    own = own_words(data) if name == "own_vectors" else None
    return {part: observed(data, samples, own) for part, samples in data.parts.items()}


def own_words(data: Utterances) -> Words:
    """Returns vectors of words by the training texts alone. Raises as `observed_parts`."""
    if data.train.texts is None:
        raise PipelineError(f"mctn.arm=own_vectors: {data.name} has no texts; choose another arm")
    return own_vectors(data.train.texts)


def observed(data: Utterances, part: Part, own: Words | None) -> Observed:
    """Returns one part. own: vectors that are looked up in the texts beside what the part has."""
    modalities = data.arrays(part)
    if own is not None:
        vectors: np.ndarray = own.vectors.numpy()
        modalities[OWN_WORDS] = [vectors[own.ids(text)] for text in part.texts or ()]
    return Observed(modalities, part.labels.numpy(), part.texts, len(data.classes))
