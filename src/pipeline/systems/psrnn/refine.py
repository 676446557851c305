"""Stage four: refinement by truncated back-propagation through time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tqdm import tqdm

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.burn_in import settle_start_up
from models.forecasting.filtering import Filtered, MaskedSequences
from models.forecasting.fitting import Problem, solved_again
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.factorised import FactorisedPSRNN
from models.psrnn.kronecker import KroneckerPreconditioner
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from pipeline.host.errors import PipelineError
from pipeline.job.clock import Clock
from pipeline.job.curve import Decision, EpochRow, Measures, Progress
from pipeline.job.curve_report import log_row
from pipeline.job.dropout import drops_units
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.study import Study
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.first_model import Initialised, errors_of, one_step_mse
from pipeline.systems.psrnn.labels import label, name_of
from pipeline.systems.psrnn.lags import readout_settings
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.stages import Stages
from pipeline.tracking.run import Run

LEARNING_RATES = {"kronecker": 2.0, "sgd": 0.1, "adam": 0.001}
FACTORISED_RATE = 0.05  # of kronecker, where the three factors move at once
LEAST_FALL = 0.1  # of the training error, below which a trained network is called a reservoir
DECIDES = Decision("validation_mse")
Listener = Callable[[EpochRow], None]


def unwatched(row: EpochRow) -> None:
    """Does nothing, for a refinement that nobody listens to."""


def default_rate(optimizer: str, model: Recurrent) -> float:
    """Returns the learning rate of LEARNING_RATES; `FACTORISED_RATE` for the Kronecker factors of a factorised
    update."""
    if optimizer == "kronecker" and isinstance(model, FactorisedPSRNN):
        return FACTORISED_RATE
    return LEARNING_RATES[optimizer]


def optimiser_of(settings: Any, model: Recurrent) -> str:
    """Returns the optimiser that `refine` takes; auto is kronecker for PSRNNs and adam for any other network. Raises
    PipelineError for an optimiser that the model does not take."""
    psrnn = isinstance(model, BilinearCell)
    name = settings.optimizer
    if name == "auto":
        name = "kronecker" if psrnn else "adam"
    if name == "kronecker" and not psrnn:
        raise PipelineError("refine.optimizer=kronecker is for model=psrnn and psrnn_cp; use refine.optimizer=adam")
    return name


def refined_by(settings: Any, model: Recurrent, progress: Progress) -> str:
    """Returns what is said of a refinement: the epochs that were made, of how many at most where it ended early, and
    the optimiser."""
    made, most = progress.rows[-1].epoch, settings.epochs
    of_most = "" if made == most else f" of at most {most}"
    return f"{made}{of_most} epochs of {optimiser_of(settings, model)}"


def fit_settings(settings: Any, model: Recurrent, seed: int) -> FitSettings:
    """Returns the settings by which `refine` trains; without a learning rate `default_rate` gives one. Raises
    PipelineError as `optimiser_of` does."""
    name = optimiser_of(settings, model)
    return FitSettings(
        settings.epochs, name, settings.learning_rate or default_rate(name, model), settings.clip, title="BPTT",
        patience=settings.patience, seed=seed if drops_units(model) else None,
    )  # fmt: skip


def logged(study: Study, watch: Listener) -> Listener:
    """Returns a listener that logs an epoch and tells `watch` of it."""

    def log(row: EpochRow) -> None:
        log_row(study.run, row, "bptt")
        watch(row)

    return log


def errors_by_epoch(error: Callable[[MaskedSequences], float], parts: Parts, clock: Clock) -> dict[str, float]:
    """Returns the errors of a row of the curve beside the training error. The test part decides nothing, so that the
    seconds of scoring it are none of training."""
    validation = error(parts.validation)
    with clock.left_out():
        return {"validation_mse": validation, "test_mse": error(parts.test)}


def refine(settings: PsrnnConfig, parts: Parts, first: Initialised, study: Study, watch: Listener) -> Progress:
    """Trains all that is trained by gradient in place; the model keeps its best parameters. Returns the learning curve.

    Raises TypeError for a model that is no `Recurrent`.
    """
    model, refinement = first.model, settings.refine
    if not isinstance(model, Recurrent):
        raise TypeError(f"{type(model).__name__} is not refined by gradient")
    chosen_readout = readout_settings(settings.readout).with_lags(model.lags).only(first.chosen)
    fit_readout = parts.readout_fit(chosen_readout)

    def solve(refined: Recurrent) -> Filtered | None:
        return fit_readout(refined).train

    def error(part: MaskedSequences) -> float:
        return one_step_mse(model, part, fit_readout.filtered(model, part))

    objective = TruncatedBPTT(
        model, parts.train, horizon=refinement.horizon, batch_size=refinement.batch_size,
        solve_readout=solve if refinement.solve_readout else None,
    )  # fmt: skip
    chosen = fit_settings(refinement, model, settings.seed)
    by_kronecker = chosen.optimizer == "kronecker"
    loop = Fit(
        objective,
        chosen,
        generator=generator(settings.seed, "order"),
        measures=Measures(
            lambda: errors_by_epoch(error, parts, study.clock), logged(study, watch), decides=DECIDES,
            training="train_mse",
        ),
        preconditioner=KroneckerPreconditioner(damping=refinement.damping) if by_kronecker else None,
        path=study.folder / "bptt.npz",
    )  # fmt: skip
    with threads_for(model):
        return loop.run()


def unrefined(first: Initialised, *, on_epoch: Listener) -> Progress:
    """Returns the learning curve of a model that has no refinement: its errors, once."""
    errors = {f"{part}_mse": getattr(first, f"{part}_mse") for part in ("train", "validation", "test")}
    row = EpochRow(0, 0, errors, 0.0, decides=DECIDES)
    on_epoch(row)
    return Progress(0.0, [row])


def kept_errors(progress: Progress) -> tuple[float, float]:
    """Returns training and validation error of the model that is kept."""
    values = progress.kept.values
    return values["train_mse"], values["validation_mse"]


def is_reservoir(model: Any, progress: Progress) -> bool:
    """Says whether refinement left a network about as it was drawn: its training error fell by less than a tenth.

    The errors are those of the solved readout before refinement and of the model that is kept. A PSRNN is no reservoir:
    it was fitted before.
    """
    before, kept = progress.rows[0].values["train_mse"], kept_errors(progress)[0]
    return not isinstance(model, BilinearCell) and not kept < (1 - LEAST_FALL) * before


def say_reservoir(name: str, progress: Progress) -> None:
    fall = 1 - kept_errors(progress)[0] / progress.rows[0].values["train_mse"]
    tqdm.write(f"{label(name)}: a reservoir, since refinement lowered its training error by {fall:.1%} (below 10 %)")


def settled(model: Any, train: MaskedSequences, run: Run) -> bool:
    """Lets the start-up of the trained model last as long as it has to. Says whether the start-up is longer than the
    model's lags."""
    if not isinstance(model, Recurrent):
        return False
    with threads_for(model):
        worse = settle_start_up(model, train)
    if worse:
        run.tags({"history.still_worse": "true"})
        tqdm.write(
            f"warning: {model.history - 1} rows after the start of a series the model is still worse than the last "
            f"value, and it was not checked further; take fewer lags (readout.lags below {model.lags}) or more data"
        )
    elif model.history > model.lags:
        tqdm.write(f"the state is read from {model.history} rows on; before, an autoregression is better")
    return model.history > model.lags


