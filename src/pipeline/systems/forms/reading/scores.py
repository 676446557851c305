"""How well forms are read: their rows by detected and by true boxes, and the counts of each form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from data.form_images import WORD, Form, FormImages
from models.forms.detect.boxes import Detections
from models.forms.page_scores import PageScore, TrueWord, meant, page_score, text_score
from models.forms.reader import (
    LEAST_SCORE,
    NO_ORDER,
    FormReader,
    ReadBox,
    WholeReader,
    corrected,
    in_order,
    ink_of,
    text_of,
)
from models.forms.recognise.alphabet import Alphabet
from models.runtime.threads import threads_for
from pipeline.systems.forms.segmentation.scores import GRID

FOUND, GIVEN, CORRECTED = "", "_given_boxes", "_corrected"
Reader = FormReader | WholeReader
NAMES = {FOUND: "read", CORRECTED: "corrected", GIVEN: "true boxes", f"{GIVEN}{CORRECTED}": "true boxes, corrected"}


class Sheet(NamedTuple):
    """Holds a form, its true words in reading order, spelt by the alphabet, and what was read of them, by suffix: in
    boxes that have the least score of the reader that read them, and, where these were found, in the true ones too.
    found: what the detector found, with every score, before it was placed; None where true boxes were given."""

    form: Form
    true: list[TrueWord]
    read: dict[str, list[ReadBox]]
    found: Detections | None = None


def sheets_of(reader: Reader, alphabet: Alphabet, forms: FormImages, *, detect: bool) -> list[Sheet]:
    """Returns every form of a part with what was read on it. detect: in boxes that are found, else in true ones; of no
    account to a reader of whole forms."""
    return [sheet_of(reader, alphabet, form, detect=detect) for form in forms.forms()]


def sheet_of(reader: Reader, alphabet: Alphabet, form: Form, *, detect: bool) -> Sheet:
    """Returns a form with what was read on it. detect: as of `sheets_of`."""
    places = form.reading()
    x0, y0, x1, y1 = form.boxes[places].astype(float).T
    boxes = zip(x0.tolist(), y0.tolist(), x1.tolist(), y1.tolist(), strict=True)
    texts = [alphabet.spelt(form.texts[place]) for place in places.tolist()]
    true = [TrueWord(box, text) for box, text in zip(boxes, texts, strict=True)]
    if isinstance(reader, WholeReader):
        return Sheet(form, true, {FOUND: reader.read_ink(ink_of(form.image))[0]})
    known = torch.from_numpy(np.array(form.boxes[places], np.float32))
    given = Detections(known, torch.full((len(true),), WORD), torch.ones(len(true)))
    ink = ink_of(form.image)
    read = reader.read_boxes(ink, given)
    if not detect:
        return Sheet(form, true, {FOUND: read})
    with torch.inference_mode(), threads_for(reader.detector):
        found = reader.detector.detect_on(ink, LEAST_SCORE)
    return read_anew(Sheet(form, true, {GIVEN: read}, found), reader)


def read_anew(own: Sheet, reader: FormReader) -> Sheet:
    """Returns a form whose found boxes, of at least the reader's score and where it places them, are read. A form on
    which nothing was looked for is returned as it is."""
    if own.found is None:
        return own
    kept = own.found.at(own.found.scores.double() >= reader.least_score)
    others = {suffix: rows for suffix, rows in own.read.items() if suffix != FOUND}
    return own._replace(read={FOUND: reader.read_found(ink_of(own.form.image), kept), **others})


def least_score_by_texts(sheets: Sequence[Sheet]) -> tuple[float, int]:
    """Returns the score of `GRID` with which the boxes that were found have the fewest wrong characters, the least of
    equal ones, and their number."""
    counts = [sum(page_score(own.true, at_least(own.read[FOUND], least)).faults for own in sheets) for least in GRID]
    return GRID[int(np.argmin(counts))], min(counts)


def least_score_by_places(sheets: Sequence[Sheet]) -> tuple[float, tuple[int, int, int]]:
    """Returns the score of `GRID` with the smallest count of what the boxes that were found have wrong, whatever they
    say, the least of equal ones, and the count.

    The count is 1 where forms have words and none is read; then the neighbours out of order; where these are equal, as
    on forms of one word, the true words that no box means with the boxes that mean no word.
    """
    counts = [(int(reads_nothing(sheets, least)), *misplaced(sheets, least)) for least in GRID]
    best = min(counts)
    return GRID[counts.index(best)], best


def misplaced(sheets: Sequence[Sheet], least: float) -> tuple[int, int]:
    """Returns how many neighbours are out of order in boxes of at least a score, and how many true words no box means
    with how many boxes mean no word."""
    out_of_order = alone = 0
    for own in sheets:
        rows = at_least(own.read[FOUND], least)
        places = meant(own.true, words := [row for row in rows if row.order != NO_ORDER])
        out_of_order += page_score(own.true, rows).out_of_order
        alone += len(own.true) + len(words) - 2 * sum(place is not None for place in places)
    return out_of_order, alone


def reads_nothing(sheets: Sequence[Sheet], least: float) -> bool:
    """Returns whether forms have words and no word of at least that score is read on any of them."""
    read = [row for own in sheets for row in at_least(own.read[FOUND], least) if row.order != NO_ORDER]
    return any(own.true for own in sheets) and not read


def at_least(rows: Sequence[ReadBox], least: float) -> list[ReadBox]:
    """Returns boxes with at least that score, in the order in which they are read."""
    return in_order([own for own in rows if own.score >= least])


def readings(own: Sheet, reader: Reader) -> Iterator[tuple[str, list[ReadBox]]]:
    """Returns what is scored of a form, by suffix."""
    for suffix, rows in own.read.items():
        kept = at_least(rows, reader.least_score)
        yield suffix, kept
        if reader.correction is not None:
            yield f"{suffix}{CORRECTED}", corrected(kept, reader.correction)


def read_table(part: str, sheets: Sequence[Sheet], reader: Reader) -> pd.DataFrame:
    """Returns a row a form and suffix: what it says, what was read, and the counts of `PageScore`."""
    score = page_score if reader.finds else text_score
    rows = [
        {"part": part, "form": number, "reading": NAMES[suffix], "true": " ".join(word.text for word in own.true),
         "read": text_of(rows), **score(own.true, rows)._asdict()}
        for number, own in enumerate(sheets) for suffix, rows in readings(own, reader)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def metrics_of(read: Any) -> dict[str, float]:
    """Returns the scores of a table by the names of metrics, as test_cer_given_boxes."""
    suffixes = {name: suffix for suffix, name in NAMES.items()}
    found = dict[str, float]()
    for (part, reading), own in read.groupby(["part", "reading"], sort=False):
        for name, value in rates_of(own).items():
            found[f"{part}_{name}{suffixes[str(reading)]}"] = value
    return found


def rates_of(own: Any) -> Mapping[str, float]:
    """Returns error rates in %, that of characters also as the mean over forms with a character, and, where boxes were
    counted, word accuracy and the share of neighbours in their true order, over all forms."""
    total = {name: int(own[name].sum()) for name in PageScore._fields}
    rates = {"cer": 100 * total["faults"] / total["characters"], "wer": 100 * total["word_faults"] / total["words"]}
    written = own[own["characters"] > 0]
    rates["cer_mean"] = float((100 * written["faults"] / written["characters"]).mean())
    if not total["boxes"]:
        return rates
    order = 1 - total["out_of_order"] / max(total["pairs"], 1)
    return {**rates, "word_accuracy": total["right"] / total["boxes"], "order": order}
