"""Stages: named on the screen as they begin, and timed whether they are or not."""

import math
import time

import pytest

from pipeline.job.clock import Clock


@pytest.mark.parametrize(("said", "shown"), [(True, "fit …\n"), (False, "")])
def test_a_stage_is_timed_and_named_where_it_is_to_be_said(
    said: bool, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    with clock.stage("fit", said=said):
        pass
    assert (list(clock.seconds), capsys.readouterr().out) == (["fit"], shown)


def test_what_is_left_out_of_a_stage_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, clock = [0.0], Clock()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with clock.stage("outer"), clock.stage("inner"):
        now[0] += 3
        with clock.left_out():
            now[0] += 40
        now[0] += 2
    assert clock.seconds == {"inner": 5, "outer": 5}


def test_a_stage_counts_what_was_spent_on_it_before_and_no_other_stage_does() -> None:
    clock = Clock()
    with clock.stage("recogniser"):
        with clock.stage("refiner"):
            clock.spent_before(100)
        with pytest.raises(ValueError, match="stopped"), clock.stage("broken"):
            raise ValueError("stopped")
    with clock.stage("read"):
        pass
    with clock.stage("detector"):
        clock.spent_before(math.nan)
    assert 100 <= clock.seconds["refiner"] < 105
    assert 100 <= clock.seconds["recogniser"] < 105
    assert clock.seconds["read"] < 5
    assert math.isnan(clock.seconds["detector"])
    assert "broken" not in clock.seconds
