"""What a person sees: the table of errors, the run's description, figures and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from data.base import Dataset
from models.forecasting.recurrent import trained_parameters
from models.psrnn.features import MAPS, Features, law, radii
from pipeline.job.curve import Progress
from pipeline.job.curve_report import epoch_table
from pipeline.systems.psrnn import figures
from pipeline.systems.psrnn.evaluation import Evaluated, Evaluation, predictions_table
from pipeline.systems.psrnn.filmstrip import log_filmstrip
from pipeline.systems.psrnn.labels import label
from pipeline.systems.psrnn.load import OwnUnits
from pipeline.tracking.run import Run


def error_rows(evaluation: Evaluation) -> list[tuple[str, float]]:
    return sorted(((label(m), evaluation.mse(m)) for m in evaluation.squared), key=lambda row: row[1])


def description(
    title: str, model: str, dataset: Dataset, evaluation: Evaluation, remarks: Sequence[str], seconds: dict[str, float]
) -> str:
    """Returns the Markdown that the UI shows first. It begins with the table, since the UI shows its first lines
    alone."""
    warning = "**STAND-IN DATA: generated, not real; no claim about the method.**\n\n" if dataset.stand_in else ""
    sizes = ", ".join(f"{len(part)} {name}" for name, part in dataset.parts.items())
    errors = "\n".join(f"| {name} | {error:.3g} |" for name, error in error_rows(evaluation))
    times = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    said = "".join(f"{remark}\n\n" for remark in remarks)
    return (
        f"{warning}| model | one-step test error (standardised) |\n|---|---|\n{errors}\n\n"
        f"{said}{title}\n\nData: {dataset.name}, source {dataset.source}, "
        f"{len(dataset.feature_names)} features, sequences: {sizes}\n\nModel: {model}\n\nTime: {times}\n"
    )


def model_line(words: str, model: Any, refinement: str) -> str:
    """Returns the model in a line: its `words`, readout, number of parameters, and what is said of its refinement."""
    lags = getattr(model, "lags", None)
    readout = "" if lags is None else f"readout with {lags} lags, "
    return f"{words}, {readout}{trained_parameters(model)} parameters, {refinement}"


def printed(title: str, evaluation: Evaluation, remarks: Sequence[str]) -> str:
    """Returns the table that ends a run on the terminal, and what is said of it."""
    by_horizon = evaluation.by_horizon().T.rename(index=label)
    by_horizon = by_horizon.sort_values(1).map(lambda value: f"{value:.3g}")
    unit = "mean squared test error in standardised units, by forecast horizon in steps"
    said = "".join(f"{remark}\n" for remark in remarks)
    return f"\n{title}: {unit}\n{by_horizon.to_string()}\n{said}"


def log_features(run: Run, features: Features, kernel: Any, *, title: str) -> None:
    """Logs frequencies and bandwidths as CSV, and a figure of the radii against their law where the kernel has one."""
    run.table(
        pd.DataFrame({"map": list(features.bandwidths), "bandwidth": list(features.bandwidths.values())}),
        "features/bandwidths.csv",
    )
    drawn, laws = {}, {}
    for name in MAPS:
        frequencies = getattr(features.frequencies, name)
        run.table(pd.DataFrame(frequencies.cpu().numpy()).add_prefix("w"), f"features/frequencies_{name}.csv")
        if kernel.isotropic:
            drawn[name] = radii(frequencies, features.bandwidths[name]).cpu().numpy()
            laws[name] = law(kernel, *frequencies.shape).numpy()
    if drawn:
        run.figure(figures.radii_against_law(drawn, laws, title=f"{title}: radii of the frequencies"), "figures/radii")


def log_refinement(run: Run, progress: Progress, *, title: str, figure: bool) -> None:
    run.table(epoch_table(progress), "curves/bptt.csv")
    if figure and len(progress.rows) > 1:  # the first row is the model before refinement
        run.figure(
            figures.learning_curve(progress.rows, progress.kept.epoch, title=f"{title}: refinement"), "figures/bptt"
        )


def log_metrics(run: Run, evaluation: Evaluation, own: OwnUnits) -> None:
    """Logs the test errors under their documented names: evaluate/test_mse for the run's own model, with a suffix for
    the others. Where all features have one unit, the root mean square in that unit is logged too."""
    for model, errors in evaluation.squared.items():
        suffix = "" if model == evaluation.main else f"_{model}"
        run.metric(f"evaluate/test_mse{suffix}", evaluation.mse(model))
        for horizon in errors:
            run.metric(f"evaluate/test_mse{suffix}_horizon_{horizon}", evaluation.mse(model, horizon))
    units = set(own.units)
    if len(units) == 1 and units != {""}:
        squared = evaluation.squared[evaluation.main][1].double().cpu() * own.scale.square()
        run.metric("evaluate/test_rmse_own_unit", float(squared.nanmean().sqrt()))


def log_evaluation(run: Run, evaluated: Evaluated, dataset: Dataset, own: OwnUnits, *, title: str) -> None:
    """Logs tables of the errors by horizon, feature and sequence; and predictions of the test part, or frames of a
    video."""
    evaluation, forecaster = evaluated.evaluation, evaluated.forecaster
    by_horizon = evaluation.shown().by_horizon()
    run.table(evaluation.by_horizon().reset_index(), "curves/horizons.csv")
    run.table(evaluation.by_feature(own), "evaluate/by_feature.csv")
    run.table(evaluation.by_sequence(dataset.test.names), "evaluate/by_sequence.csv")
    run.figure(
        figures.horizon_curve(by_horizon.rename(columns=label), title=f"{title}: error by horizon"), "figures/horizons"
    )
    if dataset.image_shape is None:
        log_predictions(run, own.values(evaluation.predictions), dataset, title=title)
    else:
        predicted = own.values(evaluation.predictions[0])
        log_filmstrip(run, predicted, forecaster, dataset.test, dataset.image_shape, title=title)


def log_predictions(run: Run, predicted: np.ndarray, dataset: Dataset, *, title: str) -> None:
    """Logs all test predictions (sequence, time, feature) as a table, and those of the first sequence as a figure."""
    run.table(predictions_table(dataset, predicted), "evaluate/test_predictions.csv")
    truth = dataset.test.to_arrays(1)[0]
    drawn = figures.prediction(
        truth, predicted[0, : len(truth)], dataset.feature_names, dataset.units,
        title=f"{title}: test sequence {dataset.test.names[0]}", steps=figures.steps_of(dataset),
    )  # fmt: skip
    run.figure(drawn, "figures/prediction")
