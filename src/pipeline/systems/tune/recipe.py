"""`recipe=tune`: one trial of a search; Optuna draws settings, `recipe=psrnn` gives their validation error.

A trial is a job of a multirun, so every launcher runs it, and `resume=true` goes on with what is missing. The study has
the name of the parent run, and of what the multirun sweeps over beside the trials. Test errors are neither drawn on nor
looked at.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hydra import compose
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf, open_dict

from models.runtime.seeding import derived
from pipeline.compare.arms import swept_values
from pipeline.host.atomic import remove_leftovers, written_whole
from pipeline.host.errors import PipelineError, Pruned
from pipeline.host.locks import file_lock
from pipeline.host.paths import store_folder
from pipeline.job.curve import EpochRow
from pipeline.settings.choices import choices_of
from pipeline.settings.job import Job
from pipeline.settings.unknown import not_a_setting
from pipeline.systems.registry import checked, function
from pipeline.systems.tune.config import NO_TRIAL, SEARCHED, DrawnConfig, TuneConfig, drawn_settings, list_with

try:
    import optuna
except ImportError as error:
    raise PipelineError("recipe=tune needs Optuna: pip install -c constraints.txt -e '.[tune]'") from error

Listener = Callable[[EpochRow], None]


def check_trial(settings: TuneConfig) -> None:
    """Raises PipelineError for a job that is no trial of a search."""
    if settings.tracking.parent is None or settings.tune.trial is None:
        raise PipelineError(NO_TRIAL)


def local_storage(path: Path) -> str:
    """Returns the address of the file. A new file is made beside its place and renamed when it is whole."""
    if not path.exists():
        remove_leftovers(path)
        with written_whole(path) as partial:
            optuna.storages.RDBStorage(f"sqlite:///{partial}").engine.dispose()
    return f"sqlite:///{path}"


def name_of_search(settings: TuneConfig, job: Job) -> str:
    """Returns what Optuna knows the search of a job by: the parent run, then "key=value" of all else that the multirun
    sweeps over. Errors on unlike data, or of unlike models, cannot be compared, so each value has a search of its
    own."""
    values = swept_values(job.overrides)
    swept = [key for key in settings.tracking.varied if key != "tune.trial" and key in values]
    return " ".join([str(settings.tracking.parent), *(f"{key}={values[key][-1]}" for key in swept)])


def seed_of_draws(settings: TuneConfig) -> int:
    """Returns the seed, of the 32 bits that Optuna takes, under which the trial is drawn. Trials of neighbouring seeds
    have none in common."""
    return derived(settings.seed, f"trial/{settings.tune.trial}") % 2**32


def open_search(settings: TuneConfig, job: Job) -> optuna.Study:
    """Returns the search that a job belongs to, a study of Optuna; one process at a time makes its tables."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tune = settings.tune
    with file_lock(store_folder() / ".tune.lock"):
        return optuna.create_study(
            study_name=name_of_search(settings, job),
            storage=tune.storage or local_storage(store_folder() / "tune.db"),
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=seed_of_draws(settings)),
            pruner=pruner_of(tune),
        )


def trial_of(search: optuna.Study, number: int) -> optuna.Trial:
    """Returns the trial of this job: a new one, or the one that the job had begun before it was stopped."""
    for known in reversed(search.get_trials(deepcopy=False)):
        if known.user_attrs.get("job") == number:
            return optuna.Trial(search, known._trial_id)
    begun = search.ask()
    begun.set_user_attr("job", number)
    return begun


def pruner_of(tune: Any) -> optuna.pruners.BasePruner:
    if not tune.prune:
        return optuna.pruners.NopPruner()
    return optuna.pruners.MedianPruner(n_startup_trials=tune.warmup, n_warmup_steps=tune.warmup)


def name_of(drawn: DrawnConfig) -> str:
    """Returns what Optuna knows a setting by. The name says where the setting is drawn too, since each place may have a
    range of its own."""
    return drawn.key if not drawn.where else f"{drawn.key} {as_text(drawn.where)}"


def draw(trial: optuna.Trial, drawn: DrawnConfig) -> Any:
    """Draws the value of one setting; a list, which Optuna does not take, is drawn by its text."""
    if drawn.choices is not None:
        texts = [each if is_plain(each) else as_text(each) for each in drawn.choices]
        return drawn.choices[texts.index(trial.suggest_categorical(name_of(drawn), texts))]
    low: Any = drawn.low  # two numbers: `check_drawn`
    high: Any = drawn.high
    suggest = trial.suggest_int if isinstance(low, int) and isinstance(high, int) else trial.suggest_float
    return suggest(name_of(drawn), low, high, log=drawn.log)


