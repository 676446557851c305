"""What a library says of its arguments is told on the command line with the section whose settings these are."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from data.base import DataError
from data.tables.sequences import read_sequences
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.settings.messages import WHERE, in_a_setting, line_of_run, of_section

TABLE = "data.tables.sequences.load_table"
SHORT = ("data=table", "refine=none", "tracking=off", "features.count=4", "evaluate.horizons=[1]", "evaluate.orders=[]")
WAYS_OUT = {
    "a,when,site,note\n1,2024-01-01,x,\n2,2024-01-02,y,\n": "data.columns=[a] data.time=when",
    "a,when\n1,2024-01-01\n2,2024-01-01\n": "data.columns=[a]",  # a time that stands twice orders nothing
    "wind speed,2019,day,b\n1,2,2024-01-01,a\n2,3,2024-01-02,b\n": 'data.columns=["wind speed","2019"] data.time=day',
}


def told(section: str, target: str, **settings: Any) -> str:
    with pytest.raises((PipelineError, DataError)) as caught:
        build(section, {"_target_": target, **settings}, [])
    return str(caught.value)


def table(folder: Path, rows: int) -> str:
    """A file of that many rows of noise."""
    values = np.random.default_rng(0).normal(size=(rows, 2))
    pd.DataFrame(values, columns=["level", "flow"]).to_csv(folder / "noise.csv", index=False)
    return f"data.path={folder / 'noise.csv'}"


@pytest.mark.parametrize(
    ("section", "target", "settings", "message"),
    [
        ("model", "models.baselines.autoregression.VAR", {"orders": []}, "model: orders and ridges need at least one"),
        ("model", "models.baselines.kalman.KalmanFilter", {"blocks": []}, "model: blocks needs at least one value"),
        ("data", "data.swimmer.load.Swimmer", {"elite": 9, "policies": 3}, "data: swimmer: elite=9 is more than pol"),
        ("hessian.data", "data.ecg.load.Ecg", {"heart_rate_spread": 99.0}, "hessian.data: ecg: heart_rate_spread must"),
        ("data", TABLE, {}, "data: table needs a file (.csv, .tsv, .parquet or .npz); give data.path=FILE"),
        ("data", TABLE, {"path": "no.csv"}, "data: no.csv: there is no such file; give data.path=FILE"),
        (
            "data",
            "data.mocap.load.load_mocap",
            {"root": None, "source": "kitti"},
            "data: mocap: source=kitti is unknown; choose",
        ),
    ],
)
def test_what_a_class_refuses_is_said_of_its_section(
    section: str, target: str, settings: dict[str, Any], message: str
) -> None:
    assert told(section, target, **settings).startswith(message)


@pytest.mark.parametrize("text", WAYS_OUT)
def test_settings_that_leave_columns_out_can_be_copied_to_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    said = told("data", TABLE, path=str(path))
    assert "\n" not in said
    settings = shlex.split(said.split("go on without")[1].partition(": ")[2])
    assert " ".join(settings) == WAYS_OUT[text]
    overrides = OverridesParser.create().parse_overrides(settings)
    parsed = {own.key_or_group.removeprefix("data."): own.value() for own in overrides}
    kept = [str(name) for name in parsed.pop("columns")]
    assert len(read_sequences(str(path), columns=kept, **parsed)) == 1


def test_all_arguments_to_give_are_told_as_settings(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("day;site;load;level\n2024-01-01;x;1,5;3\n2024-01-02;y;2,5;4\n")
    said = told("data", TABLE, path=str(path), delimiter="semicolon")
    assert said.endswith(": 'data.columns=[load,level]' data.time=day data.decimal=comma")
    (tmp_path / "u.csv").write_text("x\n" + "1\n2\n" * 20)
    said = told("data", TABLE, path=str(tmp_path / "u.csv"), units="kN")
    assert said == "data: units=kN names no column; give each its unit, as in 'data.units={x: kN}'"
    said = told("data", TABLE, path=str(tmp_path / "u.csv"), columns="x")
    assert said.endswith("columns=x must be a list: 'data.columns=[x]'")
    assert in_a_setting(True) == "true"
    assert in_a_setting('a "b" \\') == '"a \\"b\\" \\\\"'


def test_a_line_of_a_run_has_the_settings_alone() -> None:
    with pytest.raises(DataError) as caught, of_section("data"):
        raise DataError("no file; give", give={"path": "FILE"})
    assert line_of_run(caught.value) == "data: no file; give data.path=FILE"
    with pytest.raises(DataError) as caught, of_section("data"):
        raise DataError("it cannot be read") from OSError("it is locked")
    assert line_of_run(caught.value) == "data: it cannot be read: it is locked"


def test_an_error_of_the_pipeline_and_one_that_nobody_worded_stay_as_they_are() -> None:
    with pytest.raises(PipelineError, match=r"^model\.rank=0: it must be positive$"), of_section("model"):
        raise PipelineError("model.rank=0: it must be positive")
    with pytest.raises(ValueError, match="square") as caught, of_section("model"):
        np.linalg.cholesky(np.zeros((2, 3)))
    assert not isinstance(caught.value, PipelineError)
    assert line_of_run(caught.value).endswith(f"; {WHERE}")


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (200, ("model=seasonal_naive",), "model: the training part has no clear season; give season=STEPS, or take"),
        (200, ("model=kalman", "model.blocks=[90]"), "model: no training sequence has 180 entirely observed steps"),
        (200, ("features.projection=4", "initialise=random"), "initialise=random has no regression to find features."),
        (200, ("features.projection=9", "size=full"), "features.projection must lie between 1 and the number of feat"),
    ],
)
def test_a_run_says_the_section(
    rows: int, settings: tuple[str, ...], message: str, tmp_path: Path, run_pipeline: Callable[..., Any]
) -> None:
    result = run_pipeline(*SHORT, table(tmp_path, rows), *settings)
    assert result.error.startswith(f"error: {message}"), result.err
