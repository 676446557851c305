"""A trained detector as the rest of the pipeline keeps it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from data.form_images import FormImages, HandwrittenForms
from models.forms.detect.detector import Detector
from models.forms.detect.saved import LEAST, save_detector
from models.forms.reader import LEAST_SCORE
from models.forms.scale import SCALE
from pipeline.systems.forms.segmentation.load import scale_of
from pipeline.systems.forms.servable import base64_of, trained_form_model
from pipeline.tracking.servable import TrainedModel


def table_of(forms: FormImages, count: int, invert: str = "auto") -> pd.DataFrame:
    """Returns the first forms as the table that a model takes whose images are read with that `invert`."""
    images = [base64_of(forms.image(number), invert) for number in range(count)]
    return pd.DataFrame({"form": [f"form {number + 1}" for number in range(count)], "image": images})


def trained_model(
    detector: Detector, data: HandwrittenForms, error: float, least_score: float = LEAST_SCORE
) -> TrainedModel:
    """Returns a detector as it is kept, with the scale of its training forms, and with one form, of the test part, as
    its example. error: of the validation part. least_score: of the boxes that it finds where it is not told another
    one."""
    scale = scale_of(data.parts["train"])
    more = {LEAST: least_score, SCALE: None if scale is None else asdict(scale)}

    def save(folder: Path) -> None:
        save_detector(detector, folder / "forms", more=more)

    return trained_form_model(save, table_of(data.parts["test"], 1, data.invert), error, data.invert)
