"""What a finished run of `recipe=mctn` draws, and the numbers and arrays that stand beside the pictures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch

from data.multimodal.cycles import load_cycles
from data.utterances import Part, Utterances, Words
from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.objective import Weights, measure
from pipeline.job.curve import Decision, EpochRow, Progress
from pipeline.systems.mctn import pictures
from pipeline.systems.mctn.evaluate import Evaluated
from pipeline.systems.mctn.fitting import FittedSentimentNetwork
from pipeline.systems.mctn.load import prepared
from pipeline.systems.mctn.pictures import both_there, log_pictures, steps_read


class Kept(NamedTuple):
    """What a run was given, by path or name."""

    figures: dict[str, Any]
    metrics: dict[str, float]
    arrays: dict[str, dict[str, Any]]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    own = Kept({}, {}, {})
    monkeypatch.setattr(pictures, "log_metrics", lambda _, metrics: own.metrics.update(metrics))
    return own


def study_of(kept: Kept, *, full: bool) -> Any:
    run = SimpleNamespace(
        figure=lambda figure, path: kept.figures.update({path: figure}),
        arrays=lambda arrays, path: kept.arrays.update({path: arrays}),
    )
    return SimpleNamespace(run=run, full=full, title="a run")


def drawn(kept: Kept, data: Utterances, arm: str, *, full: bool = True) -> SentimentNetwork:
    """Draws an untrained network."""
    samples = prepared(data, "tva", dtype=torch.float32)
    architecture = Architecture(arm, samples.widths, max(1, len(data.classes)), units=4)
    network = SentimentNetwork(architecture, seed=0).eval()
    terms = Weights().terms if network.plan.targets else frozenset[str]()
    found = measure(network, samples.parts["test"], terms=terms)
    rows = [
        EpochRow(i, i, {"train": 2.0 - i, "validation": 1.0}, 0.1, decides=Decision("validation")) for i in range(2)
    ]
    fitted = FittedSentimentNetwork(network, Progress(0.1, rows), terms)
    evaluated = Evaluated(found.outputs.double().numpy(), None, found, {})
    log_pictures(study_of(kept, full=full), data, fitted, evaluated, samples.parts["test"])
    return network


def test_a_run_has_its_five_figures_and_what_they_are_drawn_from(kept: Kept) -> None:
    drawn(kept, load_cycles(train=8, validation=2, test=24), "cyclic-t-v-a")
    assert sorted(kept.figures) == [
        f"figures/{name}" for name in ("attention", "joint", "learning", "predictions", "translations")
    ]
    assert [panel.get_title().split("\n")[0] for panel in kept.figures["figures/translations"].axes] == [
        "into the target: video", "back into the source: text", "into the second target: audio",
    ]  # fmt: skip
    assert set(kept.metrics) == {f"evaluate/joint_{name}" for name in ("neighbours", "majority", "silhouette")}
    arrays = kept.arrays["attention.npz"]
    assert sorted(arrays) == ["attention_0", "attention_1", "attention_2", "attention_3", "names"]
    assert arrays["names"].tolist() == ["test_000", "test_007", "test_015", "test_023"]
    np.testing.assert_allclose(arrays["attention_2"].sum(1), 1, rtol=1e-5)


def test_an_arm_that_does_not_translate_has_three_and_a_summary_none(kept: Kept) -> None:
    data = load_cycles(train=8, validation=2, test=24)
    drawn(kept, data, "none-t")
    assert sorted(kept.figures) == ["figures/joint", "figures/learning", "figures/predictions"]
    assert kept.arrays == {}
    kept.figures.clear()
    drawn(kept, data, "cyclic-t-v", full=False)
    assert (kept.figures, kept.arrays) == ({}, {})


def worded() -> Utterances:
    """Six texts of two classes with a step of audio each, the last of them without."""
    texts = ["so good", "so dull", "good", "dull", "not good at all", "so so"]
    words = Words(("dull", "good", "so"), torch.eye(4, 3).roll(1, 0).index_fill(0, torch.tensor([0]), 0.0), "here")

    def part(name: str) -> Part:
        text = [words.ids(each)[:, np.newaxis].astype(float) for each in texts]
        audio = [np.ones((1, 2)) * place for place in range(5)] + [np.zeros((0, 2))]
        names = [f"{name}{place}" for place in range(6)]
        return Part.of({"text": text, "audio": audio, "video": audio}, np.arange(6) % 2, names, texts=texts)

    parts = {name: part(name) for name in ("train", "validation", "test")}
    return Utterances("own", parts, "binary", "here", classes=("bad", "good"), words=words)


def test_classes_are_counted_and_words_stand_beneath_their_steps(kept: Kept) -> None:
    data = worded()
    network = drawn(kept, data, "simple-t-a")
    assert kept.figures["figures/predictions"].axes[0].get_xlabel() == "class, predicted"
    arrays = kept.arrays["attention.npz"]
    assert arrays["names"].tolist() == ["test0", "test1", "test2", "test4"]
    assert arrays["steps_3"].tolist() == ["not", "good", "at", "all"]
    assert arrays["attention_3"].shape == (1, 4)
    samples = prepared(data, "ta", dtype=torch.float32)
    assert 5 not in both_there(samples.parts["test"], network.plan)
    assert steps_read(load_cycles(train=2, validation=1, test=1), network.plan, 0) == ()


def test_without_a_prediction_nothing_is_drawn(kept: Kept) -> None:
    table = pd.DataFrame({"label": [1.0], "prediction": [np.nan]})
    pictures.log_predictions(study_of(kept, full=True), load_cycles(train=2, validation=1, test=1), table)
    assert kept.figures == {}
