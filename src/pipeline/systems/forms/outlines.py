"""Boxes drawn on images, in every figure of forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def outline(panel: Axes, box: Sequence[float], **style: Any) -> None:
    """Draws a box; pixels are centred on whole numbers."""
    from matplotlib.patches import Rectangle

    x0, y0, x1, y1 = box
    panel.add_patch(Rectangle((x0 - 0.5, y0 - 0.5), x1 - x0, y1 - y0, fill=False, **style))
