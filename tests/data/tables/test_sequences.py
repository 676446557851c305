"""The user's own tables: what is read, what is refused, and how it is said."""

from __future__ import annotations

import ast
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.base import DataError, Sequences
from data.files.table_files import TextFormat
from data.split import split_sequences
from data.tables.points import load as load_points
from data.tables.sequences import load_table, read_new_sequences, read_sequences, rows_by_group


def frame(rows: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=rows), "y": rng.normal(size=rows)})


WRITERS = {
    "t.csv": lambda f, p: f.to_csv(p, index=False),
    "t.csv.gz": lambda f, p: f.to_csv(p, index=False),
    "t.tsv": lambda f, p: f.to_csv(p, index=False, sep="\t"),
    "t.parquet": lambda f, p: f.to_parquet(p),
    "t.npz": lambda f, p: np.savez(p, values=f.to_numpy(), feature_names=np.array(f.columns, dtype=str)),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    table = frame()
    table.loc[3:5, "x"] = np.nan
    WRITERS[name](table, tmp_path / name)
    found = load_table(path=str(tmp_path / name), units={"y": "m/s"})
    assert found.feature_names == ("x", "y")
    assert found.units == ("", "m/s")
    assert [int(part.lengths[0]) for part in found.parts.values()] == [28, 4, 8]
    assert found.name == "t"
    assert found.source == f"table:{name}"
    joined = np.concatenate([part.to_arrays()[0] for part in found.parts.values()])
    np.testing.assert_array_equal(joined, table.to_numpy())


def test_three_dimensional_arrays_are_sequences(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(5, 9, 2))
    np.savez(tmp_path / "a.npz", values=values)
    found = read_sequences(str(tmp_path / "a.npz"), columns=None)
    assert len(found) == 5
    np.testing.assert_array_equal(np.stack(found.to_arrays()), values)


@settings(deadline=None, max_examples=25)
@given(data=st.data(), groups=st.lists(st.sampled_from("abc"), min_size=3, max_size=25))
def test_groups_times_and_gaps_survive_the_file(data: st.DataObject, groups: list[str]) -> None:
    cells = st.one_of(st.floats(-1e9, 1e9), st.just(np.nan))
    x = data.draw(st.lists(cells, min_size=len(groups), max_size=len(groups)))
    order = data.draw(st.permutations(range(len(groups))))
    table = pd.DataFrame({"who": groups, "when": range(len(groups)), "x": [1.0, *x[1:]]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        table.iloc[list(order)].to_csv(path, index=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*(time steps are uneven|marks a missing value)")
            found = read_sequences(str(path), columns=["x"], group="who", time="when")
    by_name = dict(zip(found.names, found.to_arrays(), strict=True))
    assert set(by_name) == set(groups)
    for who, rows in table.groupby("who"):
        np.testing.assert_array_equal(by_name[str(who)][:, 0], rows["x"].to_numpy())


@pytest.mark.parametrize("groups", [["b", "a", "b", None, "c", "a"], [2.0, np.nan, 1.0, 2.0], [None, None], []])
def test_rows_of_a_group_keep_their_order_and_rows_without_one_are_in_none(groups: list) -> None:
    expected: dict[str, list[int]] = {}
    for row, label in enumerate(groups):
        if not pd.isna(label):
            expected.setdefault(str(label), []).append(row)
    found = rows_by_group(pd.Series(groups))
    assert list(found) == list(expected)
    assert {name: rows.tolist() for name, rows in found.items()} == expected


def test_dates_are_sorted_and_uneven_steps_are_said(tmp_path: Path) -> None:
    table = frame(6).assign(day=["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-04", "2024-01-09", "2024-01-10"])
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(
        UserWarning,
        match=r"t: time steps are uneven and are treated as equal; 1 of 5 is long, the first ends in row 6, at "
        r"2024-01-09; where rows are missing, put in one with the time alone for each$",
    ):
        found = read_sequences(str(tmp_path / "t.csv"), columns=["x"], time="day")
    np.testing.assert_array_equal(found.to_arrays()[0][:, 0], table["x"].to_numpy()[[1, 2, 0, 3, 4, 5]])


def test_the_first_uneven_step_of_numbers_is_named_in_its_own_sequence(tmp_path: Path) -> None:
    table = frame(8).assign(who=["a", "b"] * 4, when=[0, 3, 1, 2, 2, 1700000001.25, 3, 1])
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(
        UserWarning, match=r"t\.csv, b: time steps are uneven .* ends in row 7, at 1700000001.25; where"
    ) as said:
        read_sequences(str(tmp_path / "t.csv"), columns=["x"], group="who", time="when")
    assert len(said) == 1


@pytest.mark.parametrize("uneven", [1, 2, 5])
def test_uneven_steps_of_many_sequences_are_said_in_one_line(uneven: int, tmp_path: Path) -> None:
    days = pd.date_range("2024-01-01", periods=10).delete(6)
    parts = [frame(9).assign(who=f"shop {k}", day=days + pd.Timedelta(hours=k)) for k in range(uneven)]
    even = frame(9).assign(who="even", day=pd.date_range("2024-01-01", periods=9))
    file = tmp_path / "t.csv"
    pd.concat([even, *parts], ignore_index=True).to_csv(file, index=False)
    with pytest.warns(UserWarning, match=r"t\.csv, shop 0: time steps are uneven") as said:
        read_sequences(str(file), columns=["x"], group="who", time="day")
    more = {1: "", 2: ", and 1 more sequence has such steps", 5: ", and 4 more sequences have such steps"}[uneven]
    (told,) = (str(each.message) for each in said)
    assert told.endswith(
        f"; 1 of 8 is long, the first ends in row 17, at 2024-01-08{more}; where rows are missing, put in one with "
        "'who' and the time alone for each"
    )


def test_a_row_with_group_and_time_alone_stands_for_a_missing_one(tmp_path: Path) -> None:
    rows = frame(9).assign(who="a", day=pd.date_range("2024-01-01", periods=10).delete(6))
    rows.loc[9, ["who", "day"]] = ["a", pd.Timestamp("2024-01-07")]
    rows.to_csv(tmp_path / "t.csv", index=False)
    found = read_sequences(str(tmp_path / "t.csv"), columns=["x"], group="who", time="day")
    np.testing.assert_array_equal(np.isnan(found.to_arrays()[0][:, 0]), np.arange(10) == 6)


BAD_TEXT = {
    "x,y\n1,2\n3,four\n": r"t\.csv, column 'y', row 3: 'four' is not a finite number",
    "x,y\n1,2\n3,inf\n": r"column 'y', row 3: 'inf' is not a finite number \(a cell that is emptied is a gap\); mend",
    "x,y\n1,\n3,\n": r"column 'y': every cell is empty",
    "": r"t\.csv: the file is empty; it needs a line of column names, then rows$",
    "x,y\n1,2\n3,4,5\n": r": line 3 has 3 cells, the lines before it have 2; mend that line, or name what parts co",
    "x,y\n": r"t\.csv: there are no rows",
    "x,x\n1,2\n": r"the column 'x' stands twice",
    "x;y\n1;2\n": r"t\.csv: cannot be read: its only column is 'x;y'; give delimiter='semicolon'$",
    "x,y\n1,a\n": r"row 2: 'a' is not a finite number; mend it, or go on without it: columns=\['x'\]$",
    "x\na\n": r"'a' is not a finite number; mend the file; no other column is left to model$",
    'x,y\n1,"3,5"\n': r"'3,5' is not a finite number \(it has a decimal comma\); give decimal='comma'$",
    'x,y\n1,"3,500"\n': r"\(it has a decimal comma, or one that parts thousands: then write 3500\); give decimal=",
    "x,y\n1,2,3,4\n5,6,7,8\n": r"its rows have more cells than the first line has names; name every column, and quote",
    "x,y\n0,2,3\n1,6,\n": r"its rows have more cells than the first line has names",
}


@pytest.mark.parametrize("text", BAD_TEXT)
def test_bad_csv_is_named_to_the_cell(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match=BAD_TEXT[text]):
        load_table(path=str(tmp_path / "t.csv"))


@pytest.mark.parametrize("name", ["t.npz", "t.parquet", "t.csv.gz"])
def test_files_cut_short_are_named(name: str, tmp_path: Path) -> None:
    WRITERS[name](frame(400), tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:300])
    with pytest.raises(DataError, match=f"{name}: cannot be read"):
        load_table(path=str(tmp_path / name))


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", values=np.array([{"x": 1}], dtype=object))
    (tmp_path / "t.xlsx").write_text("")
    (tmp_path / "latin.csv").write_bytes("x,größe\n1,2\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"t\.npz: cannot be read: Object arrays cannot be loaded"):
        load_table(path=str(tmp_path / "t.npz"))
    with pytest.raises(
        DataError, match=r"unknown kind of file; readable are \.csv, \.csv\.gz, \.tsv, \.parquet, \.npz"
    ):
        load_table(path=str(tmp_path / "t.xlsx"))
    with pytest.raises(DataError, match=r"it is not UTF-8 .*; save the file as UTF-8 \(in Excel: CSV UTF-8\)$"):
        load_table(path=str(tmp_path / "latin.csv"))
    with pytest.raises(DataError, match="there is no such file"):
        load_table(path=str(tmp_path / "none.csv"))
    with pytest.raises(
        DataError, match=r"^a table needs a file \(\.csv, \.tsv, \.parquet or \.npz\); give path='FILE'$"
    ):
        load_table(path=None)


def test_several_files_are_refused_with_a_way(tmp_path: Path) -> None:
    way = r"join several into one, with a column that tells them apart \(group, of time series\)$"
    with pytest.raises(DataError, match=rf"^path must be one file, got \['a\.csv', 'b\.csv'\]; {way}"):
        load_table(path=["a.csv", "b.csv"])  # pyright: ignore[reportArgumentType]
    folder = re.escape(f"{tmp_path} is a folder, and path must be one file; ")
    for name, own in ((None, r"give a table \("), ("a.csv", f"give {tmp_path / 'a.csv'}$"), ("B.CSV.GZ", way)):
        if name:
            (tmp_path / name).touch()
        with pytest.raises(DataError, match=f"^{folder}{own}"):
            load_table(path=str(tmp_path))
    with pytest.raises(DataError, match=rf"there is no such file, and path takes no pattern; {way}"):
        load_table(path=str(tmp_path / "*.csv"))


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"columns": ["z"]}, "no column 'z'; there are x, y, who, when"),
        (
            {"columns": ["x", "temp", "z"], "group": "step"},
            "no columns 'temp', 'z', 'step'; there are x, y, who, when$",
        ),
        ({"columns": ["x"], "group": "whom"}, r"no column 'whom'; there are .*; did you mean 'who'\?$"),
        ({"columns": ["x"], "group": "team"}, "no column 'team'"),
        (
            {"columns": ["x"], "time": "when"},
            "row 4: the same time stands twice in .*; keep one .*give group='COLUMN'$",
        ),
        ({"columns": ["x"], "group": "who"}, "column 'who', row 3: the group is empty"),
        ({"columns": ["x"], "time": "who"}, "column 'who', row 2: 'a' is neither a finite number nor an ISO date"),
        ({"columns": ["x"], "test": 0.95}, "leave a training part"),
        ({"columns": ["x"], "split": "random"}, "choose one of time, fraction, group"),
        (
            {"columns": ["x"], "split": "group"},
            "1 sequence cannot be split three ways; give more of them, or choose split='time'$",
        ),
        ({"columns": ["x"], "units": {"z": "m"}}, "^units names z, which is no column"),
        ({"columns": ["x"], "units": "kN"}, r"^units=kN names no column; .* as in units={'x': 'kN'}$"),
        ({"columns": ["x"], "units": ["kN"]}, r"^units=\['kN'\] names no column"),
    ],
)
def test_bad_settings(settings_: dict, message: str, tmp_path: Path) -> None:
    table = frame(6).assign(who=["a", None, "b", "b", "a", "a"], when=[0, 1, 1, 2, 3, 4])
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=message):
        load_table(path=str(tmp_path / "t.csv"), **settings_)


