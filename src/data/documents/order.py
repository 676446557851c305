"""The words of a document in another order, and in the order of lines on its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.pages import Document, Documents


def by_lines(data: Documents) -> Documents:
    """Returns the documents with their words in the order of lines, as `line_order` says; boxes, tags and cues go with
    their words."""
    parts = {
        part: tuple(reordered(own, line_order(own)) for own in documents) for part, documents in data.parts.items()
    }
    return replace(data, parts=parts)


def line_order(document: Document) -> np.ndarray:
    """Returns the places of a document's words, all of which have a box, in the order of lines, int64 (word,).

    The highest word that is left, by its middle, opens a line, to which all words belong whose middles lie above its
    lower edge. Lines go from top to bottom and words of a line from left to right, pages one after the other. Columns
    side by side are read across.
    """
    (left, top, _, bottom), pages = document.boxes.T, document.pages
    middles = (top + bottom) / 2
    lines, line, page, end = np.zeros(len(pages), np.int64), 0, -1, -np.inf
    for word in np.lexsort((middles, pages)).tolist():
        opens = pages[word] > page or middles[word] >= end
        page, end = (pages[word], bottom[word]) if opens else (page, end)
        lines[word] = line = line + bool(opens)
    return np.lexsort((left, lines))


def reordered(document: Document, order: np.ndarray) -> Document:
    """Returns a document whose words come in another order of the same pages, with their boxes, tags and cues."""
    place = np.argsort(order)
    return document._replace(
        words=tuple(document.words[i] for i in order), boxes=document.boxes[order], pages=document.pages[order],
        tags=tags_in_order(document.tags, order),
        cues=np.where(document.cues < 0, document.cues, place[document.cues]),
    )  # fmt: skip


def tags_in_order(tags: Sequence[str], order: np.ndarray) -> tuple[str, ...]:
    """Returns the tags of words in another order, none where there are none. An I-kind becomes B-kind where the word
    before is not the one that it went on from, so that a cut entity begins anew (IOB2)."""
    if not tags:
        return ()
    cut = np.diff(order, prepend=-1) != 1
    own: list[str] = [tags[int(i)] for i in order]
    return tuple(f"B-{tag[2:]}" if anew and tag[:2] == "I-" else tag for tag, anew in zip(own, cut, strict=True))
