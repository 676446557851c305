"""Generated utterances: sizes, equal data under an equal seed, what modalities say of each other and of scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from data.base import DataError
from data.multimodal.cycles import load_cycles
from data.utterances import Part


def steps(part: Part, modality: str) -> np.ndarray:
    """All present steps of all samples, (step, number)."""
    return np.concatenate(part.modalities[modality].to_arrays())


def means(part: Part, names: list[str]) -> np.ndarray:
    """The means over the steps of each sample, (sample, number of all modalities)."""
    return np.hstack([[own.mean(0) for own in part.modalities[name].to_arrays()] for name in names])


def explained(fit: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> float:
    """The test R² of a linear regression."""
    weights = np.linalg.lstsq(fit[0], fit[1], rcond=None)[0]
    return 1 - np.square(test[1] - test[0] @ weights).sum() / np.square(test[1] - test[1].mean(0)).sum()


def told(read: str, wanted: str, **settings) -> float:
    """How much of one modality another tells in the test part."""
    data = load_cycles(**settings)
    return explained(*((steps(part, read), steps(part, wanted)) for part in (data.train, data.test)))


def test_sizes_are_those_asked_for() -> None:
    data = load_cycles()
    assert [len(part) for part in data.parts.values()] == [150, 100, 600]
    assert {name: own.values.shape[2] for name, own in data.train.modalities.items()} == {
        "text": 40, "video": 8, "audio": 8,
    }  # fmt: skip
    lengths = data.test.modalities["text"].lengths
    assert (int(lengths.min()), int(lengths.max())) == (8, 20)
    assert torch.equal(lengths, data.test.modalities["audio"].lengths)
    assert (data.stand_in, data.label_kind, data.contaminated) == (False, "score", frozenset())


def test_equal_seeds_give_equal_data() -> None:
    sums = [load_cycles(seed=seed, train=5, validation=3, test=4).checksum for seed in (1, 1, 2)]
    assert sums[0] == sums[1] != sums[2]


def test_text_tells_of_video_and_audio_only_when_they_are_linked() -> None:
    assert told("text", "video") > 0.35
    assert told("text", "audio") > 0.35
    assert abs(told("video", "audio")) < 0.05
    assert told("text", "video", link=False) < 0.05


def test_the_score_is_what_video_shows_or_video_and_audio_together() -> None:
    def r2(names: list[str], *, three: bool) -> float:
        data = load_cycles(three=three, label_noise=0.0)
        fit, test = ((means(part, names), part.labels.numpy()) for part in (data.train, data.test))
        return explained(fit, test)

    assert r2(["video"], three=False) > 0.95
    assert r2(["audio"], three=False) < 0.1
    assert r2(["video"], three=True) < 0.7
    assert r2(["video", "audio"], three=True) > 0.95


def test_label_noise_is_in_training_and_validation_alone() -> None:
    clean, noisy = (load_cycles(label_noise=noise) for noise in (0.0, 2.0))
    assert torch.equal(clean.test.labels, noisy.test.labels)
    for name in ("train", "validation"):
        added = noisy.parts[name].labels - clean.parts[name].labels
        assert 1.5 < float(added.std()) < 2.5  # four standard errors of 100 draws


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"train": 0}, r"cycles: train must be a whole number of at least 1, got 0"),
        ({"seed": -1}, r"cycles: seed must be a whole number of at least 0"),
        ({"label_noise": -1.0}, r"cycles: label_noise must be a number of at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(settings, message) -> None:
    with pytest.raises(DataError, match=message):
        load_cycles(**settings)
