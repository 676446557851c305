"""Samples without a step of what is read: they have no prediction, and count for nothing in any score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from data.base import DataError
from data.multimodal.cycles import load_cycles
from data.utterances import Part, Utterances
from models.mctn.network import Architecture, SentimentNetwork
from pipeline.systems.mctn.evaluate import bar_of, evaluate, fit_baseline
from pipeline.systems.mctn.fitting import FittedSentimentNetwork, validation_values
from pipeline.systems.mctn.load import prepared
from pipeline.systems.mctn.report import score_report
from pipeline.systems.mctn.roles import roles_of

SILENT = [1, 4]


def utterances() -> Utterances:
    """Of validation and test part two samples have no audio."""
    data = load_cycles(train=20, validation=8, test=10)
    parts = {name: part if name == "train" else silent(part) for name, part in data.parts.items()}
    return replace(data, parts=parts)


def silent(part: Part, modalities: Sequence[str] = ("audio",)) -> Part:
    arrays = {name: own.to_arrays() for name, own in part.modalities.items()}
    for name in modalities:
        for row in SILENT:
            arrays[name][row] = arrays[name][row][:0]
    return Part.of(arrays, part.labels.numpy(), part.names, groups=part.groups)


def test_they_count_for_nothing_in_scores_of_networks_and_baselines(capsys: pytest.CaptureFixture[str]) -> None:
    data = utterances()
    samples = prepared(data, "a", dtype=torch.float64)
    network = SentimentNetwork(Architecture("none-a", samples.widths, units=3), seed=0).double()
    unused: Any = None
    found = evaluate(FittedSentimentNetwork(network, unused, frozenset()), data, samples.parts["test"], missing=None)
    labels, others = data.test.labels.numpy(), np.delete(np.arange(10), SILENT)
    bar = fit_baseline("audio", data).outputs
    assert bar_of("audio", data)["bar_mae"] == pytest.approx(np.abs(bar - labels)[others].mean())
    assert bar_of("audio", data)["bar_unread"] == 2
    for outputs in (found.outputs, bar):
        assert np.flatnonzero(np.isnan(outputs)).tolist() == SILENT
    assert found.scores["test_mae"] == pytest.approx(np.abs(found.outputs - labels)[others].mean())
    assert found.scores["unread"] == 2
    words = score_report(found.scores, data, roles_of("none-a"))
    assert "2 of 10 test samples have no step of audio: they have no prediction and count for nothing" in words
    assert "no step" not in score_report(found.scores | {"unread": 0}, data, roles_of("none-a"))
    assert "2 of 10 test samples have no step of audio" in capsys.readouterr().err
    values = validation_values(network, samples.parts["validation"], data, frozenset())
    assert values["prediction"] == pytest.approx(values["validation"])


@pytest.mark.parametrize(("arm", "needed"), [("double-t-a", ("text",)), ("concat-ta-tv", ("text", "audio"))])
def test_a_training_sample_needs_what_is_encoded_first(arm: str, needed: tuple[str, ...]) -> None:
    """Of two encodings that of the source; of joined modalities one of them. A sample without is named."""
    data = load_cycles(train=20, validation=8, test=10)
    assert roles_of(arm).needed == needed
    data.check_sources(needed)
    spoilt = replace(data, parts={**data.parts, "train": silent(data.train, needed)})
    with pytest.raises(
        DataError, match=rf"training sample {data.train.names[1]} \(and 1 more\) has no step of {' or '.join(needed)}"
    ):
        spoilt.check_sources(needed)
