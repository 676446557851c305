"""What is known of every time to come: the hour, the weekday, the season; as waves, which models can add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from models.forecasting.estimators.input import TAIL, as_range
from models.forecasting.index.steps import months_apart, step_of, times_in
from models.numerics.standardisation import ROUNDING

if TYPE_CHECKING:
    import pandas as pd

MOST_HARMONICS = 3


class Cycle(NamedTuple):
    """Says where in a cycle times lie: phase (time,) of a DatetimeIndex, from 0 to 1, its length in seconds, and of how
    many multiples of its frequency there are a sine and a cosine at most (harmonics)."""

    phase: Callable[[Any], np.ndarray]
    seconds: float
    harmonics: int

    def harmonics_at(self, step: float) -> int:
        """Returns how many multiples of its frequency rows of a step in seconds tell apart: at least 1, and those below
        half the frequency of the rows. Of a step of 0, which nobody knows, it is `harmonics`."""
        return most_harmonics(self.seconds / step, self.harmonics) if step else self.harmonics


DAY = 86400.0
DAY_NS = 86_400_000_000_000


def _second_of_day(times: Any) -> np.ndarray:
    return np.asarray(times.hour * 3600 + times.minute * 60 + times.second, float)


CYCLES = {
    "minute": Cycle(lambda times: (_second_of_day(times) % 3600) / 3600, 3600.0, 2),
    "hour": Cycle(lambda times: _second_of_day(times) / DAY, DAY, MOST_HARMONICS),
    "weekday": Cycle(lambda times: (np.asarray(times.day_of_week) + _second_of_day(times) / DAY) / 7, 7 * DAY, 3),
    "monthday": Cycle(lambda times: (np.asarray(times.day) - 1) / 31, 30.4 * DAY, 1),
    "yearday": Cycle(lambda times: (np.asarray(times.day_of_year) - 1) / 366, 365.25 * DAY, 2),
}


def waves(phase: np.ndarray, harmonics: int, *, least: float = ROUNDING) -> np.ndarray:
    """Returns sin(2πkφ) and cos(2πkφ) for k = 1 … harmonics: (time, 2·harmonics). phase φ (time,).

    A number below `least`, which is 0 but for rounding, is 0, since a column of such numbers would be given their
    spread as its unit.
    """
    angles = 2 * np.pi * phase[:, np.newaxis] * np.arange(1, harmonics + 1)
    both = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return np.where(np.abs(both) < least, 0.0, both)


def most_harmonics(rows: float, most: int = MOST_HARMONICS) -> int:
    """Returns how many multiples of the frequency of a cycle of so many rows lie below half the frequency of the rows,
    1 to `most`.

    At half of it a wave may be 0 in each row, and those beyond are the same in each row as one below (aliasing), though
    at other times, after a change of clocks, they are not.
    """
    return max(1, min(most, math.ceil(rows / 2) - 1))


def wave_names(cycle: str, harmonics: int) -> list[str]:
    """Returns the names of the columns of `waves`."""
    return [f"{cycle} {wave} {number}" for wave in ("sine", "cosine") for number in range(1, harmonics + 1)]


def season_waves(rows: np.ndarray, season: int) -> np.ndarray:
    """Returns the waves of a season of so many rows, at the row numbers `rows` (time,): (time, wave).

    There are at most three harmonics, below half the season's frequency.
    """
    return waves((rows % season) / season, most_harmonics(season))


class RowClock(NamedTuple):
    """Says which number a row has whatever series it stands in, so that a season means the same in all of them.

    unit: "nanoseconds" of times, "months" of times that go on by whole months, "clocks" of days that are even but for a
    change of clocks (nanoseconds that clocks show), "working days" from Monday to Friday, of which holidays are some,
    "numbers" of an index that counts; then a row's number is its index less `origin`, over `step`. "rows" counts the
    rows of each series from 0.
    origin: lies less than a step above 0; the rows that the clock was made of are a whole number of steps from it.
    """

    unit: str = "rows"
    step: int = 1
    origin: int = 0

    def row_numbers(self, index: Any, count: int, *, first: int) -> np.ndarray:
        """Returns the numbers of so many rows, (count,), the nearest where a row lies between two; first: of the first
        of them where rows are counted.

        Raises ValueError for an index without times, or without numbers, where the clock goes by these.
        """
        if self.unit == "rows":
            return first + np.arange(count)
        return (self._places(index) - self.origin + self.step // 2) // self.step

    def _places(self, index: Any) -> np.ndarray:
        times = None if index is None else times_in(index)
        if self.unit == "numbers" and times is None and index is not None and index.dtype.kind in "iu":
            return np.asarray(index)
        if self.unit == "numbers" or times is None:
            kind = "numbers" if self.unit == "numbers" else "times"
            raise ValueError(
                f"season goes by the {kind} in the index of the data fitted to, and these rows have none (after uneven "
                "ones none are known); give a table with them in even steps"
            )
        return PLACES[self.unit](times)


def _on_clocks(times: Any) -> np.ndarray:
    return times.tz_localize(None).as_unit("ns").asi8


def _working_days(times: Any) -> np.ndarray:
    """Returns how many days from Monday to Friday lie before each of the times, (time,)."""
    return np.busday_count("0001-01-01", times.tz_localize(None).to_numpy().astype("datetime64[D]"))


def clock_of(index: Any) -> RowClock:
    """Returns how the rows of an index count: by its times or numbers, in the even steps that it has as a whole, or
    else where it ends, or else by days of clocks or working days in the same way; by rows where it has none."""
    if index is None:
        return RowClock()
    made = (clock(part) for clock in (_even_clock, _day_clock) for part in (index, index[-TAIL:]))
    return next((clock for clock in made if clock is not None), RowClock())


def _even_clock(index: Any) -> RowClock | None:
    import pandas as pd

    index = as_range(index)
    if isinstance(index, pd.RangeIndex):
        return RowClock("numbers", index.step, index.start % index.step)
    times = times_in(index)
    if times is None or len(times) < 3:
        return None
    step = months_apart(times) or step_of(times)
    if step is None:
        return None
    if isinstance(step, int):
        return RowClock("months", step, int(months_of(times)[0]) % step)
    places = times.as_unit("ns").asi8
    steps = set(np.diff(places).tolist())
    return RowClock("nanoseconds", step := steps.pop(), int(places[0]) % step) if len(steps) == 1 else None


def _day_clock(index: Any) -> RowClock | None:
    """Returns the clock of days that are even on the clocks of their zone, or of working days; None for others."""
    times = times_in(index)
    if times is None or len(times) < 3:
        return None
    places = _on_clocks(times)
    step = int(places[1] - places[0])
    if step > 0 and step % DAY_NS == 0 and bool((np.diff(places) == step).all()):
        return RowClock("clocks", step, int(places[0]) % step)
    return RowClock("working days") if _goes_by_working_days(step_of(times)) else None


def _goes_by_working_days(step: Any) -> bool:
    """Says whether a step is a day from Monday to Friday; such days may leave out holidays of one's own."""
    import pandas as pd

    if isinstance(step, pd.offsets.CustomBusinessDay):
        own: Any = step
        return own.n == 1 and own.calendar.weekmask.tolist() == [True] * 5 + [False] * 2
    return getattr(step, "freqstr", step) == "B"


