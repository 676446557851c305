"""By which step the index of a table goes, and how it goes on; pandas is imported only where it is needed."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from models.forecasting.index.kinds import holds_periods
from models.forecasting.index.working_days import fill_call, skips_working_days

if TYPE_CHECKING:
    import pandas as pd

DATED = re.compile(r"(?=\w)(?!\d+$).*\d{4}|\d{1,2}[-/]\d{1,2}[-/]\d{2}\b")  # a year among other signs, or 31/12/24
TEXTS_LOOKED_AT = 3  # texts at each end of an index
DAYS_LOOKED_AT = 8  # of times: more than a week
BACKWARDS = "the times of the table's index go backwards; sort it by its index"
GO_ON = "go on from Monday to Friday, holidays among them"  # where working days are missing
UNEVEN = 1e-3  # of the step between fractions: two that differ by more are not the same


def index_after(index: Any, horizon: int) -> pd.Index:
    """Returns the index of the `horizon` rows after a table's last one: times, periods or numbers that go on with its
    step.

    Times on one day of each month, or at its end, go on by whole months, spans of time and numbers by their even step.
    Periods go on by as many as lie between neighbours, or in the step of their first times. Working days of which some
    are missing (`skips_working_days`) go on from Monday to Friday, with a warning; other uneven periods one after the
    other, with a warning. An index without a step that its rows tell (names, times that come irregularly, a single
    time) goes on as 1, 2, …, by the name "step", with a warning where it has several times. Raises ValueError for times
    that go backwards.
    """
    import pandas as pd

    later = index_in_step(index, horizon)
    if later is not None:
        return later
    times = times_in(index)
    if times is not None and skips_working_days(times):
        warnings.warn(
            f"working days are missing in the table's index; the forecast's rows {GO_ON}; put in empty rows for "
            f"missing days, with DataFrame.{fill_call(index)} say",
            stacklevel=3,
        )
        return _of_kind(index, _times_on(times, "B", horizon))
    uneven = "the times of the table's index are uneven; the forecast's rows"
    if isinstance(index, pd.PeriodIndex) and len(index):
        warnings.warn(f"{uneven} are the periods after the last one", stacklevel=3)
        return periods_on(index, index.freq.n, horizon)
    if len(index) > 1 and index.dtype.kind in "mM":
        warnings.warn(f"{uneven} count 1, 2, …", stacklevel=3)
    return pd.RangeIndex(1, horizon + 1, name="step")


def index_in_step(index: Any, horizon: int) -> pd.Index | None:
    """Returns what `index_after` does where the rows tell a step; None where they tell none."""
    import pandas as pd

    if isinstance(index, pd.RangeIndex):
        return pd.RangeIndex(index.stop, index.stop + horizon * index.step, index.step, name=index.name)
    if index.dtype.kind == "m" and len(index) > 1 and index[-1] < index[0]:
        raise ValueError(BACKWARDS)
    if (periods := even_periods(index)) is not None:
        return periods_on(index, periods, horizon)
    if (even := even_step(index)) is not None:
        (last,) = index[-1:].tolist()
        return pd.Index([last + even * k for k in range(1, horizon + 1)], name=index.name)
    times = times_in(index)
    step = None if times is None else step_of(times)
    if times is None or step is None:
        return None
    later = months_on(times, step, horizon) if isinstance(step, int) else _times_on(times, step, horizon)
    return _of_kind(index, later)


def _of_kind(index: Any, times: pd.DatetimeIndex) -> Any:
    """Returns times as periods where an index has periods, and as they are else."""
    return times.to_period(index.freq) if holds_periods(index) else times


def _times_on(times: Any, step: Any, horizon: int) -> pd.DatetimeIndex:
    import pandas as pd

    from_last: Any = pd.date_range(times[-1], periods=horizon + 1, freq=step, name=times.name)
    return from_last[1:]


def periods_on(index: Any, step: int, horizon: int) -> pd.PeriodIndex:
    """Returns the `horizon` periods after the last one of a PeriodIndex, in steps as `even_periods` counts them."""
    import pandas as pd

    ordinals = index.asi8[-1] + step * np.arange(1, horizon + 1)
    return pd.PeriodIndex.from_ordinals(ordinals, freq=index.freq, name=index.name)


def even_periods(index: Any) -> int | None:
    """Returns how many periods lie between the neighbours of a PeriodIndex, of periods of several months say how many
    months, and of a single period its length; None where the number is not one, and for any other index."""
    import pandas as pd

    if not isinstance(index, pd.PeriodIndex) or not len(index):
        return None
    steps = set(np.diff(index.asi8).tolist()) or {index.freq.n}
    return step if len(steps) == 1 and (step := steps.pop()) > 0 else None


def times_in(index: Any) -> pd.DatetimeIndex | None:
    """Returns the times of an index of times or of periods (their begin); None for any other index."""
    import pandas as pd

    no_step: Any = None  # that which pandas sees need not be there, see `goes_by`
    if isinstance(index, pd.PeriodIndex):
        return pd.DatetimeIndex(index.to_timestamp(), freq=no_step)
    return index if isinstance(index, pd.DatetimeIndex) else None


def months_apart(index: Any) -> int | None:
    """Returns how many months lie between neighbours that are all on one day of the month or all at its end; None
    else."""
    import pandas as pd

    no_step: Any = None  # so that is_month_end asks none for its name
    index = pd.DatetimeIndex(index, freq=no_step)
    gaps = set(np.diff(index.year * 12 + index.month).tolist())
    regular = len(gaps) == 1 and (bool(index.is_month_end.all()) or len(set(index.day)) == 1)
    return gaps.pop() if regular and 0 not in gaps else None


def months_on(index: Any, months: int, horizon: int) -> pd.DatetimeIndex:
    """Returns the `horizon` times after the index's last one, in steps of so many months."""
    import pandas as pd

    later = pd.DatetimeIndex([index[-1] + pd.DateOffset(months=months * k) for k in range(1, horizon + 1)])
    if index.is_month_end.all():
        later = later + pd.offsets.MonthEnd(0)
    return later.rename(index.name)


