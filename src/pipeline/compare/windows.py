"""Arms along one test period: errors over whole windows of forecasts, and claims by batch means."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from pipeline.compare import statistics
from pipeline.compare.blocks import ratio_along
from pipeline.compare.bootstrap import of_enough_seeds
from pipeline.compare.claims import FEW_SEEDS, verdict
from pipeline.compare.comparison import HOURS, Comparison
from pipeline.compare.words import Summary, in_words
from pipeline.host.errors import PipelineError

WEEK = 7  # places in a week, of which blocks are whole numbers
ALONG = "along.csv"
KEYS = ["data", "window"]
CAPTION = (
    "Mean squared and mean absolute error over all windows, steps and columns, in standardised units: the mean over "
    "seeds, with the least and the largest squared error; and the median of the seconds of training"
)
UNSTABLE = "; `unstable` is the number of jobs that are unstable, which are not left out here"
METHOD = (
    "Squared error of the arm divided by that of the other, each the mean over its seeds, over the same windows. "
    "Intervals and p are those of batch means: the test period is cut into stretches of equal length, up to a day, "
    "none shorter than the whole weeks that hold a window, and Student's t is over the stretches (blocks). With fewer "
    "than four nothing is said, and the verdict is undecided. So few make intervals somewhat too narrow: in a "
    "simulation of two equal and independent arms those of 95 % covered 90 to 94 % with 16, 8 and 7 stretches, and p "
    "was below 0.05 in 6 to 10 %, where logs of the errors of one day and the next had a correlation of 0 or 0.5; with "
    "0.8 they covered 83 to 88 %. The chance of the draws of a model is in no interval: of models that draw, "
    f"{FEW_SEEDS}. A model that draws nothing has no seeds. Holm's adjustment is over the windows of a pair, not over "
    "the pairs."
)


def block_of(window: int, day: int = HOURS) -> int:
    """Returns how many places a stretch of the period has at least: whole weeks that hold a window, both window and day
    in rows."""
    return WEEK * math.ceil(window / (WEEK * day))


def means_of(jobs: Any) -> pd.DataFrame:
    """Returns a row per data set, window and arm: both errors, the range of the first over seeds, and seconds; and how
    many jobs are unstable, where one is. These are not left out, as the errors along the period are of all jobs."""
    unstable = ~jobs["stable"].astype(bool)
    grouped = jobs.assign(unstable=unstable).groupby([*KEYS, "arm"], as_index=False)
    columns = {
        "seeds": ("seed", "nunique"), "mse": ("window_mse", "mean"), "mae": ("window_mae", "mean"),
        "mse_least": ("window_mse", "min"), "mse_largest": ("window_mse", "max"),
    }  # fmt: skip
    if "seconds" in jobs:
        columns["seconds"] = ("seconds", "median")
    if unstable.any():
        columns["unstable"] = ("unstable", "sum")
    return grouped.agg(**columns).sort_values([*KEYS, "mse"], ignore_index=True)


def over_seeds(along: Any) -> pd.DataFrame:
    """Returns a row per data set, window, arm and place: how many windows begin there, and their mean error over the
    seeds. Rows of a day are kept where they are known."""
    known = [*KEYS, "arm", *(["day"] if "day" in along else [])]
    grouped = along.groupby([*known, "place"], as_index=False)
    return grouped.agg(windows=("windows", "first"), window_mse=("window_mse", "mean"))


def pairs_of(arms: list[str], baseline: str | None, challenger: str | None) -> list[tuple[str, str]]:
    """Returns which arm is compared with which: the challenger with each other, each other with the baseline."""
    pairs = [(challenger, other) for other in arms if challenger in arms and other != challenger]
    others = [arm for arm in arms if baseline in arms and arm not in (baseline, challenger)]
    return [*pairs, *((arm, baseline) for arm in others)]  # pyright: ignore[reportReturnType]


def check_same_windows(data: object, window: object, here: Any) -> None:
    """Raises PipelineError where not every arm has the same number of windows at every place."""
    counts = here.pivot(index="place", columns="arm", values="windows")
    unlike = [str(arm) for arm in counts if not counts[arm].equals(counts[counts.columns[0]])]
    if unlike:
        raise PipelineError(
            f"compare.figure=windows: {data}, evaluate.window={window}: {', '.join(unlike)} and {counts.columns[0]} "
            "were not scored over the same windows; give all jobs the same data and evaluate.first_step"
        )


def compared(table: Any, baseline: str | None, challenger: str | None) -> pd.DataFrame:
    """Returns a row per data set, pair of arms and window: ratio, interval, p and Holm's p.

    table: as `over_seeds` gives it. Raises PipelineError as `check_same_windows`.
    """
    rows = []
    for (data, window), here in table.groupby(KEYS, sort=True):
        check_same_windows(data, window, here)
        periods: Any = here.pivot(index="place", columns="arm", values="window_mse")
        weights = here.groupby("place")["windows"].first()
        block = block_of(int(window), int(here["day"].iloc[0]) if "day" in here else HOURS)
        for arm, other in pairs_of(sorted(periods), baseline, challenger):
            found = ratio_along(periods[other].to_numpy(), periods[arm].to_numpy(), weights.to_numpy(), block=block)
            rows.append({
                "data": data, "arm": arm, "against": other, "window": window, "ratio": found.ratio,
                "ratio_low": found.low, "ratio_high": found.high, "p": found.p, "blocks": found.blocks,
            })  # fmt: skip
    if not rows:
        return pd.DataFrame()
    paired: Any = pd.DataFrame(rows).sort_values(["data", "arm", "against", "window"], ignore_index=True)
    paired["p_holm"] = paired.groupby(["data", "arm", "against"])["p"].transform(
        lambda p: statistics.holm(p.to_numpy())
    )
    return paired


def verdicts(paired: Any, stand_in: Any) -> pd.DataFrame:
    """Returns the table with a verdict in each row: *holds* where the arm is `statistics.better`, *does not hold* where
    it is `statistics.worse`, else *undecided*. stand_in: whether data stand in for real ones, by data set; these alone
    give no claim."""
    sides = zip(statistics.better(paired), statistics.worse(paired), paired["data"], strict=True)
    words = [
        verdict(supported=bool(up), contradicted=bool(down), stand_in=bool(stand_in[data])) for up, down, data in sides
    ]
    return paired.assign(verdict=words)


def seeds_of(jobs: Any) -> Any:
    """Returns how many seeds each arm has, by data set, window and arm; 0 of an arm that draws nothing. Where the jobs
    do not say which of them draw, as in tables of older versions, all count as drawing."""
    grouped = (jobs if "draws" in jobs else jobs.assign(draws=True)).groupby([*KEYS, "arm"])
    return grouped["seed"].nunique().where(grouped["draws"].any(), 0)


def with_seeds(claims: Any, seeds: Any) -> pd.DataFrame:
    """Returns claims, undecided where one of the two arms has one or two seeds. seeds: as `seeds_of` gives them."""
    parts = [of_enough_seeds(rows, seeds.loc[place].to_dict()) for place, rows in claims.groupby(KEYS)]
    return pd.concat(parts).sort_index()


def by_window(jobs: Any, compare: Any, along_of: Any, comparison: Comparison) -> Summary:
    """Shows every arm's errors over windows, and the claims of `compare.challenger` against each other arm, and of
    these against `compare.baseline`.

    along_of: gives of jobs their errors along the test period, a row per job and place. Raises PipelineError for jobs
    without windows.
    """
    if "window" not in jobs:
        raise PipelineError("compare.figure=windows: these jobs were scored over no windows; give evaluate.window=96")
    means, along = means_of(jobs), over_seeds(along_of(jobs))
    caption = CAPTION + (UNSTABLE if "unstable" in means else "")
    tables, text = {"means.csv": means, ALONG: along}, f"{caption}\n\n{in_words(means, comparison)}"
    paired = compared(along, compare.baseline, compare.challenger)
    if len(paired):
        claims = with_seeds(verdicts(paired, jobs.groupby("data")["stand_in"].any()), seeds_of(jobs))
        tables["paired.csv"] = claims
        text += f"\n\n{METHOD}\n\n{in_words(claims.drop(columns='p'), comparison)}"
    return Summary(tables, {}, text)
