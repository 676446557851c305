"""The one list of systems. What is general (comparison, search, model registry, serving) reads it and knows none."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from omegaconf import DictConfig

from pipeline.host.errors import PipelineError
from pipeline.settings.build import settings_of
from pipeline.settings.composition import prepare_process
from pipeline.settings.nearest import no_such_choice

SYSTEMS = ("psrnn", "tune", "predict", "theory", "trace", "ssgp")  # `pipeline/systems/<name>/config.py` has its SYSTEM


@dataclass(frozen=True)
class System:
    """A recipe as the rest of the pipeline sees it. "module:function" names what is imported when it is needed.

    settings: the schema of the recipe. entry: runs a job, given its settings and its `Job`.
    check: raises PipelineError, before anything is loaded, for settings that do not go together.
    bfloat16: whether dtype=bfloat16 means something to it.
    """

    settings: type
    entry: str
    check: str | None = None
    bfloat16: bool = False


def function(name: str) -> Any:
    """What "module:function" names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@cache
def system(recipe: str) -> System:
    """The system of a recipe. Raises PipelineError for a name that none has."""
    if recipe not in SYSTEMS:
        raise PipelineError(no_such_choice("recipe", recipe, SYSTEMS))
    return function(f"pipeline.systems.{recipe}.config:SYSTEM")


def check(settings: Any) -> None:
    """Raise PipelineError for checked settings that do not fit their recipe or one another."""
    chosen = system(settings.recipe)
    if settings.dtype == "bfloat16" and not chosen.bfloat16:
        raise PipelineError(
            f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; recipe={settings.recipe} has none, "
            "leave dtype out"
        )
    if chosen.check is not None:
        function(chosen.check)(settings)


def checked(config: DictConfig) -> Any:
    """The settings of a job, of which each was checked, and all together by its system."""
    settings = settings_of(config)
    check(settings)
    return settings


def schemas() -> dict[str, type]:
    """The schema of every recipe, by its name."""
    return {name: system(name).settings for name in SYSTEMS}


def prepare() -> None:
    """What every process needs before its first configuration is composed: environment, schemas, resolvers."""
    prepare_process(schemas())
