"""What a command line chooses: its experiment and the recipe that it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from pipeline.host.paths import conf_folder

PLAIN_CHOICE = re.compile(r"\+?(?P<group>[\w/@]+)=(?P<names>[\w/-]+(?:,[\w/-]+)*)")


def typed_choice(section: str, arguments: Sequence[str]) -> str | None:
    """Returns what a command line chooses of a config group: "east" of detector=east. Returns None where the command
    line leaves the group as it is."""
    chosen = [own.lstrip("+").partition("=") for own in arguments]
    return next((value for name, _, value in reversed(chosen) if name == section and value), None)


def plain_choices(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Returns the names that a command line gives to what may be config groups of the project, one of each value of a
    sweep: ("model", "lstm") and ("model", "gru") of model=lstm,gru. Values that are no such names are left out."""
    given = (PLAIN_CHOICE.fullmatch(own) for own in arguments)
    found = ((own["group"], name) for own in given if own for name in own["names"].split(","))
    return [(group, name) for group, name in found if name != "null" and not group.startswith("hydra/")]


def experiment_file(arguments: Sequence[str]) -> Path | None:
    """Returns the file of the experiment that a command line names. Returns None where it names none, several, or one
    that is not there."""
    name = typed_choice("experiment", arguments)
    places = [folder / "experiment" / f"{name}.yaml" for folder in config_folders(arguments)]
    return next(filter(Path.is_file, places), None)


def config_folders(arguments: Sequence[str]) -> list[Path]:
    """Returns the folder that a command line names after --config-dir or -cd, if it names one, and conf/."""
    words = [part for word in arguments for part in word.split("=", 1 if word.startswith("-") else 0)]
    return [*(Path(folder) for option, folder in pairwise(words) if option in ("--config-dir", "-cd")), conf_folder()]


def recipe_of(arguments: Sequence[str]) -> str | None:
    """Returns the recipe that a command line runs: the one that is typed, else the one of its experiment, else the one
    of config.yaml. Returns None where the experiment would decide and is not there."""
    typed, experiment = typed_choice("recipe", arguments), experiment_file(arguments)
    if typed or (experiment is None and typed_choice("experiment", arguments)):
        return typed
    files = [conf_folder() / "config.yaml"] if experiment is None else [experiment, conf_folder() / "config.yaml"]
    return next(filter(None, map(recipe_in, files)))


def recipe_in(file: Path) -> str | None:
    """Returns the recipe that the defaults of a file of conf/ name; None where they name none."""
    named = [entry[key] for entry in listed_in(file) if isinstance(entry, dict) for key in entry
             if key in ("recipe", "override /recipe")]  # fmt: skip
    return named[-1] if named else None


def choices_in_files(group: str, arguments: Sequence[str]) -> list[str]:
    """Returns the choices of a config group, those of --config-dir among them, as the files are called; for where Hydra
    has ended and `pipeline.settings.choices` has nothing to ask."""
    folders = [folder / group.partition("@")[0] for folder in config_folders(arguments)]
    return sorted(
        {file.relative_to(folder).with_suffix("").as_posix() for folder in folders for file in folder.rglob("*.yaml")}
    )


def groups_with(name: str, arguments: Sequence[str]) -> list[str]:
    """Returns the config groups of a command line's recipe that have a choice of this name."""
    files = [folder / "recipe" / f"{recipe_of(arguments)}.yaml" for folder in config_folders(arguments)]
    entries = [entry for file in files if file.is_file() for entry in listed_in(file) if isinstance(entry, dict)]
    groups = [key.removeprefix("override ").removeprefix("/") for entry in entries for key in entry]
    return [group for group in groups if name in choices_in_files(group, arguments)]


def experiments_with(group: str, arguments: Sequence[str]) -> list[str]:
    """Returns the experiments that choose in a config group which the defaults leave out, and that run the same recipe
    as a command line."""
    otherwise, asked = recipe_in(conf_folder() / "config.yaml"), recipe_of(arguments)
    files = sorted(file for folder in config_folders(arguments) for file in (folder / "experiment").glob("*.yaml"))
    return [file.stem for file in files if adds(file, group) and (recipe_in(file) or otherwise) == asked]


def adds(file: Path, group: str) -> bool:
    """Returns whether the defaults of a file of conf/ choose in a group, and do not just replace a choice."""
    return any(isinstance(entry, dict) and {group, f"/{group}"} & entry.keys() for entry in listed_in(file))


def listed_in(file: Path) -> Sequence[Any]:
    """Returns the list of defaults of a file of conf/; nothing where it cannot be read or has none."""
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):  # Hydra tells of it where the file is asked for
        return ()
    return (content.get("defaults") or ()) if isinstance(content, dict) else ()
