"""Parts of readers of forms that runs share: the seconds of their training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch

from data.form_images import Form, FormImages
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.correction import Correction
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.saved import save_recogniser
from pipeline.job.clock import Clock
from pipeline.job.shared import SECONDS
from pipeline.systems.forms.config import FormsFit
from pipeline.systems.forms.reading import parts


def test_a_recogniser_is_the_same_whatever_corrects_what_it_reads(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(parts, "part_of", lambda name, mark, here, make, find: (mark, find))  # noqa: ARG005
    box = np.array([[1, 1, 9, 9]], np.float32)
    forms = FormImages.of([Form(np.eye(10, dtype=np.uint8), box, np.array([1]), ("river",), np.array([0]))])
    save_recogniser(CRNN(height=16, units=8).network(Alphabet.of_texts(["river"])), tmp_path / "model")
    (tmp_path / "streets.txt").write_text("vie\nvie\n", encoding="utf-8")
    marks = set[str]()
    for within, file, correction in (
        (2, None, Correction(("river",), 2)), (1, None, Correction(("river",), 1)), (0, None, None),
        (2, str(tmp_path / "streets.txt"), Correction(("vie",), 2)),
    ):  # fmt: skip
        own = SimpleNamespace(alphabet="texts", corrected_within=within, vocabulary=file, moved=0.0, augment="none")
        settings: Any = SimpleNamespace(
            forms=own, recogniser={"_target_": "models.forms.recognise.crnn.CRNN"}, recognition=FormsFit(), seed=0,
            dtype="float32", extensions=[],
        )  # fmt: skip
        data: Any = SimpleNamespace(checksum="", parts={"train": forms})
        mark, find = cast("Any", parts.recogniser_for(settings, data, data, torch.device("cpu")))
        marks.add(mark)
        assert find(tmp_path / "model")[1] == correction
    assert len(marks) == 1
    assert capsys.readouterr().out.count("left out 1 of 2 texts (an earlier one says the same), the first 'vie'") == 1


def test_a_part_that_was_trained_with_another_number_of_threads_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    own = SimpleNamespace(augment="none")
    settings, data = SimpleNamespace(forms=own, seed=0, dtype="float32"), SimpleNamespace(checksum="a")
    marks = list[str]()
    for threads in (1, 2, 1):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        marks.append(parts.mark_of(cast("Any", settings), cast("Any", data), torch.device("cpu"), {}))
    assert marks[0] == marks[2] != marks[1]


def test_a_run_that_waited_for_a_part_counts_the_making_once(tmp_path: Path, monkeypatch) -> None:
    now, clock = [0.0], Clock()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    @contextmanager
    def place_of(*_: object, **__: object) -> Iterator[Path]:
        now[0] += 40  # the other run makes the part
        (tmp_path / parts.KEPT).mkdir()
        (tmp_path / parts.SCORE).write_text("0.5")
        (tmp_path / SECONDS).write_text("50.0")
        yield tmp_path

    here: Any = SimpleNamespace(clock=clock, place_of=place_of)
    with clock.stage("detector", said=False):
        now[0] += 1
        assert parts.part_of("detector", "mark", here, pytest.fail, lambda _: None).found
    assert clock.seconds == {"detector": 51}
