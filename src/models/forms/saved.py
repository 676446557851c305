"""Readers of forms on disk: detector, recogniser, correction, least score and scale as plain values and arrays."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from models.forms.detect.saved import load_detector, save_detector
from models.forms.placing import Placing
from models.forms.reader import FormReader
from models.forms.recognise.recogniser import Recogniser
from models.forms.recognise.saved import load_recogniser, save_recogniser
from models.forms.scale import SCALE, scale_in
from models.runtime.saved import readable, refuse_missing
from models.runtime.whole_folder import folder_written_whole

DESCRIPTION, DETECTOR, RECOGNISER = "reader.json", "detector", "recogniser"
PLACING = "placing"  # in the description; readers of before have none, and read words where they are found


def save_reader(reader: FormReader, folder: str | Path) -> None:
    """Writes reader.json and the folders `detector` and, where there is one, `recogniser` into a new folder, which
    appears under its name when it is whole.

    Raises FileExistsError where something is there, and TypeError for a recogniser of another package.
    """
    own = reader.recogniser
    if own is not None and not isinstance(own, Recogniser):
        raise TypeError(f"{type(own).__name__} is no recogniser of models.forms.recognise; it cannot be saved here")
    with folder_written_whole(Path(folder)) as partial:
        description = {
            "least_score": reader.least_score, "reads": own is not None, PLACING: asdict(reader.placing),
            SCALE: None if reader.scale is None else asdict(reader.scale),
        }  # fmt: skip
        (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        save_detector(reader.detector, partial / DETECTOR)
        if own is not None:
            save_recogniser(own, partial / RECOGNISER, correction=reader.correction)


def load_reader(folder: str | Path) -> FormReader:
    """Returns the reader that `save_reader` wrote into a folder, which reads the same. Nothing is unpickled. Raises
    ValueError for a folder without one."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION,), what="reader of forms")
    with readable(folder):
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        reads, least_score = bool(described["reads"]), float(described["least_score"])
        placing, scale = Placing(**described.get(PLACING, {})), scale_in(described)
    detector, _ = load_detector(folder / DETECTOR)
    recogniser, correction = load_recogniser(folder / RECOGNISER) if reads else (None, None)
    return FormReader(
        detector, recogniser, correction=correction, least_score=least_score, placing=placing, scale=scale
    )
