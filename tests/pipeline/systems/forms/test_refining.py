"""`refiner=gan`, tiny: synthetic training images are replaced, all else stays, and a stopped run goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.forms import dhsd
from data.forms.dhsd import Dhsd
from data.forms.hand import stand_in_words
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.forms.recognise.objective import RecognitionObjective
from models.forms.refiner import trained_refiner
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.recognition import fitting, refining
from pipeline.systems.forms.recognition.refining import with_images, written_rows

TINY = ("recipe=forms", "forms.stage=recognition", "data=dhsd", "data.source=stand_in", "size=tiny")
REFINED = ("refiner=gan", "refiner.width=4", "refiner.units=1", "refiner.steps=3", "refiner.batch=2")
ALONE = ("forms.retrieval=false", "tracking.log_model=false", "recognition.batch=3")


@pytest.fixture(autouse=True)
def few_words() -> Iterator[None]:
    """Has the stand-in write 111 words in place of 444."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dhsd, "stand_in_words", partial(stand_in_words, each=3))
        yield


def test_a_run_refines_says_so_and_goes_on_with_the_refiner_that_it_has(
    run_pipeline: Callable, client, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, asked = list[tuple[int, int]](), (*TINY, *REFINED, *ALONE, "data.ink=both")

    def counted(own, synthetic, real, *, seed):
        shown.append((len(synthetic), len(real)))
        return trained_refiner(own, synthetic, real, seed=seed)

    monkeypatch.setattr(refining, "trained_refiner", counted)
    result = run_pipeline(*asked)
    assert result.status == 0, result.err
    assert "refiner: 3 training images refined" in result.err + result.out
    whole = only_run(client)
    assert (whole.data.tags["refiner"], whole.data.tags["arm"]) == ("GANRefiner", "crnn, language model, refined ink")
    assert whole.data.metrics["data/images_refined"] == 3
    curve = table(whole, "curves/refiner.csv")
    history = client.get_metric_history(whole.info.run_id, "refiner/discriminator_loss")
    np.testing.assert_allclose([own.value for own in history], curve["discriminator_loss"], rtol=1e-6)
    assert {"figures/refined.svg", "figures/refiner.svg"} <= artifacts(client, whole, "figures")
    client.delete_run(whole.info.run_id)
    stopped_and_resumed(run_pipeline, asked, RecognitionObjective, 3, monkeypatch)
    assert shown == [(3, 6)] * 2
    pd.testing.assert_frame_equal(table(whole, "read.csv"), table(only_run(client), "read.csv"), check_exact=True)


@pytest.mark.parametrize("refiner", [(), REFINED])
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("recogniser=character", "recogniser.start=nowhere"), "no finished run is named 'nowhere'"),
        (
            ("forms.vocabulary=FILE", "forms.corrected_within=1", "forms.alphabet=alphanumeric"),
            "has no character of any of its 1 texts",
        ),
    ],
)
def test_what_the_recogniser_refuses_is_said_before_anything_is_trained(
    refiner: tuple[str, ...], asked: tuple[str, ...], said: str, run_pipeline: Callable, monkeypatch, tmp_path: Path
) -> None:
    file = tmp_path / "signs.txt"
    file.write_text("☃\n", encoding="utf-8")
    monkeypatch.setattr(refining, "trained_refiner", trained_early)
    monkeypatch.setattr(fitting, "learn", trained_early)
    asked = tuple(word.replace("FILE", str(file)) for word in asked)
    assert said in run_pipeline(*TINY, *refiner, *ALONE, *asked, "data.ink=both", "tracking=off").error


def trained_early(*_: Any, **__: Any) -> None:
    raise AssertionError("training began")


def test_only_images_that_a_program_wrote_are_replaced() -> None:
    train = Dhsd(source="stand_in", ink="both").load().parts["train"]
    real, few = Dhsd(source="stand_in").load().parts["train"], train.at([0, 1, len(train) - 2, len(train) - 1])
    rows = written_rows(few, real)
    assert rows == [2, 3]
    after = with_images(few, rows, few.at([1, 0]))
    assert after.texts == few.texts
    assert after.digests == (*few.digests[:2], few.digests[1], few.digests[0])
    with pytest.raises(PipelineError, match="no training image is synthetic"):
        written_rows(real.at([0, 1]), real)


def test_words_that_are_cut_at_blanks_are_told_apart_too() -> None:
    how: dict[str, Any] = {"source": "stand_in", "vocabulary": "parts"}
    both, real = Dhsd(**how, ink="both", least=2).load(), Dhsd(**how | refining.REAL).load()
    train, known = both.parts["train"], real.parts["train"]
    rows = written_rows(train, known)
    assert 0 < len(rows) < len(train)
    assert rows == list(range(rows[0], len(train)))  # real images come first


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("data.ink=dhsd",), "refiner=gan: data.ink=dhsd has no synthetic ink to be refined; take data=dhsd"),
        (("data=composed_words",), "refiner=gan: these data have no synthetic ink to be refined"),
        (("forms.stage=pipeline", "data=composed_forms", "data.ink=both"),
         "refiner=gan with forms.stage=pipeline: images of words are refined, and no forms"),
        (("data.ink=both", "refiner.batch=1"), "refiner: batch must be at least 2"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(asked: tuple[str, ...], said: str, run_pipeline: Callable) -> None:
    given = ("recipe=forms", "forms.stage=recognition", "data=dhsd", "refiner=gan", "size=tiny", "tracking=off")
    assert said in run_pipeline(*given, *asked).error
