"""The last stage: the description of a run, its model, and what is printed at its end."""

from __future__ import annotations

from data.base import Dataset
from pipeline.compare.arms import plain
from pipeline.job.study import Study
from pipeline.settings.job import Job
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.divergence import diverged_line
from pipeline.systems.psrnn.evaluation import Evaluated, longest_scored
from pipeline.systems.psrnn.refine import Trained
from pipeline.systems.psrnn.refit import SAID
from pipeline.systems.psrnn.remarks import advice, reading, remarks
from pipeline.tracking.run import where_to_look


def close(
    settings: PsrnnConfig, job: Job, dataset: Dataset, trained: Trained, evaluated: Evaluated, study: Study
) -> str:
    """Logs description and model; returns what is printed at the end."""
    from pipeline.systems.psrnn.servable import DATES, GROUP, REFIT, SCORED, TIME, trained_model
    from pipeline.tracking.model import how_to_predict, keep_model

    run, (measured, season, forecaster, diverged) = study.run, evaluated
    evaluation = measured.shown()
    lags, chosen = (
        getattr(forecaster.model, "lags", None),
        settings.readout.lags is None or settings.readout.fitted_last,
    )
    said = remarks(evaluation, before=trained.before, season=season)
    said += diverged_line(diverged)
    said += advice(evaluation, job.overrides, lags=lags, chosen=chosen)
    refit = SAID if settings.refit else None
    said += [refit] if refit else []
    run.describe(report.description(study.title, trained.line, dataset, evaluation, said, study.clock.seconds))
    readout = "" if lags is None else plain("readout", job.choices.get("readout") or "")
    run.tags({"validation_mse": repr(trained.validation_mse), "readout": readout})
    scored = longest_scored(evaluation, forecaster.intervals, settings.evaluate.window)
    notes = {
        TIME: dataset.time_name, GROUP: dataset.group_name, DATES: dataset.dated, REFIT: refit, SCORED: scored,
    }  # fmt: skip
    kept = trained_model(forecaster, dataset.test.to_arrays(1)[0], trained.validation_mse, notes)
    uri = keep_model(run, kept, settings.tracking, FORECASTS)
    if not study.full:
        test = "" if settings.compare.figure == "trials" else f", {evaluation.mse():.4g} on test"
        line = f"{run.name}: {trained.validation_mse:.4g} on validation{test}"
        return f"{line}\n{refit}" if refit else line
    printed = report.printed(study.title, evaluation, said)
    if forecaster.history:
        printed += f"wants {forecaster.history} rows of history; with fewer a simpler forecast stands in for its own\n"
    printed += "\n" + where_to_look(run, study.title, limited=settings.size.limits, lowered=job.lowered)
    return printed if uri is None else f"{printed}\n{how_to_predict(uri, reading(job.overrides))}"
