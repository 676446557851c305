"""How long documents are, in words and in tokens (thesis, figure 2.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from data.pages import Documents
from models.sequence.vocabulary import Vocabulary
from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study
from pipeline.job.vocabulary import learned
from pipeline.systems.patterns.config import PatternsConfig
from pipeline.systems.patterns.figures import lengths_figure
from pipeline.systems.patterns.inputs import Collection

LEAST = (512, 1024, 2048, 4096, 8192)


def vocabulary_of(settings: PatternsConfig, first: Documents) -> Vocabulary:
    """Returns the vocabulary of the training texts of the first set."""
    own = settings.patterns
    texts = ["".join(spelt(document.words, lower_case=own.lower_case)) for document in first.parts["train"]]
    may_be_fewer = first.stand_in or first.source == "simulated" or settings.size.sequences is not None
    return learned(texts, own.vocabulary, key="patterns.vocabulary", may_be_fewer=may_be_fewer)


def spelt(words: Sequence[str], *, lower_case: bool) -> list[str]:
    """Returns words as they stand within a text."""
    return [f" {word.lower() if lower_case else word}" for word in words]


def lengths_of(sets: Mapping[str, Documents], vocabulary: Vocabulary, *, lower_case: bool) -> pd.DataFrame:
    """Returns a row a document: data, part, words, tokens, pages. A token stands for the document itself."""
    rows = [
        {"data": data.name, "part": part, "words": len(document.words), "pages": len(document.sizes),
         "tokens": 1 + sum(map(len, vocabulary.encode(spelt(document.words, lower_case=lower_case))))}
        for data in sets.values() for part, documents in data.parts.items() for document in documents
    ]  # fmt: skip
    return pd.DataFrame(rows)


def summary_of(lengths: pd.DataFrame) -> pd.DataFrame:
    """Returns a row a set and unit: documents, mean, median, least, most, and the share of at least so many."""
    rows = []
    for name, own in lengths.groupby("data", sort=False):
        for unit in ("words", "tokens"):
            values = own[unit].to_numpy()
            shares = {f"≥ {least}": float(np.mean(values >= least)) for least in LEAST}
            rows.append({
                "data": name, "unit": unit, "documents": len(values), "mean": values.mean(),
                "median": np.median(values), "least": values.min(), "most": values.max(), **shares,
            })  # fmt: skip
    return pd.DataFrame(rows)


def show_lengths(settings: PatternsConfig, found: Collection, here: Study) -> None:
    """Logs the length of each document, their summary and the figure."""
    first = next(iter(found.sets.values()))
    lengths = lengths_of(found.sets, vocabulary_of(settings, first), lower_case=settings.patterns.lower_case)
    summary = summary_of(lengths)
    here.run.table(lengths, "lengths/lengths.csv")
    here.run.table(summary, "lengths/summary.csv")
    here.run.figure(lengths_figure(lengths, title=here.title), "lengths/lengths")
    for row in summary.to_dict("records"):
        here.run.metric(f"lengths/{row['data']}/median_{row['unit']}", row["median"])
    here.close(markdown_table(summary.round(3)), f"{len(lengths)} documents")
