"""`data=mosi`: CMU-MOSI (A. Zadeh and others 2016), opinions on films cut into 2199 utterances of 93 videos.

Text is word by word. Audio (73 numbers) and video (100) are one vector an utterance, by S. Poria and others (2017).
Their text and video features were trained on the labels of 62 of the videos: of these they tell nearly all labels, and
of the others video tells none.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from data.base import DataError, check_whole_numbers
from data.files.exact_numbers import EXACT
from data.files.published import Published
from data.multimodal.cycles import load_cycles
from data.multimodal.mosi_scores import check_signs, read_scores, score_files
from data.multimodal.text import word_steps
from data.multimodal.word_vectors import make_words
from data.ranges import Count, Seed
from data.utterances import Part, Utterances

ADDRESS = (
    "https://raw.githubusercontent.com/declare-lab/multimodal-deep-learning/"
    "111b401d867c14a1dcd930fd2b2ab58a5eca3f70/bc-LSTM/data/"
)


def address_of(file: str) -> str:
    modality = file.partition("_")[0]
    return f"{ADDRESS}{modality}/{file}" if modality in ("audio", "video") else ADDRESS + file


# A public copy over https, pinned to a commit.
PUBLISHED = Published(
    "mosi", "poria", address_of,
    {
        "transcripts.csv": "e7689e6d70720addd2a6b316419d245a68839c32b014ff426c406063ee777466",
        "text_train.csv": "73770b6302ad0f7a51f4eddcae6788efde4d0b6802e09f78249d5b538d1c1d67",
        "text_test.csv": "f3b735070bf07ceff7a6ef6c8f4c32757e988de484e35bd6d38b2aecef851a59",
        "audio_train0.csv": "5435398a54664e7b00304587dc59ae84a438852be033c2a2fba779588624a2a1",
        "audio_test0.csv": "ddd17eeefd3d951d51d4e2ef8a0d132652d8161e1886f71eb7262b7a14bffff6",
        "video_train0.csv": "b6efc0413132d627efd06f67f1706830e775e90af9a75696f535c48dbc73f12f",
        "video_test0.csv": "cab836253d81100f59d533fa2ff65cd53c486be3ec9fd82203c5e25a7a77265f",
    },
    folder="cmu_mosi",
)  # fmt: skip
SPLITS, LABELS, TEXTS = ("published", "extractor"), ("auto", "score", "binary"), ("words", "features")
VIDEOS = 52, 10, 31  # of the published split, by name
NO_VIDEO = "its features were trained on 24 of the 31 test videos of this split; take the split 'extractor'"
NO_TEXT = "its features were trained on 24 of the 31 test videos of this split; take 'words' as text"
CLASSES = ("negative", "positive")


@dataclass(frozen=True)
class Choices:
    """Says what of the files is wanted: the settings of `load_mosi` of the same names."""

    split: str
    labels: str
    text: str
    words: str
    allow_contaminated: bool

    def check(self) -> None:
        """Raises DataError, naming the choices, for one that there is not."""
        for key, choices in (("split", SPLITS), ("labels", LABELS), ("text", TEXTS)):
            if getattr(self, key) not in choices:
                raise DataError(f"{key}={getattr(self, key)} is unknown; choose one of {', '.join(choices)}")

    @property
    def contaminated(self) -> frozenset[str]:
        """The modalities whose features were trained on labels."""
        return frozenset({"video"} | ({"text"} if self.text == "features" else set()))

    @property
    def lacking(self) -> dict[str, str]:
        """The modalities that are left out, each with the reason."""
        if self.split == "extractor" or self.allow_contaminated:
            return {}
        return {name: {"video": NO_VIDEO, "text": NO_TEXT}[name] for name in sorted(self.contaminated)}

    def applied(self, data: Utterances) -> Utterances:
        """Leaves modalities out, and marks what is contaminated."""
        left = data.only(name for name in data.modalities if name not in self.lacking)
        return replace(
            left, contaminated=self.contaminated & set(left.modalities), lacking=self.lacking,
            allow_contaminated=self.allow_contaminated,
        )  # fmt: skip


def load_mosi(
    *,
    split: str = "published",
    labels: str = "auto",
    text: str = "words",
    words: str = "auto",
    steps: Count | None = None,
    allow_contaminated: bool = False,
    validation: Count = 10,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Utterances:
    """Returns text, audio and video of the utterances with their scores from −3 to 3; those from 0 on are positive.

    split "published": the first 52 videos by name for training, 10 for validation, 31 for test; without video, whose
    features know the labels of 24 of the test videos. "extractor": the 62 videos that the features were trained on,
    `validation` of them drawn under the seed for validation, and the other 31 for test.
    labels "score", "binary", or "auto": scores where their files can be had. text "words": vectors of words, chosen by
    `words` (`data.multimodal.word_vectors`); "features": one vector an utterance, trained on labels.
    steps: words of an utterance at most. allow_contaminated: keeps modalities whose features were trained on labels of
    the test part, and lets them be read.
    Raises DataError for an argument out of range, and for files that are damaged or missing and cannot be fetched.
    """
    choices = Choices(split, labels, text, words, allow_contaminated)
    choices.check()
    check_whole_numbers("mosi", {"validation": validation})
    files = PUBLISHED.find(root, source=source)
    if files is None:
        data = stand_in(labels, seed=seed)
    else:
        data = published({file.name: file for file in files}, choices, root=root, validation=validation, seed=seed)
    return choices.applied(data).shortened(steps=steps)


def stand_in(labels: str, *, seed: int) -> Utterances:
    """Returns generated samples in place of missing files; nothing in them is real."""
    data = replace(load_cycles(seed=seed), name="mosi", source="stand-in", stand_in=True)
    return binary(data) if labels == "binary" else data


def binary(data: Utterances) -> Utterances:
    """Returns the data with whether a score is positive in place of the score."""
    parts = {name: replace(part, labels=data.positive(part).long()) for name, part in data.parts.items()}
    return replace(data, parts=parts, label_kind="binary", classes=CLASSES)


def published(
    files: Mapping[str, Path], choices: Choices, *, root: str | None, validation: int, seed: int
) -> Utterances:
    spoken = read_transcripts(files["transcripts.csv"])
    split = split_videos(spoken, read_rows(files, "text_train.csv"), choices, validation=validation, seed=seed)
    features = read_features(files, spoken)
    texts = [spoken[key][0] for key in spoken]
    table = None
    if choices.text == "words":
        train = [spoken[key][0] for key in spoken if key[0] in split["train"]]
        table = make_words(texts, train, choice=choices.words)
        features["text"] = word_steps(texts, table, name="mosi")
    names, videos = [f"{video}_{number}" for video, number in spoken], [video for video, _ in spoken]
    labels = labels_of(spoken, names, labels=choices.labels, root=root)
    arrays = {name: features[name] for name in ("text", "video", "audio")}
    whole = Part.of(arrays, labels, names, groups=videos, texts=texts)
    parts = {part: whole.pick([i for i, v in enumerate(videos) if v in own]) for part, own in split.items()}
    scores = labels.dtype == np.float64
    return Utterances(
        "mosi", parts, "score" if scores else "binary", PUBLISHED.source, classes=() if scores else CLASSES, words=table
    )


Spoken = dict[tuple[str, int], tuple[str, int, int]]  # (video, number): text, label, row of the file


def read_transcripts(path: Path) -> Spoken:
    """Returns text, label and row of each utterance, by video and number in order. Raises DataError, naming the line,
    for one that is not of the form video_number, text, a number, 0 or 1."""
    spoken: Spoken = {}
    with path.open(encoding="utf-8", newline="") as stream:
        for row, line in enumerate(csv.reader(stream)):
            video, _, number = line[0].rpartition("_") if len(line) == 4 else ("", "", "")
            if not (video and number.isdigit() and line[3] in ("0", "1")) or (video, int(number)) in spoken:
                raise DataError(f"{path}, line {row + 1}: not a new utterance; put the original file there")
            spoken[video, int(number)] = (line[1], int(line[3]), row)
    return dict(sorted(spoken.items()))


def read_rows(files: Mapping[str, Path], name: str) -> np.ndarray:
    """Returns the rows of transcripts.csv that a table of features is of."""
    return read_numbers(files[name])[:, 0].astype(np.int64)


def read_numbers(path: Path) -> np.ndarray:
    try:
        return pd.read_csv(path, header=None, dtype=np.float64, **EXACT).to_numpy()
    except ValueError as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error


def read_features(files: Mapping[str, Path], spoken: Spoken) -> dict[str, list[np.ndarray]]:
    """Returns for text, audio and video one step (1, number) an utterance, in the order of `spoken`. Raises DataError
    where a table has other utterances, or other labels, than the transcripts."""
    order = [row for _, _, row in spoken.values()]
    labels = {row: label for _, label, row in spoken.values()}
    features: dict[str, dict[int, np.ndarray]] = {"text": {}, "audio": {}, "video": {}}
    for split in ("train", "test"):
        keyed = read_numbers(files[f"text_{split}.csv"])
        rows = keyed[:, 0].astype(np.int64).tolist()
        features["text"] |= dict(zip(rows, keyed[:, np.newaxis, 1:], strict=True))
        for modality in ("audio", "video"):
            path = files[f"{modality}_{split}0.csv"]
            values = read_numbers(path)
            if values[:, -1].tolist() != [labels.get(row) for row in rows]:
                raise DataError(f"{path}: its labels are not those of transcripts.csv; put the original file there")
            features[modality] |= dict(zip(rows, values[:, np.newaxis, :-1], strict=True))
    if set(features["text"]) != set(order):
        raise DataError(
            f"{files['transcripts.csv']}: it has other utterances than the features; put the originals there"
        )
    return {modality: [own[row] for row in order] for modality, own in features.items()}


def split_videos(
    spoken: Spoken, extractor: np.ndarray, choices: Choices, *, validation: int, seed: int
) -> dict[str, set[str]]:
    """Returns the videos of each part. extractor: the rows of utterances that the features were trained on."""
    videos = sorted({video for video, _ in spoken})
    if choices.split == "published":
        first, last = VIDEOS[0], VIDEOS[0] + VIDEOS[1]
        return {"train": {*videos[:first]}, "validation": {*videos[first:last]}, "test": {*videos[last:]}}
    used = set(extractor.tolist())
    known = sorted({video for (video, _), (_, _, row) in spoken.items() if row in used})
    if validation >= len(known):
        raise DataError(f"mosi: validation={validation} of {len(known)} videos leaves none for training; lower it")
    drawn = set(np.random.default_rng(seed).permutation(known)[:validation].tolist())
    return {"train": {*known} - drawn, "validation": drawn, "test": {*videos} - {*known}}


def labels_of(spoken: Spoken, names: list[str], *, labels: str, root: str | None) -> np.ndarray:
    """Returns scores, float64, or 0 and 1, int64, in the order of `spoken`."""
    positive = np.array([label for _, label, _ in spoken.values()], dtype=np.int64)
    files = None if labels == "binary" else score_files(root, labels=labels)
    if files is None:
        return positive
    videos: dict[str, list[int]] = {}
    for video, number in spoken:
        videos.setdefault(video, []).append(number)
    scores = read_scores(files, videos, VIDEOS)
    values = np.array([scores[key] for key in spoken])
    check_signs(values, positive == 1, names)
    return values
