"""Jobs of one multirun over the same data load them once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from data.form_images import WORD, Form, FormImages, HandwrittenForms
from data.forms.composer import ComposedForms
from pipeline.host.errors import PipelineError
from pipeline.systems.forms import contents
from pipeline.systems.forms.reading import load as reading
from pipeline.systems.forms.recognition import load as recognition
from pipeline.systems.forms.segmentation import load as segmentation

TINY = (
    "size=tiny",
    "data.source=stand_in",
    "data.height=96",
    "data.width=128",
    "data.layout=free",
    "forms.components=false",
)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The sections of data that are built, each anew, with three forms, two forms and one form."""
    shades = {"train": (1, 2, 3), "validation": (4, 5), "test": (6,)}
    parts = {name: FormImages.of(form(shade) for shade in own) for name, own in shades.items()}
    built = list[Any]()

    def build(group: str, section: Any, extensions: Any) -> HandwrittenForms:  # noqa: ARG001
        built.append(section)
        return HandwrittenForms("own", parts, "made")

    monkeypatch.setattr("pipeline.systems.forms.load.build", build)
    return built


def form(shade: int) -> Form:
    boxes = np.array([[1, 1, 9, 5]], np.float32)
    return Form(np.full((12, 16), 20 * shade, np.uint8), boxes, np.array([WORD]), ("wort",), np.array([0]), None)


def asked(most: int | None = None, seed: int = 0) -> Any:
    own = SimpleNamespace(scored="words", augment="none")
    return SimpleNamespace(data={"seed": seed}, size=SimpleNamespace(sequences=most), forms=own, extensions=[])


def test_the_same_data_are_loaded_once_and_let_go_where_others_are_asked_for(builds: list[Any]) -> None:
    first = segmentation.load(asked(), shared=True)
    assert reading.load(asked(), shared=True) is first
    assert len(builds) == 1
    assert segmentation.load(asked(), shared=False) is not first
    gone = weakref.ref(first)
    del first
    assert len(segmentation.load(asked(2), shared=True).parts["train"]) == 2
    gc.collect()
    assert gone() is None
    segmentation.load(asked(2, seed=1), shared=True)
    assert len(builds) == 4


def test_data_of_the_job_before_are_refused_where_a_stage_takes_others(builds: list[Any]) -> None:
    contents.load(asked(), shared=True)
    with pytest.raises(PipelineError, match="takes images of words"):
        recognition.load(asked(), shared=True)
    assert len(builds) == 2


def test_jobs_of_a_multirun_compose_forms_once(run_pipeline: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed of the data is not that of the job, and each job composed the same forms."""
    made, load = [], ComposedForms.load
    monkeypatch.setattr(ComposedForms, "load", lambda own: (made.append(own), load(own))[1])
    result = run_pipeline("+experiment=forms_data", *TINY, "seed=0,1", "--multirun")
    assert result.status == 0, result.err
    assert len(made) == 1
