"""The model that is logged, solved again on the rows of all parts: `refit=true`."""

from __future__ import annotations

from typing import Any

from models.runtime.threads import threads_for
from pipeline.host.progress import progress_bar
from pipeline.job.study import Study
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.evaluation import Evaluated
from pipeline.systems.psrnn.load import Loaded, first_scored, forecaster_of
from pipeline.systems.psrnn.refine import Trained

SAID = "refit: the logged model learned from all rows; errors and intervals are those of the model before"


def refit_stage(settings: PsrnnConfig, loaded: Loaded, trained: Trained, study: Study) -> Any:
    """Returns the trained model solved again on the rows of all parts, with what validation chose; None where that is
    not asked for. Several ranks do it together."""
    if not settings.refit:
        return None
    with study.clock.stage("refit"), threads_for(trained.model), progress_bar("refit"):
        model = trained.again(loaded.all_rows(first_step=first_scored(settings)))
    study.run.tags({"refit": SAID})
    return model


def with_refitted(evaluated: Evaluated, model: Any, loaded: Loaded) -> Evaluated:
    """Returns what was evaluated with the refitted model in place of the one to log, if there is one; the intervals
    stay."""
    if model is None:
        return evaluated
    return evaluated._replace(forecaster=forecaster_of(model, loaded.own, evaluated.forecaster.intervals))
