"""What a run leaves of one fitted model: its curve, its scores, its predictions and figures, and words about them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from data.points import Points
from models.ssgp.predictor import Predictor
from pipeline.compare.markdown import markdown_table
from pipeline.host.digits import with_sure_digits
from pipeline.job.study import Study, log_metrics
from pipeline.systems.ssgp import figures
from pipeline.systems.ssgp.curves import FittedCurve
from pipeline.systems.ssgp.evaluate import HEADLINE, along_inputs, calibration, predictions, reached

WORDS = {
    "test_rmse": "root mean squared error", "test_nlpd": "negative log predictive density (nats)",
    "test_rmse_mean": "error of the training mean", "coverage_95": "targets within intervals of 95 %",
}  # fmt: skip


def log_curve(here: Study, fitted: FittedCurve, points: Points) -> None:
    """Logs the points of the curve as metrics by iteration, and, where all details are logged, as a table and a figure
    too."""
    for row in fitted.curve:
        for name, value in row.values().items():
            if math.isfinite(value):
                here.run.metric(f"fit/{name}", value, row.iteration)
    if not here.full:
        return
    table = pd.DataFrame([{"iteration": row.iteration, **row.values()} for row in fitted.curve])
    here.run.table(table, "curves/curve.csv")
    if len(table) > 1:
        title, x = f"{here.title}: training", "place in ssgp.ridges" if fitted.solved else "iteration"
        drawn = figures.training(table, fitted.best.iteration, target=points.target_name, title=title, x=x)
        here.run.figure(drawn, "figures/training")


def log_scores(here: Study, fitted: FittedCurve) -> dict[str, float]:
    """Logs errors and densities at the point that is kept, with its iteration, and returns them without the
    iteration."""
    best = fitted.best
    scores = {name: value for name, value in best.values().items() if name != "loss"}
    log_metrics(
        here.run, {f"evaluate/{name}": value for name, value in {**scores, "iteration": best.iteration}.items()}
    )
    return scores


def log_predictions(here: Study, predictor: Predictor, points: Points, *, rows: int | None) -> dict[str, float]:
    """Logs predictions of the test part, calibration, and the effect of each input, as tables and figures. Returns the
    error of the training mean and the coverage that intervals of 95 % reach. rows: of each part at most."""
    train, test = points.train[:rows], points.test[:rows]
    table, along = predictions(predictor, points, test), along_inputs(predictor, points, train)
    coverage, target, title = calibration(table), points.target_name, here.title
    here.run.table(with_sure_digits(table, ("mean", "standard_deviation")), "evaluate/test_predictions.csv")
    here.run.table(coverage, "evaluate/calibration.csv")
    here.run.table(along, "evaluate/along_inputs.csv")
    here.run.figure(figures.calibrated(coverage, title=f"{title}: calibration"), "figures/calibration")
    here.run.figure(figures.against_targets(table, target=target, title=f"{title}: test rows"), "figures/targets")
    if len(along):
        here.run.figure(figures.along(along, target=target, title=f"{title}: along each input"), "figures/inputs")
    away = points.targets[test] - points.targets[train].mean()
    metrics = {"test_rmse_mean": float(away.square().mean().sqrt()), "coverage_95": reached(table, HEADLINE)}
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in metrics.items()})
    return metrics


def score_report(scores: Mapping[str, float], points: Points) -> str:
    """Returns the scores of the test part as a table in Markdown, and where the data come from."""
    table = pd.DataFrame([(word, scores[name]) for name, word in WORDS.items() if name in scores])
    table.columns = [f"{points.target_name}, test part", "value"]
    return f"{markdown_table(table, digits=4)}\n\nData: {points.name}, source {points.source}"
