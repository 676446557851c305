"""The real scores of CMU-MOSI, which were published without names, put beside the utterances they belong to.

The files list videos by name, and the utterances of a video in the order that a dictionary of CPython 2.7 gave them.
That order is a function of the keys, which are known, and the 2199 signs of the scores prove that it is the right one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from data.base import DataError
from data.files import download
from data.files.published import Published
from data.multimodal import hdf5

# A public copy over https, pinned to a commit.
SCORES = Published(
    "mosi", "mfn", "https://raw.githubusercontent.com/pliang279/MFN/b0453fb6e21b581c796246a0c32a6551f2028c1b/data/",
    {
        "y_train.h5": "c276760dc2ac1248b5151542bd3be7db86ee2938eca90e9cf670a478a547e1ea",
        "y_valid.h5": "44bb15f400731d5d0c6955fc8f23ac47d9b0f2cc574a8f21706d97a8a228dc00",
        "y_test.h5": "66aec4997aa4adc23cf56f99597e69e857e339bc5b4bdbe4955fdf7f5f94c84f",
    },
    folder="cmu_mosi",
)  # fmt: skip
KEY = "data"
WORD_BITS = 2**64 - 1


def place(table: list[str | None], key: str) -> None:
    """Puts a key where CPython 2.7 does in a table of a power of two, by the hash of a byte string on 64 bits."""
    code = ord(key[0]) << 7
    for letter in key:
        code = (1000003 * code & WORD_BITS) ^ ord(letter)
    code ^= len(key)
    slot, mask = code & len(table) - 1, len(table) - 1
    while table[slot & mask] is not None:
        slot, code = 5 * slot + code + 1, code >> 5
    table[slot & mask] = key


def legacy_order(keys: Iterable[str]) -> list[str]:
    """Returns keys in the order of a dictionary of 64-bit CPython 2.7 into which they were put one by one."""
    table: list[str | None] = [None] * 8
    for count, key in enumerate(keys, 1):
        place(table, key)
        if 3 * count >= 2 * len(table):
            size = 8
            while size <= 4 * count:
                size *= 2
            known = [one for one in table if one is not None]
            table = [None] * size
            for one in known:
                place(table, one)
    return [key for key in table if key is not None]


def score_files(root: str | None, *, labels: str) -> list[Path] | None:
    """Returns the three files, whole, fetched where they lack; None where labels=auto has to do without them, which a
    warning says.

    Raises DataError for a damaged file, and with labels=score for one that cannot be had or read.
    """
    folder = SCORES.folder_below(root)
    missing = [file for file in SCORES.checksums if not (folder / file).exists()]
    why = None
    if not hdf5.readable():
        why = f"h5py is not installed ({hdf5.INSTALL})"
    elif missing and not SCORES.fetched(missing, folder, opener=download.open_https):
        why = f"{folder / missing[0]} is missing and there is no network (it is at {SCORES.address_of(missing[0])})"
    if why is None:
        return SCORES.find(root, source=SCORES.source)
    if labels == "score":
        raise DataError(f"mosi: {why}; mend it, or choose", give={"labels": "binary"})
    warnings.warn(f"mosi: no real scores: {why}; labels are positive and negative alone", stacklevel=4)
    return None


def read_scores(
    files: Sequence[Path], videos: Mapping[str, Sequence[int]], counts: Sequence[int]
) -> dict[tuple[str, int], float]:
    """Returns the score of each utterance, by video and number.

    videos: the numbers of the utterances of each. counts: how many of the videos, by name, each file holds. Raises
    DataError for a file of another length.
    """
    names, scores = sorted(videos), {}
    for path, start, count in zip(files, np.cumsum(counts) - np.asarray(counts), counts, strict=True):
        values = hdf5.read_array(path, KEY, axes=1)
        keys = [
            (video, int(key))
            for video in names[start : start + count]
            for key in legacy_order(str(number) for number in sorted(videos[video]))
        ]
        if len(keys) != len(values):
            raise DataError(f"{path}: {len(values)} scores of {len(keys)} utterances; put the original file there")
        scores |= dict(zip(keys, values.tolist(), strict=True))
    return scores


def check_signs(scores: np.ndarray, positive: np.ndarray, names: Sequence[str]) -> None:
    """Checks that a score is at least 0 just where its utterance is positive. Raises DataError naming the first that is
    not."""
    bad = np.flatnonzero((scores >= 0) != positive)
    if len(bad):
        raise DataError(
            f"mosi: the scores of {len(bad)} of {len(scores)} utterances have another sign than their label, the first "
            f"is {names[bad[0]]}; put the original y_train.h5, y_valid.h5 and y_test.h5 there"
        )
