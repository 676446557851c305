"""What the settings of every recipe have; a misspelt key, a value out of range or a senseless combination ends at once.

The schema of a recipe stands in `pipeline/systems/<name>/config.py` and begins with `CommonConfig`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING, DictConfig, OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.settings.fields import apply_caps, check_rules, setting

GROUP = "schema"  # of Hydra's store, in which the schemas are found


@dataclass
class TrackingConfig:
    enabled: bool = True
    uri: str | None = None
    wait: float = setting(60.0, at_least=0)
    register: str | None = None
    experiment: str | None = None
    log_model: Any = None
    detail: str = setting("full", choices=("full", "summary"))
    parent: str | None = None
    varied: list[str] = field(default_factory=list)


@dataclass
class CompareConfig:
    """Says what the parent of a multirun draws and tests; see `pipeline.compare.summary`."""

    figure: str = setting("count", choices=("count", "epoch", "contenders", "seconds", "windows", "trials"))
    arm: str | None = None
    baseline: str | None = None
    challenger: str | None = None


@dataclass
class SizeConfig:
    """Holds upper limits; a setting names the one that lowers it as its `cap`."""

    sequences: int | None = setting(None, above=0)
    steps: int | None = setting(None, above=0)
    count: int | None = setting(None, above=0)
    epochs: int | None = setting(None, at_least=0)
    seeds: int | None = setting(None, above=0)
    trials: int | None = setting(None, above=0)
    names: int | None = setting(None, above=0)
    iterations: int | None = setting(None, above=0)

    @property
    def limits(self) -> bool:
        """Says whether there is any limit."""
        return any(limit is not None for limit in vars(self).values())


@dataclass
class CommonConfig:
    """Holds the settings that every recipe has."""

    recipe: str = MISSING
    run_name: str | None = None
    seed: int = setting(0, at_least=0, below=2**32, said_below="less than 2³² = 4294967296")
    resume: Any = False
    threads: int | None = setting(None, above=0)
    device: str = setting("auto", choices=("auto", "cpu", "cuda"))
    dtype: str = setting("float64", choices=("float64", "float32", "bfloat16"))
    extensions: list[str] = field(default_factory=list)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    compare: CompareConfig = field(default_factory=CompareConfig)
    size: SizeConfig = field(default_factory=SizeConfig)


def register_schemas(schemas: Mapping[str, type]) -> None:
    """Makes the schemas of all recipes known to Hydra as `schema/<recipe>`; the YAML of each recipe begins with its
    own.

    A schema that extends another's comes after the values of that recipe, and leaves them alone. A schema that is known
    already is left as it is.
    """
    known = ConfigStore.instance().repo.get(GROUP, {})
    for name, schema in schemas.items():
        if f"{name}.yaml" in known and OmegaConf.get_type(known[f"{name}.yaml"].node) is schema:
            continue
        node = OmegaConf.structured(schema)
        for other in set(schemas.values()) & set(schema.__mro__[1:]):
            node.update({item.name: MISSING for item in fields(other)})
        ConfigStore.instance().store(group=GROUP, name=name, node=node)


def registered_schemas() -> list[type]:
    """Returns the schemas that Hydra was told of."""
    schemas = (OmegaConf.get_type(entry.node) for entry in ConfigStore.instance().repo[GROUP].values())
    return [schema for schema in schemas if schema is not None]


def schema_of(recipe: str) -> type | None:
    """Returns the schema of a recipe; None where Hydra was told of none of that name."""
    entry = ConfigStore.instance().repo[GROUP].get(f"{recipe}.yaml")
    return None if entry is None else OmegaConf.get_type(entry.node)


def refuse_repeated(key: str, values: Sequence[Any]) -> None:
    """Raises PipelineError where a value stands twice."""
    if len(set(values)) < len(values):
        raise PipelineError(f"{key}={list(values)} names one twice; name each once")


def check_register(config: DictConfig, log_model: str) -> None:
    """Raises PipelineError for a name that the model registry cannot have, or a model that is not kept."""
    name = config.tracking.register
    if name is None:
        return
    if not re.fullmatch(r"[\w-]+", name):
        raise PipelineError(f"tracking.register={name} must consist of letters, digits, _ and -")
    if not config.tracking.enabled or log_model == "false":
        raise PipelineError("tracking.register needs the model; leave out tracking=off and tracking.log_model=false")


def check_common(config: DictConfig) -> None:
    """Raises PipelineError for settings of every recipe that do not go together."""
    log_model = str(OmegaConf.select(config, "tracking.log_model")).lower()
    if log_model not in ("none", "true", "best", "false"):
        raise PipelineError(f"tracking.log_model={log_model} is unknown; choose one of true, best, false")
    check_register(config, log_model)
    if not (isinstance(config.resume, bool) or config.resume == "auto"):
        raise PipelineError(f"resume={config.resume} is unknown; choose one of true, false, auto")
    if config.resume and not config.tracking.enabled:
        raise PipelineError(f"resume={str(config.resume).lower()} needs the tracking store; leave out tracking=off")


def refuse_missing(config: DictConfig) -> None:
    """Raises PipelineError where settings have no value, naming them all.

    `TYPED` of the schema says what is to be typed, where that is not the setting itself. A setting there that is empty
    is named beside those without a value.
    """
    missing, typed = OmegaConf.missing_keys(config), getattr(OmegaConf.get_type(config), "TYPED", {})
    if missing:
        empty = {key for key in typed if key not in missing and not str(OmegaConf.select(config, key)).strip()}
        *first, last = sorted(missing | empty)
        named = f"{', '.join(first)} and {last} have" if first else f"{last} has"
        give = " ".join(typed.get(key, f"{key}=…") for key in (*first, last))
        raise PipelineError(f"{named} no value; give {give} on the command line")


def validate(config: DictConfig) -> None:
    """Applies the caps of `size`. Raises PipelineError, naming the key and the choices, for the first value that makes
    no sense, and for all settings that have none."""
    check_rules(config, section="size.")
    apply_caps(config)
    refuse_missing(config)
    check_rules(config)
    check_common(config)
