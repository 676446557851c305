"""Curves of a recogniser, its error rates by length, writer and height of ink, and images with what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from data.word_images import WordImages
from pipeline.compare.panels import joined
from pipeline.plotting import HEADING, SMALL_SIZE, colour, new_axes, new_figure
from pipeline.systems.forms.outlines import picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "train_loss": "training loss", "validation_cer": "validation CER (%)",
    "validation_word_accuracy": "validation word accuracy",
}  # fmt: skip
GROUPS = 8  # that lengths and heights are divided into, of equally many images
COLUMNS, RIGHT_ROWS, WRONG_ROWS = 2, 3, 5
RIGHT, WRONG = "-", ":"  # outlines of samples
REFINED_ROWS = 6
HEADS = ("as a program wrote it", "refined", "real ink, other words")


def error_rates(read: pd.DataFrame, *, title: str) -> Figure:
    """Draws the character error rate by the length of texts, by writer and by the height of ink."""
    figure, panels = new_axes(f"{title}: character error rate of the test part", x="", y="CER (%)", rows=3, height=7.5)
    by_writer = read["writer"].map(str).where(read["writer"].map(str) != "", "unknown")
    sides = {
        "characters of a text": grouped(read["characters"]), "writer, best first": by_writer,
        "height of the ink (pixels)": grouped(read["ink_height"]),
    }  # fmt: skip
    for index, (panel, (label, groups)) in enumerate(zip(panels, sides.items(), strict=True)):
        bars(panel, read, groups, index)
        panel.set_xlabel(label, fontsize=HEADING)
    return figure


def grouped(values: Any) -> pd.Series:
    """Returns an interval in words for each whole number. The intervals have about equally many numbers each."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, GROUPS + 1)[1:-1], method="nearest"))
    places = pd.Series(np.searchsorted(edges, values, side="right"), index=values.index)
    ends = values.groupby(places).agg(["min", "max"])
    names = [str(low) if low == high else f"{low}–{high}" for low, high in ends.itertuples(index=False)]
    codes = ends.index.get_indexer(places)
    return pd.Series(pd.Categorical.from_codes(codes, categories=names, ordered=True), index=values.index)


def bars(panel: Axes, read: Any, groups: Any, index: int) -> None:
    """Draws a bar a group; groups without an order stand by their error."""
    sums = read[["faults", "characters"]].groupby(groups, observed=True).sum()
    rates = 100 * sums["faults"] / sums["characters"]
    rates = rates if groups.dtype == "category" else rates.sort_values(kind="stable")
    panel.set_axisbelow(True)
    panel.bar(range(len(rates)), rates, color=colour(index + 1), edgecolor=colour(0), linewidth=0.5)
    panel.set_xticks(range(len(rates)), [str(name) for name in rates.index], fontsize=SMALL_SIZE,
                     rotation=90 if len(rates) > GROUPS else 0)  # fmt: skip


def samples(words: WordImages, read: pd.DataFrame, *, title: str) -> Figure:
    """Draws images with what was read below them: the first that were read without a fault, then the first with one."""
    chosen = joined([
        read[read["faults"] == 0].head(COLUMNS * RIGHT_ROWS), read[read["faults"] > 0].head(COLUMNS * WRONG_ROWS)
    ])  # fmt: skip
    rows = -(-len(chosen) // COLUMNS)
    figure = new_figure(7.0, 0.7 + 1.05 * rows, f"{title}: what was read (dotted: wrong)")
    for place, own in enumerate(chosen.itertuples(index=False)):
        panel = figure.add_subplot(rows, COLUMNS, place + 1)
        picture(panel, words.image(int(own.image)))
        wrong = own.faults > 0
        for side in panel.spines.values():
            side.set(linestyle=WRONG if wrong else RIGHT, linewidth=1.3, edgecolor=colour(2) if wrong else colour(0))
        said = f"{own.read}\nwrong, true: {own.true}" if wrong else str(own.read)
        panel.set_xlabel(said.replace("$", r"\$"), fontsize=SMALL_SIZE)
    return figure


def with_texts(images: Sequence[np.ndarray], texts: Sequence[str], *, title: str) -> Figure:
    """Draws images, uint8 (height, width), with what each says below it."""
    rows = -(-len(images) // COLUMNS)
    figure = new_figure(7.0, 0.7 + 0.95 * rows, title)
    for place, (image, text) in enumerate(zip(images, texts, strict=True)):
        panel = figure.add_subplot(rows, COLUMNS, place + 1)
        picture(panel, image)
        panel.set_xlabel(text.replace("$", r"\$"), fontsize=SMALL_SIZE)
    return figure


def before_and_after(written: WordImages, after: WordImages, real: WordImages, *, title: str) -> Figure:
    """Draws synthetic images before and after they were refined, beside real ones."""
    rows = min(REFINED_ROWS, len(written), len(real))
    figure = new_figure(7.0, 0.9 + 0.65 * rows, f"{title}: refined ink")
    panels = figure.subplots(rows, len(HEADS), squeeze=False)
    for row in range(rows):
        for panel, words in zip(panels[row], (written, after, real), strict=True):
            picture(panel, words.image(row))
    for panel, head in zip(panels[0], HEADS, strict=True):
        panel.set_title(head, fontsize=HEADING)
    return figure
