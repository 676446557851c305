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
from omegaconf import OmegaConf

from data.base import DataError
from data.documents.table import WordTable
from data.files.table_files import TextFormat
from data.forms.forms_folder import FormsFolder
from data.tables.points import read_inputs
from data.tables.sequences import read_new_sequences, read_sequences
from data.translation.table import PairTable
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
        ("data", TABLE, {}, "data: a table needs a file (.csv, .tsv, .parquet or .npz); give data.path=FILE"),
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
    settings = shlex.split(said.partition(" or ")[2].partition(": ")[2])
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


def read_points(path: str, text: TextFormat) -> Any:
    return read_inputs(path, columns=["x"], delimiter=text.delimiter, decimal=text.decimal)


def new_sequences(path: str, text: TextFormat) -> Any:
    return read_new_sequences(path, text, columns=["x"])


def pairs(path: str, text: TextFormat) -> Any:
    return PairTable(path=path, delimiter=text.delimiter).load()


def forms(path: str, text: TextFormat) -> Any:
    return FormsFolder(path=path, delimiter=text.delimiter).load()


DELIMITER = "cannot be read: its only column is 'x;y'; give data.delimiter=semicolon"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((each, TextFormat()) for each in (read_points, new_sequences, pairs, forms, WordTable.read)),
        *((each, TextFormat(None, "comma")) for each in (read_points, new_sequences, WordTable.read)),
    ],
)
def test_a_fault_of_a_file_is_said_once(
    read: Callable[[str, TextFormat], Any], text: TextFormat, tmp_path: Path
) -> None:
    path = tmp_path / "semi.csv"
    path.write_text("x;y\n1;2\n3;4\n")
    with pytest.raises(DataError) as caught, of_section("data"):
        read(str(path), text)
    assert line_of_run(caught.value) == f"data: {path}: {DELIMITER}"


def test_the_reason_of_a_damaged_file_stays(tmp_path: Path) -> None:
    (tmp_path / "t.npz").write_bytes(b"PK")
    with pytest.raises(DataError) as caught, of_section("data"):
        new_sequences(str(tmp_path / "t.npz"), TextFormat())
    assert line_of_run(caught.value).startswith(f"data: {tmp_path / 't.npz'}: cannot be read: ")


@pytest.mark.parametrize(
    "value",
    ["${x}", "a\\b", 'q"\\', "\\${x}", 'x\\\\"y', "a'b", "null", "1", None, ("a", "${b}", None), {"wind speed": "k N"},
     {"a:b,c{}": ["x y"]}, True, 0.5, "a\\\\${b}\\"],
)  # fmt: skip
def test_any_value_in_a_setting_is_read_as_itself(value: Any) -> None:
    parsed = OverridesParser.create().parse_override(f"section.name={in_a_setting(value)}")
    read = OmegaConf.to_container(OmegaConf.create({"name": parsed.value()}), resolve=True)
    assert read == {"name": list(value) if isinstance(value, tuple) else value}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("data=table", "data.path=twice.csv", "data.time=x"),
            "data: twice.csv, row 3: the same time stands twice in twice; keep one of the rows, or give "
            "data.group=COLUMN",
        ),
        (
            ("data=table", "data.path=twice.csv", "data.split=group"),
            "data: 1 sequence cannot be split three ways; give more of them, or choose data.split=time",
        ),
        (
            ("recipe=experts", "data=mt_small", "data.languages=de"),
            "data: mt_small: languages=de must be a list: 'data.languages=[de]'",
        ),
        (
            ("recipe=ssgp", "data=points", "data.path=twice.csv"),
            "data: points: name the column to predict; give data.t",
        ),
        (
            ("recipe=mctn", "data=utterances", "data.path=two.csv"),
            "data: 2 samples cannot be split three ways; give more of them",
        ),
    ],
)
def test_arguments_to_give_are_settings_on_the_command_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path, run_pipeline: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("twice.csv").write_text("x,y\n1,2\n1,3\n2,4\n")
    Path("two.csv").write_text("text,label\ngood film,1.0\nbad film,-1.0\n")
    assert run_pipeline(*arguments, "tracking=off", "size=tiny").error.startswith(f"error: {message}")


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
        (
            200,
            ("model=seasonal_naive",),
            "model: the training part has no clear season; give its steps (season), or take",
        ),
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
