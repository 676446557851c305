"""`recipe=tune`: one trial of a search; Optuna draws settings, `recipe=psrnn` gives their validation error.

A trial is a job of a multirun, so every launcher runs it, and `resume=true` goes on with what is missing. The study has
the name of the parent run. Test errors are neither drawn on nor looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.host.atomic import remove_leftovers, written_whole
from pipeline.host.errors import PipelineError, Pruned
from pipeline.host.paths import store_folder
from pipeline.job.curve import EpochRow
from pipeline.settings.job import Job
from pipeline.settings.unknown import not_a_setting
from pipeline.systems.registry import checked, function
from pipeline.systems.tune.config import NO_TRIAL, SEARCHED, DrawnConfig, TuneConfig
from pipeline.tracking.store import file_lock

try:
    import optuna
except ImportError as error:
    raise PipelineError("recipe=tune needs Optuna: pip install 'orthogonal-psrnn[tune]'") from error


def check_trial(settings: TuneConfig) -> None:
    """Raise PipelineError for a job that is no trial of a search."""
    if settings.tracking.parent is None or settings.tune.trial is None:
        raise PipelineError(NO_TRIAL)


def local_storage(path: Path) -> str:
    """The address of the file; a new one is made beside its place and renamed when it is whole."""
    if not path.exists():
        remove_leftovers(path)
        with written_whole(path) as partial:
            optuna.storages.RDBStorage(f"sqlite:///{partial}").engine.dispose()
    return f"sqlite:///{path}"


def open_search(settings: TuneConfig) -> optuna.Study:
    """Returns the search of the parent run, a study of Optuna; one process at a time makes its tables."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tune = settings.tune
    with file_lock(store_folder() / ".tune.lock"):
        return optuna.create_study(
            study_name=settings.tracking.parent,
            storage=tune.storage or local_storage(store_folder() / "tune.db"),
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=settings.seed + (tune.trial or 0)),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=tune.warmup, n_warmup_steps=tune.warmup),
        )


def trial_of(search: optuna.Study, number: int) -> optuna.Trial:
    """The trial of this job: a new one, or the one that it had begun before it was stopped."""
    for known in reversed(search.get_trials(deepcopy=False)):
        if known.user_attrs.get("job") == number:
            return optuna.Trial(search, known._trial_id)
    begun = search.ask()
    begun.set_user_attr("job", number)
    return begun


def draw(trial: optuna.Trial, drawn: DrawnConfig) -> Any:
    if drawn.choices is not None:
        return trial.suggest_categorical(drawn.key, drawn.choices)
    low: Any = drawn.low  # two numbers: `check_drawn`
    high: Any = drawn.high
    suggest = trial.suggest_int if isinstance(low, int) and isinstance(high, int) else trial.suggest_float
    return suggest(drawn.key, low, high, log=drawn.log)


def with_values(settings: TuneConfig, values: dict[str, Any]) -> TuneConfig:
    """The settings with drawn values in place, checked as if they had been typed."""
    config = OmegaConf.structured(settings)
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        if name not in ((OmegaConf.select(config, section) if section else config) or {}):
            raise PipelineError(f"tune.space: {not_a_setting(key)}")
        OmegaConf.update(config, key, value)
    return checked(config)


def watch(trial: optuna.Trial) -> Callable[[EpochRow], None]:
    """Told of every epoch; raises Pruned where the validation error is worse than the median of the other trials."""
    reported = set(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values)

    def on_epoch(row: EpochRow) -> None:
        if row.epoch in reported:
            return
        trial.report(finite(row.cost), row.epoch)
        if trial.should_prune():
            raise Pruned(f"epoch {row.epoch}")

    return on_epoch


def finite(error: float) -> float:
    """Infinite for NaN, which Optuna does not take."""
    return error if math.isfinite(error) else math.inf


def trial(settings: TuneConfig, job: Job) -> float:
    """Draw, train, tell; returns the validation error, of a pruned trial that of its last epoch."""
    check_trial(settings)
    train, search = function(SEARCHED.entry), open_search(settings)
    here = trial_of(search, job.number)
    known = search.get_trials(deepcopy=False)[here.number]
    if known.value is not None:
        return known.value
    values = {drawn.key: draw(here, drawn) for drawn in settings.tune.space}
    told = replace(
        job, label=f"trial{settings.tune.trial}", overrides=[*job.overrides, *(f"{k}={v}" for k, v in values.items())]
    )
    try:
        error = finite(train(with_values(settings, values), told, watch=watch(here)))
    except Pruned as end:
        print(f"trial {settings.tune.trial}: pruned at {end}")
        return float(search.tell(here, state=optuna.trial.TrialState.PRUNED).value or math.inf)
    search.tell(here, error)
    return error
