"""The one list of systems. What is general (comparison, search, model registry, serving) reads it and knows none."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf

from data.source import Source
from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.settings.build import settings_of
from pipeline.settings.composition import prepare_process
from pipeline.settings.nearest import no_such_choice
from pipeline.settings.own_table import SECTIONS, refuse_missing_file

# `pipeline/systems/<name>/config.py` has the SYSTEM of each
SYSTEMS = ("psrnn", "tune", "predict", "theory", "trace", "ssgp", "mctn", "experts", "documents", "forms", "patterns")


@dataclass(frozen=True)
class System:
    """Describes a recipe as the rest of the pipeline sees it. "module:function" names what is imported when it is
    needed.

    settings: the schema of the recipe. entry: runs a job, given its settings and its `Job`.
    check: raises PipelineError, before anything is loaded, for settings that do not go together.
    comparison: how its jobs are compared and the best is chosen; without one they are studies, which are listed.
    servable: gives, for the folder of a trained model's saved parameters, the `Servable` that is logged, registered and
    served (`pipeline.tracking.servable`); None where a job ends with no model.
    data: what `data._target_` may load, as "module:Class"; empty where it loads no one record.
    model: what `model._target_` may be, as "module:Class"; empty for any that is not among those of another system.
    bfloat16: whether dtype=bfloat16 means something to it.
    tracked: whether its jobs are runs, which a multirun gathers under a parent.
    shorthands: settings that may be typed by another key, {typed: meant}.
    resolvers: functions that its YAML calls by their names, `${readout_for:…}`.
    redraw: gives tables, figures and words of a result page again, given its folder.
    """

    settings: type
    entry: str
    check: str | None = None
    comparison: Comparison | None = None
    servable: str | None = None
    data: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    bfloat16: bool = False
    tracked: bool = True
    shorthands: tuple[tuple[str, str], ...] = ()
    resolvers: tuple[Callable[..., str | int], ...] = ()
    redraw: str | None = None


def function(name: str) -> Any:
    """Returns what "module:function" names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@cache
def system(recipe: str) -> System:
    """Returns the system of a recipe. Raises PipelineError for a name that none has."""
    if recipe not in SYSTEMS:
        raise PipelineError(no_such_choice("recipe", recipe, SYSTEMS))
    return function(f"pipeline.systems.{recipe}.config:SYSTEM")


def check(settings: Any) -> None:
    """Raises PipelineError for checked settings that do not fit their recipe or one another."""
    chosen = system(settings.recipe)
    if settings.dtype == "bfloat16" and not chosen.bfloat16:
        raise PipelineError(
            f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; recipe={settings.recipe} has none, "
            "leave dtype out"
        )
    if chosen.check is not None:
        function(chosen.check)(settings)


def what(record: type) -> str:
    """Names what a loader returns, in words."""
    return getattr(record, "kind", record.__name__)


def returned_by(target: str) -> Any:
    """Returns the record that a loader says it returns; None where the loader does not say, as a person's own need not.

    Names that the loader's module imports for type checkers alone are not there to be looked up: then the loader does
    not say.
    """
    try:
        loader = get_object(target)
        of_class = isinstance(loader, type) and issubclass(loader, Source)
        return get_type_hints(loader.load if of_class else loader).get("return")
    except (NameError, AttributeError, TypeError):
        return None


def targets_of(group: str) -> dict[str, str]:
    """Returns the `_target_` of each choice of a group that has one, by the choice."""
    files = sorted((conf_folder() / group).glob("*.yaml"))
    targets = {file.stem: OmegaConf.select(OmegaConf.load(file), "_target_") for file in files}
    return {name: target for name, target in targets.items() if target is not None}


def choices_that_give(records: tuple[type, ...]) -> list[str]:
    """Returns the choices of the group `data` whose loaders return one of the records."""
    return [name for name, target in targets_of("data").items() if returned_by(target) in records]


def refuse_other_records(target: str, taken: tuple[str, ...], by: str) -> None:
    """Raises PipelineError for data whose loader says that it returns none of the records, "module:Class", that are
    taken. by: what takes them, as it was typed."""
    given, records = returned_by(target), tuple(function(name) for name in taken)
    if not isinstance(given, type) or issubclass(given, records):
        return
    raise PipelineError(
        f"data: {target} gives {what(given)}; {by} takes {' or '.join(map(what, records))}: choose "
        f"data={', '.join(choices_that_give(records))}"
    )


def check_data(settings: Any) -> None:
    """Raises PipelineError, before anything is loaded, for data that the recipe cannot take, as their loader says."""
    data, taken = getattr(settings, "data", None), system(settings.recipe).data
    if taken and isinstance(data, dict):
        refuse_other_records(data["_target_"], taken, f"recipe={settings.recipe}")


def owner_of(model: str) -> str | None:
    """Returns the recipe whose models alone the class of a `_target_` belongs to; None where no recipe says so."""
    kind = get_object(model)
    owned = {name: tuple(function(known) for known in system(name).model) for name in SYSTEMS}
    return next((name for name, kinds in owned.items() if inspect.isclass(kind) and issubclass(kind, kinds)), None)


def check_model(settings: Any) -> None:
    """Raises PipelineError, before anything is loaded, for a model of another recipe."""
    model, recipe = getattr(settings, "model", None), settings.recipe
    if not isinstance(model, dict) or "_target_" not in model:
        return
    own, given = recipe if system(recipe).model else None, owner_of(model["_target_"])
    if given == own:
        return
    targets = targets_of("model")
    name = next((name for name, target in targets.items() if target == model["_target_"]), model["_target_"])
    choices = [choice for choice, target in targets.items() if owner_of(target) == own]
    whose = f"is a model of recipe={given}" if given else f"is no model of recipe={recipe}"
    raise PipelineError(f"model={name} {whose}; recipe={recipe} takes model={', '.join(choices)}")


def checked(config: DictConfig) -> Any:
    """Returns the settings of a job after all checks: of each setting, of all together by their system, that the recipe
    takes model and data, and that a table to read is there."""
    settings = settings_of(config)
    check_model(settings)
    check(settings)
    check_data(settings)
    for name in SECTIONS:
        refuse_missing_file(getattr(settings, name, None), name)
    return settings


def schemas() -> dict[str, type]:
    """Returns the schema of every recipe, by its name."""
    return {name: system(name).settings for name in SYSTEMS}


def resolvers() -> list[Callable[..., str | int]]:
    """Returns the resolvers of every recipe's own."""
    return [resolver for name in SYSTEMS for resolver in system(name).resolvers]


def prepare_composition() -> None:
    """Prepares what every process needs before its first configuration is composed: environment, schemas, resolvers."""
    prepare_process(schemas(), resolvers())
