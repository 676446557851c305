"""Forms with boxes and the words that were read in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from models.forms.page_scores import meant
from models.forms.reader import NO_ORDER
from pipeline.plotting import colour, new_figure
from pipeline.systems.forms.reading.scores import FOUND, Sheet, at_least
from pipeline.systems.forms.segmentation.figures import outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = 6  # size of what was read
RIGHT: dict[str, Any] = {"color": colour(1), "linestyle": "-"}
WRONG: dict[str, Any] = {"color": colour(2), "linestyle": ":"}
KEY = "solid: read without a fault; dotted: wrong, or no word; thin grey: true boxes of words"


def pages(sheets: Sequence[Sheet], least_score: float, *, title: str) -> Figure:
    """Draws forms with the boxes of words, and above each what was read in it."""
    height, width = sheets[0].form.image.shape
    figure = new_figure(7.0, 1.0 + 7.0 * len(sheets) * height / width, f"{title} ({KEY})")
    for place, own in enumerate(sheets):
        panel = figure.add_subplot(len(sheets), 1, place + 1)
        panel.imshow(own.form.image, cmap="gray", vmin=0, vmax=255, alpha=0.6)
        panel.set_xticks([])
        panel.set_yticks([])
        mark(panel, own, least_score)
    return figure


def mark(panel: Axes, own: Sheet, least_score: float) -> None:
    """Draws true boxes, and those that were found with what was read in them."""
    for word in own.true:
        outline(panel, word.box, edgecolor="0.6", linewidth=0.6, linestyle="-")
    words = [row for row in at_least(own.read[FOUND], least_score) if row.order != NO_ORDER]
    for place, row in zip(meant(own.true, words), words, strict=True):
        style = RIGHT if place is not None and own.true[place].text == row.text else WRONG
        outline(panel, row.box, edgecolor=style["color"], linewidth=1.2, linestyle=style["linestyle"])
        panel.text(row.box[0], row.box[1] - 2, row.text.replace("$", r"\$"), fontsize=LETTERS, color=style["color"],
                   verticalalignment="bottom", clip_on=True)  # fmt: skip
