"""How well words are read: error rates, and every reading, for comparisons over images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd
from rapidfuzz.distance import Levenshtein

from data.word_images import WordImages
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.error_rates import (
    character_error_rate,
    distance,
    mean_character_error_rate,
    word_accuracy,
)
from models.forms.recognise.frames import FrameRecogniser
from models.forms.recognise.retrieval import NearestImage
from pipeline.systems.forms.recognition.fitting import FittedRecogniser
from pipeline.systems.forms.recognition.load import ink_height, inks_of, spelt

SCORES = {
    "cer": character_error_rate, "cer_mean": mean_character_error_rate, "word_accuracy": word_accuracy,
}  # fmt: skip
FAULTS_NEAREST = "faults_nearest"  # column: D of the text of the nearest training image
# of metrics, by the column that they score
SUFFIXES = {"read": "", "path": "_path", "corrected": "_corrected", "nearest": "_retrieval"}


def metrics_of(read: pd.DataFrame) -> dict[str, float]:
    """Returns the scores of a table of readings by the names of metrics, with suffix `_path` of the most probable path,
    without a language model, `_corrected` after correction and `_retrieval` of the texts of the nearest training
    images."""
    true = read["true"].tolist()
    return {
        f"test_{name}{suffix}": score(read[column].tolist(), true)
        for column, suffix in SUFFIXES.items() if column in read for name, score in SCORES.items()
    }  # fmt: skip


def nearest_texts(alphabet: Alphabet, known: WordImages, words: WordImages) -> list[str]:
    """Returns for each image of `words` the text of the image of `known` that is nearest to it."""
    nearest = NearestImage.of(inks_of(known), spelt(alphabet, known))
    return [own.text for own in nearest.read_words(inks_of(words))]


def read_table(fitted: FittedRecogniser, words: WordImages, part: str) -> pd.DataFrame:
    """Returns a row an image: its number in its part, who wrote it where that is known, the height of its ink in
    pixels, what it says and what was read, with its probability, characters, faults (D), the text of the most probable
    path where a language model took part in reading, and what was read corrected."""
    true, inks = spelt(fitted.recogniser.alphabet, words), inks_of(words)
    readings = fitted.recogniser.read_words(inks)
    texts = [own.text for own in readings]
    table = pd.DataFrame({
        "part": part, "image": range(len(words)), "writer": list(words.writers or [""] * len(words)),
        "ink_height": [ink_height(image) for image in words.images()], "true": true, "read": texts,
        "probability": [own.probability for own in readings], "characters": [len(text) for text in true],
        "faults": faults(texts, true),
    })  # fmt: skip
    if isinstance(fitted.recogniser, FrameRecogniser) and fitted.recogniser.settings.language is not None:
        table["path"] = [own.text for own in fitted.recogniser.read_words(inks, search=False)]
    if fitted.correction is None:
        return table
    corrected = fitted.correction.corrected(texts)
    return table.assign(corrected=corrected, faults_corrected=faults(corrected, true))


def faults(read: Sequence[str], true: Sequence[str]) -> list[int]:
    """Returns D of each text."""
    return [distance(own, other) for own, other in zip(read, true, strict=True)]


def confusion(read: Sequence[str], true: Sequence[str]) -> pd.DataFrame:
    """Returns a row for each character and what was read in its place, the most frequent first: "" as `true` for what
    was put in, as `read` for what was left out. Texts are aligned by the fewest edits without swaps."""
    counts = Counter[tuple[str, str]]()
    for own, other in zip(read, true, strict=True):
        for edit in Levenshtein.opcodes(other, own):
            counts.update(pairs_of(other[edit.src_start : edit.src_end], own[edit.dest_start : edit.dest_end]))
    rows = [(*pair, count) for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return pd.DataFrame(rows, columns=["true", "read", "count"])


def pairs_of(true: str, read: str) -> list[tuple[str, str]]:
    """Returns aligned characters; one of both pieces may be empty, else they are equally long."""
    length = max(len(true), len(read))
    return list(zip(list(true) or [""] * length, list(read) or [""] * length, strict=True))
