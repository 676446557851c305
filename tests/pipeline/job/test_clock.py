"""Stages: named on the screen as they begin, and timed whether they are or not."""

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
