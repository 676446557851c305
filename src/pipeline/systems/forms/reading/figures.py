"""Forms with boxes and the words that were read in them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from models.forms.page_scores import meant
from models.forms.reader import NO_ORDER, text_of
from pipeline.plotting import SMALL_SIZE, colour, new_figure
from pipeline.systems.forms.outlines import outline, picture
from pipeline.systems.forms.reading.scores import FOUND, Sheet, at_least

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = 6  # size of texts below a form
LINE, CHARACTERS = 0.1, 120  # of text below a form: its height in inches, and how many it has at most
RIGHT: dict[str, Any] = {"color": colour(1), "linestyle": "-"}
WRONG: dict[str, Any] = {"color": colour(2), "linestyle": ":"}
KEY = "solid: read without a fault; dotted: wrong, or no word; thin grey: true boxes of words"


def pages(sheets: Sequence[Sheet], least_score: float, *, title: str) -> Figure:
    """Draws forms with the boxes of words, and above each what was read in it."""
    figure, panels = shown_forms(sheets, f"{title} ({KEY})")
    for panel, own in zip(panels, sheets, strict=True):
        mark(panel, own, least_score)
    return figure


def texts_below(sheets: Sequence[Sheet], *, title: str) -> Figure:
    """Draws forms, and below each all that was read on it, and what it says."""
    figure, panels = shown_forms(sheets, f"{title}: read, and true", lines=8)
    for panel, own in zip(panels, sheets, strict=True):
        said = {"read": text_of(own.read[FOUND]), "true": " ".join(word.text for word in own.true)}
        lines = [fill(f"{name}: {text}", CHARACTERS, max_lines=4).replace("$", r"\$") for name, text in said.items()]
        panel.set_xlabel("\n".join(lines), fontsize=LETTERS, loc="left")
    return figure


def shown_forms(sheets: Sequence[Sheet], title: str, *, lines: int = 0) -> tuple[Figure, list[Axes]]:
    """Returns forms one below the other, with room for so many lines of text below each."""
    height, width = sheets[0].form.image.shape
    figure = new_figure(7.0, 1.0 + len(sheets) * (7.0 * height / width + LINE * lines), title)
    panels = [figure.add_subplot(len(sheets), 1, place + 1) for place in range(len(sheets))]
    for panel, own in zip(panels, sheets, strict=True):
        picture(panel, own.form.image, alpha=0.6)
    return figure, panels


def mark(panel: Axes, own: Sheet, least_score: float) -> None:
    """Draws true boxes, and those that were found with what was read in them."""
    for word in own.true:
        outline(panel, word.box, edgecolor="0.6", linewidth=0.6, linestyle="-")
    words = [row for row in at_least(own.read[FOUND], least_score) if row.order != NO_ORDER]
    for place, row in zip(meant(own.true, words), words, strict=True):
        style = RIGHT if place is not None and own.true[place].text == row.text else WRONG
        outline(panel, row.box, edgecolor=style["color"], linewidth=1.2, linestyle=style["linestyle"])
        panel.text(row.box[0], row.box[1] - 2, row.text.replace("$", r"\$"), fontsize=SMALL_SIZE, color=style["color"],
                   verticalalignment="bottom", clip_on=True)  # fmt: skip
