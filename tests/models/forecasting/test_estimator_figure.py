"""Figures of forecasters: the past, the forecast and the band."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.dates import ConciseDateFormatter, DateFormatter

from hourly_load import HOURS, hourly_load
from models import PSRNNForecaster, SeasonalNaiveForecaster


def legend_of(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.fixture(scope="module")
def fitted() -> PSRNNForecaster:
    return PSRNNForecaster(count=5, lags=2).fit(hourly_load(200))


def test_a_figure_shows_the_past_the_forecast_and_the_band(fitted: PSRNNForecaster) -> None:
    axes = fitted.plot(6, 0.8)
    assert len(axes.lines) == 6
    assert len(axes.collections) == 3
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"] * 3
    assert axes.lines[1].get_xdata()[0] == HOURS[200]
    assert legend_of(axes) == [
        "load", "load, forecast", "80 % interval", "price", "price, forecast", "heat", "heat, forecast",
    ]  # fmt: skip
    assert axes.get_ylabel() == ""
    own = axes.figure.subplots()
    assert fitted.plot(6, None, ax=own) is own
    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("data", "name"), [(hourly_load(200)[["load"]], "load"), (hourly_load(200)[["load"]].to_numpy(), "column 0")]
)
def test_a_figure_of_one_target_names_it_and_tells_its_forecast_in_grey_too(data: Any, name: str) -> None:
    forecaster = SeasonalNaiveForecaster(season=24).fit(data)
    axes = forecaster.plot(6)
    assert axes.get_ylabel() == name
    assert legend_of(axes) == [name, f"{name}, forecast", "90 % interval"]
    past, ahead = axes.lines
    assert past.get_color() == ahead.get_color()
    assert (past.get_linestyle(), ahead.get_linestyle()) == ("-", "--")
    (_, point) = forecaster.plot(1, None, ax=axes.figure.subplots()).lines
    assert point.get_marker() == "."
    plt.close(axes.figure)


def uneven_index(kind: str) -> pd.Index:
    """Of 200 rows, of which the index does not tell what comes after the last."""
    index: dict[str, pd.Index] = {
        "times": HOURS[:199].append(HOURS[205:206]),
        "numbers": pd.Index([*range(500, 699), 750], name="count"),
        "names": pd.Index([f"day {place}" for place in range(200)]),
    }
    return index[kind]


@pytest.mark.filterwarnings("ignore:the (times|numbers) of the index:UserWarning")
@pytest.mark.parametrize("kind", ["times", "numbers", "names"])
def test_where_the_index_does_not_go_on_rows_are_numbered(kind: str) -> None:
    table = hourly_load(200)[["load"]].set_index(uneven_index(kind))
    axes = SeasonalNaiveForecaster(season=24).fit(table).plot(6, None, rows=10)
    past, ahead = axes.lines
    assert list(past.get_xdata()) == list(range(190, 200))
    assert list(ahead.get_xdata()) == list(range(200, 206))
    assert axes.get_xlabel() == "row"
    plt.close(axes.figure)


@pytest.mark.filterwarnings("ignore:the times of the index:UserWarning")
def test_uneven_periods_go_on_with_the_next_ones() -> None:
    months = pd.PeriodIndex([*pd.period_range("2000-01", periods=199, freq="M"), pd.Period("2017-01")], name="month")
    table = hourly_load(200)[["load"]].set_index(months)
    axes = SeasonalNaiveForecaster(season=24).fit(table).plot(6, None, rows=10)
    assert axes.lines[1].get_xdata()[0] == pd.Timestamp("2017-02-01")
    assert axes.get_xlabel() == "month"
    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("index", "named"),
    [
        (HOURS[:200], "time"),
        (HOURS[:200].tz_localize("Asia/Kolkata"), "time"),
        (pd.timedelta_range("0s", periods=200, freq="10s"), "time (s)"),
        (HOURS[:200].rename("hour"), "hour"),
        (pd.RangeIndex(200), "row"),
    ],
    ids=["times", "times of a zone", "spans", "named", "numbers"],
)
def test_rows_are_named_by_the_index_or_by_what_it_holds(index: Any, named: str) -> None:
    axes: Any = SeasonalNaiveForecaster(season=24).fit(hourly_load(200)[["load"]].set_axis(index)).plot(6, None)
    assert axes.get_xlabel() == named
    if index.dtype.kind == "m":
        assert list(axes.lines[1].get_xdata()) == [2000, 2010, 2020, 2030, 2040, 2050]
    axes.figure.canvas.draw()
    if index.dtype.kind == "M":
        ticks = [tick.get_text() for tick in axes.get_xticklabels()]
        assert "12:00" in ticks
        assert axes.xaxis.get_offset_text().get_text() == f"{index[-1]:%Y-%b-%d}"
    plt.close(axes.figure)


@pytest.mark.parametrize("zone", [None, "Asia/Kolkata"])
@pytest.mark.parametrize("freq", ["h", "MS"])
def test_a_forecast_goes_on_from_what_pandas_drew_and_leaves_its_labels(freq: str, zone: str | None) -> None:
    rows = hourly_load(200)[["load"]].set_axis(pd.date_range("2008-01-01", periods=200, freq=freq, tz=zone))
    axes: Any = rows["load"].plot()
    labels, drawn = axes.xaxis.get_major_formatter(), axes.lines[0].get_xdata(orig=False)
    SeasonalNaiveForecaster(season=24).fit(rows).plot(6, ax=axes)
    axes.figure.canvas.draw()
    assert axes.xaxis.get_major_formatter() is labels
    _, past, ahead = (line.get_xdata(orig=False) for line in axes.lines)
    assert list(past) == list(drawn[-24:])
    assert list(ahead) == [drawn[-1] + step for step in range(1, 7)]
    assert axes.get_xlim()[0] <= drawn[0]
    assert axes.get_xlim()[1] >= ahead[-1]
    plt.close(axes.figure)


def test_dates_are_short_on_empty_axes_and_as_they_were_on_those_of_ones_own() -> None:
    kept = DateFormatter("%d.%m.")
    empty, own = plt.subplots(2)[1]
    own.xaxis.set_major_formatter(kept)
    forecaster = SeasonalNaiveForecaster(season=24).fit(hourly_load(200))
    written = [forecaster.plot(6, None, ax=axes).xaxis.get_major_formatter() for axes in (empty, own)]
    assert isinstance(written[0], ConciseDateFormatter)
    assert written[1] is kept
    plt.close(empty.figure)


def test_the_legend_stands_beside_the_axes_and_inside_the_figure() -> None:
    axes: Any = SeasonalNaiveForecaster(season=24).fit(hourly_load(200)).plot(6, 0.8)
    axes.figure.canvas.draw()
    legend, inside = axes.get_legend().get_window_extent(), axes.get_window_extent()
    assert legend.x0 >= inside.x1
    assert legend.x1 <= axes.figure.bbox.x1
    without_room: Any = plt.subplots()[1]
    SeasonalNaiveForecaster(season=24).fit(hourly_load(200)).plot(6, 0.8, ax=without_room)
    assert without_room.get_legend().get_window_extent().x1 <= without_room.get_window_extent().x1
    plt.close(without_room.figure)
    plt.close(axes.figure)