def draw_all(trial: optuna.Trial, settings: TuneConfig) -> dict[str, Any]:
    """Draws the settings that the values drawn before them ask for, and returns their values by key."""
    values: dict[str, Any] = {}
    for drawn in drawn_settings(settings):
        if all(values.get(key) in taken for key, taken in drawn.where.items()):
            values[drawn.key] = draw(trial, drawn)
    return values


def is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def as_text(value: Any) -> str:
    """Returns the value as it is typed."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def check_keys(settings: TuneConfig, keys: Iterable[str]) -> None:
    """Raises PipelineError for a key that is neither a group nor a setting. A key inside a section whose group is drawn
    is checked when that section is composed."""
    config, known = OmegaConf.structured(settings), set(keys)
    for key in known:
        section, _, name = key.rpartition(".")
        inside = (OmegaConf.select(config, section) if section else config) or {}
        if name not in inside and section not in known and not choices_of(key):
            raise PipelineError(f"{list_with(settings, key)}: {not_a_setting(key)}")


def composed(job: Job, more: Iterable[str]) -> tuple[TuneConfig, Job]:
    """Returns the settings of a job, composed and checked as if `more` had been typed after its overrides, and the job
    with these overrides and with the choices of its groups that they make."""
    overrides = [*job.overrides, *more]
    config = compose(HydraConfig.get().job.config_name, overrides, return_hydra_config=True)
    with open_dict(config):
        made = config.pop("hydra").runtime.choices
    choices = {group: made.get(group, choice) for group, choice in job.choices.items()}
    told = replace(job, overrides=overrides, choices=choices).with_limits(config)
    return checked(config), told


def settings_of_draws(here: optuna.Trial, settings: TuneConfig, job: Job) -> tuple[TuneConfig, Job]:
    """Returns the settings that are drawn for a trial, and its job as `composed` does."""
    values = draw_all(here, settings)
    check_keys(settings, values)
    return composed(job, (f"{key}={as_text(value)}" for key, value in values.items()))


def watch(trial: optuna.Trial) -> Listener:
    """Returns a listener that is told of every epoch. The listener raises Pruned where the validation error is worse
    than the median of the other trials."""
    reported = set(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values)

    def on_epoch(row: EpochRow) -> None:
        if row.epoch in reported:
            return
        trial.report(finite(row.cost), row.epoch)
        if trial.should_prune():
            raise Pruned(f"epoch {row.epoch}")

    return on_epoch


def finite(error: float) -> float:
    """Returns the error; infinity in place of NaN, which Optuna does not take."""
    return error if math.isfinite(error) else math.inf


def trained(settings: TuneConfig, job: Job, listener: Listener = lambda _: None) -> float:
    """Trains by the settings of one trial and returns the validation error. `listener` is told of every epoch."""
    told = replace(job, label=f"trial{settings.tune.trial}")
    return finite(function(SEARCHED.entry)(settings, told, watch=listener))


def drawn_trial(settings: TuneConfig, job: Job) -> float:
    """Draws settings, trains by them and tells the search. Returns the validation error, of a pruned trial that of its
    last epoch. A trial that was told before is not trained again."""
    search = open_search(settings, job)
    here = trial_of(search, job.number)
    known = search.get_trials(deepcopy=False)[here.number]
    if known.value is not None:
        return known.value
    try:
        error = trained(*settings_of_draws(here, settings, job), watch(here))
    except Pruned as end:
        print(f"trial {settings.tune.trial}: pruned at {end}")
        return float(search.tell(here, state=optuna.trial.TrialState.PRUNED).value or math.inf)
    search.tell(here, error)
    return error


def trial(settings: TuneConfig, job: Job) -> float:
    """Trains by the settings of one trial of a search and returns the validation error.

    The first trials are the contenders `tune.known`, scored at one step as all are. They have no drawn values that
    Optuna could learn from, and one trial without values would keep it from drawing settings together. So its study has
    the drawn trials alone. Raises PipelineError for a job that is no trial of a search.
    """
    check_trial(settings)
    known, number = settings.tune.known, settings.tune.trial or 0
    if number < len(known):
        return trained(*composed(job, [f"+contender={known[number]}", "readout.direct=0"]))
    return drawn_trial(settings, job)
