"""A page of a test document with its tags, true and named, as boxes without the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from data.pages import OUTSIDE, Document
from models.sequence.entities import entities
from pipeline.plotting import HEADING, LINE, SMALL_SIZE, colour, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONG, AROUND = 7.5, 1.3  # inches: of the longer side of a page, and of what is around it
NARROW = 3.0  # inches of a page that is as narrow as can be
WORD = "#e2e2e2"  # of boxes of words
LINES = {"true": "-", "named by the network": (0, (3, 1.5))}
LETTERS, BESIDE = 6, (-1.5, 0.0)  # points: of a number's height, and from its box
BENEATH = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}  # of a number


class TaggedPage(NamedTuple):
    """Holds a page of a document, by its number from 0, and the tags that its document was given."""

    document: Document
    page: int
    named: tuple[str, ...]


class Outline(NamedTuple):
    """Holds the box around the words of an entity in a line, x0, y0, x1, y1, and the entity's kind."""

    kind: str
    box: np.ndarray


def tagged_page(documents: Sequence[Document], predictions: Any) -> TaggedPage | None:
    """Returns the page with the most words that have a tag and a box, of equals the first; None where no page has one.
    It does not depend on what is named. predictions: a row a word, as `scores.Scored` has them."""
    counts = [tagged_words(document) for document in documents]
    best = max(range(len(documents)), key=lambda place: counts[place].max())
    if not counts[best].max():
        return None
    own = documents[best]
    named = predictions["named"][predictions["document"] == own.name]
    return TaggedPage(own, int(counts[best].argmax()), tuple(named))


def tagged_words(document: Document) -> np.ndarray:
    """Returns how many words with a tag and a box each page has, (page,)."""
    own = has_box(document) & np.array([tag != OUTSIDE for tag in document.tags])
    return np.bincount(document.pages[own], minlength=len(document.sizes))


def has_box(document: Document) -> np.ndarray:
    """Returns which words have a box, bool (word,)."""
    return ~np.isnan(document.boxes[:, 0])


def outlines(document: Document, tags: Sequence[str], page: int) -> Iterator[Outline]:
    """Yields the boxes of the entities on a page, one for each line in which an entity has words."""
    there = has_box(document) & (document.pages == page)
    for kind, first, end in entities(tags):
        boxes = document.boxes[first:end][there[first:end]]
        for line in lines_of(boxes) if len(boxes) else ():
            yield Outline(kind, np.concatenate([line[:, :2].min(0), line[:, 2:].max(0)]))


def lines_of(boxes: np.ndarray) -> list[np.ndarray]:
    """Returns the boxes (word, 4) of each line: one begins where a word stands above, below or left of the one
    before."""
    before, own = boxes[:-1], boxes[1:]
    apart = (own[:, 1] >= before[:, 3]) | (own[:, 3] <= before[:, 1]) | (own[:, 0] < before[:, 0])
    return np.split(boxes, np.flatnonzero(apart) + 1)


def page_figure(shown: TaggedPage, *, title: str) -> Figure:
    """Draws the boxes of a page's words, and around its entities what is true, in full lines, and beside it what was
    named, in dashed ones; a number and a colour say the kind."""
    document, page, named = shown
    wide, high = document.sizes[page]
    scale = LONG / max(wide, high)
    title = f"{title}: tags on page {page + document.first_page} of {document.name}"
    figure = new_figure(2 * max(NARROW, wide * scale), AROUND + high * scale, title)
    kinds = sorted({own.kind for tags in (document.tags, named) for own in entities(tags)})
    for column, (name, tags) in enumerate(zip(LINES, (document.tags, named), strict=True), start=1):
        panel = figure.add_subplot(1, 2, column)
        draw_words(panel, shown)
        for own in outlines(document, tags, page):
            draw_outline(panel, own, kinds.index(own.kind), LINES[name])
        panel.set(xlim=(0, wide), ylim=(high, 0), aspect="equal", xticks=[], yticks=[])
        panel.set_title(name, fontsize=HEADING)
    explain(figure, kinds)
    return figure


def draw_words(panel: Axes, shown: TaggedPage) -> None:
    """Draws the boxes of the words of a page."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    own = shown.document
    boxes = own.boxes[has_box(own) & (own.pages == shown.page)]
    shapes = [Rectangle((x0, y0), x1 - x0, y1 - y0) for x0, y0, x1, y1 in boxes]
    panel.add_collection(PatchCollection(shapes, facecolors=WORD, edgecolors="none"))


def draw_outline(panel: Axes, own: Outline, kind: int, dashes: Any) -> None:
    """Draws the box of an entity with the number of its kind at its left."""
    from matplotlib.patches import Rectangle

    x0, y0, x1, y1 = own.box
    drawn = {"edgecolor": colour(kind), "linestyle": dashes, "linewidth": 0.8 * LINE}
    panel.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, **drawn))
    letter = {"ha": "right", "va": "center_baseline", "fontsize": LETTERS, "color": colour(kind)}
    panel.annotate(str(kind + 1), (x0, (y0 + y1) / 2), BESIDE, textcoords="offset points", bbox=BENEATH, **letter)


def explain(figure: Figure, kinds: Sequence[str]) -> None:
    """Adds a legend below the pages."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=WORD, label="a word")]
    handles += [Patch(fill=False, edgecolor=colour(i), label=f"{i + 1}: {name}") for i, name in enumerate(kinds)]
    found = figure.legend(handles=handles, loc="outside lower center", ncols=min(6, len(handles)), fontsize=SMALL_SIZE)
    for words in found.get_texts():
        words.set_parse_math(False)
