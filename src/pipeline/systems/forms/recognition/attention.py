"""Where CTC-Seq2Seq looks on images of the test part: by the place of a character in its text, and two maps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from data.word_images import WordImages
from models.forms.images import crops_of
from models.forms.recognise.attention_map import AttentionMap, attention_maps
from models.forms.recognise.ctc_seq2seq import CTCSeq2SeqNetwork
from models.forms.recognise.recogniser import BATCH, Recogniser
from pipeline.systems.forms.recognition.fitting import widths_of
from pipeline.systems.forms.recognition.load import inks_of, spelt

ATTENTION = "attention.csv"
SHOWN = 2  # maps
EDGES = (1, 2, 3, 4, 5, 6, 11, 21)  # first positions of the groups that words name


class Attention(NamedTuple):
    """Holds a row a position, from 1, in texts: how many `texts` are so long, the mean share of attention that is
    `near` the patches at which CTC says the character, and what `equal` weights would put there; and some maps, by the
    number of their image."""

    table: pd.DataFrame
    maps: dict[int, AttentionMap]

    @property
    def near(self) -> float:
        """Returns the mean share over all characters."""
        return float((self.table["near"] * self.table["texts"]).sum() / self.table["texts"].sum())


def attention_of(recogniser: Recogniser, words: WordImages) -> Attention | None:
    """Returns where a recogniser with a decoder and CTC looks on images; None of other recognisers, and, which is said,
    where the text of each image has a character that it has not, or too few patches."""
    if not (isinstance(recogniser, CTCSeq2SeqNetwork) and 0 < recogniser.settings.ctc_share < 1):
        return None
    rows = readable_rows(recogniser, words)
    if not rows:
        tqdm.write("attention: no text of the test part can be aligned with its image, so none is measured")
        return None
    maps = list[AttentionMap]()
    for place in range(0, len(rows), BATCH):
        own = words.at(rows[place : place + BATCH])
        texts = spelt(recogniser.alphabet, own)
        maps += attention_maps(recogniser, crops_of(inks_of(own), recogniser.settings.height), texts)
    return Attention(by_position(maps), dict(zip(rows[:SHOWN], maps, strict=False)))


def readable_rows(recogniser: Recogniser, words: WordImages) -> list[int]:
    """Returns the images whose text can be aligned: of known characters, with patches enough."""
    frames = recogniser.frames(widths_of(words, recogniser.settings.height))
    assert frames is not None  # noqa: S101
    known, texts = set(recogniser.alphabet.symbols), spelt(recogniser.alphabet, words)
    return [
        row for row, (text, there) in enumerate(zip(texts, frames.tolist(), strict=True))
        if set(text) <= known and recogniser.frames_needed(recogniser.alphabet.encode([text])[0]) <= there
    ]  # fmt: skip


def by_position(maps: list[AttentionMap]) -> pd.DataFrame:
    """Returns the table of `Attention`."""
    position = np.concatenate([np.arange(1, len(own.shares) + 1) for own in maps])
    rows = pd.DataFrame({
        "position": position, "near": np.concatenate([own.near_shares() for own in maps]),
        "equal": np.concatenate([own.equal_shares() for own in maps]),
    })  # fmt: skip
    groups = rows.groupby("position")
    table = pd.DataFrame({"texts": groups.size(), "near": groups["near"].mean(), "equal": groups["equal"].mean()})
    return table.reset_index()


def by_arm(jobs: Any, rows: Any) -> pd.DataFrame:
    """Returns the rows of all jobs by arm and position: as of `over_seeds`."""
    return over_seeds(jobs, rows, "position")


def over_seeds(jobs: Any, rows: Any, by: str) -> pd.DataFrame:
    """Returns the rows of all jobs by data, arm and `by`: means over seeds, and of `near` the lowest and the highest
    seed."""
    known = rows.merge(jobs[["run_id", "data", "arm"]], on="run_id")
    groups = known.groupby(["data", "arm", by], sort=False)
    table = groups.agg(texts=("texts", "mean"), near=("near", "mean"), lowest=("near", "min"), highest=("near", "max"),
                       equal=("equal", "mean"))  # fmt: skip
    return table.reset_index()


def in_groups(jobs: Any, rows: Any) -> pd.DataFrame:
    """Returns the rows of all jobs by arm and groups of positions, each text of a group with the same weight: as of
    `over_seeds`."""
    first = np.array(EDGES)[np.searchsorted(EDGES, rows["position"], side="right") - 1]
    weighted = rows.assign(first=first, near=rows["near"] * rows["texts"], equal=rows["equal"] * rows["texts"])
    sums = weighted.groupby(["run_id", "first"], sort=False)[["texts", "near", "equal"]].sum().reset_index()
    sums["near"], sums["equal"] = sums["near"] / sums["texts"], sums["equal"] / sums["texts"]
    return over_seeds(jobs, sums, "first").rename(columns={"first": "from position", "texts": "characters"})
