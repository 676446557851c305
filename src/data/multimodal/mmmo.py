"""`data=mmmo`: ICT-MMMO (M. Wöllmer and others 2013), film reviews by the camera, 340 of them in 20 steps each.

Steps are aligned with words: audio has 74 numbers (COVAREP), video 36 (Facet), text 300 (GloVe). The text of the
training part was not published, so there are two splits. A step of zeros is one that was not recorded: it is left out,
and each modality keeps its own length. The steps that are left are numbered anew in each modality: those of one number
are of different words where different steps were left out. Of video and audio that is more than half of the steps, of
text and audio one in fifty. It matters to models that join modalities step by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch

from data.base import DataError
from data.files.published import Published
from data.multimodal import hdf5
from data.multimodal.cycles import load_cycles
from data.ranges import Range, Seed
from data.utterances import Part, Utterances

# A public copy over https, pinned to a commit.
PUBLISHED = Published(
    "mmmo", "mfn",
    "https://raw.githubusercontent.com/pliang279/MFN/b0453fb6e21b581c796246a0c32a6551f2028c1b/new_data/mmmo/",
    {
        "audio_train.h5": "4c37e59d75bf1fe17baf6d607e4e7eef228b9b16a145f64c9624d2fc8fcb1666",
        "audio_valid.h5": "37b39911ee143d712e36d1fcba5b41400d2b40bef9de3da419de7344486eb8e9",
        "audio_test.h5": "1d701dc193b3e4404e35b97165fd33af19aff50d193a744488ec4c87ea0d6c44",
        "video_train.h5": "2b7d7d442c1ef7aae0c06d19a845baeb5f8685ee844900f30d6cce643da42452",
        "video_valid.h5": "43a44a63e369bca2fc86c54fa42d9b3b30c03657b8f7287bdae60341f4767d8c",
        "video_test.h5": "d0bfeb4a0ca249ac766b9c426146e4765b783463112e78665231a82c7b02f176",
        "text_valid_emb.h5": "ff332edc367c23495f0a0194fc5a2b83d217565a6a9ab402f98cbbb60bdc3b95",
        "text_test_emb.h5": "8f3bcab7716c482c209c393098fabe6362fa66b58eb9de5ebd4529c2cb53476b",
        "y_train.h5": "872872ba80f2076a2f5287ace2e3cb72dff7abaa01e1906073c1d50a15a84d6e",
        "y_valid.h5": "e164e98d53b01e558af6eb232fdc0ca8660f8bd3e76469ca12bef124688a4c8f",
        "y_test.h5": "17a83a344f15fc751bf10a052ade48d0944959052b30f33bc2c5216a31ea59ee",
    },
    folder="ict_mmmo_youtube/mmmo",
)  # fmt: skip
KEY = "d1"
COLLECTIONS, SPLITS = ("mmmo",), ("official", "text")
FILES = {"train": "train", "validation": "valid", "test": "test"}
FOLDS, LOWEST, MIDDLE, HIGHEST = 5, 1.0, 3.0, 5.0
NO_TEXT = "text_train_emb.h5 was not published; take the split 'text', 120 samples by cross-validation"
YOUTUBE = (
    "collection=youtube cannot be used: of its 269 samples 191 have audio and 199 have video of zeros alone, and "
    "the text of its training part was not published; leave collection out"
)

Fold = Annotated[int, Range(at_least=0, at_most=FOLDS - 1)]


def load_mmmo(
    *,
    collection: str = "mmmo",
    split: str = "official",
    fold: Fold = 0,
    seed: Seed = 0,
    source: str = "auto",
    root: str | None = None,
) -> Utterances:
    """Returns the reviews with their scores from 1 to 5; those from 3 on are positive.

    split "official": 220 samples for training, 40 for validation and 80 for test, audio and video alone. "text": the
    120 samples of validation and test part, which have text too, in five folds drawn under the seed: `fold` is the test
    part, the next one the validation part. Speakers are not known, so every sample is a group of its own.
    Raises DataError for an argument out of range, for the collection `youtube`, whose features are missing, and for
    files that are damaged or missing and cannot be fetched or read.
    """
    if collection == "youtube":
        raise DataError(YOUTUBE)
    for key, value, choices in (("collection", collection, COLLECTIONS), ("split", split, SPLITS)):
        if value not in choices:
            raise DataError(f"{key}={value} is unknown; choose one of {', '.join(choices)}")
    if not 0 <= fold < FOLDS:
        raise DataError(f"fold={fold} must lie from 0 to {FOLDS - 1}")
    files = PUBLISHED.find(root, source=source)
    if files is None:
        whole = stand_in(seed=seed)
    else:
        paths = {file.name: file for file in files}
        whole = {part: read_part(paths, part, text=split == "text" and part != "train") for part in FILES}
    if split == "text":
        parts, lacking = folds(joined(whole["validation"], whole["test"]), fold, seed=seed), {}
    else:
        parts, lacking = {name: part.only(("video", "audio")) for name, part in whole.items()}, {"text": NO_TEXT}
    return Utterances(
        "mmmo", parts, "score", PUBLISHED.source if files else "stand-in", stand_in=not files, positive_from=MIDDLE,
        lacking=lacking,
    )  # fmt: skip


def read_part(paths: Mapping[str, Path], part: str, *, text: bool) -> Part:
    """Returns a part of the official split. Raises DataError for arrays of unlike lengths, and scores out of range."""
    name = FILES[part]
    used = {"text": f"text_{name}_emb.h5"} if text else {}
    used |= {"video": f"video_{name}.h5", "audio": f"audio_{name}.h5"}
    labels = hdf5.read_array(paths[f"y_{name}.h5"], KEY, axes=1)
    if ((labels < LOWEST) | (labels > HIGHEST)).any():
        raise DataError(f"{paths[f'y_{name}.h5']}: a score is not from 1 to 5; put the original file there")
    arrays = {}
    for modality, file in used.items():
        values = hdf5.read_array(paths[file], KEY, axes=3)
        if len(values) != len(labels):
            raise DataError(f"{paths[file]}: {len(values)} samples of {len(labels)}; put the original file there")
        arrays[modality] = [own[(own != 0).any(axis=1)] for own in values]
    return Part.of(arrays, labels, [f"{part}_{i:03d}" for i in range(len(labels))])


def stand_in(*, seed: int) -> dict[str, Part]:
    """Returns generated samples in place of missing files; nothing in them is real."""
    made = load_cycles(train=220, validation=40, test=80, seed=seed)
    return {
        name: replace(part, labels=(part.labels + MIDDLE).clamp(LOWEST, HIGHEST)) for name, part in made.parts.items()
    }


def joined(first: Part, second: Part) -> Part:
    """Returns the samples of both parts."""
    arrays = {name: [*own.to_arrays(), *second.modalities[name].to_arrays()] for name, own in first.modalities.items()}
    labels = torch.cat([first.labels, second.labels]).numpy()
    return Part.of(arrays, labels, [*first.names, *second.names])


def folds(whole: Part, fold: int, *, seed: int) -> dict[str, Part]:
    """Returns one of five folds for test, the next one for validation, and the rest for training."""
    drawn = np.random.default_rng(seed).permutation(len(whole)) % FOLDS
    held = {"validation": drawn == (fold + 1) % FOLDS, "test": drawn == fold}
    chosen = {"train": ~(held["validation"] | held["test"]), **held}
    return {name: whole.pick(np.flatnonzero(rows)) for name, rows in chosen.items()}
