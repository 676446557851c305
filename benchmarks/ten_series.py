"""`PSRNNForecaster` with its default settings beside seasonal naive, AutoETS, AutoARIMA and a ridge over lags, on ten
series: the mean absolute scaled error (Hyndman and Koehler, 2006) at horizons 1 to 24, and at 96.

    pip install -c constraints.txt -e '.[peers]'
    python benchmarks/ten_series.py --hours ETTh1.csv --output docs/results/ten-series

Each model is fitted once to the first four fifths of a series (of a short one to what leaves ten places), and
forecasts 96 steps from at most 20 places of the rest. The errors of a column are divided by the mean absolute error, on
the training part, of the value one season before (of the last value where no season is known). What is finished is kept
in OUTPUT/ten_series.csv, from which an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from ten_series_data import Series, ten
from ten_series_models import FARTHEST, MODELS, Fit

NEAR, PLACES, COLUMNS = 24, 20, ["series", "model", "horizons_1_to_24", "horizon_96", "fit_seconds"]
BEST = "**{}**"


def scales(train: pd.DataFrame, season: int) -> np.ndarray:
    values = train.to_numpy(np.float64)
    return np.abs(values[season:] - values[:-season]).mean(0)


def cut_of(rows: int) -> int:
    """Returns the length of the training part: four fifths, or less of a short series, so that ten places are left."""
    return min(int(0.8 * rows), rows - NEAR - 10)


def places(rows: int, cut: int) -> np.ndarray:
    """Returns how many rows each forecast has seen: from `cut` on, in equal steps, and the first 24 horizons known."""
    last = rows - NEAR
    return np.unique(np.linspace(cut, last, min(PLACES, last - cut + 1)).astype(int))


def score(series: Series, fit: Fit) -> dict[str, float]:
    """Returns the mean scaled errors of a model on a series, NaN at a horizon that no place has, and seconds."""
    table, cut = series.table, cut_of(len(series.table))
    begin = time.perf_counter()
    forecasts = fit(table.iloc[:cut], series.season)
    seconds = time.perf_counter() - begin
    errors = np.full((len(places(len(table), cut)), FARTHEST, table.shape[1]), np.nan)
    for row, seen in zip(errors, places(len(table), cut), strict=True):
        truth = table.to_numpy(np.float64)[seen : seen + FARTHEST]
        row[: len(truth)] = np.abs(forecasts(table.iloc[:seen])[: len(truth)] - truth)
    scaled = errors / scales(table.iloc[:cut], series.season)
    far = scaled[:, FARTHEST - 1]
    known = far[~np.isnan(far).all(1)]
    return {
        "horizons_1_to_24": float(scaled[:, :NEAR].mean()),
        "horizon_96": float(known.mean()) if len(known) else float("nan"),
        "fit_seconds": seconds,
    }


def measured(series: list[Series], path: Path) -> pd.DataFrame:
    """Returns a row for each series and model; what `path` has is not measured again."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {(row["series"], row["model"]) for row in rows}
    for one in series:
        for name, fit in MODELS.items():
            if (one.name, name) in done:
                continue
            print(f"{one.name}: {name} …", file=sys.stderr, flush=True)
            rows.append({"series": one.name, "model": name, **score(one, fit)})
            partial = path.with_suffix(".partial")
            pd.DataFrame(rows, columns=COLUMNS).to_csv(partial, index=False)
            partial.replace(path)
    return pd.DataFrame(rows, columns=COLUMNS)


def written(value: float, *, least: bool) -> str:
    if np.isnan(value):
        return "not run"
    return BEST.format(f"{value:.3f}") if least else f"{value:.3f}"


def table_of(errors: pd.DataFrame, column: str) -> str:
    """Returns a Markdown table, series by model, the least error of a row in bold, and the geometric mean below."""
    wide = errors.pivot(index="series", columns="model", values=column)
    wide = wide.loc[errors["series"].unique(), [name for name in MODELS if name in wide]].dropna(how="all")
    lines = [f"| series | {' | '.join(wide)} |", f"|---|{'---|' * wide.shape[1]}"]
    for name, row in wide.iterrows():
        cells = [written(value, least=value == row.min()) for value in row]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = np.exp(np.log(wide.dropna()).mean())
    lines.append(f"| *geometric mean of the rows without a gap* | {' | '.join(f'{v:.3f}' for v in means)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="PSRNNForecaster and others on ten series")
    parser.add_argument("--hours", type=Path, help="ETTh1.csv; without it there are nine series")
    parser.add_argument("--output", type=Path, default=Path("build/ten_series"), help="folder of the results")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    errors = measured(ten(options.hours), options.output / "ten_series.csv")
    parts = {"Horizons 1 to 24": "horizons_1_to_24", "Horizon 96": "horizon_96"}
    text = "\n\n".join(f"### {title}\n\n{table_of(errors, column)}" for title, column in parts.items())
    (options.output / "tables.md").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
