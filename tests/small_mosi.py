"""Files of the form of CMU-MOSI, with a few utterances of three videos."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data.multimodal import mosi, mosi_scores

COUNTS = {"a_1": 12, "b": 3, "c": 4}  # utterances of each video; the last one is the extractors' test part
SCORES = {(video, k): (-1.0) ** k * (k + 0.5) / 5 for video, count in COUNTS.items() for k in range(1, count + 1)}
KEYS = sorted(SCORES, key=lambda key: f"{key[0]}_{key[1]}")  # as the file has them: 1, 10, 11, 2


def label(key: tuple[str, int]) -> int:
    return int(SCORES[key] >= 0)


def feature(key: tuple[str, int], offset: float) -> list[float]:
    """Two numbers that tell the utterance."""
    return [KEYS.index(key) + offset, 0.25]


def write_rows(path: Path, rows: list[list]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(rows)


def write_features(folder: Path) -> None:
    """Rows of a video are sorted by label, as published."""
    for split, videos in (("train", ("a_1", "b")), ("test", ("c",))):
        keys = sorted((key for key in KEYS if key[0] in videos), key=lambda key: (key[0], -label(key)))
        write_rows(folder / f"text_{split}.csv", [[KEYS.index(key), *feature(key, 0.0)] for key in keys])
        for modality, offset in (("audio", 100.0), ("video", 200.0)):
            rows = [[*feature(key, offset), float(label(key))] for key in keys]
            write_rows(folder / f"{modality}_{split}0.csv", rows)


def write_scores(folder: Path) -> None:
    h5py = pytest.importorskip("h5py")
    for file, video in (("y_train.h5", "a_1"), ("y_valid.h5", "b"), ("y_test.h5", "c")):
        order = mosi_scores.legacy_order(str(k) for k in range(1, COUNTS[video] + 1))
        with h5py.File(folder / file, "w") as stream:
            stream["data"] = np.array([SCORES[video, int(k)] for k in order])


def write_all(root: Path) -> Path:
    folder = root / "cmu_mosi"
    folder.mkdir()
    said = [[f"{video}_{k}", f"FILM {video[0].upper()} NUMBER {k}", "93", label((video, k))] for video, k in KEYS]
    write_rows(folder / "transcripts.csv", said)
    write_features(folder)
    write_scores(folder)
    return folder


def trust(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the files that are there for the published ones."""
    monkeypatch.setattr(mosi, "VIDEOS", (1, 1, 1))
    for module, name in ((mosi, "PUBLISHED"), (mosi_scores, "SCORES")):
        known = getattr(module, name)
        sums = {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in known.checksums}
        monkeypatch.setattr(module, name, replace(known, checksums=sums))
