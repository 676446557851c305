"""Hydra composes the settings of a command twice, and those of each job of a multirun; tests compose them once, where
the second composition gives what the first gave. For each composition it also reads and parses every file of `conf/`,
copies all schemas and lists what interpolations of defaults could name. In a process of tests each file is read and put
into its package once, schemas are not copied, nothing is listed where defaults have no interpolation, and what the same
choices of groups give is found and merged once, before values are set. So is what stands for Hydra itself, for all.

The program is as it was, and composes as Hydra does where tests start it in an interpreter of its own; processes that
are forked (`warm_processes`) have what stands here too.
"""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import omegaconf
import pytest
from hydra._internal import defaults_list
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigStore
from hydra.core.default_element import ResultDefault
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig

from pipeline.host.paths import conf_folder

MODES: dict[str, Any] = {}  # `hydra.mode` by experiment, asked once each


def may_set_the_mode(hydra: Hydra, overrides: list[str]) -> bool:
    """Whether anything but an experiment of this project may set `hydra.mode`."""
    own_files = any(path.provider == "command-line" for path in hydra.config_loader.get_search_path().get_path())
    return own_files or any(override.startswith(("hydra", "+hydra", "++hydra")) for override in overrides)


def hand_out_the_multirun(patch: pytest.MonkeyPatch) -> None:
    """What was composed to find the mode is the settings of the multirun, if it becomes one."""
    load, asked = ConfigLoaderImpl.load_configuration, dict[tuple[str | None, ...], DictConfig]()

    def load_configuration(
        loader: ConfigLoaderImpl,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        command = (config_name, *overrides)
        if run_mode == RunMode.MULTIRUN and validate_sweep_overrides and command in asked:
            parsed = OverridesParser.create().parse_overrides(overrides)
            loader.validate_sweep_overrides_legal(parsed, run_mode, from_shell)
            return asked.pop(command)
        composed = load(loader, config_name, overrides, run_mode, from_shell, validate_sweep_overrides)
        if run_mode == RunMode.MULTIRUN and not validate_sweep_overrides:
            asked[command] = composed
        return composed

    patch.setattr(ConfigLoaderImpl, "load_configuration", load_configuration)


def compose_once(patch: pytest.MonkeyPatch) -> None:
    """Spares the second composition of what one command composes, until the patch is undone.

    `hydra.mode` is known before a command is composed where its experiment, if it has one, leaves that at its default:
    then it is None, also for settings that cannot be composed. Where it has to be composed, a multirun is handed what
    that gave, once. A job's settings, which are composed before the first job to find mistakes, are handed out once
    when the job starts.
    """
    hand_out_the_multirun(patch)
    ask, compose = Hydra.get_mode, ConfigLoaderImpl.load_sweep_config
    checked: dict[tuple[str, ...], DictConfig | None] = {}  # None: handed out

    def get_mode(hydra: Hydra, config_name: str | None, overrides: list[str]) -> Any:
        experiments = [override for override in overrides if override.lstrip("+").startswith("experiment=")]
        if may_set_the_mode(hydra, overrides):
            return ask(hydra, config_name, overrides)
        for experiment in experiments:
            if experiment not in MODES:
                MODES[experiment] = ask(hydra, config_name, [experiment])
        known = all(MODES[experiment] is None for experiment in experiments)
        return None if known else ask(hydra, config_name, overrides)

    def load_sweep_config(
        loader: ConfigLoaderImpl, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        job = tuple(sweep_overrides)
        before = checked.get(job)
        if before is not None:
            checked[job] = None
            return before
        composed = compose(loader, master_config, sweep_overrides)
        checked.setdefault(job, composed)
        return composed

    patch.setattr(Hydra, "get_mode", get_mode)
    patch.setattr(ConfigLoaderImpl, "load_sweep_config", load_sweep_config)


def read_once(patch: pytest.MonkeyPatch) -> None:
    """Keeps, until the patch is undone, what was read of the files of `conf/` and of Hydra's own, which no test
    changes, and what grammars made of overrides and interpolations. Hydra gets a copy each time: it changes what it
    has read.

    Other folders are read as ever, and what has files of other folders is merged as ever.
    """
    load, kept = ConfigRepository.load_config, dict[Any, bytes]()
    folders, schemas = {str(conf_folder()), "hydra.conf"}, dict[int, Any]()

    def stored(source: ConfigSource, config_path: str) -> int | None:
        """Tells a schema from others that were stored under its name; those that were asked for are not freed."""
        if source.scheme() != "structured":
            return None
        node = ConfigStore.instance()._load(source._normalize_file_name(config_path)).node
        schemas[id(node)] = node
        return id(node)

    def load_config(repository: ConfigRepository, config_path: str) -> ConfigResult | None:
        source = repository._find_object_source(config_path, ObjectType.CONFIG)
        if source is None or not (source.path in folders or source.scheme() == "structured"):
            return load(repository, config_path)
        key = (source.provider, source.path, config_path, stored(source, config_path))
        if key not in kept:
            kept[key] = pickle.dumps(load(repository, config_path))
        return pickle.loads(kept[key])  # noqa: S301

    patch.setattr(ConfigRepository, "load_config", load_config)
    spare_copies_and_lists(patch)
    choose_and_merge_once(patch, folders)
    parse_rule, rules = OverridesParser.parse_rule, dict[Any, bytes]()
    patch.setattr(OverridesParser, "parse_rule", lambda own, text, rule: made_once(
        rules, (text, rule), lambda: parse_rule(own, text, rule)))  # fmt: skip
    parse = functools.cache(omegaconf.grammar_parser.parse)
    for module in (omegaconf._utils, omegaconf.base):
        patch.setattr(module, "parse", parse)


def spare_copies_and_lists(patch: pytest.MonkeyPatch) -> None:
    """Copies a repository without the store of all schemas, which no composition changes, and lists what interpolations
    of defaults could name where there is one."""

    def copied(repository: ConfigRepository, _: dict[int, Any]) -> ConfigRepository:
        other = copy.copy(repository)
        other.sources = list(repository.sources)
        return other

    map_of = defaults_list._create_interpolation_map

    def map_if_asked(overrides: Any, defaults: list[Any], self_added: bool) -> DictConfig:
        asked = any(default.is_interpolation() for default in defaults)
        return map_of(overrides, defaults, self_added) if asked else DictConfig({})

    patch.setattr(ConfigRepository, "__deepcopy__", copied, raising=False)
    patch.setattr(defaults_list, "_create_interpolation_map", map_if_asked)


def made_once(kept: dict[Any, bytes], key: Any, make: Callable[[], Any]) -> Any:
    """Returns a copy of what was made for a key, which is made where there is none."""
    if key not in kept:
        kept[key] = pickle.dumps(make())
    return pickle.loads(kept[key])  # noqa: S301


def choose_and_merge_once(patch: pytest.MonkeyPatch, folders: set[str]) -> None:
    """Keeps, until the patch is undone, which files choices of groups lead to, and what these give when they are
    merged. Neither hangs on values that are set, as `seed=1`, which Hydra sets afterwards. What fails is not kept."""
    choose = defaults_list._create_defaults_list
    chosen = dict[Any, bytes]()
    known = functools.partial(known_schemas, folders)

    def choose_once(
        repo: Any, config_name: str | None, overrides: Any, prepend_hydra: bool, skip_missing: bool
    ) -> tuple[Any, Any]:
        schemas, choices = known(repo), {key: own for key, own in vars(overrides).items() if key != "config_overrides"}
        if schemas is None:
            return choose(repo, config_name, overrides, prepend_hydra, skip_missing)
        key = schemas, config_name, repr(choices), prepend_hydra, skip_missing
        found, after = made_once(
            chosen, key, lambda: (choose(repo, config_name, overrides, prepend_hydra, skip_missing), choices)
        )
        vars(overrides).update(after)
        return found

    patch.setattr(defaults_list, "_create_defaults_list", choose_once)
    merge_once(patch, known)


def known_schemas(folders: set[str], repository: Any) -> tuple[str, ...] | None:
    """The schemas, where all files are of the folders."""
    others = [own.path for own in repository.get_sources() if own.scheme() != "structured"]
    return tuple(ConfigStore.instance().repo.get("schema", ())) if folders.issuperset(others) else None


class HydrasOwn(ResultDefault):
    """Stands at the head of a list of defaults, for those of Hydra, which were merged."""

    def __init__(self, merged: DictConfig) -> None:
        super().__init__(config_path="hydra")
        self.merged = merged


def merge_once(patch: pytest.MonkeyPatch, known: Callable[[Any], tuple[str, ...] | None]) -> None:
    """Keeps what each file gives in its package, what Hydra's own files give together, and what whole lists do."""
    load, merge = ConfigLoaderImpl._load_single_config, ConfigLoaderImpl._compose_config_from_defaults_list
    loaded, merged = dict[Any, bytes](), dict[Any, bytes]()

    def merge_all(loader: ConfigLoaderImpl, defaults: list[Any], repo: Any) -> DictConfig:
        schemas = known(repo)
        if schemas is None:
            return merge(loader, defaults, repo)
        own = len(list(itertools.takewhile(lambda default: str(default.config_path).startswith("hydra/"), defaults)))
        key = schemas, repr([astuple(default) for default in defaults])

        def joined() -> DictConfig:
            if own in (0, len(defaults)):
                return merge(loader, defaults, repo)
            return merge(loader, [HydrasOwn(merge_all(loader, defaults[:own], repo)), *defaults[own:]], repo)

        return made_once(merged, key, joined)

    def load_single(loader: ConfigLoaderImpl, default: Any, repo: Any) -> ConfigResult:
        if isinstance(default, HydrasOwn):
            return ConfigResult(provider="hydra", path="hydra", config=default.merged, header={})
        schemas = known(repo)
        if schemas is None:
            return load(loader, default, repo)
        key = schemas, default.config_path, default.package, default.primary
        return made_once(loaded, key, lambda: load(loader, default, repo))

    patch.setattr(ConfigLoaderImpl, "_load_single_config", load_single)
    patch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", merge_all)
