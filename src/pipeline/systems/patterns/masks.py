"""Which tokens of a document attend to which, as pictures and as counts (thesis, figures 2.15 and 2.16)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from data.pages import Document, Documents
from models.documents.words import centres_of
from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study
from pipeline.systems.patterns.config import PatternsConfig
from pipeline.systems.patterns.figures import masks_figure
from pipeline.systems.patterns.inputs import (
    AnyPattern,
    Collection,
    documents_of,
    layout_of_words,
    lists_of,
    patterns_of,
)
from pipeline.systems.patterns.mask import KEY, Mask, mask_of


def chosen(data: Documents, words: int) -> Document:
    """Returns the first document with so many words, cut behind them, else the longest; test documents first."""
    every = list(documents_of(data))
    own = next((each for each in every if len(each.words) >= words), None) or max(every, key=lambda x: len(x.words))
    return own._replace(
        words=own.words[:words], boxes=own.boxes[:words], pages=own.pages[:words], tags=own.tags[:words]
    )


def middle_word(document: Document) -> int:
    """Returns the word of the first page with words that is nearest to the middle of the page; of equals the first."""
    page = int(document.pages[0])
    own = np.flatnonzero((document.pages == page) & ~np.isnan(document.boxes[:, 0]))
    middle = np.array(document.sizes[page]) / 2
    centres = (document.boxes[own, :2] + document.boxes[own, 2:]) / 2
    return int(own[np.argmin(((centres - middle) ** 2).sum(1))])


def masks_of(document: Document, patterns: dict[str, AnyPattern], seed: int) -> list[Mask]:
    """Returns the mask of each kind of attention."""
    layout = layout_of_words(centres_of(document))
    return [mask_of(name, *lists_of(pattern, layout, seed)) for name, pattern in patterns.items()]


def counts_of(name: str, masks: Sequence[Mask]) -> pd.DataFrame:
    """Returns a row a kind of attention: keys of a token, the share of all pairs, and of pairs that are mutual."""
    rows = []
    for mask in masks:
        seen = mask.seen >= KEY
        rows.append({
            "data": name, "attention": mask.name, "tokens": len(seen), "keys_per_query": mask.keys.mean(),
            "most_keys": mask.keys[1:].max(initial=1), "share_of_pairs": seen.mean(),
            "mutual": (seen & seen.T).sum() / seen.sum(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def show_masks(settings: PatternsConfig, found: Collection, here: Study) -> None:
    """Logs the counts of a document of each set, and a figure of its masks and of what one of its words sees."""
    tables = []
    for name, data in found.sets.items():
        document = chosen(data, settings.patterns.words)
        masks = masks_of(document, patterns_of(settings), settings.seed)
        tables.append(counts_of(data.name, masks))
        word = middle_word(document)
        title = f"{here.title}: {data.name}, {len(document.words)} words"
        here.run.figure(masks_figure(document, masks, word, title=title), f"masks/{name}")
    table = pd.concat(tables, ignore_index=True)
    here.run.table(table, "masks/counts.csv")
    for row in table.to_dict("records"):
        here.run.metric(f"masks/{row['data']}/{row['attention']}/keys_per_query", row["keys_per_query"])
    here.close(markdown_table(table.round(3)), f"{len(table)} masks")
