"""What a run of `recipe=documents` shows of its test part: counts of what was taken for what, and a tagged page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from data.pages import Document, Page
from pipeline.systems.documents.figures import MOST_NAMES, confusion_figure
from pipeline.systems.documents.scores import confusion_of, log_loss, scored_tags, worth_a_row
from pipeline.systems.documents.tagged_page import outlines, page_figure, tagged_page

OUTPUTS = ("O", "B-date", "I-date", "B-party", "I-party")


def document(name: str, tags: tuple[str, ...], pages: tuple[int, ...]) -> Document:
    """Words side by side, two in a line."""
    own = np.arange(len(tags))
    left, top = 10.0 * (own % 2), 20.0 * (own // 2)
    boxes = np.stack([left, top, left + 8, top + 10], 1).astype(np.float32)
    words = tuple(f"secret{place}" for place in own)
    return Document(name, words, boxes, np.array(pages, np.int16), (Page(100, 200),) * 2, tags=tags)


PAPERS = (
    document("a", ("B-date", "O", "B-party"), (0, 0, 1)),
    document("b", ("O", "B-date", "I-date", "I-date"), (0, 1, 1, 1)),
)
NAMED = (("B-date", "B-date", "O"), ("O", "B-party"))
SHARES = (np.array([0.9, 0.4, 0.8]), np.array([0.7, 0.6]))


def test_words_are_counted_by_kind_and_those_with_a_tag_have_a_row() -> None:
    words = scored_tags(PAPERS, NAMED, SHARES).predictions
    counts = confusion_of(words, OUTPUTS)
    assert counts.index.tolist() == counts.columns.tolist() == ["O", "date", "party"]
    assert counts.to_numpy().tolist() == [[1, 1, 0], [2, 1, 1], [1, 0, 0]]
    rows = worth_a_row(words)
    assert rows[["document", "word", "named"]].to_numpy().tolist() == [
        ["a", 0, "B-date"], ["a", 1, "B-date"], ["a", 2, "O"], ["b", 1, "B-party"], ["b", 2, "O"], ["b", 3, "O"],
    ]  # fmt: skip
    np.testing.assert_equal(rows["probability"].to_numpy(), [0.9, 0.4, 0.8, 0.6, np.nan, np.nan])
    assert "probability" not in scored_tags(PAPERS, NAMED).predictions


def test_classes_are_counted_as_they_are_called_and_all_have_a_row() -> None:
    found = pd.DataFrame({"label": ["true", "a-b", "true"], "named": ["true", "true", "a-b"]})
    counts = confusion_of(found, ("a-b", "never", "true"))
    assert counts.to_numpy().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 1]]
    assert worth_a_row(found) is found


def test_of_many_classes_the_most_frequent_are_drawn() -> None:
    names = [f"class $_{i}$" for i in range(MOST_NAMES + 2)]
    counts = pd.DataFrame(np.eye(len(names), dtype=int) * 3, index=names, columns=names)
    counts.iloc[0, 0], counts.iloc[4, 4] = 1, 2
    figure = confusion_figure(counts, unit="documents", title="t")
    figure.canvas.draw()
    (panel,) = figure.axes
    assert [own.get_text() for own in panel.get_yticklabels()] == [*names[1:4], *names[5:]]
    assert figure.get_suptitle() == "t, the 20 most frequent of 22 names"
    assert {own.get_text() for own in panel.texts} == {"3", ""}
    assert confusion_figure(counts.iloc[:3, :3], unit="words", title="t").get_suptitle() == "t"


def test_the_page_with_most_true_tags_is_shown_whatever_is_named() -> None:
    for named in (NAMED, (("O",) * 3, ("O",) * 4)):
        words = scored_tags(PAPERS, named).predictions
        shown = tagged_page(PAPERS, words)
        assert shown is not None
        assert (shown.document.name, shown.page, len(shown.named)) == ("b", 1, 4)
    blank = [own._replace(boxes=np.full_like(own.boxes, np.nan)) for own in PAPERS]
    assert tagged_page(blank, words) is None


def test_an_entity_has_a_box_in_each_of_its_lines() -> None:
    own = PAPERS[1]
    found = list(outlines(own, own.tags, 1))
    assert [each.kind for each in found] == ["date", "date"]
    assert [each.box.tolist() for each in found] == [[10, 0, 18, 10], [0, 20, 18, 30]]
    assert not list(outlines(own, own.tags, 0))


@pytest.mark.parametrize("kind", ["date", "$_$"])
def test_a_page_shows_boxes_and_no_word(kind: str) -> None:
    tags = tuple(tag.replace("date", kind) for tag in PAPERS[1].tags)
    papers = (PAPERS[1]._replace(tags=tags),)
    shown = tagged_page(papers, scored_tags(papers, [NAMED[1]]).predictions)
    assert shown is not None
    figure = page_figure(shown, title="t")
    figure.canvas.draw()
    told = [own.get_text() for own in figure.findobj(Text)]
    assert {"true", "named by the network", "t: tags on page 2 of b"} <= set(told)
    assert not [text for text in told if "secret" in text]
    boxes = [[own for own in panel.patches if isinstance(own, Rectangle)] for panel in figure.axes]
    assert [len(own) for own in boxes] == [2, 1]
    assert boxes[0][0].get_linestyle() != boxes[1][0].get_linestyle()
    for panel, own in zip(figure.axes, boxes, strict=True):
        ends = [number.get_window_extent().x1 for number in panel.texts]
        assert all(end <= box.get_window_extent().x0 for end, box in zip(ends, own, strict=True))


def test_the_log_loss_of_answers_by_hand() -> None:
    shares = [np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([[1.0, 0.0]])]
    told = [["O", "B-x", "B-x"], ["O"]]  # the third word is not read
    assert log_loss(shares, told, ("O", "B-x")) == pytest.approx(-np.log(0.5 * 0.75) / 3)
    assert log_loss([np.array([[1.0, 0.0]])], [["B-y"]], ("O", "B-x")) == pytest.approx(300 * np.log(10))