WAYS_OUT = {
    "a,when,site,note\n1,2024-01-01,x,\n2,2024-01-02,y,\n": {"columns": ["a"], "time": "when"},
    "a,when\n1,2024-01-01\n2,2024-01-01\n": {"columns": ["a"]},  # a time that stands twice orders nothing
    "wind speed,2019,day,b\n1,2,2024-01-01,a\n2,3,2024-01-02,b\n": {"columns": ["wind speed", "2019"], "time": "day"},
}


@pytest.mark.parametrize("text", WAYS_OUT)
def test_all_unusable_columns_are_named_with_arguments_that_work(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_sequences(str(path), columns=None)
    told = str(caught.value)
    assert "\n" not in told
    advised = ast.parse(f"f(columns={told.partition(': columns=')[2]})", mode="eval").body
    assert isinstance(advised, ast.Call)
    arguments = {str(each.arg): ast.literal_eval(each.value) for each in advised.keywords}
    assert arguments == WAYS_OUT[text] == caught.value.give
    assert len(read_sequences(str(path), **arguments)) == 1
    header = text.splitlines()[0].split(",")
    assert all(f"column {name!r}" in told for name in header if name not in arguments["columns"])


def test_columns_of_decimal_commas_are_kept_by_the_settings_that_are_advised(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("day;site;load;level\n2024-01-01;x;1,5;3\n2024-01-02;y;2,5;4\n")
    with pytest.raises(DataError, match=r": columns=\['load', 'level'\], time='day', decimal='comma'$"):
        read_sequences(str(path), columns=None, delimiter="semicolon")
    with pytest.raises(DataError, match=r"\(it has a decimal comma\); give decimal='comma'$"):
        read_sequences(str(path), columns=["load", "level"], delimiter="semicolon")
    read = read_sequences(str(path), columns=["load", "level"], time="day", delimiter="semicolon", decimal="comma")
    np.testing.assert_array_equal(read.to_arrays()[0], [[1.5, 3.0], [2.5, 4.0]])


def test_more_columns_than_can_be_named_are_counted(tmp_path: Path) -> None:
    frame(3).assign(**{f"t{i}": "a" for i in range(12)}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(
        DataError, match=r"12 of 14 columns cannot be modelled: column 't0', row 2.*'t7'.*; and 4 more;"
    ):
        read_sequences(str(tmp_path / "t.csv"), columns=None)


def test_a_column_of_a_fitted_model_may_be_empty_and_none_can_be_left_out(tmp_path: Path) -> None:
    frame(3).assign(dead=np.nan, note=["a", "b", "c"]).to_csv(tmp_path / "t.csv", index=False)
    found = read_new_sequences(str(tmp_path / "t.csv"), TextFormat(), columns=["x", "dead"])
    assert found.mask[0].tolist() == [[True, False]] * 3
    with pytest.raises(
        DataError, match=r"'a' is not a finite number; mend the file: the model needs it; a gap is an e"
    ):
        read_new_sequences(str(tmp_path / "t.csv"), TextFormat(), columns=["x", "note"])
    (tmp_path / "c.csv").write_text("x;y\n1,5;2\n")
    with pytest.raises(DataError, match=r"give decimal='comma'$"):
        read_new_sequences(str(tmp_path / "c.csv"), TextFormat("semicolon"), columns=["x", "y"])
    (tmp_path / "d.csv").write_text("x;y\n1,5;a\n")
    with pytest.raises(
        DataError,
        match=r"\(it has a decimal comma\); column 'y', .* needs them; .* decimal commas give decimal='comma'$",
    ):
        read_new_sequences(str(tmp_path / "d.csv"), TextFormat("semicolon"), columns=["x", "y"])
    with pytest.raises(DataError, match=r"the column to predict; for the decimal commas give decimal='comma'$"):
        load_points(path=str(tmp_path / "d.csv"), target="y", delimiter="semicolon")
    with pytest.raises(
        DataError, match=r"no other column is left to model; for the decimal commas give decimal='comma'$"
    ):
        load_points(path=str(tmp_path / "d.csv"), target="x", delimiter="semicolon")


@pytest.mark.parametrize("delimiter", ["semicolon", ";"])
def test_semicolons_and_decimal_commas_are_read(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "t.csv").write_text("x;y\n1,5;2\n-3,25;\n")
    found = read_sequences(str(tmp_path / "t.csv"), columns=None, delimiter=delimiter, decimal="comma")
    np.testing.assert_array_equal(found.to_arrays()[0], [[1.5, 2.0], [-3.25, np.nan]])


def test_quoted_decimal_commas_are_read_where_commas_part_columns(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('x,y\n"1,5",2\n"-3,25",\n')
    found = read_sequences(str(tmp_path / "t.csv"), columns=None, decimal="comma")
    np.testing.assert_array_equal(found.to_arrays()[0], [[1.5, 2.0], [-3.25, np.nan]])


def test_a_text_among_decimal_commas_is_named_and_not_the_commas(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x;y\n1,5;2\nn/k;3\n2,5;4\n")
    with pytest.raises(DataError, match=r"column 'x', row 3: 'n/k' is not a finite number; mend it, or go on without"):
        read_sequences(str(tmp_path / "t.csv"), columns=None, delimiter="semicolon", decimal="comma")


@pytest.mark.parametrize("rows", ["0,2,\n1,4,\n", "0,2,\n1,4\n"])
def test_commas_at_the_end_of_rows_shift_no_column(rows: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}")
    np.testing.assert_array_equal(
        read_sequences(str(tmp_path / "t.csv"), columns=None).to_arrays()[0], [[0, 2], [1, 4]]
    )


RISING = {
    "even": np.linspace(0.0, 3.0, 12),
    "whole, with steps of 5 and 3": 4.0 * np.arange(12) + np.arange(12) % 2,
    "even up to rounding": np.arange(12) * 0.1 + 1e-6 * np.sin(np.arange(12)),
}


@pytest.mark.parametrize("times", RISING)
def test_a_column_that_may_say_when_is_warned_of(times: str, tmp_path: Path) -> None:
    frame(12).assign(hour=RISING[times]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(
        UserWarning, match="column 'hour' rises in every row and is forecast like the others; if it says"
    ):
        read_sequences(str(tmp_path / "t.csv"), columns=None)
    read_sequences(str(tmp_path / "t.csv"), columns=None, time="hour")
    read_sequences(str(tmp_path / "t.csv"), columns=["hour"])
    read_new_sequences(str(tmp_path / "t.csv"), TextFormat(), columns=["x", "hour"])


@pytest.mark.parametrize(
    "values",
    [np.arange(12.0) % 6, np.cumsum(np.linspace(0.5, 1.5, 12)), np.where(np.arange(12) == 4, np.nan, np.arange(12.0))],
    ids=["falls", "rises unevenly", "has a gap"],
)
def test_a_column_that_does_not_say_when_is_not_warned_of(values: np.ndarray, tmp_path: Path) -> None:
    frame(12).assign(load=values).to_csv(tmp_path / "t.csv", index=False)
    read_sequences(str(tmp_path / "t.csv"), columns=None)


GROWING = np.round(np.cumsum(np.exp(np.arange(60) / 8)))
TOTALS = {
    "a running total of very unequal steps": {"cases": GROWING},
    "two running totals": {"cases": np.cumsum(np.arange(60) % 5 + 3.0), "deaths": np.cumsum(np.arange(60) % 3 // 2)},
}


@pytest.mark.parametrize("case", TOTALS)
def test_running_totals_are_no_times(case: str, tmp_path: Path) -> None:
    frame(60).assign(**TOTALS[case]).to_csv(tmp_path / "t.csv", index=False)
    read_sequences(str(tmp_path / "t.csv"), columns=None)
    frame(60).assign(**TOTALS[case], hour=np.arange(60)).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning, match="column 'hour' rises in every row"):
        read_sequences(str(tmp_path / "t.csv"), columns=None)


def test_times_of_several_sequences_may_begin_anew(tmp_path: Path) -> None:
    frame(12).assign(hour=np.arange(12) % 6, run=np.arange(12) // 6).to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning, match="column 'hour' rises in every row"):
        read_sequences(str(tmp_path / "t.csv"), columns=None, group="run")


@pytest.mark.parametrize(
    ("name", "settings_", "message"),
    [
        (
            "t.csv",
            {"delimiter": "semi"},
            "delimiter=semi must be one character or one of comma, semicolon, tab, pipe, space$",
        ),
        (
            "t.csv",
            {"delimiter": "point"},
            r"/t\.csv: cannot be read: delimiter=point must be one character or one of comma",
        ),
        ("t.csv", {"decimal": ";"}, r"/t\.csv: cannot be read: decimal=; must be point or comma"),
        ("t.csv", {"delimiter": "."}, r"'\.' cannot part columns and be the decimal point; give decimal='comma'$"),
        ("t.parquet", {"decimal": "comma"}, r"/t\.parquet: cannot be read: delimiter and decimal are for text files"),
        ("t.npz", {"delimiter": "tab"}, r"/t\.npz: cannot be read: delimiter and decimal are for text files"),
    ],
)
def test_bad_text_formats(name: str, settings_: dict, message: str, tmp_path: Path) -> None:
    WRITERS[name](frame(), tmp_path / name)
    with pytest.raises(DataError, match=message):
        read_sequences(str(tmp_path / name), columns=None, **settings_)


def many(count: int) -> Sequences:
    return Sequences.from_arrays([np.full((10, 1), float(i)) for i in range(count)], [str(i) for i in range(count)])


def test_splits_keep_every_sequence_once() -> None:
    for how in ("fraction", "group"):
        parts = split_sequences(many(10), how=how, validation=0.1, test=0.2, seed=0)
        assert [len(part) for part in parts] == [7, 1, 2]
        assert sorted(name for part in parts for name in part.names) == sorted(many(10).names)
    assert split_sequences(many(10), how="fraction", validation=0.1, test=0.2, seed=0)[2].names == ("8", "9")
    assert [int(p.lengths[0]) for p in split_sequences(many(2), how="time", validation=0.1, test=0.2, seed=0)] == [
        7,
        1,
        2,
    ]


def test_the_drawn_split_follows_its_seed() -> None:
    def test_names(seed: int) -> tuple[str, ...]:
        return split_sequences(many(30), how="group", validation=0.1, test=0.2, seed=seed)[2].names

    assert test_names(0) == test_names(0)
    assert test_names(0) != test_names(1)


def test_too_short_to_cut() -> None:
    with pytest.raises(DataError, match=r"0: 10 steps are too few to be cut .* give at least 101, or larger"):
        split_sequences(many(1), how="time", validation=0.01, test=0.2, seed=0)


@pytest.mark.parametrize("values", [["2020-01-01", "2020-01-02", None], ["2020-01-01", "2020-01-02", "2020-01-03"]])
def test_dates_are_no_features(tmp_path: Path, values: list[str | None]) -> None:
    path = tmp_path / "dated.parquet"
    pd.DataFrame({"when": pd.to_datetime(pd.Series(values)), "x": [1.0, 2.0, 3.0]}).to_parquet(path)
    empty = r"mend it, or go on without it \(a cell of 'when' is empty\)"
    way = "order rows by 'when' and model the columns of numbers" if values[2] else empty
    with pytest.raises(DataError, match=f"column 'when' holds dates or durations; {way}: columns="):
        read_sequences(str(path), columns=None)


@pytest.mark.parametrize(
    ("shops", "advice"),
    [
        (["01", "01", "02", "02"], "and model the columns of numbers: columns=['sales'], group='shop', time='day'"),
        (["01", "01", "01", "01"], r"or go on without it (times of 'day' repeat; several series need a group): "),
    ],
)
def test_times_that_repeat_are_advised_with_what_tells_series_apart(
    shops: list[str], advice: str, tmp_path: Path
) -> None:
    """Without a group the rows of several shops would be one series."""
    path = tmp_path / "sales.csv"
    rows = zip(["2024-01-01", "2024-01-02"] * 2, shops, [1.5, 2.5, 3.5, 4.5], strict=True)
    path.write_text("day,shop,sales\n" + "".join(f"{day},{shop},{sales}\n" for day, shop, sales in rows))
    with pytest.raises(DataError, match=re.escape(advice)):
        read_sequences(str(path), columns=None)


@pytest.mark.parametrize("cell", ["31.12.2023", "12/31/2023", "31-12-23", "31.12.2023 00:00", "1/31/24  9:30:00 PM"])
@pytest.mark.parametrize("decimal", ["point", "comma"])
def test_dates_as_people_write_them_are_told_how_to_write(cell: str, decimal: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"day;x\n{cell};1\n{cell};2\n")
    said = re.escape("(write dates as year-month-day, such as 2024-12-31; in Python pd.to_datetime(column, dayfirst")
    with pytest.raises(DataError, match=f"'{cell}' is neither a finite number nor an ISO date {said}"):
        read_sequences(str(path), columns=["x"], time="day", delimiter="semicolon", decimal=decimal)
    with pytest.raises(DataError, match=f"'{cell}' is not a finite number {said}"):
        read_sequences(str(path), columns=None, delimiter="semicolon", decimal=decimal)


@pytest.mark.parametrize(
    ("cell", "date"),
    [
        ("Wed 2024-01-31", "2024-01-31"),
        ("31 Jan 2024", "2024-01-31"),
        ("2024Q1", "2024-01-01"),
        ("1Q2024", "2024-01-01"),
        ("2024-01-31 9:00 PM", "2024-01-31"),
        ("run 2024 b", None),
        ("1500 t", None),
        ("9999 T", None),
        ("T2024", None),
        ("1250 AD", None),
    ],
)
def test_dates_with_words_are_told_how_to_write(cell: str, date: str | None, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"day,x\n{cell},1\n{cell},2\n")
    said = "" if date is None else rf" \(write dates as year-month-day, here {date}; in Python pd\.to_datetime.*\)"
    with pytest.raises(DataError, match=f"'{cell}' is neither a finite number nor an ISO date{said}$"):
        read_sequences(str(path), columns=["x"], time="day")


def test_a_missing_date_and_an_infinite_time_are_refused(tmp_path: Path) -> None:
    dated = tmp_path / "dated.parquet"
    days = pd.to_datetime(pd.Series(["2020-01-02", None, "2020-01-01"]))
    pd.DataFrame({"when": days, "x": [1.0, 2.0, 3.0]}).to_parquet(dated)
    with pytest.raises(DataError, match=r"column 'when', row 3: 'NaT' is neither a finite number nor an ISO date"):
        read_sequences(str(dated), columns=None, time="when")
    plain = tmp_path / "plain.csv"
    plain.write_text("t,x\n0,1\ninf,2\n2,3\n")
    with pytest.raises(DataError, match=r"column 't', row 3: 'inf' is neither"):
        read_sequences(str(plain), columns=None, time="t")


def test_dates_put_rows_in_order(tmp_path: Path) -> None:
    path = tmp_path / "dated.parquet"
    days = pd.to_datetime(pd.Series(["2020-01-03", "2020-01-01", "2020-01-02"]))
    pd.DataFrame({"when": days, "x": [3.0, 1.0, 2.0]}).to_parquet(path)
    assert read_sequences(str(path), columns=None, time="when").values[0, :, 0].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["sequence", "step", "time"])
def test_names_that_tables_of_predictions_take_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "taken.csv"
    path.write_text(f"{name},x\n0,1\n1,2\n2,3\n")
    with pytest.raises(DataError, match=f"a feature cannot be called '{name}'"):
        load_table(path=str(path))


@pytest.mark.parametrize("name", ["sequence", "step"])
def test_a_column_of_times_that_tables_of_predictions_have_is_refused(tmp_path: Path, name: str) -> None:
    said = f"t.csv: the column of times cannot be called '{name}', which is a .*; rename the column$"
    with pytest.raises(DataError, match=said):
        load_table(path=str(tmp_path / "t.csv"), time=name)


@pytest.mark.parametrize("added", ["_predicted", "_lower", "_upper"])
def test_names_that_predictions_of_other_features_take_are_refused(tmp_path: Path, added: str) -> None:
    path, taken = tmp_path / "t.csv", f"x{added}"
    pd.DataFrame({"x": frame()["x"], taken: np.random.default_rng(1).permutation(40)}).to_csv(path, index=False)
    with pytest.raises(DataError, match=f"t.csv: '{taken}' is what predictions of 'x' are called; rename it, or leave"):
        load_table(path=str(path))
    assert load_table(path=str(path), columns=[taken]).feature_names == (taken,)
    with pytest.raises(DataError, match=f"'{taken}' is what predictions of 'x' are called"):
        load_table(path=str(path), columns=["x"], time=taken)


def test_the_column_of_times_may_be_called_time(tmp_path: Path) -> None:
    frame().assign(time=np.arange(40)).to_csv(tmp_path / "t.csv", index=False)
    found = load_table(path=str(tmp_path / "t.csv"), time="time")
    assert (found.feature_names, found.time_name) == (("x", "y"), "time")


def test_a_single_column_that_stands_in_no_list_is_told_how_to_write_it(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"columns=x must be a list: columns=\['x'\]$"):
        load_table(path=str(tmp_path / "t.csv"), columns="x")  # pyright: ignore[reportArgumentType]


def test_files_are_joined_as_the_docs_say_and_an_empty_one_is_passed_over_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[3] / "docs/own-data.md").read_text(encoding="utf-8")
    code = page.partition("Several are joined first")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "trials").mkdir()
    for name, text in {"a": "x\n1\n2\n", "b": "\n", "c": "x\n3\n", "d": ""}.items():
        (tmp_path / f"trials/{name}.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "own-data.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.splitlines() == [f"trials/{name}.csv is empty and left out" for name in "bd"]
    assert read_sequences("trials.csv", columns=["x"], group="trial").names == ("a", "c")
