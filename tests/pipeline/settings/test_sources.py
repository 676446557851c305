"""Data sets that are records of their settings: a section names the class, and what it loads is built."""

from __future__ import annotations

import re

import pytest

from data.base import DataError, Dataset
from data.ecg.load import Ecg
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.registry import choices_that_give, refuse_other_records

ECG = "data.ecg.load.Ecg"
SMALL = {"trajectories": 6, "test": 2, "validation": 1, "steps": 60}


def test_a_section_gives_the_data_of_the_class_that_it_names() -> None:
    built = build("data", {"_target_": ECG, **SMALL}, [])
    assert isinstance(built, Dataset)
    assert built.checksum == Ecg(**SMALL).load().checksum


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"nois": 1}, PipelineError, "data.nois is not a setting of data.ecg.load.Ecg; it takes: seed, trajectories"),
        ({"noise": -1}, PipelineError, "data.noise=-1 must be 0 or greater"),
        ({"steps": 1.5}, PipelineError, "data.steps=1.5 must be a whole number"),
        ({"test": 6}, DataError, "ecg: "),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, float], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        build("data", {"_target_": ECG, **SMALL, **changes}, [])


def test_what_it_loads_is_known_before() -> None:
    assert {"ecg", "hopper", "lorenz96", "swimmer", "mocap"} <= set(choices_that_give((Dataset,)))
    with pytest.raises(PipelineError, match=f"data: {ECG} gives sequences; recipe=ssgp takes a table of points"):
        refuse_other_records(ECG, ("data.points:Points",), "recipe=ssgp")
