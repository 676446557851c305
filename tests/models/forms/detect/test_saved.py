"""Detectors that were saved find the same, and folders that hold none are told apart."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from drawn_forms import ONE_FORM
from models.forms.detect.components import Components
from models.forms.detect.craft import Craft
from models.forms.detect.detector import Settings
from models.forms.detect.east import East
from models.forms.detect.faster_rcnn import FasterRCNN
from models.forms.detect.pixel_link import PixelLink
from models.forms.detect.r_fcn import RFCN
from models.forms.detect.saved import load_detector, save_detector
from models.forms.detect.yolo import YoloV3

IMAGE, TRUTH = ONE_FORM
SAVED_BEFORE = Path(__file__).parent / "saved_before"
SETTINGS = [
    Components(), RFCN(width=16, depth=1), RFCN(width=16, depth=1, norm="batch"), FasterRCNN(width=16, depth=1),
    YoloV3(width=16, depth=1), East(width=16, depth=1, cell_score=0.3), PixelLink(width=16, depth=1),
    Craft(width=16, depth=1),
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda own: type(own).__name__)
def test_a_saved_detector_finds_the_same(settings: Settings, tmp_path: Path) -> None:
    detector = settings.prepared([IMAGE], [TRUTH]).network(seed=3)
    if settings.trained:
        detector.losses(IMAGE[None], [TRUTH])  # batch norm sees a form
    save_detector(detector, tmp_path / "kept", more={"classes": ["word"]})
    loaded, more = load_detector(tmp_path / "kept")
    assert more == {"classes": ["word"]}
    assert loaded.settings == detector.settings
    for ours, theirs in zip(detector.eval().detect(IMAGE[None], 0.0), loaded.detect(IMAGE[None], 0.0), strict=True):
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    with pytest.raises(FileExistsError, match="is there already"):
        save_detector(detector, tmp_path / "kept")


def test_a_detector_that_an_earlier_version_saved_finds_what_it_found() -> None:
    """Written before there were soft suppression and `candidates`, and by maps that were made for each bin."""
    detector, _ = load_detector(SAVED_BEFORE)
    (found,) = detector.detect(IMAGE[None], 0.2)
    expected = json.loads((SAVED_BEFORE / "found.json").read_text())
    assert found.classes.tolist() == expected["classes"]
    torch.testing.assert_close(found.boxes, torch.tensor(expected["boxes"]), rtol=0, atol=1e-2)
    torch.testing.assert_close(found.scores, torch.tensor(expected["scores"]), rtol=1e-3, atol=0)


@pytest.mark.parametrize("settings", [SETTINGS[1], SETTINGS[4]], ids=["r_fcn", "yolo"])
def test_settings_that_earlier_versions_did_not_write_are_those_they_had(settings: Settings, tmp_path: Path) -> None:
    made = settings.prepared([IMAGE], [TRUTH])
    older = replace(made, decay=None, most_overlap=0.3)
    older = replace(older, candidates=160, proposals=40) if isinstance(older, RFCN) else older
    save_detector(older.network(), tmp_path / "kept")
    path = tmp_path / "kept" / "detector.json"
    described = json.loads(path.read_text())
    for name in ("decay", "most_overlap", "candidates"):
        described["settings"]["fields"].pop(name, None)
    path.write_text(json.dumps(described))
    assert load_detector(tmp_path / "kept")[0].settings == older


def test_folders_without_a_detector_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no saved detector: detector.json is not there"):
        load_detector(tmp_path)
    save_detector(SETTINGS[5].network(), tmp_path / "kept")
    text = (tmp_path / "kept" / "detector.json").read_text()
    described = json.loads(text)
    described["settings"] = {"class": "models.sequence.patterns.Full", "fields": {}}
    (tmp_path / "kept" / "detector.json").write_text(json.dumps(described))
    with pytest.raises(ValueError, match="no settings of a detector"):
        load_detector(tmp_path / "kept")
    (tmp_path / "kept" / "detector.json").write_text(text.replace('"width": 16', '"width": 32'))
    with pytest.raises(ValueError, match="holds no saved model that can be read"):
        load_detector(tmp_path / "kept")  # the weights are of another width
    (tmp_path / "kept" / "detector.json").write_text(text)
    np.savez(tmp_path / "kept" / "detector.npz", other=np.zeros(3))
    with pytest.raises(ValueError, match="holds no saved model that can be read"):
        load_detector(tmp_path / "kept")
    (tmp_path / "kept" / "detector.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match="cut off or no archive"):
        load_detector(tmp_path / "kept")
