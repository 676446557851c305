"""A forecast as a picture: the last rows, what is forecast, and the band around it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from models.forecasting.estimators.checks import check_coverage
from models.forecasting.estimators.following import told_ahead
from models.forecasting.estimators.scores import interval_radii, intervals
from models.forecasting.estimators.silent import forecast_without_warning
from models.forecasting.index.kinds import contents
from models.runtime.parameters import shown, whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(
    estimator: Any, horizon: int, coverage: float | None, *, known: Any, rows: int | None, ax: Axes | None
) -> Axes:
    """Draws the first series of a fitted estimator, one colour a target, and returns the axes: `ax`, or those of a new
    figure of pyplot, which a notebook shows. The past is a thin line, and the forecast a dashed one, or a point.

    Raises TypeError and ValueError for arguments that make no sense."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(f"ax must be the axes of matplotlib to draw into, got {shown(ax)}")
    drawn = 4 * whole_number("horizon", horizon) if rows is None else whole_number("rows", rows)
    foresee = estimator.predict if coverage is None else partial(forecast_without_warning, estimator)
    forecasts = foresee(horizon, known=known)
    ahead, band = _first(forecasts, horizon), None
    if coverage is not None:
        band = _first(_intervals(estimator, forecasts, horizon, coverage), horizon)
    axes = plt.subplots(figsize=(8, 4), layout="constrained")[1] if ax is None else ax
    past, times, to_come = _past(estimator, drawn, ahead, horizon)
    places = _placed(axes, to_come)
    values, targets = _values(ahead), [_name(label) for label in estimator._fitted().columns.targets]
    for place, name in enumerate(targets):
        colour = None  # the next of the axes' own
        if past is not None:
            colour = axes.plot(_placed(axes, times), past[:, place], linewidth=0.8, label=name)[0].get_color()
        style = "--" if horizon > 1 else "."
        (line,) = axes.plot(places, values[:, place], style, color=colour, label=f"{name}, forecast")
        if band is not None:
            lower, upper = _sides(band, place)
            label = _band(coverage) if place == 0 else None  # one entry for all
            axes.fill_between(places, lower, upper, color=line.get_color(), alpha=0.2, linewidth=0, label=label)
    _name_rows(axes, to_come)
    if len(targets) == 1:
        axes.set_ylabel(targets[0])
    _add_legend(axes)
    axes.set_title(f"{horizon} steps" + ("" if coverage is None else f", {100 * coverage:g} % intervals"))
    return axes


def _placed(axes: Axes, index: Any) -> Any:
    """Returns where an index stands on axes: dates by the numbers of their periods where pandas drew these by periods,
    and shows all rows then."""
    periods = getattr(axes, "freq", None)  # as pandas keeps them
    if periods is None or index.dtype.kind != "M":
        return index
    axes.autoscale(axis="x")  # pandas ends it with its own rows
    return index.tz_localize(None).to_period(periods).asi8


def _name_rows(axes: Axes, to_come: Any) -> None:
    """Names the x axis by the index, or else by what it holds, and writes dates as short as they can be, unless the
    axes write them in a way of their own, as those that pandas draws."""
    from matplotlib.dates import AutoDateFormatter, ConciseDateFormatter

    dated = to_come.dtype.kind == "M"
    axes.set_xlabel(str(getattr(to_come, "name", None) or ("time" if dated else "row")))
    if dated and isinstance(axes.xaxis.get_major_formatter(), AutoDateFormatter):
        axes.xaxis.set_major_formatter(ConciseDateFormatter(axes.xaxis.get_major_locator(), tz=to_come.tz))


def _add_legend(axes: Axes) -> None:
    """Puts the legend beside the axes, where it covers nothing, if the figure has a layout that makes room for it."""
    makes_room = axes.figure.get_layout_engine() is not None
    axes.legend(**{"loc": "upper left", "bbox_to_anchor": (1, 1)} if makes_room else {})


def _name(label: Any) -> str:
    return label if isinstance(label, str) else f"column {label}"


def _band(coverage: float | None) -> str:
    return f"{100 * (coverage or 0):g} % interval"


def _intervals(estimator: Any, forecasts: Any, horizon: int, coverage: float) -> Any:
    """Returns the bounds around forecasts that are there, so that what there is to warn of is said once."""
    check_coverage(coverage)
    learnt = estimator._fitted()
    return intervals(learnt, forecasts, estimator._positions.values(), interval_radii(learnt, horizon, coverage))


def _first(forecasts: Any, horizon: int) -> Any:
    """Returns the forecasts of the first series, without its group."""
    if isinstance(forecasts, list):
        return forecasts[0]
    if hasattr(forecasts, "columns") and forecasts.index.nlevels > 1:
        return forecasts.iloc[:horizon].droplevel(0)
    return forecasts


def _values(forecasts: Any) -> np.ndarray:
    values = np.asarray(forecasts)
    return values[:, np.newaxis] if values.ndim == 1 else values


def _sides(band: Any, place: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.asarray(band)
    if hasattr(band, "columns"):
        return values[:, 2 * place], values[:, 2 * place + 1]
    return (values[:, 0], values[:, 1]) if values.ndim == 2 else (values[:, place, 0], values[:, place, 1])


def _past(estimator: Any, rows: int, ahead: Any, horizon: int) -> tuple[np.ndarray | None, Any, Any]:
    """Returns the last rows of the targets, None where they were not kept; their places on the axis, and those to
    come: by the index, or, where it does not go on by itself, the numbers of the rows."""
    key, position = next(iter(estimator._positions.items()))
    by_index = hasattr(ahead, "columns") and _goes_on(position.tail, ahead.index)
    to_come = _times(ahead.index) if by_index else position.rows + np.arange(horizon)
    if estimator._all_rows is None:
        return None, None, to_come
    group = next(group for group in estimator._all_rows.groups if group.key == key)
    places = [estimator._all_rows.labels.index(label) for label in estimator._fitted().columns.targets]
    past = group.values[-rows:, places]
    times = _times(group.index[-rows:]) if by_index else position.rows - len(past) + np.arange(len(past))
    return past, times, to_come


def _goes_on(tail: Any, to_come: Any) -> bool:
    """Says whether the rows after the end of an index have places on its own axis: it tells them, or they are the next
    periods or working days."""
    return told_ahead(tail, len(to_come)) is not None or contents(to_come) in ("periods", "times")


def _times(index: Any) -> Any:
    """Returns an index as matplotlib draws it: of periods their begin, of spans of time their seconds."""
    if index.dtype.kind == "m":
        return index.total_seconds().rename(f"{index.name or 'time'} (s)")
    return index.to_timestamp() if hasattr(index, "to_timestamp") else index
