"""What a logged model finds on images of forms, or reads in images of words: a file, or all images of a folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from data.base import DataError
from data.forms.images import Reading, content_of, read_image
from models.forms.reader import LEAST_SCORE, CutWarning
from models.forms.scale import ScaleWarning
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.others import refuse_others

COUNTED: tuple[type[Warning], ...] = (ScaleWarning, CutWarning)  # said once for all forms
FORM = "form"  # a blank one has no box; a blank image of a word is refused
NAMED = 5  # so many images without a box, or with a fault, are named
ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".pdf")


class Looked(NamedTuple):
    """Holds which images have light ink on dark paper and are read inverted without a word of the settings, which are
    paper without ink, and of which it is hard to tell."""

    inverted: list[Path]
    blank: list[str]
    unsure: list[Path]


class Answers(NamedTuple):
    """Holds what a model says of each image, by its file, and which images are paper without ink."""

    parts: dict[str, pd.DataFrame]
    blank: list[str]


def images_at(path: Path) -> list[Path]:
    """Returns the file, or the images of a folder by their names. Raises DataError for a folder without any."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    if not found:
        raise DataError(f"{path}: the folder has no image; give files that end in {', '.join(ENDINGS[:-1])}")
    return found


def asked_of(model: Any, settings: PredictConfig, unit: str) -> dict[str, Any]:
    """Returns the parameters that are asked of a model. unit: what an image is called. Raises PipelineError for
    settings that it does not take."""
    taken = model.metadata.get_params_schema()
    names = [own.name for own in taken.params] if taken else []
    refuse_others(settings, names, f"reads images of {unit}s")
    given = {"least_score": settings.least_score, "vocabulary": settings.vocabulary}
    return {name: value for name, value in given.items() if value}


def answers(model: Any, settings: PredictConfig, unit: str) -> Answers:
    """Returns what a model says of each image. unit: what an image is called.

    Warns of images with light ink on dark paper, if the model finds that out by itself, of forms of another scale than
    those of training, and of forms whose text was cut. Raises DataError, naming the file, for an image that cannot be
    read, PipelineError for settings of others.
    """
    params, said = asked_of(model, settings, unit), {kind: list[str]() for kind in COUNTED}
    files = images_at(Path(settings.data.path).expanduser())
    reading = Reading(invert=model.metadata.metadata.get("invert", "auto"), blank=unit == FORM)
    looked = checked(files, reading, unit)
    with counted_warnings(said):
        found = dict(answered_by(model, files, params, unit))
    warn_of_inverted(looked, len(found))
    warn_of_counted(said, len(found))
    return Answers(found, looked.blank)


