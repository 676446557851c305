"""Images in figures of forms: without ticks, and in greys of a fixed range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.plotting import new_figure
from pipeline.systems.forms.outlines import picture


@pytest.mark.parametrize(
    ("given", "colours", "limits"), [({}, "gray", (0, 255)), ({"black": 1, "white": 0}, "Greys", (0, 1))]
)
def test_a_picture_has_no_ticks_and_a_fixed_range(given: dict[str, Any], colours: str, limits: tuple[int, int]) -> None:
    panel = new_figure(2, 2).add_subplot()
    picture(panel, np.full((4, 6), 0.5), alpha=0.6, **given)
    (shown,) = panel.get_images()
    assert (shown.get_cmap().name, shown.get_clim(), shown.get_alpha()) == (colours, limits, 0.6)
    assert (len(panel.get_xticks()), len(panel.get_yticks())) == (0, 0)
