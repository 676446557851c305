"""Curves of a detector, precision over recall, and forms with the boxes that were found on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from models.forms.detect.average_precision import curve
from models.forms.detect.boxes import CLASSES, Detections, Truth
from pipeline.plotting import (
    SMALL_SIZE,
    colour,
    line,
    new_axes,
    new_figure,
)
from pipeline.systems.forms.outlines import outline, picture
from pipeline.systems.forms.segmentation.load import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "train_loss": "training loss", "validation_error": "validation error",
    "validation_ap_word": "AP of words", "validation_map": "mean AP",
}  # fmt: skip
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
SURE = 0.5  # boxes of this score are drawn
KEY = f"found with a score of at least {SURE:g}; thin grey: true boxes"


def precision_and_recall(
    found: Sequence[Detections], truths: Sequence[Truth], kinds: Sequence[str], *, title: str
) -> Figure:
    """Draws the precision at each recall, a line a class of `kinds`."""
    figure, (panel,) = new_axes(title, x="recall", y="precision (IoU at least 0.5)")
    for kind, name in enumerate(CLASSES):
        own = curve(found, truths, kind) if name in kinds else None
        if own is not None and len(own.recall):
            line(panel, kind - 1, own.recall, own.precision, f"{name}: AP {own.average():.2f}", markers=False)
    panel.set_xlim(-0.02, 1.02)
    panel.set_ylim(-0.02, 1.05)
    if panel.lines:
        panel.legend(fontsize=SMALL_SIZE)
    return figure


def pages(forms: Shown, found: Sequence[Detections], *, title: str, key: str = KEY) -> Figure:
    """Draws forms with the boxes that were found with a score of at least `SURE`, a kind of line a class; true boxes
    are thin and grey. key: what the lines are, in words."""
    shape = forms.inks[0].shape
    figure = new_figure(7.0, 0.8 + 7.0 * len(forms.inks) * shape[0] / shape[1], title)
    for place, (ink, truth, own) in enumerate(zip(forms.inks, forms.truths, found, strict=True)):
        panel = figure.add_subplot(len(forms.inks), 1, place + 1)
        picture(panel, ink.numpy(), black=1, white=0)
        for box in truth.boxes.tolist():
            outline(panel, box, edgecolor="0.6", linewidth=0.6, linestyle="-")
        sure = own.at(own.scores >= SURE)
        for box, kind in zip(sure.boxes.tolist(), sure.classes.tolist(), strict=True):
            outline(panel, box, edgecolor=colour(kind - 1), linewidth=1.3, linestyle=DASHES[kind - 1])
    explain(figure, key)
    return figure


def explain(figure: Figure, key: str) -> None:
    """Says below the forms which kind of line is which class."""
    panel = figure.axes[0]
    handles = [panel.plot([], [], color=colour(place), linestyle=dashes, label=name)[0]
               for place, (dashes, name) in enumerate(zip(DASHES, CLASSES[1:], strict=True))]  # fmt: skip
    places = {"loc": "outside lower center", "ncols": len(handles)}
    figure.legend(handles=handles, **places, fontsize=SMALL_SIZE, title=key, title_fontsize=SMALL_SIZE)