def answered_by(model: Any, files: list[Path], params: dict[str, Any], unit: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yields the name of each image, and what a model says of it. Raises DataError, naming the file, for one that it
    cannot read."""
    for file in tqdm(files, desc="read", unit=unit, disable=None, leave=False):
        frame = pd.DataFrame({"form": [file.name], "image": [content_of(file, str(file))]})
        try:
            yield file.name, model.predict(frame, params=params or None)
        except ValueError as error:
            raise DataError(f"{file}: {getattr(error, 'reason', error)}") from error


def checked(files: list[Path], reading: Reading, unit: str) -> Looked:
    """Returns what is to be known of images before they are read. Raises DataError where some cannot be: the first
    ones with their faults, and how many more there are."""
    looked, faults = Looked([], [], []), list[str]()
    for file in tqdm(files, desc="look", unit=unit, disable=None, leave=False):
        try:
            scan = read_image(content_of(file, str(file)), where=str(file), reading=reading)
            looked.inverted.extend([file] * (scan.inverted and not scan.unsure))
            looked.unsure.extend([file] * scan.unsure)
            looked.blank.extend([file.name] * scan.blank)
        except DataError as error:
            faults.append(str(error))
    if faults:
        more = f"; and {len(faults) - NAMED} more" * (len(faults) > NAMED)
        front = f"{len(faults)} of {len(files)} images cannot be used: " * (len(files) > 1)
        raise DataError(f"{front}{'; '.join(faults[:NAMED])}{more}; nothing was read")
    return looked


def named(names: list[str]) -> str:
    """Returns the first of some names, and how many more there are."""
    return ", ".join(names[:NAMED]) + f" and {len(names) - NAMED} more" * (len(names) > NAMED)


def warn_of_inverted(looked: Looked, count: int) -> None:
    """Warns of images that were read inverted, and of those whose ink was hard to tell, if there are any. count: of all
    images."""
    light, unsure = looked.inverted, looked.unsure
    if light:
        warnings.warn(
            f"{light[0]}: light ink on dark paper, in {len(light)} of {count} images; they were read inverted; where "
            "the ink is dark, leave more paper around it",
            stacklevel=3,
        )
    if unsure:
        warnings.warn(
            f"{unsure[0]}: whether its ink is light or dark is not plain, in {len(unsure)} of {count} images; cut them "
            "to their paper, so that little else is seen",
            stacklevel=3,
        )


@contextmanager
def counted_warnings(said: dict[type[Warning], list[str]]) -> Iterator[None]:
    """Adds to `said` what is warned within of a form, by its kind, in place of a line each; other warnings go on."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            kind = next((own for own in said if issubclass(category, own)), None)
            if kind is None:
                shown(message, category, *where, **more)
            else:
                said[kind].append(str(message))

        for kind in said:
            warnings.simplefilter("always", kind)
        warnings.showwarning = show
        yield


def warn_of_counted(said: dict[type[Warning], list[str]], count: int) -> None:
    """Warns of forms, if something was said of any: of each kind what is said of the first, and how many of `count`
    there are."""
    for own in said.values():
        if own:
            warnings.warn(f"{own[0]} (such are {len(own)} of {count} forms)", stacklevel=3)


def said_of_empty_ones(found: Answers) -> str:
    """Returns what is added to the words about forms where some have no row: the names of the first of these, those of
    paper without ink by themselves."""
    empty = [name for name, rows in found.parts.items() if not len(rows) and name not in found.blank]
    none = f"; none on {named(empty)}" if empty else ""
    return f"{none}; nothing is to be seen on {named(found.blank)}" if found.blank else none


def predicted_forms(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns a row for each box that is found on the images, and words about them. Raises as `answers`."""
    answered = answers(model, settings, FORM)
    parts = answered.parts
    found = pd.concat(parts.values(), ignore_index=True)
    if len(found) and (found["class"] == "form").all():
        words = f"text read on {len(found)} of {len(parts)} forms"
        return found, words + said_of_empty_ones(answered)
    words = f"{len(found)} boxes on {len(parts)} forms, {int((found['class'] == 'word').sum())} of them words"
    return found, words + said_of_empty_ones(answered) + ("" if len(found) else advice_on_lower_scores(model, settings))


def advice_on_lower_scores(model: Any, settings: PredictConfig) -> str:
    """Returns, for images on which no box was found, how many boxes have a lower score, and the setting that takes
    them; nothing where there is none, or where no lower score can be asked for. The model is asked anew, of images that
    were checked before."""
    params = model.metadata.get_params_schema()
    known = {own.name for own in params.params} if params else set()
    if "least_score" not in known or (settings.least_score or 1.0) <= LEAST_SCORE:
        return ""
    asked, files = replace(settings, least_score=LEAST_SCORE), images_at(Path(settings.data.path).expanduser())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were said before
        count = sum(len(rows) for _, rows in answered_by(model, files, asked_of(model, asked, FORM), FORM))
    least = "the model's least score" if settings.least_score is None else f"least_score={settings.least_score:g}"
    return f"; {count} with a score below {least}: least_score={LEAST_SCORE:g} takes them" if count else ""


def predicted_words(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns a row for each image of a word: its file and what it says, and words about them. Raises as `answers`."""
    parts = answers(model, settings, "word").parts
    found = pd.concat(parts.values(), ignore_index=True)
    found.insert(0, "file", list(parts))
    return found, words_about_texts(found)


def words_about_texts(found: pd.DataFrame) -> str:
    """Returns how many images of words have a text that is not all blanks, and the names of the first that have none.
    found: file and text of each."""
    none = found.loc[found["text"].str.strip() == "", "file"].tolist()
    count = len(found) - len(none)
    return f"{count} word{'s' * (count != 1)} read" + (f"; no text on {named(none)}" if none else "")
