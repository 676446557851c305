"""Recipes on a GPU: a run ends, with the scores that the CPU has, and with the same scores when it runs again."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from mlflow import MlflowClient

from logged import only_run

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.slow,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: what runs there cannot be compared"),
]
MOCAP = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "tracking.detail=summary", "features.count=8")
SMALL = ("translator.width=8", "translator.heads=2", "translator.hidden=8", "translator.layers=1", "adapter.hidden=4",
         "sampling.tokens=120")  # fmt: skip
EXPERTS = ("recipe=experts", "data=ciphers", "data.languages=3", "size=tiny", "fit.autocast=false", *SMALL)
DOCUMENTS = (
    "recipe=documents", "data=synthetic_documents", "size=tiny", "data.train=6", "data.validation=3", "data.test=3",
    "data.words=60", "data.questions=6", "data.values=3", "documents.vocabulary=300", "documents.stride=10",
    "documents.max_length=48", "encoder.width=16", "encoder.heads=2", "encoder.hidden=16", "encoder.layers=1",
    "attention.neighbours=8", "pretrain.steps=2",
)  # fmt: skip
FORMS = ("recipe=forms", "size=tiny", "data.source=stand_in", "data.forms=4", "data.validation=3", "data.test=4",
         "data.height=96", "data.width=128", "data.most_boxes=6", "detector.width=16", "detector.depth=1")  # fmt: skip
WORDS = ("recipe=forms", "forms.stage=recognition", "data=dhsd", "data.source=stand_in", "size=tiny")
PAGES = ("recipe=forms", "forms.stage=pipeline", "size=tiny", "data.source=stand_in", "data.height=96",
         "data.width=128", "data.layout=free", "recognition.batch=3")  # fmt: skip
TRACE = ("recipe=trace", "size=tiny", "data.source=stand_in", "timing.trials=0")
READER = ("reader=convolve_attend_spell", "reader.height=32", "reader.units=8", "reader.characters=230")
SEQ2SEQ = ("recogniser=ctc_seq2seq", "recogniser.channels=16", "recogniser.units=16", "recogniser.encoder_layers=1",
           "recogniser.decoder_layers=1")  # fmt: skip

COMMANDS = {
    "psrnn": MOCAP,
    "psrnn_cp": (*MOCAP, "model=psrnn_cp", "model.rank=6"),
    "psrnn_bayes": (*MOCAP, "update=bayes"),
    "psrnn_kernel": (*MOCAP, "readout=kernel", "readout.direct=5"),
    **{name: (*MOCAP[:-1], f"model={name}") for name in ("lstm", "gru", "min_gru", "echo_state", "kalman", "var")},
    "lstm_kernel": (*MOCAP[:-1], "model=lstm", "readout=kernel", "readout.direct=5"),
    "ssgp": ("recipe=ssgp", "size=tiny", "data.source=stand_in"),
    "trace_hessian": ("+experiment=trace_hessian", "size=tiny", "timing.trials=0"),
    **{f"trace_{name}": (*TRACE, f"problem={name}") for name in ("roget", "smoother")},
    "trace_synthetic": ("recipe=trace", "size=tiny", "problem=synthetic", "timing.trials=0"),
    **{f"experts_{arm}": (*EXPERTS, f"experts.arm={arm}")
       for arm in ("dense", "token+shared", "sentence+dynamic", "hash", "task+static")},
    **{f"documents_{name}": (*DOCUMENTS[:-2], DOCUMENTS[-1], f"attention={name}")
       for name in ("full", "sliding_window", "distance", "distance_window", "window_random", "spatial_window")},
    **{f"forms_{name}": (*FORMS, f"detector={name}")
       for name in ("r_fcn", "faster_rcnn", "yolo_v3")},
    **{f"forms_{name}": (*FORMS, f"detector={name}", "forms.scored=words") for name in ("east", "pixel_link", "craft")},
    **{f"words_{name}": (*WORDS, f"recogniser={name}") for name in ("crnn", "character", "moran")},
    "words_word": (*WORDS, "data=dhsd_parts", "recogniser=word"),
    "words_ctc_seq2seq": (*WORDS, *SEQ2SEQ),
    "words_refined": (*WORDS, "data.ink=synthetic", "refiner=gan"),
    "pages_two_phase": PAGES,
    "pages_convolve_attend_spell": (*PAGES, *READER),
}  # fmt: skip
OF_TIME = re.compile(r"second|ms_per|memory|bytes|gib", re.IGNORECASE)
# what moves by degrees; counts, as an F1, move by steps
BY_DEGREES = re.compile(r"loss|nll|mse|nlpd|/validation$|/train$")
# systems with a sum that a GPU takes in an order of its own, and their names' beginnings
LAST_DIGITS = ("experts_", "forms_craft", "forms_east", "forms_r_fcn", "forms_faster_rcnn", "words_moran", "words_crnn",
               "words_character", "words_refined", "pages_two_phase")  # fmt: skip


@pytest.fixture
def scores(run_pipeline: Callable, template_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """What a run measures, but for times and memory, in a store of its own: nothing that another has made is used."""

    def measured(*command: str) -> dict[str, float]:
        folder = tmp_path / f"store{len(list(tmp_path.iterdir()))}"
        shutil.copytree(template_store, folder)
        monkeypatch.setenv("PIPELINE_MLRUNS", str(folder))
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
        result = run_pipeline(*command)
        assert result.status == 0, result.err
        metrics = only_run(MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")).data.metrics
        return {name: value for name, value in metrics.items() if not OF_TIME.search(name)}

    return measured


def difference(one: float, other: float) -> float:
    """Of two numbers relative to the larger; infinite where one alone is none."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    return math.inf if math.isnan(one + other) else abs(one - other) / max(abs(one), abs(other))


def apart(one: dict[str, float], other: dict[str, float]) -> float:
    """The largest difference of two scores of the same name."""
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    return max(difference(value, other[name]) for name, value in one.items())


def by_degrees(scores: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in scores.items() if BY_DEGREES.search(name)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_gpu_repeats_its_scores_and_losses_are_near_those_of_the_cpu(name: str, scores: Callable) -> None:
    """To the last digit, but for sums that a GPU takes in an order of its own. Other numbers are drawn there: those of
    dropout, and the vectors that estimate a trace, whose scores have only to come again."""
    if name == "trace_hessian":
        pytest.importorskip("mujoco")
    first, again = (scores(*COMMANDS[name], "device=cuda") for _ in range(2))
    assert apart(first, again) <= (1e-5 if name.startswith(LAST_DIGITS) else 0.0)
    if not name.startswith("trace_"):
        assert apart(by_degrees(first), by_degrees(scores(*COMMANDS[name], "device=cpu"))) < 0.01
