"""ICT-MMMO: steps that are missing, both splits, what is refused, what stands in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from data.base import DataError
from data.multimodal import mmmo
from data.multimodal.mmmo import load_mmmo
from data.utterances import Utterances

BESIDE = Path(__file__).parents[4] / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT") or BESIDE)
COUNTS = {"train": 6, "valid": 4, "test": 6}
WIDTHS = {"text": 3, "audio": 2, "video": 1}
Write = Callable[[str, np.ndarray], None]
Load = Callable[..., Utterances]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    h5py = pytest.importorskip("h5py")
    folder = tmp_path / "ict_mmmo_youtube" / "mmmo"
    folder.mkdir(parents=True)

    def written(name: str, values: np.ndarray) -> None:
        with h5py.File(folder / name, "w") as stream:
            stream["d1"] = values

    for split, count in COUNTS.items():
        written(f"y_{split}.h5", np.linspace(1, 5, count))
        for modality, width in WIDTHS.items():
            values = np.arange(1.0, count * 4 * width + 1).reshape(count, 4, width)
            written(f"{modality}_{split}{'_emb' if modality == 'text' else ''}.h5", values)
    return written


@pytest.fixture
def load(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:  # noqa: ARG001
    def loaded(**settings) -> Utterances:
        folder = tmp_path / "ict_mmmo_youtube" / "mmmo"
        sums = {file: hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in mmmo.PUBLISHED.checksums}
        monkeypatch.setattr(mmmo, "PUBLISHED", replace(mmmo.PUBLISHED, checksums=sums))
        return load_mmmo(root=str(tmp_path), **{"source": "mfn", **settings})

    return loaded


def test_the_official_split_has_audio_and_video(load: Load) -> None:
    data = load()
    assert [len(part) for part in data.parts.values()] == [6, 4, 6]
    assert data.modalities == ("video", "audio")
    assert data.positive(data.train).tolist() == [False, False, False, True, True, True]
    assert data.train.groups == data.train.names
    with pytest.raises(
        DataError,
        match=r"mmmo: no modality text \(text_train_emb\.h5 was not published; take the split 'text', 120 sam",
    ):
        data.check_roles(["text"])


def test_steps_of_zeros_are_left_out_of_each_modality_by_itself(load: Load, write: Write) -> None:
    values = np.arange(1.0, 49.0).reshape(6, 4, 2)
    values[1, [0, 2]] = 0.0  # at the end and inside
    values[2, 1, 0] = 0.0  # a zero among other numbers is a number
    write("audio_train.h5", values)
    train = load().train
    assert train.modalities["audio"].lengths.tolist() == [4, 2, 4, 4, 4, 4]
    assert train.modalities["video"].lengths.tolist() == [4] * 6
    np.testing.assert_array_equal(train.modalities["audio"].to_arrays()[1], values[1, [1, 3]])


def test_folds_of_the_samples_with_text_cover_all_once(load: Load) -> None:
    tests = [load(split="text", fold=fold) for fold in range(5)]
    names = sorted(name for data in tests for name in data.test.names)
    assert names == sorted([f"validation_{i:03d}" for i in range(4)] + [f"test_{i:03d}" for i in range(6)])
    for data, after in zip(tests, [*tests[1:], tests[0]], strict=True):
        assert data.validation.names == after.test.names
        assert [len(part) for part in data.parts.values()] == [6, 2, 2]
        assert data.modalities == ("text", "video", "audio")
    first = tests[0].train
    row, own = first.names[0].split("_")
    assert torch.equal(
        first.labels[0], torch.linspace(1, 5, COUNTS["valid" if row == "validation" else "test"]).double()[int(own)]
    )
    assert load(split="text", seed=1).checksum != tests[0].checksum == load(split="text").checksum


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"collection": "youtube"}, "youtube cannot be used: of its 269 samples 191 have audio"),
        ({"collection": "pom"}, r"^collection=pom is unknown; choose one of mmmo"),
        ({"split": "random"}, r"^split=random is unknown; choose one of official, text"),
        ({"split": "text", "fold": 5}, r"^fold=5 must lie from 0 to 4"),
        ({"source": "web"}, "choose one of auto, mfn, stand_in"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load_mmmo(**{"source": "stand_in", **settings})


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        ("y_valid.h5", np.zeros(4), r"y_valid\.h5: a score is not from 1 to 5"),
        ("video_test.h5", np.ones((5, 4, 1)), r"video_test\.h5: 5 samples of 6"),
        ("audio_train.h5", np.ones((6, 8)), r"audio_train\.h5: d1 has shape \(6, 8\), not 3 axes"),
        ("audio_test.h5", np.full((6, 4, 2), np.inf), "sample test_000, audio, step 1, number 1: not a finite number"),
    ],
)
def test_files_that_are_not_the_originals_are_named(load: Load, write: Write, file, values, message) -> None:
    write(file, values)
    with pytest.raises(DataError, match=message):
        load()


def test_files_without_the_array_or_without_h5py_are_named(load: Load, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "ict_mmmo_youtube" / "mmmo"
    with pytest.importorskip("h5py").File(folder / "y_test.h5", "w") as stream:
        stream["other"] = np.zeros(3)
    with pytest.raises(DataError, match=r"y_test\.h5: cannot be read"):
        load()
    (folder / "y_test.h5").write_bytes(b"no HDF5")
    with pytest.raises(DataError, match=r"y_test\.h5: cannot be read"):
        load()
    monkeypatch.setattr("data.multimodal.hdf5.readable", lambda: False)
    with pytest.raises(DataError, match=r"h5py is needed to read it.*\[h5\]"):
        load()


def test_missing_files_are_said_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="mmmo: NOT REAL DATA: 11 of 11 files are missing"):
        data = load_mmmo(root=str(tmp_path))
    assert (data.stand_in, data.modalities, data.positive_from) == (True, ("video", "audio"), 3.0)
    assert [len(part) for part in data.parts.values()] == [220, 40, 80]
    assert 1.0 <= float(data.train.labels.min()) < float(data.train.labels.max()) <= 5.0
    assert load_mmmo(source="stand_in", split="text").modalities == ("text", "video", "audio")
    with pytest.raises(DataError, match="put them there"):
        load_mmmo(root=str(tmp_path), source="mfn")


@pytest.mark.skipif(
    not (ROOT / "ict_mmmo_youtube" / "mmmo" / "y_test.h5").is_file(),
    reason="the files of ICT-MMMO are not there; set PIPELINE_DATA_ROOT to the folder that holds ict_mmmo_youtube/",
)
def test_the_published_files() -> None:
    pytest.importorskip("h5py")
    data = load_mmmo(root=str(ROOT), source="published")
    assert [len(part) for part in data.parts.values()] == [220, 40, 80]
    shares = [100 * float(data.positive(part).double().mean()) for part in data.parts.values()]
    assert shares == pytest.approx([64.5, 70.0, 72.5], abs=0.05)
    assert {name: own.values.shape[2] for name, own in data.train.modalities.items()} == {"video": 36, "audio": 74}
    lengths = torch.cat([own.lengths for part in data.parts.values() for own in part.modalities.values()])
    assert (int(lengths.min()), int(lengths.max())) == (2, 20)
    text = load_mmmo(root=str(ROOT), source="published", split="text", fold=3)
    assert [len(part) for part in text.parts.values()] == [72, 24, 24]
    assert text.train.modalities["text"].values.shape[2] == 300
