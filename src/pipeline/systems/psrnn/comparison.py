"""How forecasters are compared: by their squared error, and by sampler where the model is a PSRNN."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pipeline.compare.arms import MEASURED, plain
from pipeline.compare.comparison import HOURS, STABLE, Agreement, Comparison, stored_error, training_seconds
from pipeline.plotting import MSE
from pipeline.systems.psrnn.labels import label

RANDOM = ("psrnn", "psrnn_cp")  # models that draw frequencies
DRAWLESS = ("kalman", "last_value", "no_state", "seasonal_naive", "var")  # models that draw nothing
TRAINING = ("features", "two_stage", "fit", "bptt", "readout")  # stages between data and evaluation
HORIZON = "test_mse_horizon_"
WINDOW_MSE, WINDOW_MAE = "evaluate/window_mse", "evaluate/window_mae"
ALONG, COUNTS = "evaluate/window_mse_along", "evaluate/windows_along"  # histories along the test part
DIVERGED = "diverged.horizons"  # tag: the horizons at which the run's own model diverges on the validation part
FROM = "from step"  # begins what an error is of (`MEASURED`), before the first step that is scored
DAY = "windows.day"  # tag: rows of one of their places


def arm(choices: Mapping[str, Any]) -> str:
    """Returns the model; for model=psrnn its sampler."""
    model = plain("model", choices.get("model") or "psrnn")
    return plain("sampler", choices.get("sampler") or "") if model == "psrnn" else model


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its errors."""
    tags, parameters, metrics = run.data.tags, run.data.params, run.data.metrics
    return {
        **{name: tags[name] for name in ("arm", "model", "sampler", "kernel")},
        "count": int(parameters["features.count"]) if tags["model"] in RANDOM else 0,
        "parameters": int(metrics["model/parameters"]),
        "stable": tags["stability"] == "stable",
        "reservoir": tags.get("reservoir") == "true",
        "first_step": first_step_of(tags, parameters),
        "readout": tags.get("readout", ""),
        "epochs": int(parameters.get("refine.epochs", 0)),
        "seconds": training_seconds(run, TRAINING),
        **further_horizons(metrics, tags.get(DIVERGED, "").split(",")),
        **window_columns(metrics, parameters, tags),
    }


def first_step_of(tags: Mapping[str, str], parameters: Mapping[str, str]) -> int:
    """Returns the first step at which a run was scored. Runs of older versions have it in a tag of its own, and the
    oldest among their settings alone."""
    told = tags.get(MEASURED, "").removeprefix(FROM) or tags.get("scored.first_step")
    return int(told or parameters.get("evaluate.first_step", 0))


def further_horizons(metrics: Mapping[str, float], diverged: Collection[str]) -> dict[str, float | bool]:
    """Returns the errors of the run's own model at horizons beyond 1, and whether it is stable there, by the names of
    their columns. diverged: the horizons at which its forecasts diverge."""
    start = f"evaluate/{HORIZON}"
    errors = {name.removeprefix(start): value for name, value in metrics.items() if name.startswith(start)}
    errors.pop("1", None)
    stable = {f"{STABLE}{horizon}": horizon not in diverged for horizon in errors}
    return {f"{HORIZON}{horizon}": stored_error(value) for horizon, value in errors.items()} | stable


def draws(parameters: Mapping[str, str], tags: Mapping[str, str]) -> bool:
    """Returns whether a run hangs on its seed: by its model, which counts as one that draws where it is not known, or
    by random features of its readout."""
    return tags["model"] not in DRAWLESS or int(parameters.get("readout.count", 0)) > 0


def window_columns(
    metrics: Mapping[str, float], parameters: Mapping[str, str], tags: Mapping[str, str]
) -> dict[str, object]:
    """Returns the length of the windows that a run was scored over, the rows of a day, whether the run draws, and both
    errors; nothing of a run without windows."""
    if WINDOW_MSE not in metrics:
        return {}
    errors = {name.removeprefix("evaluate/"): stored_error(metrics[name]) for name in (WINDOW_MSE, WINDOW_MAE)}
    known = {"window": int(parameters["evaluate.window"]), "day": int(tags.get(DAY, HOURS))}
    return {**known, "draws": draws(parameters, tags), **errors}


FORECASTS = Comparison(
    metric="evaluate/test_mse",
    chosen_by="validation_mse",
    columns=columns,
    label=MSE,
    words=("model", "readout", "sampler", "kernel"),
    apart=("kernel",),
    sizes=("parameters",),
    noted="reservoir",
    agreement=Agreement(
        "first_step",
        broken="not all jobs were scored over the same steps",
        value=FROM,
        advice="give all the same evaluate.first_step, the largest of their readout.lags or more",
    ),
    measured_by=("evaluate.first_step", "readout.lags"),
    named=label,
    groups=("model", "sampler"),
    arm=arm,
    curves="pipeline.systems.psrnn.curves:curve_table",
    trained_by="refinement",
    counted="features.count",
    counted_as="frequencies",
    aside=("tune",),
    without="no_state",
    horizon=HORIZON,
    effort="refine.epochs",
    window="evaluate.window",
    along="pipeline.systems.psrnn.curves:window_table",
    predicted="pipeline.systems.psrnn.remarks:how_to_predict_with",
    shown=("evaluate/test_mse", "evaluate/test_mse_persistence", "evaluate/test_mse_ar2", "model/parameters"),
)