def months_of(times: Any) -> np.ndarray:
    """Returns the months of times since the year 0, (time,)."""
    return np.asarray(times.year * 12 + times.month)


PLACES: dict[str, Callable[[Any], np.ndarray]] = {
    "nanoseconds": lambda times: times.as_unit("ns").asi8,
    "months": months_of,
    "clocks": _on_clocks,
    "working days": _working_days,
}  # of times, on the scale of each unit of a clock


def calendar_waves(index: Any, cycles: Sequence[str], step: float) -> np.ndarray:
    """Returns the waves of the named cycles at the times of an index: (time, wave). step: as of `Cycle.harmonics_at`.

    Raises ValueError for an index without times.
    """
    times = needed_times(index)
    found, least = [CYCLES[name] for name in cycles], ROUNDING if step else 0.0  # as models of before learned them
    return np.concatenate([waves(cycle.phase(times), cycle.harmonics_at(step), least=least) for cycle in found], axis=1)


def needed_times(index: Any) -> pd.DatetimeIndex:
    """Returns the times of an index. Raises ValueError for an index without times."""
    times = None if index is None else times_in(index)
    if times is None:
        texts = index is not None and any(isinstance(label, str) for label in index[:1])
        make = (
            "read its texts as times, with pandas.to_datetime(index, utc=True).tz_convert(ZONE) say"
            if texts
            else "set one with set_index"
        )
        raise ValueError(
            f"calendar needs a table whose index holds times, in even steps where it goes on; {make}, put in missing "
            "rows with asfreq (of several series in each by itself), or leave calendar out"
        )
    return times


def names_of_waves(cycles: Sequence[str], step: float, season: int | None) -> list[str]:
    """Returns the names of the columns of `calendar_waves`, and then of `season_waves` where there is a season."""
    harmonics = {name: CYCLES[name].harmonics_at(step) for name in cycles}
    if season is not None:
        harmonics["season"] = most_harmonics(season)
    return [name for cycle, count in harmonics.items() for name in wave_names(cycle, count)]


def cycles_that_fit(index: Any) -> tuple[str, ...]:
    """Returns the cycles that an index of times tells apart and goes through at least twice.

    A cycle is told apart by at least four rows. Raises ValueError for an index without times.
    """
    step = seconds_apart(index)
    if not step:
        return ()
    times = needed_times(index).as_unit("ns").asi8
    span = int(times[-1] - times[0]) / 1e9
    return tuple(name for name, cycle in CYCLES.items() if 4 * step <= cycle.seconds <= span / 2)


def seconds_apart(index: Any) -> float:
    """Returns the median step between the times of an index in seconds, and 0 where it is not above 0 or there is none.

    Raises ValueError for an index without times.
    """
    times = needed_times(index)
    return max(0.0, float(np.median(np.diff(times.as_unit("ns").asi8)))) / 1e9 if len(times) > 1 else 0.0
