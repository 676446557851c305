"""Images, and boxes drawn on them, in every figure of forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def picture(panel: Axes, grey: Any, *, black: float = 0, white: float = 255, **style: Any) -> None:
    """Draws an image (height, width) without ticks. black, white: the numbers that stand for them."""
    low, high = sorted((black, white))
    panel.imshow(grey, cmap="gray" if black < white else "Greys", vmin=low, vmax=high, **style)
    panel.set_xticks([])
    panel.set_yticks([])


def outline(panel: Axes, box: Sequence[float], **style: Any) -> None:
    """Draws a box; pixels are centred on whole numbers."""
    from matplotlib.patches import Rectangle

    x0, y0, x1, y1 = box
    panel.add_patch(Rectangle((x0 - 0.5, y0 - 0.5), x1 - x0, y1 - y0, fill=False, **style))
