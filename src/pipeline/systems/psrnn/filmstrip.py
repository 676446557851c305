"""A video's frames side by side: truth, one-step prediction and forecast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pipeline.plotting import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW, FRAME = 7, 6  # sizes of letters beside and under images that are less than an inch wide


def filmstrip(
    rows: Mapping[str, np.ndarray], shape: tuple[int, int], *, first_frame: int, stride: int, title: str
) -> Figure:
    """One row of images a name, (frame, pixel) each; all share one grey scale, 0 white. The first column is frame
    `first_frame`, the next `stride` frames on; frames that a row does not have (NaN) stay empty."""
    frames = max(len(images) for images in rows.values())
    figure = new_figure(1.2 + 0.75 * frames, 0.6 + 0.85 * len(rows), title)
    highest = max(float(np.nanmax(images)) for images in rows.values())
    for i, (name, images) in enumerate(rows.items()):
        for j, image in enumerate(images):
            panel = figure.add_subplot(len(rows), frames, i * frames + j + 1)
            panel.imshow(image.reshape(shape), cmap="gray_r", vmin=0.0, vmax=highest)
            panel.set_xticks([])
            panel.set_yticks([])
            if j == 0:
                panel.set_ylabel(name, fontsize=ROW)
            if i == len(rows) - 1:
                panel.set_xlabel(f"frame {first_frame + stride * j}", fontsize=FRAME)
    return figure
