"""The settings of a job of `recipe=mctn` where nothing else is given: those of its experiment, else the recipe's."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from pipeline.compare.arms import plain
from pipeline.host.paths import conf_folder
from pipeline.settings.composition import register_resolvers

EXPERIMENT = re.compile(r"(?:^|\s)\+*experiment=(\S+)")


def chosen(overrides: str, arm: str) -> Any:
    """Returns the settings of the recipe with those of the experiment that the overrides of a job name over them."""
    register_resolvers()
    named = EXPERIMENT.search(overrides)
    files = [conf_folder() / "recipe" / "mctn.yaml"]
    files += [conf_folder() / "experiment" / f"{named[1]}.yaml"] if named else []
    return OmegaConf.merge(*(loaded(file) for file in files if file.is_file()), {"mctn": {"arm": arm}})


@cache
def loaded(file: Path) -> Any:
    """Returns what a file of the configuration holds; read once for all jobs of a multirun."""
    return OmegaConf.load(file)


def is_default(settings: Any, given: str) -> bool:
    """Returns whether "key=value" gives a setting the value that it has anyway. settings: as `chosen` returns them."""
    key, _, value = given.partition("=")
    own = OmegaConf.select(settings, key)
    return own is not None and plain(key, own) == value
