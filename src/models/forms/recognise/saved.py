"""Recognisers on disk: settings, alphabet, vocabulary and weights as plain values and arrays, without pickle.

Any recogniser whose settings are a record of this package with plain values can be saved; its class is found by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from models.forms.recognise.correction import Correction
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq
from models.forms.recognise.recogniser import Recogniser, RecogniserSettings
from models.runtime.plain import class_name, made_of, plain
from models.runtime.saved import read_tensors, readable, refuse_missing
from models.runtime.whole_folder import folder_written_whole

DESCRIPTION, ARRAYS = "recogniser.json", "recogniser.npz"


def save_recogniser(recogniser: Recogniser, folder: str | Path, *, correction: Correction | None = None) -> None:
    """Writes recogniser.json (settings, alphabet and the correction of its readings) and recogniser.npz (the state)
    into a new folder, which appears under its name when it is whole. Raises FileExistsError where something is
    there."""
    parts = {"settings": recogniser.settings, "alphabet": recogniser.alphabet, "correction": correction}
    description = {name: plain(value, name) for name, value in parts.items()}
    arrays: dict[str, Any] = {name: value.cpu().numpy() for name, value in recogniser.state_dict().items()}
    with folder_written_whole(Path(folder)) as partial:
        (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        np.savez(partial / ARRAYS, allow_pickle=False, **arrays)


def load_recogniser(folder: str | Path) -> tuple[Recogniser, Correction | None]:
    """Returns the recogniser that `save_recogniser` wrote into a folder, which reads the same, and its correction.
    Nothing is unpickled. Raises ValueError for a folder without one."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION, ARRAYS), what="recogniser")
    with readable(folder):
        described = as_of_now(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")))
        settings, alphabet, correction = (made_of(described[name]) for name in ("settings", "alphabet", "correction"))
        if not isinstance(settings, RecogniserSettings):
            raise ValueError(f"{folder} names {described['settings']['class']}, which are no settings of a recogniser")
        recogniser = settings.network(alphabet)
        recogniser.load_state_dict(read_tensors(folder / ARRAYS))
        return recogniser.eval(), correction


def as_of_now(described: dict[str, Any]) -> dict[str, Any]:
    """Returns the description of a recogniser with settings that came later: a CTC-Seq2Seq of before `residual` was
    one has none."""
    if described["settings"]["class"] == class_name(CTCSeq2Seq):
        described["settings"]["fields"].setdefault("residual", False)
    return described
