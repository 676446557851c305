"""Connected ink on drawn forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from models.forms.detect import components
from models.forms.detect.boxes import Truth
from models.forms.detect.components import Components, ink_boxes, ink_of, word_precisions
from models.runtime.plain import made_of, plain


def striped(words: list[tuple[int, int, int, int]], *, rule: int | None = None) -> torch.Tensor:
    """A form of 60 x 120 with words of upright strokes 2 wide, 2 apart; a ruled line at height `rule`."""
    image = torch.zeros(1, 60, 120)
    for x0, y0, x1, y1 in words:
        for x in range(x0, x1, 4):
            image[0, y0:y1, x : x + 2] = 1.0
    if rule is not None:
        image[0, rule] = 1.0
    return image


WORDS = [(4, 5, 34, 17), (50, 6, 88, 18), (10, 30, 52, 42), (60, 31, 90, 43)]  # each ends with a stroke


def truth() -> Truth:
    return Truth(torch.tensor(WORDS).float(), torch.ones(4, dtype=torch.int64))


@pytest.mark.parametrize("rule", [None, 45])
def test_tuned_components_find_the_words_to_the_pixel(rule: int | None) -> None:
    image = striped(WORDS, rule=rule)
    detector = Components().prepared([image], [truth()]).network()
    (found,) = detector.detect(image[None])
    assert sorted(map(tuple, found.boxes.tolist())) == sorted(map(tuple, truth().boxes.tolist()))
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)
    assert found.classes.tolist() == [1, 1, 1, 1]
    assert word_precisions([detector.settings], [image], [truth()]) == [1.0]


def test_ink_is_told_from_paper_once_a_form_and_the_best_settings_are_those_found_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    images, truths, ruled = [striped(WORDS, rule=45), striped(WORDS[:3], rule=50)], [truth(), truth()], components.ruled
    tried = list(components.tunings(truth().boxes.repeat(2, 1)))
    one_by_one = [word_precisions([own], images, truths)[0] for own in tried]
    assert len(set(one_by_one)) > 1
    asked = list[int]()
    monkeypatch.setattr(components, "ruled", lambda ink, length: asked.append(length) or ruled(ink, length))
    assert Components().prepared(images, truths) == tried[int(np.argmax(one_by_one))]
    assert len(asked) == 2 * len(images)  # at two thresholds


def test_the_same_settings_make_the_same_detector() -> None:
    settings = Components().prepared([striped(WORDS)], [truth()])
    assert made_of(plain(settings, "detector")) == settings
    assert settings.gap > 0


def test_dust_and_low_scores_are_dropped_and_a_form_may_be_empty() -> None:
    detector = Components().prepared([striped(WORDS)], [truth()]).network()
    image = striped(WORDS)
    image[0, 55, 5] = 1.0
    assert len(detector.detect(image[None])[0].boxes) == 4
    assert len(detector.detect(image[None], 1.1)[0].boxes) == 0
    assert [len(each.boxes) for each in detector.detect(torch.zeros(2, 1, 60, 120))] == [0, 0]


def test_forms_without_words_and_training_are_refused() -> None:
    with pytest.raises(ValueError, match="no training form has any"):
        Components().prepared([striped([])], [Truth(torch.zeros(0, 4), torch.zeros(0))])
    with pytest.raises(ValueError, match="components have no loss"):
        Components().network().losses(striped(WORDS)[None], [truth()])


@pytest.mark.parametrize("even", [0, 1])
def test_closing_moves_no_edge_and_rules_vanish_whole_whatever_the_parity_of_the_windows(even: int) -> None:
    image = np.zeros((40, 60), np.float32)
    image[5:12, 0:14] = image[5:12, 20:21] = image[26:33, 50:60] = 1.0  # the second is one pixel wide
    image[20, 3:57] = 1.0  # a ruled line one pixel high
    own = Components(gap=2 + even, rise=even, rule=20 + even, least_width=0.0, least_height=0.0)
    ink = ink_of(image, own.threshold, own.rule)
    assert ink_boxes(ink, own).tolist() == [[0, 5, 14, 12], [20, 5, 21, 12], [50, 26, 60, 33]]
