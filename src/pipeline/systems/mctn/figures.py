"""The figures of sentiment by translation: training, predictions, translations, attention, and the encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pipeline.plotting import (
    HEADING,
    MOST_MARKERS,
    REFERENCE,
    SMALL_SIZE,
    STYLES,
    Grid,
    colour,
    legend,
    legend_below,
    line,
    new_axes,
    new_figure,
    new_panels,
    whole_ticks,
)
from pipeline.systems.mctn.joint import Encodings, plane, separation, words_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRANSLATIONS = {"translation": "into the target", "cycle": "back into the source", "second": "into the second target"}
BLACK = 0.3  # weight of attention, below which nothing is drawn black
LEAST_SHOWN = -1.0  # of R²; what is below is drawn there
MOST_BARS = 60  # features with a mark each; more are a line, sorted
MOST_MARKS = 400  # samples in a plane, spread over all
MOST_WORDS = 24  # steps with a label each
KIND_COLOURS = (2, 1, 3, 4, 0)  # of negative, positive and further kinds, by their number in the palette
COUNTED = "standardised squared error"


def learning(curve: pd.DataFrame, kept: int, *, unit: str, title: str) -> Figure:
    """Draws the training loss, and on the validation part the error and the losses of translations, against the epoch;
    the kept epoch is marked.

    curve: columns epoch, train, validation, and those of translation, cycle and second that there are. unit: of the
    validation error.
    """
    terms = [name for name in TRANSLATIONS if name in curve and bool(curve[name].notna().to_numpy().any())]
    panels = {"train": "training loss", "validation": f"validation\n({unit})"}
    panels |= {"terms": f"validation\n({COUNTED})"} if terms else {}
    figure, axes = new_axes(title, x="epoch (0: before training)", y="", rows=len(panels), height=1 + 2 * len(panels))
    for panel, (name, label) in zip(axes, panels.items(), strict=True):
        drawn = {each: TRANSLATIONS[each] for each in terms} if name == "terms" else {name: ""}
        for index, (column, words) in enumerate(drawn.items()):
            line(panel, index, curve["epoch"], curve[column], words, markers=len(curve) <= MOST_MARKERS)
        panel.axvline(kept, **REFERENCE)
        panel.set_ylabel(label, fontsize=HEADING)
        if name == "terms":
            panel.margins(y=0.3)  # room for the legend
            legend(panel, loc="upper right", ncols=len(terms))
        whole_ticks(panel)
    note(axes[0], f"kept: epoch {kept}")
    return figure


def note(panel: Axes, words: str) -> None:
    """Writes words in the upper right corner of a panel."""
    place = {"xycoords": "axes fraction", "xytext": (-3, -10), "textcoords": "offset points", "ha": "right"}
    panel.annotate(words, (1, 1), fontsize=SMALL_SIZE, **place)  # pyright: ignore[reportArgumentType]


def against_labels(table: pd.DataFrame, *, title: str) -> Figure:
    """Draws predicted against true scores of the test samples, with the line of agreement.

    table: columns label and prediction, numbers; samples without a prediction are left out.
    """
    known = table.dropna(subset=["prediction"])
    true, predicted = (np.asarray(known[name], np.float64) for name in ("label", "prediction"))
    figure = new_figure(4.6, 4.8, title)
    panel = figure.add_subplot()
    low, high = min(true.min(), predicted.min()), max(true.max(), predicted.max())
    panel.plot([low, high], [low, high], label="agreement", **REFERENCE)
    panel.scatter(true, predicted, s=8, color=colour(1), alpha=0.5, linewidths=0, label="test sample")
    panel.set_xlabel("score, labelled", fontsize=HEADING)
    panel.set_ylabel("score, predicted", fontsize=HEADING)
    panel.grid(True, color="0.9")
    panel.set_aspect("equal")
    legend(panel, loc="upper left")
    return figure


def confusion(table: pd.DataFrame, classes: Sequence[str], *, title: str) -> Figure:
    """Draws how many test samples of each class are predicted to be of which class. table: columns label and
    prediction, numbers of `classes`; samples without a prediction are left out."""
    known = table.dropna(subset=["prediction"])
    counts = np.zeros((len(classes), len(classes)), np.int64)
    np.add.at(counts, tuple(np.asarray(known[name], np.int64) for name in ("label", "prediction")), 1)
    side = 2.0 + 0.6 * len(classes)
    figure = new_figure(side, side, title)
    panel = figure.add_subplot()
    panel.imshow(counts, cmap="Greys", vmin=0, vmax=1.6 * max(1, counts.max()))
    for (row, column), count in np.ndenumerate(counts):
        panel.text(column, row, str(count), ha="center", va="center", fontsize=SMALL_SIZE)
    panel.set_xticks(range(len(classes)), classes, rotation=45, ha="right", fontsize=SMALL_SIZE)
    panel.set_yticks(range(len(classes)), classes, fontsize=SMALL_SIZE)
    panel.set_xlabel("class, predicted", fontsize=HEADING)
    panel.set_ylabel("class, labelled", fontsize=HEADING)
    return figure


def by_feature(table: Any, *, title: str) -> Figure:
    """Draws R² of translations on the test part for each feature, a panel a translation; 0 is what the mean would give.

    table: columns term, stream, feature, r2, in the order of the features. R² below −1 are drawn at −1, and counted.
    """
    pairs = table[["term", "stream"]].drop_duplicates().itertuples(index=False)
    groups = {f"{TRANSLATIONS[pair.term]}: {pair.stream}": shares_of(table, pair.term, pair.stream) for pair in pairs}
    figure, axes = new_panels(
        list(groups), title, x="feature (in order; where there are many, sorted)", y="R² on the test part",
        grid=Grid(3, (2.9, 2.4), (0.6, 0.9)),
    )  # fmt: skip
    for (name, values), panel in zip(groups.items(), axes.values(), strict=True):
        panel.set_axisbelow(True)
        panel.axhline(0, **REFERENCE)
        draw_shares(panel, values)
        below = int((values < LEAST_SHOWN).sum())
        panel.set_title(f"{name}\n{len(values)} features{f', {below} below −1' if below else ''}", fontsize=SMALL_SIZE)
    return figure


def shares_of(table: Any, term: str, stream: str) -> np.ndarray:
    """Returns R² (feature,) of the features of a translation that have one."""
    own = table[(table["term"] == term) & (table["stream"] == stream)]
    return np.asarray(own["r2"].dropna(), np.float64)


def draw_shares(panel: Axes, values: np.ndarray) -> None:
    """Draws R² of each feature as a bar from 0; of many features, as a falling line."""
    shown = np.clip(values, LEAST_SHOWN, None)
    if len(values) > MOST_BARS:
        line(panel, 1, np.arange(len(values)) + 1, np.sort(shown)[::-1], "", markers=False)
    else:
        panel.bar(np.arange(len(values)) + 1, shown, color=colour(1), width=0.7)
    panel.set_ylim(min(-0.1, float(shown.min(initial=0)) * 1.1), max(0.1, float(shown.max(initial=0)) * 1.1))
    whole_ticks(panel)


class Attended(NamedTuple):
    """Holds what the translation of one sample attended to: its name, weights (step written, step read), and labels of
    the steps read, as the words of a text, where they are known."""

    name: str
    weights: np.ndarray
    steps: tuple[str, ...] = ()


def attention(maps: Sequence[Attended], *, read: str, written: str, title: str) -> Figure:
    """Draws the weights of attention of a few samples, a panel each: dark is much. read, written: names of the
    modalities."""
    figure, axes = new_panels(
        [each.name for each in maps], title, x=f"step of {read} that is read", y=f"step of {written} that is written",
        grid=Grid(2, (3.9, 2.9), (1.0, 0.9)),
    )  # fmt: skip
    image, most = None, max(BLACK, *(float(each.weights.max()) for each in maps))
    for each, panel in zip(maps, axes.values(), strict=True):
        rows, columns = each.weights.shape
        extent = (0.5, columns + 0.5, rows + 0.5, 0.5)
        image = panel.imshow(each.weights, cmap="Greys", vmin=0, vmax=most, aspect="auto", extent=extent)
        panel.grid(False)
        panel.set_yticks(spaced(rows), [str(place) for place in spaced(rows)])
        label_steps(panel, columns, each.steps)
    figure.colorbar(cast(Any, image), ax=list(axes.values()), shrink=0.6).set_label(
        "weight of attention", fontsize=SMALL_SIZE
    )
    return figure


def spaced(count: int) -> list[int]:
    """Returns up to about six whole numbers from 1 on."""
    return list(range(1, count + 1, -(-count // 6)))


def label_steps(panel: Axes, count: int, steps: Sequence[str]) -> None:
    """Writes words beneath the steps where they are known and not too many, else numbers."""
    if steps and count <= MOST_WORDS:
        panel.set_xticks(range(1, count + 1), list(steps), rotation=60, ha="right", fontsize=SMALL_SIZE)
    else:
        panel.set_xticks(spaced(count), [str(place) for place in spaced(count)])


def joint(panels: Mapping[str, Encodings], *, title: str) -> Figure:
    """Draws the encodings of the test part in a plane by t-SNE, a panel each, with kinds told apart by colour and
    shape, as the thesis's figure 2.6 does. Over each panel stands how far the kinds are apart in the space of the
    encodings itself."""
    figure, axes = new_panels(
        list(panels), title, x="", y="", grid=Grid(3, (3.3, 3.2), (0.4, 1.2)),
    )  # fmt: skip
    for (name, own), panel in zip(panels.items(), axes.values(), strict=True):
        panel.set_title(f"{name}\n{words_of(separation(own))}", fontsize=SMALL_SIZE)
        draw_plane(panel, own)
    legend_below(figure, "plane of t-SNE: its axes and distances have no unit")
    return figure


def draw_plane(panel: Axes, own: Encodings) -> None:
    """Draws a mark for each of `MOST_MARKS` samples at most, of the colour and shape of its kind."""
    shown = own.spread(MOST_MARKS)
    places = plane(shown)
    for number, kind in enumerate(own.kinds):
        chosen = shown.kind == number
        shade = colour(KIND_COLOURS[number % len(KIND_COLOURS)])
        shape: Any = {"facecolors": "none", "edgecolors": shade} if number == 0 else {"color": shade}
        marker = STYLES[number % len(STYLES)][1]
        panel.scatter(*places[chosen].T, s=14, marker=marker, linewidths=0.8, label=kind, **shape)
    panel.grid(False)
    panel.set_xticks([])
    panel.set_yticks([])
