"""What the parent of a multirun shows from tables that are not made from its jobs' rows alone: they are read from the
jobs, or from the files of a page."""

from __future__ import annotations

import pandas as pd

from pipeline.compare.words import Summary
from pipeline.systems.experts.curves import CURVES, curve_figures
from pipeline.systems.experts.embeddings import EMBEDDINGS, embedding_figures
from pipeline.systems.experts.side_by_side import EXAMPLES, examples_in_words

DRAWN = (EMBEDDINGS, CURVES, EXAMPLES)


def with_drawn(summary: Summary, tables: dict[str, pd.DataFrame], title: str) -> Summary:
    """Returns a summary with figures of embeddings and curves, and a few translations, where there are tables of them.

    tables: those of `DRAWN` that there are, by their names.
    """
    embeddings, curves, examples = (tables.get(name, pd.DataFrame()) for name in DRAWN)
    figures = {**summary.figures, **embedding_figures(embeddings, title), **curve_figures(curves, title)}
    text = "\n\n".join(filter(None, [summary.text, examples_in_words(examples)]))
    return summary._replace(figures=figures, text=text)
