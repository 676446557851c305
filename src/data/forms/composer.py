"""`data=composed_forms`: forms that are put together of real ink: words of DHSD, digits of MNIST, places of FUNSD.

Signatures, scribbles and stamps are drawn by a program. Ink of the training part makes training forms, ink of the test
part test forms; the part `test_style` has test ink on pages of a second style that no training form has: tables in
place of lines, other stamps, other noise, darker paper. One program makes the forms of all parts, so what a detector
reaches on them says how detectors compare, and not what it would reach on forms of an archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from data.base import DataError, check_whole_numbers
from data.form_images import DATE, NOISE, SIGNATURE, STAMP, Form, FormImages, HandwrittenForms
from data.forms.dhsd import Dhsd
from data.forms.digits import digits_of
from data.forms.ink import KINDS, Ink, ink_of, legible, training_words
from data.forms.layouts import LAYOUTS, Plan, free_plan, read_layouts, real_plan, table_plan
from data.forms.page import FIRST, SECOND, Page, Style
from data.forms.parts import check_writers
from data.pages import Document
from data.ranges import Count, Deviation, Seed
from data.source import Source

NAME = "composed_forms"
SOURCES = ("auto", "real", "stand_in")
STYLED = "test_style"
LOOSE = (SIGNATURE, STAMP, DATE, NOISE)
LOOSE_SHARES = (0.28, 0.28, 0.12, 0.32)
LEAST_SIDE, MOST_SLANT = 96, 20.0
NUMBERS = {"train": 0, "validation": 1, "test": 2, STYLED: 3}


class Make(NamedTuple):
    """Holds what the forms of a part are made of. layouts: real forms to take places from, empty for none. boxes: the
    least and the most of a form. slant: the most that lines slope, in degrees."""

    ink: Ink
    style: Style
    layouts: Sequence[Document]
    shape: tuple[int, int]
    boxes: tuple[int, int]
    slant: float

    def plan(self, generator: np.random.Generator) -> Plan:
        """Draws what is printed on a page, and where its lines are."""
        if self.style.table:
            return table_plan(self.shape, generator)
        if len(self.layouts):
            return real_plan(self.layouts[int(generator.integers(len(self.layouts)))], self.shape, generator)
        return free_plan(self.shape, generator)

    def page(self, generator: np.random.Generator) -> Page:
        """Returns a page that is filled in."""
        least, most = self.boxes
        page = Page(self.shape, self.plan(generator), self.style, self.ink, slant=self.slant, generator=generator)
        wanted = round(float(np.exp(generator.uniform(np.log(least), np.log(most + 1)))))
        loose = max(1, round(wanted * generator.uniform(0.1, 0.5)))
        for number in generator.permutation(len(page.plan.lines)).tolist():
            page.fill(number, page.plan.lines[number], max(1, min(most, wanted) - loose))
        strew_about(page, least, most, loose)
        return page

    def form(self, seed: Sequence[int]) -> Form:
        """Returns the form of a seed."""
        return self.page(np.random.default_rng(seed)).form()


def strew_about(page: Page, least: int, most: int, loose: int) -> None:
    """Strews about `loose` pieces onto a page, and more while it has too few boxes."""
    for turn in range(loose + 4 * least):
        if len(page.pieces) >= most or (turn >= loose and len(page.pieces) >= least):
            return
        page.strew(int(page.generator.choice(LOOSE, p=LOOSE_SHARES)))


def counted(part: str, count: int) -> Iterable[int]:
    """Returns 0, 1, 2, … with a progress bar on a terminal."""
    return tqdm(range(count), desc=f"composing forms, {part}", unit="form", disable=None, leave=False)


@dataclass(frozen=True, kw_only=True)
class ComposedForms(Source):
    """Composes forms with words, signatures, stamps, dates and noise.

    forms, validation, test: how many of each part; `test_style` has as many as test. height, width: of a form in
    pixels; words are drawn 20 to 48 pixels high (13 where room is short) where the height is 480, and in proportion
    else; a slope adds to the height of their boxes. least_boxes, most_boxes: of a form. slant: the most that lines
    slope, in degrees. layout: "funsd" takes the places of labels and answers from real forms, "free" draws them. ink:
    of training forms, "dhsd", "synthetic" (of the same texts the first 2000 that the stand-in hand can write, by that
    hand) or "both", one beside the other; all other parts have DHSD's. vocabulary, least, writers: as in
    `data.forms.dhsd.Dhsd`. seed: a form hangs on it, its part and its number alone. source: "auto" takes what files
    there are and warns of what stands in for the rest, "real" needs all of them, "stand_in" takes none. root: the
    folder that holds `dhsd/`, `mnist/` and `funsd/`.
    Raises DataError for a setting out of range, and for files that are damaged, or missing with source=real.
    """

    forms: Count = 2000
    validation: Count = 200
    test: Count = 500
    height: Count = 480
    width: Count = 640
    least_boxes: Count = 3
    most_boxes: Count = 50
    slant: Deviation = 6.0
    layout: str = "funsd"
    ink: str = "dhsd"
    vocabulary: str = "strings"
    least: Count = 1
    writers: str = "shared"
    seed: Seed = 0
    source: str = "auto"
    root: str | None = None

    def load(self) -> HandwrittenForms:
        """Returns the forms. Raises DataError as the class says."""
        self.check()
        makes, stand_in, specks = self.makes()
        counts = {"train": self.forms, "validation": self.validation, "test": self.test, STYLED: self.test}
        parts = {
            part: FormImages.of(make.form([self.seed, NUMBERS[part], i]) for i in counted(part, counts[part]))
            for part, make in makes.items()
        }
        return HandwrittenForms(NAME, parts, "stand-in" if stand_in else "composed", stand_in=stand_in,
                                counts={"words_without_writing": specks})  # fmt: skip

    def check(self) -> None:
        """Raises DataError for settings out of range."""
        check_writers(NAME, self.writers)
        counts = {key: getattr(self, key) for key in ("forms", "validation", "test", "least_boxes")}
        check_whole_numbers(NAME, counts)
        check_whole_numbers(NAME, {"height": self.height, "width": self.width}, least=LEAST_SIDE)
        check_whole_numbers(NAME, {"seed": self.seed}, least=0)
        check_whole_numbers(NAME, {"most_boxes": self.most_boxes}, least=self.least_boxes)
        if not 0 <= self.slant <= MOST_SLANT:
            raise DataError(f"{NAME}: slant={self.slant} must be from 0 to {MOST_SLANT:g} degrees")
        for key, choices in (("layout", LAYOUTS), ("ink", KINDS), ("source", SOURCES)):
            if getattr(self, key) not in choices:
                raise DataError(f"{NAME}: {key}={getattr(self, key)} is unknown; choose one of {', '.join(choices)}")

    def makes(self) -> tuple[dict[str, Make], bool, int]:
        """Returns what each part is made of, whether anything stands in for real ink, and how many images of words were
        left out as they show no word. Raises as `load`."""
        source = "published" if self.source == "real" else self.source
        words = Dhsd(
            root=self.root,
            source=source,
            writers=self.writers,
            vocabulary=self.vocabulary,
            least=self.least,
            seed=self.seed,
        ).load()
        digits, written = digits_of(self.root, source=source, seed=self.seed)
        places = read_layouts(self.root, source=source) if self.layout == "funsd" else None
        own = {part: legible(words.parts[part]) for part in words.parts}
        specks = sum(len(words.parts[part]) - len(images) for part, images in own.items())
        own["train"] = training_words(own["train"], self.ink, seed=self.seed)
        inks = {part: ink_of(images, digits[part]) for part, images in own.items()}
        how = (self.height, self.width), (self.least_boxes, self.most_boxes), self.slant
        makes = {part: Make(ink, FIRST, (places or {}).get(part, ()), *how) for part, ink in inks.items()}
        makes[STYLED] = Make(inks["test"], SECOND, (), *how)
        return makes, words.stand_in or written, specks
