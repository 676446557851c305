"""Boxes that a logged model finds on images of forms: a file, or all images of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from data.base import DataError
from data.forms.images import content_of
from pipeline.host.errors import PipelineError
from pipeline.systems.predict.config import PredictConfig

ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".pdf")


def refuse_what_others_have(settings: PredictConfig) -> None:
    """Raises PipelineError for settings that mean something to other models alone."""
    data = settings.data
    asked = {
        "horizon": settings.horizon, "interval": settings.interval, "data.group": data.group, "data.time": data.time,
        "data.delimiter": data.delimiter, "beam": settings.beam,
    }  # fmt: skip
    typed = [f"{name}={value}" for name, value in asked.items() if value]
    if typed:
        raise PipelineError(f"{typed[0]}: this model reads images of forms; leave it out")


def images_at(path: Path) -> list[Path]:
    """Returns the file, or the images of a folder by their names. Raises DataError for a folder without any."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS)
    if not found:
        raise DataError(f"{path}: the folder has no image; give files that end in {', '.join(ENDINGS[:-1])}")
    return found


def predicted_forms(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns a row for each box that is found on the images, and words about them.

    Raises DataError, naming the file, for an image that cannot be read, PipelineError for settings of others.
    """
    refuse_what_others_have(settings)
    files, parts = images_at(Path(settings.data.path).expanduser()), list[pd.DataFrame]()
    for file in tqdm(files, desc="read", unit="form", disable=None, leave=False):
        frame = pd.DataFrame({"form": [file.name], "image": [content_of(file, str(file))]})
        try:
            parts.append(model.predict(frame))
        except ValueError as error:
            raise DataError(f"{file.parent}: {getattr(error, 'reason', error)}") from error
    found = pd.concat(parts, ignore_index=True)
    words = int((found["class"] == "word").sum())
    return found, f"{len(found)} boxes on {len(files)} forms, {words} of them words"
