"""The BLEU scores that the thesis prints of its translators (tables 3.3 and 3.4), by the arms that they are of."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Holds a row of a table as it is printed. scores: of the table's tasks, then their average."""

    model: str
    arm: str
    scores: tuple[float, ...]


class Table(NamedTuple):
    """Holds a printed table."""

    number: str
    title: str
    tasks: tuple[str, ...]
    rows: tuple[Printed, ...]


NINE = ("de", "fr", "cs", "et", "fi", "gu", "hi", "lv", "ro")
TABLES = (
    Table("3.3", "into English", tuple(f"{code}-en" for code in NINE), (
        Printed("1. Dense", "dense", (29.9, 31.2, 28.0, 22.4, 21.4, 22.3, 21.4, 24.5, 36.1, 26.4)),
        Printed("2. MoE Token", "token", (27.9, 29.5, 26.3, 19.9, 19.6, 18.9, 17.7, 22.3, 33.8, 24.0)),
        Printed("3. MoE Sentence", "sentence", (27.9, 29.9, 26.2, 21.4, 19.9, 17.9, 15.9, 23.2, 34.4, 24.1)),
        Printed("4. MoE Task-Static", "token+static", (32.1, 33.3, 30.7, 24.3, 23.4, 20.6, 22.5, 27.2, 38.8, 28.1)),
        Printed("5. MoE Task-Dynamic", "token+dynamic", (31.4, 32.0, 29.1, 23.4, 22.1, 18.9, 20.5, 25.5, 37.2, 26.7)),
    )),
    Table("3.3", "out of English", tuple(f"en-{code}" for code in NINE), (
        Printed("1. Dense", "dense", (25.4, 28.3, 22.4, 23.3, 20.9, 28.4, 29.0, 26.5, 31.5, 26.2)),
        Printed("2. MoE Token", "token", (22.9, 25.1, 19.5, 20.1, 17.9, 26.2, 26.3, 24.0, 29.0, 23.4)),
        Printed("3. MoE Sentence", "sentence", (23.2, 25.7, 20.4, 22.4, 18.7, 26.4, 27.1, 24.2, 29.7, 24.2)),
        Printed("4. MoE Task-Static", "token+static", (29.5, 32.5, 27.9, 27.4, 25.8, 28.8, 30.8, 32.2, 34.6, 29.9)),
        Printed("5. MoE Task-Dynamic", "token+dynamic", (27.3, 29.6, 25.0, 24.7, 22.7, 27.7, 29.3, 28.4, 32.7, 27.5)),
    )),
    Table("3.4", "with and without experts and adapters", ("de-en", "fr-en", "et-en", "fi-en"), (
        Printed("MoE", "token", (32.4, 33.7, 24.2, 23.6, 28.5)),
        Printed("Dense + Task Static", "dense+static", (32.2, 33.7, 21.0, 22.8, 27.4)),
        Printed("Dense + Task Dynamic", "dense+dynamic", (31.9, 33.0, 22.0, 22.5, 27.4)),
        Printed("MoE + Task Static", "token+static", (30.7, 32.0, 19.9, 20.8, 25.9)),
        Printed("MoE + Task Dynamic", "token+dynamic", (32.6, 33.9, 24.0, 23.9, 28.6)),
        Printed("MoE + Task Shared-Dynamic", "token+shared", (32.2, 33.3, 24.3, 24.5, 28.6)),
    )),
)  # fmt: skip
NOTE = (
    "Gujarati and the WMT corpora are not at hand: the scores of the thesis are of other sentences, of networks a "
    "hundred times as large, and of one run each. Compare arms, not numbers."
)
