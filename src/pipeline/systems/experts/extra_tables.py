"""The tables that the parent of a multirun has beside those that follow from the rows of its jobs. They are made from
what the jobs logged, and a page that is made again reads them from its own files."""

from __future__ import annotations

import pandas as pd

from pipeline.compare.words import Summary
from pipeline.systems.experts.curves import CURVES, curve_figures
from pipeline.systems.experts.embeddings import EMBEDDINGS, embedding_figures
from pipeline.systems.experts.side_by_side import EXAMPLES, examples_in_words

EXTRA_TABLES = (EMBEDDINGS, CURVES, EXAMPLES)


def with_extra_tables(summary: Summary, tables: dict[str, pd.DataFrame], title: str) -> Summary:
    """Returns a summary with the figures of embeddings and of curves, and with the text of the examples.

    tables: by their names those of `EXTRA_TABLES` that there are. A table that is missing or empty adds nothing.
    """
    embeddings, curves, examples = (tables.get(name, pd.DataFrame()) for name in EXTRA_TABLES)
    figures = {**summary.figures, **embedding_figures(embeddings, title), **curve_figures(curves, title)}
    text = "\n\n".join(filter(None, [summary.text, examples_in_words(examples)]))
    return summary._replace(figures=figures, text=text)
