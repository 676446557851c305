"""Figures of attention: maps of single words, and how much of it is near CTC's alignment by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from data.word_images import WordImages
from models.forms.recognise.attention_map import AttentionMap
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq
from models.forms.recognise.recogniser import Recogniser
from pipeline.plotting import SMALL_SIZE, Grid, legend, line, new_figure, new_panels
from pipeline.systems.forms.recognition.attention import Attention

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

X = "position of the character in its text"
Y = "share of attention within one patch of CTC's alignment"
SHOWN = {"$": r"\$", " ": "␣"}  # characters that would not be seen as they are


def maps_figure(attention: Attention, words: WordImages, recogniser: Recogniser, *, title: str) -> Figure:
    """Draws attention over the patches of some words, darker where there is more, each below its image."""
    texts = [recogniser.alphabet.spelt(words.texts[number]) for number in attention.maps]
    heights = [part for text in texts for part in (1.0, 0.5 + 0.14 * len(text))]
    figure = new_figure(7.0, 1.2 + sum(heights), f"{title}: attention over patches (rings: where CTC says the letter)")
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for place, (number, own) in enumerate(attention.maps.items()):
        draw_image(panels[2 * place], words.image(number), recogniser.settings, own.shares.shape[1])
        draw_map(panels[2 * place + 1], own, texts[place])
    return figure


def draw_image(panel: Axes, image: np.ndarray, settings: CTCSeq2Seq, patches: int) -> None:
    """Draws an image so that the middle of each patch stands above its column of the map."""
    width = image.shape[1] * settings.height / image.shape[0]
    left, right = ((edge - settings.patch / 2) / settings.step for edge in (0, width))
    panel.imshow(image, cmap="gray", vmin=0, vmax=255, aspect="auto", extent=(left, right, 0, 1))
    panel.set_xlim(-0.5, patches - 0.5)
    panel.set_axis_off()


def draw_map(panel: Axes, own: AttentionMap, text: str) -> None:
    """Draws a_t(s), a row a character; black is a half or more."""
    panel.imshow(own.shares, cmap="gray_r", vmin=0, vmax=0.5, aspect="auto", interpolation="nearest")
    patches = np.flatnonzero(own.alignment >= 0)
    panel.plot(patches, own.alignment[patches], "o", markersize=4, markerfacecolor="none", markeredgecolor="#b03a32")
    panel.set_yticks(range(len(text)), [SHOWN.get(letter, letter) for letter in text], fontsize=SMALL_SIZE)
    panel.set_xlabel("patch", fontsize=SMALL_SIZE)
    panel.tick_params(axis="x", labelsize=SMALL_SIZE)


def positions_figure(table: Any, *, title: str) -> Figure:
    """Draws the share that is near by position, a panel a data set, a line an arm, and that of equal weights."""
    names = list(dict.fromkeys(table["data"]))
    figure, panels = new_panels(names, title, x=X, y=Y, grid=Grid(2, (5.0, 3.4), (0.8, 0.8)))
    for name, panel in panels.items():
        own = table[table["data"] == name]
        arms = list(own.groupby("arm", sort=False))
        for index, (arm, rows) in enumerate(arms):
            line(panel, index, rows["position"], rows["near"], str(arm))
        mean = own.groupby("position")["equal"].mean()
        line(panel, len(arms), mean.index, mean, "what equal weights would have", markers=False)
        panel.set_ylim(0, 1)
        legend(panel)
    return figure
