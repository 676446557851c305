"""The figures that the thesis prints of its models (section 2.1, tables 2.1 to 2.5), by the arms that they are of."""

from __future__ import annotations

from typing import NamedTuple

SCORES = ("accuracy", "f1", "mae", "correlation")


class Printed(NamedTuple):
    """Holds a row of a table as it is printed. figure: the part of figure 2.5 that shows the model. f1: weighted. A
    score that is not printed is None."""

    figure: str
    model: str
    arm: str
    accuracy: float
    f1: float
    mae: float | None = None
    correlation: float | None = None


class Table(NamedTuple):
    """Holds a printed table. data: the name of the data set that it is of. note: words about how its rows can be
    compared, which are shown below it. split: that of the test part in the thesis, with `samples`; "" where the thesis
    does not say it."""

    number: str
    title: str
    data: str
    rows: tuple[Printed, ...]
    note: str = ""
    split: str = ""
    samples: int = 0


PUBLISHED = ("", "published", 686)  # no note; 31 videos
SPLITS = {
    "published": "published split", "extractor": "split of the features", "official": "official split",
    "text": "samples with text, in folds",
}  # fmt: skip
NO_TEXT = (
    "The thesis reads the text, which was not published for the training part: data.split=text has the 120 samples "
    "with text, by cross-validation. The table's second half, YouTube, is left out: of its 269 published samples 191 "
    "have audio and 199 have video of zeros alone, and the text of its training part was not published. The thesis "
    "learns classes here, by their cross-entropy, and prints accuracy and F1 of classes that it does not name. These "
    "networks learn the score from 1 to 5 by its absolute error; accuracy and F1 are of whether it is 3 or more."
)
NO_VIDEO = (
    "Both rows need video. The published split cannot have it: 24 of its 31 test videos are among those whose labels "
    "trained the video features. +experiment=mctn_trimodal has both rows by the split of the features. The thesis's "
    "other rows are of models of other authors that read all three modalities step by step, which were not published."
)
CYCLIC_TWO = (
    Printed("a", "V ⇆ A", "cyclic-v-a", 0.531, 0.532, 1.420, 0.034),
    Printed("a", "T ⇆ A", "cyclic-t-a", 0.764, 0.764, 0.977, 0.636),
    Printed("a", "T ⇆ V", "cyclic-t-v", 0.768, 0.768, 1.034, 0.592),
)
CYCLIC_THREE = (
    Printed("e", "(V ⇆ A) → T", "cyclic-v-a-t", 0.564, 0.563, 1.455, 0.151),
    Printed("e", "(T ⇆ A) → V", "cyclic-t-a-v", 0.787, 0.788, 0.960, 0.650),
    Printed("e", "(T ⇆ V) → A", "cyclic-t-v-a", 0.793, 0.791, 0.909, 0.676),
)

TABLES = (
    Table("2.1", "CMU-MOSI beside early fusion", "mosi", (
        Printed("e", "MCTN", "cyclic-t-v-a", 0.793, 0.791, 0.909, 0.676),
        Printed("", "EF-BLSTM, reads all three", "none-tva", 0.720, 0.720, 1.080, 0.577),
    ), NO_VIDEO, *PUBLISHED[1:]),
    Table("2.2", "ICT-MMMO", "mmmo", (
        Printed("e", "MCTN", "cyclic-t-v-a", 0.813, 0.808),
        Printed("", "EF-BLSTM, reads all three", "none-tva", 0.638, 0.496),
    ), NO_TEXT),
    Table("2.3", "more modalities", "mosi", (*CYCLIC_TWO, *CYCLIC_THREE), *PUBLISHED),
    Table("2.4", "two modalities", "mosi", (
        *CYCLIC_TWO,
        Printed("b", "V → A", "simple-v-a", 0.554, 0.555, 1.422, 0.119),
        Printed("b", "T → A", "simple-t-a", 0.742, 0.742, 0.988, 0.616),
        Printed("b", "T → V", "simple-t-v", 0.757, 0.756, 1.002, 0.617),
        Printed("c", "V → A, A → V", "bothways-v-a", 0.554, 0.555, 1.422, 0.119),
        Printed("c", "T → A, A → T", "bothways-t-a", 0.755, 0.756, 0.971, 0.629),
        Printed("c", "T → V, V → T", "bothways-t-v", 0.752, 0.753, 0.972, 0.627),
        Printed("d", "[V → A, A → V]", "double-v-a", 0.570, 0.571, 1.502, 0.168),
        Printed("d", "[T → A, A → T]", "double-t-a", 0.723, 0.723, 1.035, 0.578),
        Printed("d", "[T → V, V → T]", "double-t-v", 0.733, 0.734, 1.020, 0.570),
    ), *PUBLISHED),
    Table("2.5", "three modalities", "mosi", (
        *CYCLIC_THREE,
        Printed("f", "(V → T) → A", "simple-v-t-a", 0.541, 0.529, 1.408, 0.040),
        Printed("f", "(V → A) → T", "simple-v-a-t", 0.520, 0.519, 1.439, 0.015),
        Printed("f", "(A → V) → T", "simple-a-v-t", 0.566, 0.567, 1.593, 0.067),
        Printed("f", "(A → T) → V", "simple-a-t-v", 0.541, 0.542, 1.577, 0.028),
        Printed("f", "(T → A) → V", "simple-t-a-v", 0.743, 0.744, 1.001, 0.609),
        Printed("f", "(T → V) → A", "simple-t-v-a", 0.743, 0.744, 0.997, 0.596),
        Printed("g", "[T → V, V → T] → A", "double-t-v-a", 0.733, 0.731, 1.058, 0.578),
        Printed("h", "[V, A] → T", "concat-va-t", 0.550, 0.546, 1.535, 0.176),
        Printed("h", "[A, T] → V", "concat-at-v", 0.733, 0.734, 1.060, 0.561),
        Printed("h", "[T, V] → A", "concat-tv-a", 0.723, 0.723, 1.068, 0.576),
        Printed("h", "A → [T, V]", "concat-a-tv", 0.555, 0.556, 1.617, 0.056),
        Printed("h", "T → [A, V]", "concat-t-av", 0.757, 0.757, 0.958, 0.634),
        Printed("h", "[T, A] → [T, V]", "concat-ta-tv", 0.732, 0.732, 1.008, 0.591),
        Printed("h", "[T, V] → [T, A]", "concat-tv-ta", 0.741, 0.741, 0.999, 0.607),
        Printed("i", "[T → A, T → V]", "paired-t-av", 0.738, 0.738, 1.022, 0.611),
    ), *PUBLISHED),
)  # fmt: skip
