"""A model of forms as MLflow loads and serves it (models from code): this file travels with the logged model."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.models import set_model
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.pyfunc.model import PythonModel

from data.forms.arrays import images_in, read_array
from data.forms.images import Reading, Scan, load_reading, read_image
from models.forms.detect.saved import LEAST, load_detector
from models.forms.images import as_ink
from models.forms.reader import LEAST_SCORE, FormReader, WholeReader
from models.forms.recognise.saved import load_recogniser
from models.forms.saved import load_reader
from models.forms.scale import scale_in
from models.forms.tables import found_table
from models.runtime.request import read_table_body
from models.runtime.scoring_server import bad_request, check_before_mlflow
from models.runtime.threads import threads_for

BadRequest = bad_request(MlflowException, BAD_REQUEST)


def bytes_of(image: Any, where: str) -> bytes:
    """Returns the bytes of an image file, which may be written in base64. Raises BadRequest for anything else."""
    if isinstance(image, bytes):
        return image
    if not isinstance(image, str):
        raise BadRequest(
            f"{where}: image must be the bytes of a PNG, JPEG or TIFF file, in base64 where it is JSON, or an array "
            f"(height, width) of greys, and is of type {type(image).__name__}"
        )
    try:
        return base64.b64decode("".join(image.split()), validate=True)  # lines may be broken, as many programs do
    except binascii.Error as error:
        raise BadRequest(f"{where}: image is no base64 ({error})") from error


def scan_of(image: Any, where: str, reading: Reading) -> Scan:
    """Returns an image as greys: of an array or a list of rows, else of a file. Raises BadRequest for what is none of
    them, ValueError for one that cannot be read."""
    if isinstance(image, np.ndarray | list):
        return read_array(image, where=where, reading=reading)
    return read_image(bytes_of(image, where), where=where, reading=reading)


def table_of(array: np.ndarray) -> pd.DataFrame:
    """Returns the table of an array of one image (height, width) or of several (image, height, width), a row each; as
    forms they are called form 1, form 2 and so on. Raises ValueError for another shape."""
    images = images_in(array)
    return pd.DataFrame({"form": [f"form {place}" for place in range(1, len(images) + 1)], "image": images})


class Boxes:
    """Takes a table with a form a row, or an array of forms alone, and gives a row a box. An all white form has none.
    Warns of forms that are far larger or smaller than training forms, as `FormReader.read`.

    The table has columns `form` (its name) and `image` (the bytes of its file, the same in base64, or an array of its
    greys). Parameter least_score: boxes of a lower score are left out; 0: as the model has it.
    """

    columns = ("form", "image")

    def __init__(self, folder: Path) -> None:
        self.reader, self.reading = self.reader_of(folder), replace(load_reading(folder.parent), blank=True)

    @staticmethod
    def reader_of(folder: Path) -> FormReader | WholeReader:
        """Returns what finds the boxes."""
        detector, more = load_detector(folder)
        least = more.get(LEAST, LEAST_SCORE)  # saved by older versions there is none
        return FormReader(detector, least_score=least, scale=scale_in(more))

    def answer(self, table: pd.DataFrame, params: Mapping[str, Any]) -> pd.DataFrame:
        """Returns the boxes of each form. Raises BadRequest for a form that comes twice."""
        names = [str(name) for name in table["form"]]
        twice = next((name for name, times in Counter(names).items() if times > 1), None)
        if twice is not None:
            raise BadRequest(f"form {twice!r} comes twice; give each a name of its own")
        least, vocabulary = float(params.get("least_score", 0.0)) or None, bool(params.get("vocabulary", False))
        called = [f"form {name!r}" for name in names]
        scans = (scan_of(image, where, self.reading) for where, image in zip(called, table["image"], strict=True))
        return found_table({
            name: [] if scan.blank else self.reader.read(scan.grey, least, vocabulary=vocabulary, where=where)
            for name, where, scan in zip(names, called, scans, strict=True)
        })  # fmt: skip


class Pages(Boxes):
    """Takes and gives what `Boxes` does, with the words read. Parameter vocabulary: their texts are corrected by
    training texts."""

    @staticmethod
    def reader_of(folder: Path) -> FormReader:
        """Returns what finds the boxes and reads them."""
        return load_reader(folder)


class Whole(Boxes):
    """Takes and gives what `Boxes` does, with a row a form: its box is the whole form, its text all that was read."""

    @staticmethod
    def reader_of(folder: Path) -> WholeReader:
        """Returns what reads whole forms."""
        return WholeReader(load_recogniser(folder)[0])


class Texts:
    """Takes a table with an image of a word a row, `image`, or an array of images alone; gives a row each: `text`,
    `probability`, and `corrected`, the text as a word of the training texts where one is near enough."""

    columns = ("image",)

    def __init__(self, folder: Path) -> None:
        self.recogniser, self.correction = load_recogniser(folder)
        self.reading = load_reading(folder.parent)

    def answer(self, table: pd.DataFrame, params: Mapping[str, Any]) -> pd.DataFrame:  # noqa: ARG002
        """Returns what each image says."""
        inks = [
            as_ink(scan_of(image, f"image {place}", self.reading).grey)
            for place, image in enumerate(table["image"], start=1)
        ]
        with threads_for(self.recogniser):
            readings = self.recogniser.read_words(inks)
        texts = [own.text for own in readings]
        corrected = texts if self.correction is None else self.correction.corrected(texts)
        return pd.DataFrame(
            {"text": texts, "probability": [own.probability for own in readings], "corrected": corrected}
        )


KINDS = {"forms": Boxes, "pages": Pages, "whole": Whole, "words": Texts}  # by the folder among the saved parameters


class ServedForms(PythonModel):
    """Finds the boxes of forms, reads whole forms, or reads images of words, as its saved parameters say: see `Boxes`,
    `Pages`, `Whole` and `Texts`."""

    # the schema comes from the signature, not from type hints of `predict`; without this MLflow warns at every load
    _skip_type_hint_validation = True

    decoded = staticmethod(read_table_body)  # how the strict server reads a body for it

    def load_context(self, context: Any) -> None:
        parameters = Path(context.artifacts["parameters"])
        self.kind = next(kind(parameters / name) for name, kind in KINDS.items() if (parameters / name).is_dir())
        check_before_mlflow(read_table_body, BadRequest)

    def predict(self, context, model_input, params=None):  # noqa: ARG002  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answers a request: a table, or an array (height, width) or (image, height, width) of greys from 0 for black
        to 255. Raises BadRequest, a ValueError, for what is neither, and for an image that cannot be read, by its name
        or place."""
        try:
            asked = table_of(model_input) if isinstance(model_input, np.ndarray) else model_input
            self.check(asked)
            return self.kind.answer(asked, params or {})
        except (ValueError, TypeError) as error:
            raise error if isinstance(error, BadRequest) else BadRequest(str(error)) from error

    def check(self, asked: Any) -> None:
        """Raises BadRequest for what is no table with the columns of its kind."""
        needed = self.kind.columns
        if not isinstance(asked, pd.DataFrame) or not set(needed) <= set(asked.columns):
            raise BadRequest(
                f"expected a table with the column{'s' * (len(needed) > 1)} {' and '.join(needed)}, or from Python "
                "an array (height, width) or (image, height, width) of greys"
            )


set_model(ServedForms())
