"""CMU-MOSI: the order of utterances and of their scores, both splits, what is contaminated, what stands in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from data.base import DataError
from data.multimodal import mosi
from data.multimodal.mosi import load_mosi
from data.multimodal.mosi_scores import SCORES as SCORES_FILES
from data.multimodal.mosi_scores import legacy_order
from data.utterances import Part, Utterances
from small_mosi import KEYS, SCORES, label, trust, write_all

BESIDE = Path(__file__).parents[4] / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT") or BESIDE)
Load = Callable[..., Utterances]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_all(tmp_path)


@pytest.fixture
def load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    trust(folder, monkeypatch)

    def loaded(**settings) -> Utterances:
        return load_mosi(root=str(folder.parent), **{"source": "poria", "words": "own", **settings})

    return loaded


def first(part: Part, modality: str) -> list[float]:
    return part.modalities[modality].values[:, 0, 0].tolist()


def test_keys_have_the_order_of_an_old_dictionary() -> None:
    assert " ".join(legacy_order([str(i) for i in range(1, 14)])) == "11 10 13 12 1 3 2 5 4 7 6 9 8"
    assert legacy_order(["1", "2"]) == ["1", "2"]
    assert sorted(legacy_order([str(i) for i in range(1, 200)]), key=int) == [str(i) for i in range(1, 200)]


def test_files_are_fetched_over_https_from_commits() -> None:
    features = "https://raw.githubusercontent.com/declare-lab/multimodal-deep-learning/111b401d867c14a1dcd930fd2b2ab58a"
    addresses = [mosi.PUBLISHED.address_of(file) for file in mosi.PUBLISHED.checksums]
    assert all(address.startswith(features) for address in addresses)
    ends = [address.partition("/bc-LSTM/data/")[2] for address in addresses]
    assert ends[:4] == ["transcripts.csv", "text_train.csv", "text_test.csv", "audio/audio_train0.csv"]
    assert SCORES_FILES.address_of("y_test.h5").endswith("/b0453fb6e21b581c796246a0c32a6551f2028c1b/data/y_test.h5")


def test_utterances_of_a_video_are_in_the_order_of_their_numbers(load: Load) -> None:
    train = load().train
    assert train.names == tuple(f"a_1_{k}" for k in range(1, 13))
    assert train.groups == ("a_1",) * 12
    assert train.texts is not None
    assert train.texts[9] == "FILM A NUMBER 10"


def test_scores_and_features_belong_to_their_utterance(load: Load) -> None:
    data = load(allow_contaminated=True)
    for part in data.parts.values():
        keys = [(name.rpartition("_")[0], int(name.rpartition("_")[2])) for name in part.names]
        assert part.labels.tolist() == [SCORES[key] for key in keys]
        assert data.positive(part).tolist() == [bool(label(key)) for key in keys]
        assert first(part, "audio") == [KEYS.index(key) + 100 for key in keys]
        assert first(part, "video") == [KEYS.index(key) + 200 for key in keys]


def test_text_is_the_rows_of_its_words(load: Load) -> None:
    data = load()
    assert data.words is not None
    assert data.words.words == ("a", "film", "number")
    assert data.train.modalities["text"].values[3, :, 0].tolist() == [2, 1, 3, 0]
    assert load(steps=2).train.modalities["text"].values.shape == (12, 2, 1)


def test_the_published_split_is_without_video(load: Load) -> None:
    data = load()
    assert {name: set(part.groups) for name, part in data.parts.items()} == {
        "train": {"a_1"}, "validation": {"b"}, "test": {"c"},
    }  # fmt: skip
    assert (data.modalities, data.contaminated) == (("text", "audio"), frozenset())
    with pytest.raises(DataError, match=r"mosi: no modality video \(its features were trained on 24 of the 31"):
        data.check_roles(["text"], ["video"])


def test_the_extractor_split_has_video_as_a_target_alone(load: Load) -> None:
    data = load(split="extractor", validation=1)
    assert set(data.test.groups) == {"c"}
    assert {*data.train.groups, *data.validation.groups} == {"a_1", "b"}
    data.check_roles(["text", "audio"], ["video"])
    with pytest.raises(DataError, match="the video features were trained on labels"):
        data.check_roles(["video"], ["text"])
    load(split="extractor", validation=1, allow_contaminated=True).check_roles(["video"])


def test_text_features_are_one_vector_and_contaminated(load: Load) -> None:
    data = load(split="extractor", validation=1, text="features")
    assert data.words is None
    assert data.train.modalities["text"].values.shape[1:] == (1, 2)
    assert data.contaminated == {"text", "video"}
    assert load(text="features").modalities == ("audio",)
    assert "take 'words' as text" in load(text="features").lacking["text"]


def test_binary_labels_need_no_score_files(load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "y_valid.h5").unlink()
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    assert load(labels="binary").train.labels.tolist() == [label(("a_1", k)) for k in range(1, 13)]
    with pytest.warns(UserWarning, match=r"mosi: no real scores: .*y_valid\.h5 is missing and there is no network"):
        data = load()
    assert (data.label_kind, data.classes, data.stand_in) == ("binary", ("negative", "positive"), False)
    with pytest.raises(DataError, match=r"y_valid\.h5 is missing.*or choose labels='binary'"):
        load(labels="score")


def test_scores_without_h5py_are_said_to_lack(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.multimodal.hdf5.readable", lambda: False)
    with pytest.warns(UserWarning, match=r"h5py is not installed \(pip install -c constraints\.txt -e '\.\[h5\]'"):
        assert load().label_kind == "binary"
    with pytest.raises(DataError, match="h5py is not installed"):
        load(labels="score")


def rewrite(folder: Path, values: np.ndarray) -> None:
    with pytest.importorskip("h5py").File(folder / "y_train.h5", "w") as stream:
        stream["data"] = values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([SCORES["a_1", k] for k in range(1, 13)]), r"have another sign than their label, the first is a_1_1"),
        (np.zeros(11), r"y_train\.h5: 11 scores of 12 utterances"),
        (np.zeros((12, 1)), r"y_train\.h5: data has shape \(12, 1\), not 1 axes"),
    ],
)
def test_scores_that_do_not_fit_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values, message
) -> None:
    rewrite(folder, values)
    trust(folder, monkeypatch)
    with pytest.raises(DataError, match=message):
        load_mosi(root=str(tmp_path), source="poria", words="own")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("transcripts.csv", '"a_1_10"', '"a_1_x"', r"transcripts\.csv, line 2: not a new utterance"),
        ("transcripts.csv", '"a_1_10"', '"a_1_1"', r"transcripts\.csv, line 2: not a new utterance"),
        ("audio_train0.csv", '"0.0"', '"1.0"', r"audio_train0\.csv: its labels are not those of transcripts"),
        ("video_test0.csv", '"0.25"', '"red"', r"video_test0\.csv: cannot be read"),
        ("text_train.csv", '"0.25"', '""', "text, step 1, number 2: not a finite number"),
    ],
)
def test_files_that_are_not_the_originals_are_named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file, old, new, message
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    trust(folder, monkeypatch)
    with pytest.raises(DataError, match=message):
        load_mosi(
            root=str(tmp_path), source="poria", words="own", split="extractor", validation=1, text="features",
            labels="binary",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "random"}, r"^split=random is unknown; choose one of published, extractor"),
        ({"labels": "ternary"}, r"^labels=ternary is unknown; choose one of auto, score, binary"),
        ({"text": "letters"}, r"^text=letters is unknown; choose one of words, features"),
        ({"words": "glove"}, r"^words=glove is unknown; choose one of auto, wordllama, own"),
        ({"source": "web"}, "choose one of auto, poria, stand_in"),
        ({"validation": 0}, r"mosi: validation must be a whole number of at least 1"),
        ({"split": "extractor", "validation": 2}, r"^mosi: validation=2 of 2 videos leaves none for training"),
    ],
)
def test_settings_that_make_no_sense_are_refused(load: Load, settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load(**settings)


def test_missing_files_are_said_aloud_and_damaged_ones_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="mosi: NOT REAL DATA: 7 of 7 files are missing"):
        data = load_mosi(root=str(tmp_path))
    assert (data.stand_in, data.name, data.modalities) == (True, "mosi", ("text", "audio"))
    with pytest.raises(DataError, match="put them there"):
        load_mosi(root=str(tmp_path), source="poria")
    (tmp_path / "cmu_mosi").mkdir()
    (tmp_path / "cmu_mosi" / "transcripts.csv").write_text("a\n")
    with pytest.raises(DataError, match="damaged or cut short"):
        load_mosi(root=str(tmp_path))


def test_the_stand_in_has_the_labels_and_roles_of_the_data() -> None:
    data = load_mosi(source="stand_in", split="extractor", labels="binary")
    assert (data.label_kind, data.contaminated) == ("binary", {"video"})
    assert set(data.train.labels.tolist()) == {0, 1}
    assert load_mosi(source="stand_in", seed=1).checksum != load_mosi(source="stand_in", seed=2).checksum


there = pytest.mark.skipif(
    not (ROOT / "cmu_mosi" / "transcripts.csv").is_file(),
    reason="the files of CMU-MOSI are not there; set PIPELINE_DATA_ROOT to the folder that holds cmu_mosi/",
)


@there
def test_the_published_files_have_the_scores_of_their_signs() -> None:
    pytest.importorskip("h5py")
    data = load_mosi(root=str(ROOT), source="published", labels="score", text="features")
    assert [len(part) for part in data.parts.values()] == [1284, 229, 686]
    assert [len(set(part.groups)) for part in data.parts.values()] == [52, 10, 31]
    shares = [round(float(data.positive(part).double().mean()), 3) for part in data.parts.values()]
    assert shares == [0.570, 0.598, 0.448]
    labels = torch.cat([part.labels for part in data.parts.values()]).numpy()
    counts = [int(((labels >= low) & (labels < low + 1)).sum()) for low in (-3, -2, -1)]
    counts += [int((labels == 0).sum()), int(((labels > 0) & (labels < 1)).sum())]
    counts += [int(((labels >= 1) & (labels < 2)).sum()), int((labels >= 2).sum())]
    assert counts == [185, 440, 398, 96, 299, 424, 357]


def ridge_accuracy(data: Utterances, modality: str) -> float:
    """The test accuracy of ridge regression, in standardised units, on the only step of a modality."""
    fit, test = (part.modalities[modality].values[:, 0].numpy() for part in (data.train, data.test))
    scale = np.where(fit.std(0) > 0, fit.std(0), 1.0)
    fit, test = (fit - fit.mean(0)) / scale, (test - fit.mean(0)) / scale
    signs = 2.0 * data.train.labels.numpy() - 1
    weights = np.linalg.solve(fit.T @ fit + 100 * np.eye(fit.shape[1]), fit.T @ (signs - signs.mean()))
    return float(((test @ weights + signs.mean() >= 0) == (data.test.labels.numpy() == 1)).mean())


@there
def test_the_published_split_would_leak_what_the_extractors_saw() -> None:
    settings = {"root": str(ROOT), "source": "poria", "labels": "binary", "text": "features"}
    leaking = load_mosi(**settings, allow_contaminated=True)
    assert ridge_accuracy(leaking, "text") > 0.9
    assert ridge_accuracy(leaking, "video") > 0.8
    clean = load_mosi(**settings, split="extractor", allow_contaminated=True)
    assert [len(clean.train) + len(clean.validation), len(clean.test)] == [1447, 752]
    assert [len({*clean.train.groups, *clean.validation.groups}), len(set(clean.validation.groups))] == [62, 10]
    assert ridge_accuracy(clean, "text") < 0.8
    assert ridge_accuracy(clean, "video") < 0.6
