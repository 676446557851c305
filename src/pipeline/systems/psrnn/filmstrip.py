"""A video's frames side by side: truth, one-step prediction and forecast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from data.base import Sequences
from models.forecasting.forecaster import Forecaster
from models.runtime.threads import threads_for
from pipeline.plotting import new_figure
from pipeline.tracking.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRIDE = 2  # frames from one that is shown to the next
ROW, FRAME = 7, 6  # sizes of letters beside and under images that are less than an inch wide


def filmstrip(
    rows: Mapping[str, np.ndarray], shape: tuple[int, int], *, first_frame: int, stride: int, title: str
) -> Figure:
    """Draws one row of images for each name, (frame, pixel) each. All images share one grey scale, in which 0 is white.

    The first column is frame `first_frame`, the next `stride` frames on. Frames that a row does not have (NaN) stay
    empty.
    """
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


def log_filmstrip(
    run: Run, predicted: np.ndarray, forecaster: Forecaster, videos: Sequences, shape: tuple[int, int], *, title: str
) -> None:
    """Logs a figure of every second frame of the first of the videos. It stands in place of a table of predictions with
    thousands of columns.

    predicted (time, pixel): one step ahead. Beside it stands the forecast that begins at the middle of the video and
    sees nothing after it.
    """
    truth = videos.to_arrays(1)[0]
    middle = len(truth) // 2
    with threads_for(forecaster.model):
        ahead = forecaster.forecast(truth[:middle], len(truth) - middle)
    forecast = np.concatenate([np.full_like(truth[:middle], np.nan), ahead])
    first = max(0, middle - 4)
    rows = {"truth": truth, "one step": predicted, "forecast": forecast}
    shown = {name: images[first : len(truth) : STRIDE] for name, images in rows.items()}
    caption = f"{title}: test {videos.names[0]}"
    figure = filmstrip(shown, shape, first_frame=first, stride=STRIDE, title=caption)
    run.figure(figure, "figures/filmstrip")