def even_step(index: Any) -> Any:
    """Returns the step between the numbers or spans of time (TimedeltaIndex) of an index, even up to rounding; None
    where there is none, and for any other index."""
    kind = index.dtype.kind
    if kind not in "iufm" or len(index) < 2 or not index[0] < index[-1]:
        return None
    if kind != "f":
        first, second = index[:2].tolist()
        steps = np.diff(index.to_numpy().astype(np.int64))
        return second - first if bool((steps == steps[0]).all()) else None
    numbers = index.to_numpy()
    step, most = (float(numbers[-1]) - float(numbers[0])) / (len(numbers) - 1), float(np.abs(numbers[[0, -1]]).max())
    rounding = UNEVEN * step + 4 * float(np.finfo(numbers.dtype).eps) * most
    return step if bool((np.abs(np.diff(numbers.astype(np.float64)) - step) <= rounding).all()) else None


def step_of(index: Any) -> Any:
    """Returns the step between times: one of pandas (an hour, a working day), or a number of months; None where there
    is none.

    A step that pandas tells or sees counts where the times go on by it (`goes_by`). Raises ValueError if they go
    backwards.
    """
    if len(index) > 1 and index[-1] < index[0]:
        raise ValueError(BACKWARDS)
    if len(index) < 2 or goes_by(index, index.freq):
        return index.freq
    if len(index) == 2:
        return months_apart(index) or index[1] - index[0] or None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # pandas 3 announces that it will be an object, not a text
        seen = index.inferred_freq
    return seen if goes_by(index, seen) else months_apart(index)


def goes_by(index: Any, step: Any) -> bool:
    """Says whether times go on by a step that pandas tells or sees of them, None for no step.

    pandas has looked at every time, but sees "bh", working hours from 9 to 17, in those of any day of eight hours, and
    "WOM-4FRI" in last Fridays of months that have four: these two are gone through from the first time to the last. It
    may also keep a step where times are brought to another zone, so that the first are looked at as clocks there show
    them.
    """
    import pandas as pd

    if step is None:
        return False
    offset: Any = pd.tseries.frequencies.to_offset(step)
    if isinstance(offset, pd.offsets.BusinessHour | pd.offsets.WeekOfMonth):
        times = index.tz_localize(None)
        if offset == pd.offsets.BusinessHour():
            return goes_by_working_hours(times)
        return pd.date_range(times[0], periods=len(times), freq=offset).equals(times)
    if index.tz is None or isinstance(offset, pd.offsets.Tick):
        return True
    return all(map(offset.is_on_offset, index[:DAYS_LOOKED_AT].tz_localize(None)))


def goes_by_working_hours(times: Any) -> bool:
    """Says whether times without a zone go on by an hour of those from 9 to 17, from Monday to Friday; the time between
    is none, so that 16:30 is followed by 9:30."""
    clocks = times.as_unit("ns").to_numpy()
    days = clocks.astype("datetime64[D]")
    opened = clocks - days - np.timedelta64(9, "h")
    if not bool(((opened >= np.timedelta64(0, "h")) & (opened < np.timedelta64(8, "h")) & np.is_busday(days)).all()):
        return False
    worked = np.busday_count("0001-01-01", days) * np.timedelta64(8, "h") + opened
    return bool((np.diff(worked) == np.timedelta64(1, "h")).all())


def holds_dates_as_texts(index: Any) -> bool:
    """Says whether the first and the last few entries of an index are all texts that pandas reads as dates.

    Names, numbers written as texts and times of day without a date are none.
    """
    entries = [*index[:TEXTS_LOOKED_AT], *index[-TEXTS_LOOKED_AT:]]
    return bool(entries) and all(isinstance(entry, str) and _is_date(entry) for entry in entries)


def _is_date(text: str) -> bool:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas says that it had to guess the format
        return DATED.match(text) is not None and not pd.isna(pd.to_datetime(text, errors="coerce"))