class Trained(NamedTuple):
    """Holds what a run trained: the first model, refined in place; and the model that is kept, which may be the first
    one beneath a readout of its own.

    name: of the kept model in tables. line: of words about it. validation_mse: its error. before: the test error before
    refinement, None where there was none. again: returns the kept model solved along other sequences with
    what validation chose.
    """

    first: Initialised
    model: Any
    name: str
    line: str
    validation_mse: float
    before: float | None
    again: Callable[[MaskedSequences], Any]


def again_of(method: Any, first: Initialised, readout: ReadoutSettings) -> Callable[[MaskedSequences], Any]:
    """Returns what solves the model of a method along other sequences, with the readout that was asked for."""
    return lambda rows: solved_again(method, first.model, first.chosen, Problem.again(rows, readout))


def refine_stage(
    settings: PsrnnConfig, stages: Stages, parts: Parts, first: Initialised, study: Study, watch: Listener
) -> Trained:
    """Trains the first model by BPTT, where it is trained by gradient, and returns what is kept. The kept model is
    rounded where the update is in bfloat16, its start-up is settled, and tags say its history and whether it is
    stable."""
    run, model = study.run, cast("Any", first.model)
    trained = stages.method.trained and settings.refine.epochs > 0
    with study.clock.stage("bptt", said=trained):
        if trained:
            progress = refine(settings, parts, first, study, watch)
            if is_reservoir(model, progress):
                say_reservoir(name_of(stages.method), progress)
                run.tags({"reservoir": "true"})
        else:
            progress = unrefined(first, on_epoch=logged(study, watch))
        errors = kept_errors(progress)
        if settings.dtype == "bfloat16":
            model.round_update()
            errors = errors_of(model, parts)
            run.metric("bptt/rounded_validation_mse", errors[1])
        if settled(model, parts.train, run):
            errors = errors_of(model, parts)
        run.tags({"history": str(getattr(model, "history", 0))})
        run.tags({"stability": "stable" if first.stable(*errors) else "unstable"})
        report.log_refinement(run, progress, title=study.title, figure=study.full)
    refinement = refined_by(settings.refine, model, progress) if trained else "fitted, not refined"
    line = report.model_line(stages.words(), model, refinement)
    before = first.test_mse if trained else None
    again = again_of(stages.method, first, readout_settings(settings.readout))
    return Trained(first, model, name_of(stages.method), line, errors[1], before, again)
