"""Settings that do not exist: found, refused, and told with those that do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from omegaconf import DictConfig, OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.settings.command_line import config_folders, recipe_of, typed_choice
from pipeline.settings.fields import free_sections
from pipeline.settings.nearest import did_you_mean
from pipeline.settings.schema import registered_schemas, schema_of

MOST_NAMED = 6  # choices that have a setting
ADDED = ("experiment", "contender", "reader")  # groups that the defaults leave out, so that one types + before them


def settings_beside(key: str, arguments: Sequence[str] = ()) -> list[str]:
    """Returns the settings of the section that `key` would belong to, in the recipe that a command line runs. Without a
    command line all recipes count, and there are none where these do not agree."""
    sections: list[Any] = []
    for schema in schemas_of(arguments):
        node: Any = schema
        for part in key.split(".")[:-1]:
            node = get_type_hints(node).get(part) if is_dataclass(node) else None
        sections += [node] if node is not None else []
    if not sections or not all(map(is_dataclass, sections)):
        return []
    first, *others = ([setting.name for setting in fields(section)] for section in sections)
    return first if all(own == first for own in others) else []


def schemas_of(arguments: Sequence[str]) -> list[type]:
    """Returns the schema of the recipe that a command line runs. Returns all schemas without a command line, and where
    several recipes are typed, or one that is not there, or no recipe and an experiment that is not there."""
    recipe = recipe_of(arguments) if arguments else None
    schema = None if recipe is None else schema_of(recipe)
    return registered_schemas() if schema is None else [schema]


def keys_in(content: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yields the settings of a file of conf/, those of its sections too: "language", "language.order"."""
    for key, value in content.items():
        if key not in ("_target_", "defaults"):
            yield f"{before}{key}"
            yield from keys_in(value, f"{before}{key}.") if isinstance(value, dict) else ()


def settings_of_file(file: Path) -> set[str]:
    """Returns what a file of conf/ sets, and what those files of its group set that it begins with."""
    content = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    begun = [name for name in content.get("defaults", ()) if isinstance(name, str)]
    beside = [name for name in begun if name != "_self_" and not name.startswith("/")]
    return set(keys_in(content)).union(*(settings_begun(file, name) for name in beside))


def settings_begun(file: Path, entry: str) -> set[str]:
    """Returns what an entry of the defaults of `file` sets. The entry is "distance", or "distance@patterns.distance",
    which puts the settings of distance.yaml inside patterns.distance."""
    name, _, package = entry.partition("@")
    own = settings_of_file(file.with_name(f"{name}.yaml"))
    parts = package.split(".") if package else []
    sections = {".".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return sections | {".".join((*parts, key)) for key in own}


def settings_of_choices(section: str) -> dict[str, set[str]]:
    """Returns what each choice of a config group sets, by its name."""
    return {file.stem: settings_of_file(file) for file in sorted((conf_folder() / section).glob("*.yaml"))}


def first_words() -> set[str]:
    """Returns the words that a setting may begin with: settings and sections of every recipe, and groups, as they are
    typed."""
    names = {setting.name for schema in registered_schemas() for setting in fields(schema)}
    return names | {f"+{name}" for name in ADDED}


def moved(key: str) -> str | None:
    """Says what replaces a setting of earlier versions, or one inside it: `MOVED` of the schemas has the new way.
    Returns None for any other key."""
    known = {old: new for schema in registered_schemas() for old, new in getattr(schema, "MOVED", {}).items()}
    found = next((old for old in known if f"{key}.".startswith(f"{old}.")), None)
    return None if found is None else f"{found} is not a setting any more: {known[found]}"


def together(names: Sequence[str]) -> str:
    """Joins names in a row: "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def not_a_setting(key: str, arguments: Sequence[str] = ()) -> str:
    """Says that a key does not exist, with the settings beside it and the one that it is most like. arguments: those of
    the command line, which may choose what lacks the key."""
    gone, (section, inside, rest) = moved(key), key.partition(".")
    if gone is not None:
        return gone
    if not inside:
        return f"{key} is not a setting; see python -m pipeline --cfg job{did_you_mean(key, first_words())}"
    beside = settings_beside(key, arguments)
    if beside:
        before, _, name = key.rpartition(".")
        nearest = did_you_mean(name, beside, before=f"{before}.")
        return f"{key} is not a setting; choose one of {', '.join(beside)}{nearest}"
    if not any(section in free_sections(schema) for schema in registered_schemas()):
        return f"{key} is not a setting; see python -m pipeline --cfg job"
    known, choice = settings_of_choices(section), typed_choice(section, arguments)
    of = f"the {section} chosen" if choice is None or "," in choice else f"{section}={choice}"
    swept = f"; in a sweep over {section} each needs it, so sweep those that lack it by themselves"
    having = [name for name, settings in known.items() if rest in settings]
    whose = f"; {together(having)} {'have' if having[1:] else 'has'} it" if 0 < len(having) <= MOST_NAMED else ""
    typed = (choice or "").split(",")
    near = [settings for name, settings in known.items() if name in typed] or known.values()
    nearest = did_you_mean(rest, set().union(*near), before=f"{section}.")
    told = f"{key} is not a setting of {of}{whose}; see python -m pipeline --cfg job"
    return f"{told}{'' if choice is not None and ',' not in choice else swept}{nearest}"


def unknown_part(key: str, arguments: Sequence[str]) -> str | None:
    """Returns what of a key does not exist: its first word, or all of it. Returns None for a key that the recipe of the
    command line has, or may have: the choice of a group decides what most sections hold."""
    section, inside, _ = key.partition(".")
    groups = [folder / section for folder in config_folders(arguments)]
    if section not in first_words() and section != "hydra" and not any(map(Path.is_dir, groups)):
        return section
    beside = settings_beside(key, arguments) if inside else []
    return key if beside and key.rpartition(".")[2] not in beside else None


def not_settings(key: str, arguments: Sequence[str]) -> str:
    """Says what `not_a_setting` says of a key, and what else of the command line does not exist either,
    with what replaces settings of earlier versions."""
    typed = [own.lstrip("+").partition("=")[0] for own in arguments if "=" in own and own[0] not in "-~"]
    parts = [unknown_part(own, arguments) for own in typed if re.fullmatch(r"[\w.]+", own)]
    told = not_a_setting(key, arguments)
    for part in dict.fromkeys(own for own in parts if own not in (None, key)):
        gone = moved(part)
        if gone is not None:
            told += f"{'' if told.endswith('?') else ';'} {gone}"
            continue
        before, dot, name = part.rpartition(".")
        nearest = did_you_mean(name, settings_beside(part, arguments) if dot else first_words(), before=before + dot)
        told += f"{' Nor' if told.endswith('?') else '; nor'} is {part}{nearest}"
    return told


def refuse_unknown(config: DictConfig, prefix: str = "") -> None:
    """Raises PipelineError for a key that the schema does not have: `+key=value` on the command line adds any."""
    schema = OmegaConf.get_type(config)
    known = {setting.name for setting in fields(schema)} if is_dataclass(schema) else None
    for name in config:
        if known is not None and name not in known:
            raise PipelineError(not_a_setting(f"{prefix}{name}"))
        node = config._get_node(name)
        if isinstance(node, DictConfig):
            refuse_unknown(node, f"{prefix}{name}.")
