"""What estimators refuse: one line that names what, where and what to do; and what was fitted stays as it was."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from models import (
    EchoStateForecaster,
    KalmanForecaster,
    LastValueForecaster,
    LSTMForecaster,
    PSRNNForecaster,
    VARForecaster,
)
from models.forecasting.estimators.input import read

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")

DAYS = pd.date_range("2024-01-01", periods=60, freq="D")


def table(rows: int = 60) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=(60, 2)).cumsum(0)
    return pd.DataFrame(values, columns=["load", "heat"], index=DAYS)[:rows]


def changed(row: int, column: str, value: Any) -> pd.DataFrame:
    frame = table().astype(object)
    frame.loc[DAYS[row], column] = value
    return frame


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (None, TypeError, "X must be a table of pandas.*got None"),
    "text": ("readings.csv", TypeError, "X must be a table of pandas.*got a str"),
    "dictionary": ({"load": [1, 2]}, TypeError, "X must be a table of pandas.*got a dict"),
    "texts": ([["a", "b"]], TypeError, "X must hold numbers"),
    "complex": (np.ones((20, 2)) * 1j, TypeError, "X must hold numbers, got complex128"),
    "three axes": (np.ones((4, 20, 2)), ValueError, r"X must be \(time, feature\) or .* got shape \(4, 20, 2\)"),
    "no axis": (3.0, ValueError, r"X must be \(time, feature\)"),
    "no rows": (table()[:0], ValueError, "X has no rows"),
    "no rows in an array": (np.empty((0, 2)), ValueError, "X has no rows"),
    "no columns": (table()[[]], ValueError, "X has no columns"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "X has rows of different lengths"),
    "one row": (table(1), ValueError, "X has 1 row in its longest series; give at least 10"),
    "nine rows": (table(9), ValueError, "X has 9 rows in its longest series; give at least 10"),
    "infinite": (changed(7, "heat", np.inf), ValueError, "X has an infinite value in row 7 of column heat"),
    "text column": (changed(7, "heat", "warm"), ValueError, r"heat of X holds text, not numbers \('warm' in row 7\)"),
    "a bad cell among numbers as texts": (
        table().assign(heat=["1"] * 9 + ["?"] * 51), ValueError, r"column heat of .* \('\?' in row 9\); turn it into",
    ),
    "numbers as texts": (
        table().assign(heat="1"), ValueError, r"heat .* text, not numbers \('1'\); .* numbers with pandas.to_numeric$",
    ),
    "decimal commas": (
        table().assign(heat="1,5"), ValueError, r"\('1,5' in row 0\); read the file with decimal=','$",
    ),
    "thousands or decimals": (
        table().assign(heat=["987"] * 59 + ["1,002"]), ValueError,
        r"\('1,002' in row 59\); .* thousands=',' if that means 1002, with decimal=',' if it means 1.002$",
    ),
    "millions": (table().assign(heat="1,002,003"), ValueError, r"\('1,002,003' in row 0\); .* with thousands=','$"),
    "thousands beside a point": (
        table().assign(heat=["9.5"] * 59 + ["-1,002"]), ValueError, r"'-1,002' in .* read the file with thousands=','$",
    ),
    "decimals with three places": (
        table().assign(heat=["1,002"] * 59 + ["0,987"]), ValueError, r"\('1,002' in row 0\); .* with decimal=','$",
    ),
    "neither": (table().assign(heat=["1,2,3"] * 60), ValueError, r"\('1,2,3' in row 0\); turn it into numbers"),
    "semicolons": (
        pd.DataFrame({"load;heat": ["1;2"] * 20}), ValueError, r"load;heat of X .* \('1;2'\); read .* sep=';'$",
    ),
    "tabs": (pd.DataFrame({"load\theat": ["1\t2"] * 20}), ValueError, r"read the file with sep='\\t'$"),
    "cut at decimal commas": (
        pd.read_csv(io.StringIO("date;heat\n" + "2024-01-01;4,56\n" * 20)), ValueError,
        r"column date;heat of X was cut .* '2024-01-01;4'; read the file with sep=';', decimal=','$",
    ),
    "two columns cut": (
        pd.read_csv(io.StringIO("day\ta\tb\n" + "1\t4,5\t6,7\n" * 20)), ValueError,
        r"column day\ta\tb of X was cut .* read the file with sep='\\t', decimal=','$",
    ),
    "dates as texts": (
        table().assign(time=DAYS.astype(str)), ValueError, r"time of X .* \('2024-01-01' in row 0\).* into the index",
    ),
    "dates as a column": (table().reset_index(), ValueError, "column index of X holds datetime64.*set_index"),
    "constant": (table().assign(heat=3.0), ValueError, r"column heat is constant \(3\)"),
    "constant, small": (table().assign(heat=3e-20), ValueError, r"column heat is constant \(3e-20\)"),
    "never observed": (table().assign(heat=np.nan), ValueError, "column heat has no value"),
    "a name twice": (table().set_axis(["load", "load"], axis=1), ValueError, "X has the column load twice"),
    "levels of columns": (pd.concat({"a": table()}, axis=1), ValueError, "the columns of X have 2 levels"),
    "a date twice": (
        table().set_axis(DAYS[[0, *range(59)]]), ValueError,
        r"2024-01-01 .* twice \(again in row 1\); keep one .* or, for several series, set_index\(\[group, time\]\)$",
    ),
    "a date of a group twice": (
        pd.concat({"a": table().set_axis(DAYS[[0, *range(59)]])}), ValueError,
        r"group a of X has .* twice \(again in row 1\); keep one row of each$",
    ),
    "backwards": (table()[::-1], ValueError, r"goes backwards at 2024-02-28 00:00:00 \(row 1\); sort the table"),
    "no date": (table().set_axis(DAYS[:59].append(pd.DatetimeIndex([pd.NaT]))), ValueError, "empty in row 59"),
    "three levels": (pd.concat({"a": pd.concat({"b": table()})}), ValueError, "the index of X has 3 levels"),
    "unlike in a list": ([table(), table().to_numpy()], ValueError, r"X\[1\] is an array .* and X\[0\] a table"),
    "widths in a list": ([np.ones((20, 2)), np.ones((20, 3))], ValueError, r"X\[1\] must have 2 columns"),
    "columns in a list": ([table(), table()[["load"]]], ValueError, r"X\[1\] has no column heat"),
    "nothing at the end": (table().reindex(DAYS[:50]).reindex(DAYS), ValueError, "no target was observed"),
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted() -> VARForecaster:
    return VARForecaster(orders=2).fit(table(50))


@pytest.fixture
def unharmed(fitted: VARForecaster) -> Any:
    """A fitted estimator that has to forecast after the test as before."""
    own = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    yield own
    pd.testing.assert_frame_equal(own.predict(3), fitted.predict(3))
    pd.testing.assert_frame_equal(own.predict_interval(1, 0.5), fitted.predict_interval(1, 0.5))


@pytest.mark.parametrize("case", REFUSED)
def test_data_that_cannot_be_fitted_to(case: str, unharmed: VARForecaster) -> None:
    data, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message) as refused:
        unharmed.fit(data)
    assert "\n" not in str(refused.value)


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: KalmanForecaster(orders=b"2"), TypeError, "orders must be a whole number of at least 1, got b'2'"),
    (lambda: PSRNNForecaster(count=0), ValueError, "count must be a whole number of at least 1, got 0"),
    (lambda: PSRNNForecaster(count=2.5), TypeError, "count must be a whole number of at least 1, got 2.5"),
    (lambda: PSRNNForecaster(count="20"), TypeError, "count must be a whole number of at least 1, got '20'"),
    (lambda: PSRNNForecaster(delay=0), ValueError, "delay must be a whole number of at least 1, got 0"),
    (lambda: PSRNNForecaster(history=0), ValueError, "history must be a whole number of at least 1, got 0"),
    (lambda: PSRNNForecaster(whiten=2), ValueError, "whiten must be a number of 0 or more and at most 1, got 2"),
    (lambda: PSRNNForecaster(linear="3"), TypeError, "linear must be a number of 0 or more and at most .*, got '3'"),
    (lambda: PSRNNForecaster(traces=[4, -1]), ValueError, "traces must be a number above 0, got -1"),
    (lambda: PSRNNForecaster(window=True), TypeError, "window must be a whole number of at least 1, got True"),
    (lambda: PSRNNForecaster(sampler="othogonal"), ValueError, "sampler must be one of orthogonal, iid, .*'othogonal'"),
    (lambda: PSRNNForecaster(sampler=3), TypeError, "sampler must be one of orthogonal, iid, .*got 3"),
    (lambda: PSRNNForecaster(kernel="rbf"), ValueError, "kernel must be one of gaussian, laplacian, .*got 'rbf'"),
    (lambda: PSRNNForecaster(kernel="laplacian_l1"), ValueError, "is not isotropic, so sampler Orthogonal cannot"),
    (lambda: PSRNNForecaster(bandwidth=-1.0), ValueError, "bandwidth must be a number above 0, got -1.0"),
    (lambda: PSRNNForecaster(bandwidth="mean"), ValueError, "bandwidth must be one of median_pairs, "),
    (lambda: PSRNNForecaster(state_update="kalman"), ValueError, "state_update must be one of bayes, sign, "),
    (lambda: PSRNNForecaster(ridge=0.0), ValueError, "ridge must be a number above 0, got 0.0"),
    (lambda: PSRNNForecaster(lags="all"), ValueError, 'lags must be "auto" or a whole number'),
    (lambda: PSRNNForecaster(lags=-1), ValueError, "lags must be a whole number of at least 0, got -1"),
    (lambda: PSRNNForecaster(epochs=-1), ValueError, "epochs must be a whole number of at least 0"),
    (lambda: PSRNNForecaster(seed=None), TypeError, "seed must be a whole number of at least 0, got None"),
    (lambda: PSRNNForecaster(validation=0), ValueError, "validation must be a number above 0 and below 1, got 0"),
    (lambda: PSRNNForecaster(validation=1.0), ValueError, "validation must be a number above 0 and below 1, got 1.0"),
    (
        lambda: PSRNNForecaster(validation="half"),
        TypeError,
        "validation must be a number above 0 and below 1, got 'half'",
    ),
    (lambda: PSRNNForecaster(season=1), ValueError, "season must be a whole number of at least 2, got 1"),
    (lambda: PSRNNForecaster(calendar="hour"), TypeError, 'calendar must be "auto" or a list'),
    (lambda: PSRNNForecaster(calendar=["dawn"]), ValueError, "calendar knows minute, hour, .*got dawn"),
    (lambda: PSRNNForecaster(target="price"), ValueError, "target names 'price'; the columns are load, heat"),
    (lambda: PSRNNForecaster(target=["load", "load"]), ValueError, "target names a column twice"),
    (lambda: PSRNNForecaster(target=1.5), TypeError, "target must be the name of a column or a list of names"),
    (lambda: PSRNNForecaster(covariates=["load", "heat"]), ValueError, "every column is a covariate"),
    (lambda: PSRNNForecaster(covariates="load", target="load"), ValueError, "load is both target and covariate"),
    (lambda: LSTMForecaster(units=0), ValueError, "units must be a whole number of at least 1, got 0"),
    (lambda: EchoStateForecaster(leak=2.0), ValueError, "leak must be a number above 0 and at most 1, got 2"),
    (lambda: VARForecaster(orders=[]), ValueError, "orders is empty"),
    (lambda: VARForecaster(orders="4"), TypeError, "orders must be a whole number of at least 1, got '4'"),
]


@pytest.mark.parametrize(("make", "kind", "message"), WRONG)
def test_parameters_are_checked_in_fit(make: Callable[[], Any], kind: type[Exception], message: str) -> None:
    made = make()
    with pytest.raises(kind, match=message) as refused:
        made.fit(table())
    assert "\n" not in str(refused.value)
    with pytest.raises(Exception, match="is not fitted; call fit first"):
        made.predict(1)


@pytest.mark.parametrize(
    ("horizon", "kind"), [(0, ValueError), (-1, ValueError), (2.0, TypeError), ("3", TypeError), (True, TypeError)]
)
def test_a_horizon_is_a_whole_number(horizon: Any, kind: type[Exception], unharmed: VARForecaster) -> None:
    for ask in (unharmed.predict, unharmed.predict_interval):
        with pytest.raises(kind, match="horizon must be a whole number of at least 1"):
            ask(horizon)


@pytest.mark.parametrize(
    ("coverage", "kind"), [(0, ValueError), (1.0, ValueError), (90, ValueError), ("0.9", TypeError)]
)
def test_a_coverage_lies_between_0_and_1(coverage: Any, kind: type[Exception], unharmed: VARForecaster) -> None:
    with pytest.raises(kind, match="coverage must be a number above 0 and below 1"):
        unharmed.predict_interval(1, coverage)


def test_intervals_want_enough_forecasts(unharmed: VARForecaster) -> None:
    with pytest.raises(ValueError, match=r"an interval of 0.9 needs 9 forecasts .* 1 steps ahead there are 5; ask"):
        unharmed.predict_interval(24)


FOLLOWING: dict[str, tuple[Any, type[Exception], str]] = {
    "other columns": (table()[50:].rename(columns={"heat": "cold"}), ValueError, "new_rows has no column heat"),
    "text": (table()[50:].assign(heat="warm"), ValueError, "column heat of new_rows holds"),
    "infinite": (
        table()[50:].replace({table().iloc[55, 0]: np.inf}),
        ValueError,
        "infinite value in row 5 of column load",
    ),
    "seen already": (table()[49:], ValueError, "new_rows begins at 2024-02-19 .*the rows so far end at 2024-02-19"),
    "a day left out": (
        table()[51:],
        ValueError,
        "new_rows begins at 2024-02-21 .*not at 2024-02-20 .*put in empty rows",
    ),
    "an array": (table()[50:].to_numpy(), ValueError, "new_rows must come as X did in fit, as a table of pandas"),
    "a list": ([table()[50:]], ValueError, "new_rows must come as X did in fit"),
    "other kind of index": (table()[50:].reset_index(drop=True), ValueError, "the index of new_rows begins with 0"),
    "nothing": (None, TypeError, "new_rows must be a table of pandas"),
    "no rows": (table()[60:], ValueError, "new_rows has no rows"),
}


@pytest.mark.parametrize("case", FOLLOWING)
@pytest.mark.parametrize("refit", [False, True])
def test_an_update_that_fails_leaves_the_model_as_it_was(case: str, refit: bool, unharmed: VARForecaster) -> None:
    data, kind, message = FOLLOWING[case]
    with pytest.raises(kind, match=message) as refused:
        unharmed.update(data, refit=refit)
    assert "\n" not in str(refused.value)


def test_a_group_that_fails_leaves_all_groups_as_they_were() -> None:
    both = pd.concat({"north": table(50), "south": table(40)})
    forecaster = VARForecaster(orders=2).fit(both)
    before = forecaster.predict(2)
    wrong = pd.concat({"north": table()[50:], "south": table()[45:]})
    with pytest.raises(ValueError, match="not at 2024-02-10"):
        forecaster.update(wrong)
    with pytest.raises(ValueError, match="new_rows has the group west, which fit did not see"):
        forecaster.update(pd.concat({"north": table()[50:], "west": table()}))
    pd.testing.assert_frame_equal(forecaster.predict(2), before)


def test_known_values_are_those_of_the_rows_to_come() -> None:
    forecaster = VARForecaster(orders=2, covariates="heat").fit(table(50))
    with pytest.raises(ValueError, match=r"known must hold heat for the 3 rows to come$"):
        forecaster.predict(3)
    with pytest.raises(ValueError, match="known must hold heat for the 3 rows to come, got 2"):
        forecaster.predict(3, known=table()[["heat"]][50:52])
    with pytest.raises(ValueError, match=r"2024-02-20 .* it has 2024-02-21"):
        forecaster.predict(3, known=table()[["heat"]][51:54])
    with pytest.raises(ValueError, match="row 1 has a gap; fill it"):
        forecaster.predict(3, known=np.array([1.0, np.nan, 2.0]))
    with pytest.raises(ValueError, match="known has no column heat"):
        forecaster.predict(3, known=table()[["load"]][50:53])
    with pytest.raises(ValueError, match="fitted without covariates; leave known out"):
        VARForecaster(orders=2).fit(table(50)).predict(1, known=np.ones(1))
    with pytest.raises(ValueError, match="calendar needs a table whose index holds times"):
        VARForecaster(calendar=["weekday"]).fit(table().to_numpy())


@pytest.mark.parametrize(("step", "cycle"), [("D", "weekday"), ("h", "hour"), ("30s", "minute")])
def test_the_calendar_that_fits_an_index_is_that_of_its_step(step: str, cycle: str) -> None:
    timed = table().set_axis(pd.date_range("2024-01-01", periods=60, freq=step))
    if cycle == "minute":
        timed = pd.concat([timed] * 6).set_axis(pd.date_range("2024-01-01", periods=360, freq=step))
    found = VARForecaster(orders=2, calendar="auto").fit(timed)
    pd.testing.assert_frame_equal(
        found.predict(5), VARForecaster(orders=2, calendar=[cycle]).fit(timed).predict(5)
    )  # fmt: skip


def test_a_calendar_that_fits_nothing_is_said() -> None:
    with pytest.raises(ValueError, match="calendar needs a table whose index holds times"):
        VARForecaster(orders=2, calendar="auto").fit(table().reset_index(drop=True))
    with pytest.warns(
        UserWarning, match='calendar="auto" tells .* no cycle: .* needs two whole cycles of at least 4 rows each'
    ):
        VARForecaster(orders=2, calendar="auto").fit(table(12))


def test_known_rows_go_by_the_row_numbers_of_the_data() -> None:
    numbered = table().reset_index(drop=True)
    forecaster = VARForecaster(orders=2, covariates="heat").fit(numbered[:50])
    ahead = forecaster.predict(3, known=numbered[["heat"]][50:53])
    with pytest.raises(ValueError, match="for the 3 rows to come, 50 to 52; it has 51 to 53"):
        forecaster.predict(3, known=numbered[["heat"]][51:54])
    pd.testing.assert_frame_equal(forecaster.predict(3, known=numbered[["heat"]][50:53].to_numpy()), ahead)


def test_values_too_large_for_a_standard_deviation_are_to_be_rescaled() -> None:
    with pytest.raises(ValueError, match=r"values of X are too large for a standard deviation .*; rescale them"):
        VARForecaster(orders=2).fit(table() * 1e200)


def test_a_column_that_may_say_when_is_warned_of_where_the_index_does_not() -> None:
    timed = table().assign(hour=np.arange(60.0))
    LastValueForecaster().fit(timed)
    with pytest.warns(UserWarning, match="column hour rises in every row .*; if it says when, make it the index with"):
        LastValueForecaster().fit(timed.reset_index(drop=True))
    LastValueForecaster().fit(timed.reset_index(drop=True)[["hour"]])
    LastValueForecaster().fit(timed.reset_index(drop=True).assign(hour=lambda own: own["hour"] % 24))
    LastValueForecaster(target=["load", "heat"], covariates="hour").fit(timed.reset_index(drop=True))


TOTALS = {
    "a running total of very unequal steps": {"cases": np.round(np.cumsum(np.exp(np.arange(60) / 8)))},
    "two running totals": {"cases": np.cumsum(np.arange(60) % 5 + 3.0), "deaths": np.cumsum(np.arange(60) % 3 // 2)},
}


@pytest.mark.parametrize("case", TOTALS)
def test_running_totals_are_no_times(case: str) -> None:
    totals = table().reset_index(drop=True).assign(**TOTALS[case])
    LastValueForecaster().fit(totals)
    with pytest.warns(UserWarning, match="column hour rises in every row"):
        LastValueForecaster().fit(totals.assign(hour=np.arange(60.0)))


def test_a_column_of_the_size_of_the_rounding_of_others_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="rows fitted to, and may be rounding of them: heat; leave out") as said:
        LastValueForecaster().fit(table().assign(heat=lambda own: own["heat"] * 1e-14))
    assert {Path(warning.filename).name for warning in said} == {Path(__file__).name}
    LastValueForecaster().fit(table().assign(heat=lambda own: own["heat"] * 1e-10))
    LastValueForecaster().fit(table() * 1e-14)


def test_uneven_times_are_warned_of_once_and_then_counted() -> None:
    uneven = table().drop(DAYS[[20, 21, 40]])
    with pytest.warns(UserWarning, match="times of the index are uneven"):
        forecaster = LastValueForecaster().fit(uneven)
    assert list(forecaster.predict(2).index) == [1, 2]


def test_dates_that_were_not_parsed_are_warned_of_once(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "readings.csv", index_label="time")
    read = pd.read_csv(tmp_path / "readings.csv", index_col="time")
    for data in (read, pd.concat({"north": read, "south": read})):
        with pytest.warns(
            UserWarning, match=r"^the index holds dates as texts.*parse_dates=True.*pd.to_datetime$"
        ) as said:
            forecaster = VARForecaster(orders=2).fit(data)
        assert len([warning for warning in said if "dates as texts" in str(warning.message)]) == 1
        assert {Path(warning.filename).name for warning in said} == {Path(__file__).name}
    assert list(forecaster.predict(2).loc["north"].index) == [1, 2]
    VARForecaster(orders=2).fit(pd.read_csv(tmp_path / "readings.csv", index_col="time", parse_dates=True))


def test_a_folder_is_saved_as_a_whole_or_not_at_all(
    tmp_path: Path, fitted: VARForecaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted.save(tmp_path / "model")
    assert sorted(path.suffix for path in (tmp_path / "model").iterdir()) == [".json", ".json", ".npz", ".npz"]
    with pytest.raises(FileExistsError, match="is there already; name another folder"):
        fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"was saved by models.baselines.estimators.VARForecaster"):
        LastValueForecaster.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="holds no saved estimator"):
        VARForecaster.load(tmp_path)
    loaded = VARForecaster.load(tmp_path / "model")
    with pytest.raises(ValueError, match="was loaded and has no rows to fit anew to; call fit"):
        loaded.update(table()[50:], refit=True)

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("models.forecasting.estimators.files.np.savez", full)
    with pytest.raises(OSError, match="no space left"):
        fitted.save(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_horizon_has_an_end(unharmed: VARForecaster) -> None:
    with pytest.raises(ValueError, match="horizon must be at most 100000, got 1000000000"):
        unharmed.predict(10**9)


@pytest.mark.parametrize("index", [pd.to_timedelta(range(70), unit="h"), pd.Index(0.1 * np.arange(70), name="seconds")])
def test_spans_and_fractions_go_on_are_updated_and_saved(index: pd.Index, tmp_path: Path) -> None:
    rows = pd.DataFrame({"load": np.random.default_rng(0).normal(size=70)}, index=index)
    with warnings.catch_warnings(action="ignore"):
        forecaster = LastValueForecaster().fit(rows[:60])
    found = forecaster.predict(10).index
    assert found.name == index.name
    np.testing.assert_allclose(found.to_numpy().astype(float), index[60:].to_numpy().astype(float))
    with pytest.raises(ValueError, match="new_rows begins at"):
        forecaster.update(rows[61:])
    forecaster.update(rows[60:61]).update(rows[61:64]).save(tmp_path / "saved")
    loaded = LastValueForecaster.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(loaded.predict(6), forecaster.predict(6))
    loaded.update(rows[64:])


def test_uneven_spans_are_warned_of() -> None:
    spans = pd.to_timedelta(np.delete(np.arange(71), 30), unit="h")
    rows = pd.DataFrame({"load": np.random.default_rng(0).normal(size=70)}, index=spans)
    with pytest.warns(UserWarning, match="times of the index are uneven") as told:
        LastValueForecaster().fit(rows)
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("index", "uneven"),
    [
        (np.delete(np.arange(71) / 8, 30), True),
        (np.round(np.arange(70) / 3, 4), False),  # even but for what is rounded away
    ],
)
def test_uneven_fractions_are_warned_of(index: np.ndarray, uneven: bool) -> None:
    rows = pd.DataFrame({"load": np.random.default_rng(0).normal(size=70)}, index=index)
    with warnings.catch_warnings(record=True, action="always") as told:
        forecaster = LastValueForecaster().fit(rows)
    said = [str(own.message) for own in told if "uneven" in str(own.message)]
    assert [own.startswith("the numbers of the index are uneven") for own in said] == [True] * uneven
    assert all("numpy.interp" in own for own in said)
    if not uneven:
        np.testing.assert_allclose(forecaster.predict(3).index, np.arange(70, 73) / 3, atol=1e-3)


def test_groups_whose_rows_are_mixed_are_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"shop{i % 3}" for i in (2, 0, 1, 1, 0, 2, 2)]
    rows = pd.DataFrame({"load": range(7)}, index=pd.MultiIndex.from_arrays([names, range(7)]))

    def refused(*_: Any) -> None:
        raise AssertionError("all rows are compared with one group")

    monkeypatch.setattr(pd.Index, "__eq__", refused)
    groups = read(rows).groups
    assert [group.key for group in groups] == ["shop2", "shop0", "shop1"]
    assert [group.values[:, 0].tolist() for group in groups] == [[0, 5, 6], [1, 4], [2, 3]]
    assert [list(group.index) for group in groups] == [[0, 5, 6], [1, 4], [2, 3]]


def test_a_validation_part_of_which_nothing_can_be_scored_is_said_as_that() -> None:
    walk = np.random.default_rng(0).normal(size=3000).cumsum()
    walk[2400:2999] = np.nan
    with pytest.warns(UserWarning, match="nothing of the validation part could be scored") as told:
        LastValueForecaster().fit(walk)
    assert len(told) == 1
