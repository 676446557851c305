"""`data=forms_folder`: own images of forms beside a table with a box a row: `file, x0, y0, x1, y1, class, text`, and
perhaps `writer`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.base import DataError
from data.form_images import CLASSES, MOST_BOXES, NO_ORDER, PARTS, WORD, Form, FormImages, HandwrittenForms
from data.forms.folder import FILE, TEXT, WRITER, ImagesFolder, Rows
from data.forms.images import Reading, Scan, said_inverted
from data.forms.parts import count_of, each_by_itself, held_out
from data.greys import digest_of
from data.pages import SIDES
from data.text_pairs import tidied

NAME = "forms_folder"
CLASS = "class"
NEEDED = (FILE, *SIDES, CLASS, TEXT)


def number_in(rows: Rows, row: int, name: str) -> float:
    """Returns a cell as a number. Raises DataError, naming the row, for what is no finite number."""
    cell = rows.columns[name][row]
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        rows.fail(row, f"column {name!r}: {cell!r} is no finite number")
    return value


def class_in(rows: Rows, row: int) -> int:
    """Returns the class of a row. Raises DataError, naming the row, for an unknown one."""
    cell = rows.columns[CLASS][row].lower()
    if cell not in CLASSES[1:]:
        rows.fail(row, f"class {cell!r} is unknown; choose one of {', '.join(CLASSES[1:])}")
    return CLASSES.index(cell)


def text_in(rows: Rows, row: int, kind: int) -> str:
    """Returns the text of a row, which for what is no word may be empty. Raises DataError as `Rows.text` does."""
    return rows.text(row) if kind == WORD or rows.columns[TEXT][row] else ""


def is_empty(rows: Rows, row: int) -> bool:
    """Returns whether a row names a form and no box."""
    return not any(rows.columns[name][row] for name in (*SIDES, CLASS, TEXT))


def form_of(rows: Rows, own: list[int], grey: np.ndarray) -> Form:
    """Returns the form whose boxes are in some rows, words in reading order. Raises DataError, naming the row."""
    kept = [row for row in own if not is_empty(rows, row)]
    if len(kept) > MOST_BOXES:
        rows.fail(kept[MOST_BOXES], f"it is box {MOST_BOXES + 1} of its form, and {MOST_BOXES} are the most")
    boxes = np.array([[number_in(rows, row, name) for name in SIDES] for row in kept], np.float32).reshape(-1, 4)
    classes = np.array([class_in(rows, row) for row in kept], np.int64)
    words = classes == WORD
    order = np.where(words, np.cumsum(words) - 1, NO_ORDER)
    texts = tuple(text_in(rows, row, int(kind)) for row, kind in zip(kept, classes, strict=True))
    form = Form(grey, boxes, classes, texts, order)
    refuse_twice(rows, kept, form)
    for fault, said in form.faults():
        if fault.any():
            rows.fail(kept[int(fault.argmax())], f"box {boxes[fault.argmax()].tolist()}: {said}")
    return form


def refuse_twice(rows: Rows, kept: list[int], form: Form) -> None:
    """Raises DataError, naming the row, for a box of one class and place that stands twice: it could be found once."""
    seen = dict[tuple[float, ...], int]()
    for row, box, kind in zip(kept, form.boxes.tolist(), form.classes.tolist(), strict=True):
        first = seen.setdefault((*box, kind), row)
        if first != row:
            rows.fail(row, f"it is the same box as that of row {first + 2}; leave one of them out")


def writers_of(rows: Rows, *, needed: bool) -> list[str]:
    """Returns who wrote each file, in the order in which the table names them; nobody where no row says it, unless they
    are needed. Raises DataError, naming the row, for a file of which no row says it and for two writers of one."""
    known = dict[str, str]()
    for row, (name, writer) in enumerate(zip(rows.columns[FILE], map(tidied, rows.columns[WRITER]), strict=True)):
        if writer and known.setdefault(name, writer) != writer:
            rows.fail(row, f"writer {writer!r}, and {known[name]!r} in a row before; give a form one writer")
    for row, name in enumerate(rows.columns[FILE] if known or needed else ()):
        if name not in known:
            rows.fail(row, f"column {WRITER!r} is empty; fill it in{'' if needed else ', or drop the column'}")
    return [known[name] for name in dict.fromkeys(rows.columns[FILE]) if known]


def scans_of(rows: Rows, reading: Reading) -> dict[str, Scan]:
    """Returns the image of every file. Raises DataError, naming the row, for one that cannot be used, and for an image
    that two files hold."""
    scans, seen = dict[str, Scan](), dict[bytes, str]()
    places = dict[str, Scan]()
    for row, name in enumerate(rows.columns[FILE]):
        if name in scans:
            continue
        scans[name] = rows.image(row, reading)
        first = seen.setdefault(digest_of(scans[name].grey), name)
        if first != name:
            rows.fail(row, f"it is the same image as {first!r}; leave one of them out")
        places[rows.place(row)] = scans[name]
    said_inverted(places)
    return scans


@dataclass(frozen=True, kw_only=True)
class FormsFolder(ImagesFolder):
    """Loads images of forms with a table of boxes: columns `file`, `x0`, `y0`, `x1`, `y1`, `class` and `text`, and
    perhaps `writer`.

    Boxes are in pixels of the upright image, y downwards; x1 and y1 no longer belong to them. Classes are word,
    signature, stamp, date and noise. The rows of a form's words are in reading order. A row with a file alone is a form
    without a box.
    path: the table (.csv, .tsv or .parquet). images: the folder that file names are relative to; None: the table's.
    test, validation: shares of the forms that are drawn under `seed`; with writers=disjoint of the writers, all of
    whose forms are in one part. most_pixels: an image of more is refused. invert: "true" for light ink on dark paper,
    "false" for dark ink, "auto" to find out for each image. delimiter: of a text file, see
    `data.files.table_files.TextFormat`.
    Raises DataError, naming file and row, for an image, a box or a text that cannot be used, for one image in two
    files, for a box that stands twice, and for a form of two writers, or of none where others have one.
    """

    def load(self) -> HandwrittenForms:
        """Returns the data. Raises DataError as the class says."""
        rows, reading = self.read(NAME, NEEDED)
        files = list(dict.fromkeys(rows.columns[FILE]))
        writers = writers_of(rows, needed=self.disjoint) if WRITER in rows.columns else []
        places = self.split(writers if self.disjoint else each_by_itself(len(files)))
        forms = forms_in(rows, reading)
        parts = {part: FormImages.of(forms[files[i]] for i in own) for part, own in places.items()}
        named = {part: tuple(files[i] for i in own) for part, own in places.items()}
        known = {part: tuple(writers[i] for i in own) for part, own in places.items() if writers}
        return HandwrittenForms(NAME, parts, rows.table.name, files=named, writers=known, invert=reading.invert)

    def split(self, groups: Sequence[str]) -> dict[str, list[int]]:
        """Returns the numbers of the forms of each of the three parts. groups: what is kept together, by form. Raises
        DataError where a part would be empty."""
        count, what = len(set(groups)), "writers" if self.disjoint else "forms"
        test, validation = (count_of(share, count) for share in (self.test, self.validation))
        if test + validation >= count:
            raise DataError(f"{NAME}: {count} {what} are too few for three parts; give at least 3, or other shares")
        generator = np.random.default_rng(self.seed)
        rest, tested = held_out(groups, np.arange(len(groups)), count=test, generator=generator)
        train, held = held_out(groups, rest, count=validation, generator=generator)
        return {part: own.tolist() for part, own in zip(PARTS, (train, held, tested), strict=True)}


def forms_in(rows: Rows, reading: Reading) -> dict[str, Form]:
    """Returns the form of each file, in the order in which a table names them. Raises DataError, naming the row."""
    own: dict[str, list[int]] = {}
    for row, name in enumerate(rows.columns[FILE]):
        own.setdefault(name, []).append(row)
    return {name: form_of(rows, own[name], scan.grey) for name, scan in scans_of(rows, reading).items()}
