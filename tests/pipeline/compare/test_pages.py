"""A result page made again: which tables, figures and words it takes of a summary."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from pipeline.compare.pages import Remade
from pipeline.compare.words import Summary


def test_a_page_takes_figures_without_their_folder_and_leaves_tables_that_stay() -> None:
    means, measured, figure = pd.DataFrame({"arm": ["a"]}), pd.DataFrame({"arm": ["b"]}), Figure()
    found = Remade.of(
        Summary({"means.csv": means, "bleu.csv": measured}, {"figures/arms": figure}, "Words"), ["bleu.csv"]
    )
    assert list(found.tables) == ["means.csv"]
    assert found.tables["means.csv"] is means
    assert found.figures == {"arms": figure}
    assert found.text == "Words"
