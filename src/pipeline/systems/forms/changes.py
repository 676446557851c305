"""A figure of a training image before and after each change that makes its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from data.form_images import FormImages
from data.forms.augment import DRAWS, Augmentation
from pipeline.job.study import Study
from pipeline.plotting import HEADING, colour, new_figure
from pipeline.systems.forms.outlines import outline, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS, WIDTH = 2, 7.0  # inches
HEAD, TOP = 0.25, 0.5  # inches over a panel and over all


def log_form_changes(here: Study, forms: FormImages, augmentation: Augmentation) -> None:
    """Logs the first form with its boxes before and after each change, see `log_changes`, but where words alone are
    changed."""
    if augmentation.kind == "affine":
        return
    form = forms.form(0)
    log_changes(here, "form", form.image, form.boxes, augmentation)


def log_changes(here: Study, kind: str, grey: np.ndarray, boxes: np.ndarray | None, augmentation: Augmentation) -> None:
    """Logs an image before and after each change, with all details and if there is any change.

    kind: "form" or "word". boxes: None where the image is shown as words are, and never mirrored.
    """
    if here.full and augmentation.kind != "none":
        title = f"{here.title}: a training {kind}, and each change alone, the strongest of {DRAWS} copies"
        here.run.figure(changes(grey, boxes, augmentation, title=title), f"figures/changes_{kind}")


def changes(grey: np.ndarray, boxes: np.ndarray | None, augmentation: Augmentation, *, title: str) -> Figure:
    """Draws an image as it is and after each change, with its boxes where it has any."""
    shown = [("as it is", grey, boxes), *augmentation.each(grey, boxes)]
    rows, (height, width) = -(-len(shown) // COLUMNS), grey.shape
    figure = new_figure(WIDTH, TOP + rows * (HEAD + WIDTH / COLUMNS * height / width), title)
    for place, (name, image, own) in enumerate(shown):
        draw(figure.add_subplot(rows, COLUMNS, place + 1), name, image, own)
    return figure


def draw(panel: Axes, name: str, grey: np.ndarray, boxes: np.ndarray | None) -> None:
    """Draws an image under its name, with its boxes where it has any."""
    picture(panel, grey)
    panel.set_title(name, fontsize=HEADING)
    for box in [] if boxes is None else boxes.tolist():
        outline(panel, box, edgecolor=colour(2), linewidth=0.8)
