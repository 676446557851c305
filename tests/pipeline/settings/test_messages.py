"""Errors in one line, and which of them say how their place is seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from mlflow.tracking import MlflowClient

from models.numerics.ridge import factor_ridge
from pipeline.host.errors import said_of
from pipeline.settings import messages
from pipeline.settings.command_line import listed_in, plain_choices
from pipeline.settings.messages import WHERE, line_of_run

TINY = ("data=mocap", "data.source=stand_in", "size=tiny", "refine=none", "tracking=off")


def told(block: Callable[[], object]) -> str:
    with pytest.raises((ValueError, OSError)) as caught:
        block()
    return line_of_run(caught.value)


def of_shapes() -> None:
    np.concatenate([np.zeros((2, 3)), np.zeros((2, 4))])


def ours() -> None:
    with said_of("model.rank=0"):
        raise ValueError("it must be positive")


@pytest.mark.parametrize("block", [lambda: np.linalg.cholesky(np.zeros((2, 3))), lambda: torch.optim.SGD([], lr=-1.0)])
def test_an_error_of_a_library_of_numbers_says_how_its_place_is_seen(block: Callable[[], object]) -> None:
    assert told(block).endswith(f"; {WHERE}")


def test_so_does_one_of_python_in_a_line_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "OURS", {__name__.partition(".")[0]})
    assert told(of_shapes).endswith(f"; {WHERE}")
    assert told(lambda: [*zip([1], [], strict=True)]).endswith(f"; {WHERE}")


def test_errors_that_are_raised_for_people_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "latin").write_bytes("ä".encode("latin-1"))
    monkeypatch.setattr(messages, "OURS", {*messages.OURS, __name__.partition(".")[0]})
    assert told(ours) == "model.rank=0: it must be positive"
    for block in (
        lambda: factor_ridge(-torch.eye(2), 1e-3),
        lambda: (tmp_path / "none").read_text(encoding="utf-8"),
        lambda: (tmp_path / "latin").read_text(encoding="utf-8"),
    ):
        assert WHERE not in told(block)


def test_a_run_says_it(run_pipeline: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.systems.psrnn.evaluate.evaluate", lambda *_, **__: np.linalg.inv(np.zeros((2, 3))))
    assert run_pipeline(*TINY).error.endswith(f"; {WHERE}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recipe=documents", "reader=boxes_literal"), "so put + before it to add one: +reader=boxes_literal"),
        (("contender=mocap/psrnn",), "so put + before it to add one: +contender=mocap/psrnn"),
        (("recipe=documents", "data@pretrain_on=funsd"), "put + before it to add one: +data@pretrain_on=funsd"),
        (("+data=mocap",), "so leave out the + to replace it: data=mocap"),
        (("recipe=documents", "+attention=full"), "so leave out the + to replace it: attention=full"),
    ],
)
def test_a_choice_with_a_plus_too_few_or_too_many_is_told_how_it_is_typed(
    run_pipeline: Callable, arguments: tuple[str, ...], message: str
) -> None:
    """`reader` is a group that the recipe of documents leaves out, `attention` one that it has."""
    group = message.rpartition(" ")[2].lstrip("+").partition("=")[0]
    error = run_pipeline(*arguments).error
    assert error.startswith(f"error: {group} has ")
    assert error.rstrip().endswith(message)


def test_a_comma_without_a_multirun_is_told_how_it_is_typed(run_pipeline: Callable) -> None:
    assert run_pipeline("data=table", "data.path=a.csv,b.csv").error.rstrip() == (
        "error: data.path=a.csv,b.csv has a comma; add -m to run a job for each value, or quote a single one: "
        "'data.path=\"a.csv,b.csv\"'"
    )


@pytest.mark.parametrize("content", ["defaults:\n", "a: [1", "text", ""])
def test_a_file_without_defaults_is_in_no_experiment(content: str, tmp_path: Path) -> None:
    (file := tmp_path / "mine.yaml").write_text(content)
    assert not listed_in(file)


def test_the_experiments_that_have_a_group_are_named_where_they_are_few(run_pipeline: Callable) -> None:
    said = "(+experiment=ssgp has one), so put + before it to add one: +contender=ssgp/iid"
    assert run_pipeline("recipe=ssgp", "contender=ssgp/iid").error.endswith(said)
    assert (
        "to replace, so put +" in run_pipeline("contender=mocap/psrnn").error
    )  # seven experiments of the PSRNN have a contender


@pytest.mark.parametrize("sweep", [(), ("-m", "seed=0,1")])
def test_a_choice_that_there_is_not_is_told_at_once(run_pipeline: Callable, sweep: tuple[str, ...]) -> None:
    error = run_pipeline(*sweep, "recipe=documents", "reader=lstm").error
    assert error.startswith("error: reader=lstm is unknown; choose one of boxes_distance, ")


@pytest.mark.parametrize("typed", ["reader=lstm", "+reader=lstm"])
def test_a_choice_of_another_group_is_told_with_that_group(run_pipeline: Callable, typed: str) -> None:
    assert run_pipeline(typed).error.rstrip() == "error: reader=lstm is unknown; did you mean model=lstm?"


def test_all_choices_that_there_are_not_are_told_at_once(run_pipeline: Callable) -> None:
    error = run_pipeline("model=lstn", "recogniser=crn", "data=mocap", "size=tiny").error
    assert error.startswith("error: model=lstn is unknown; ")
    assert error.endswith("; did you mean crnn?")
    assert "did you mean lstm? recogniser=crn is unknown; choose one of character, " in error
    swept = run_pipeline("-m", "recipe=forms", "detector=east,rcnn", "recogniser=crn,word").error
    assert "detector=rcnn is unknown; choose one of " in swept
    assert "recogniser=crn is unknown; " in swept


@pytest.mark.parametrize(
    ("typed", "choices"),
    [
        (["model=lstm,gru", "+budget=two_cores"], [("model", "lstm"), ("model", "gru"), ("budget", "two_cores")]),
        (["reader=null", "hydra/launcher=joblib", "seed=range(3)", "~model", "data.path=a.csv", "-m"], []),
        (
            ["contender=mocap/psrnn", "data@pretrain_on=funsd"],
            [("contender", "mocap/psrnn"), ("data@pretrain_on", "funsd")],
        ),
    ],
)
def test_what_may_be_choices_of_a_command_line(typed: list[str], choices: list[tuple[str, str]]) -> None:
    assert plain_choices(typed) == choices


def test_a_swept_choice_without_its_plus_is_refused_before_the_parent_is_made(
    run_pipeline: Callable, client: MlflowClient
) -> None:
    result = run_pipeline("-m", "recipe=ssgp", "size=tiny", "contender=ssgp/iid,ridge")
    assert result.error == (
        "error: contender has no choice here to replace (+experiment=ssgp has one), so put + before it to add one: "
        "+contender=ssgp/iid,ridge"
    )
    assert client.search_runs([each.experiment_id for each in client.search_experiments()]) == []
