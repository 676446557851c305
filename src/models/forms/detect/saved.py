"""Detectors on disk: settings and weights as plain values and arrays, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.forms.detect.detector import Detector, Settings
from models.runtime.plain import made_of, plain
from models.runtime.saved import read_tensors, readable, refuse_missing
from models.runtime.whole_folder import folder_written_whole

DESCRIPTION, ARRAYS = "detector.json", "detector.npz"
LEAST = "least_score"  # among the values that may be written with a detector: of the boxes that it should find


def save_detector(detector: Detector, folder: str | Path, *, more: Mapping[str, Any] | None = None) -> None:
    """Writes detector.json (settings, and `more` plain values) and detector.npz (the state) into a new folder, which
    appears under its name when it is whole. Raises FileExistsError where something is there."""
    with folder_written_whole(Path(folder)) as partial:
        write_detector(detector, partial, more or {})


def write_detector(detector: Detector, folder: Path, more: Mapping[str, Any]) -> None:
    """Writes both files into a folder that is there."""
    description = {"settings": plain(detector.settings, "settings"), "more": dict(more)}
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    arrays: dict[str, Any] = {name: value.cpu().numpy() for name, value in detector.state_dict().items()}
    np.savez(folder / ARRAYS, allow_pickle=False, **arrays)


def load_detector(folder: str | Path) -> tuple[Detector, dict[str, Any]]:
    """Returns the detector that `save_detector` wrote into a folder, which finds the same, and the values that were
    written with it. Nothing is unpickled. Raises ValueError for a folder without one."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION, ARRAYS), what="detector")
    with readable(folder):
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        settings = made_of(of_this_version(described["settings"]))
        if not isinstance(settings, Settings):
            raise ValueError(f"{folder} names {described['settings']['class']}, which are no settings of a detector")
        detector = settings.network()
        detector.load_state_dict(read_tensors(folder / ARRAYS))
        return detector.eval(), described["more"]


def of_this_version(described: dict[str, Any]) -> dict[str, Any]:
    """Returns saved settings with those that earlier versions did not write, as these had them."""
    own = described["fields"]
    before: dict[str, Any] = {"decay": None, "most_overlap": 0.3} if "anchors" in own else {}
    before |= {"candidates": 4 * own["proposals"]} if "proposals" in own else {}
    return described | {"fields": before | own}
