"""A multirun is checked before its first job: that it can be compared and registered at its end."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from pipeline.compare.arms import arm_of, plain, swept_values, typed_values
from pipeline.compare.comparison import Comparison, check_ratios
from pipeline.host.errors import PipelineError
from pipeline.host.overrides import group_of, key_of
from pipeline.settings.choices import choices_of, data_of_contender, groups_in, section_of_choice
from pipeline.settings.fields import check_rules, rules
from pipeline.settings.job import own_folders
from pipeline.settings.messages import nothing_to_replace
from pipeline.settings.nearest import joined, no_such_choice
from pipeline.settings.own_table import SECTIONS, refuse_missing_file
from pipeline.systems.registry import system

CARRIERS = ("experiment", "contender", "recipe", "size")  # groups that set others: known when a job is composed


def command_line(config: DictConfig) -> list[str]:
    """Returns the overrides of a multirun: what its experiment sweeps over, then those of its command line."""
    params = config.hydra.sweeper.get("params") or {}
    return [*(f"{key}={value}" for key, value in params.items()), *config.hydra.overrides.task]


def shrunk_sweep(config: DictConfig) -> list[str]:
    """Returns what limits of `size` take from the sweep of a multirun's experiment, as "seed range(20) → range(2)".
    What is typed on the command line has the place of it, and is not lowered so."""
    typed, unlimited = swept_values(config.hydra.overrides.task), copy.deepcopy(config)
    for name in config.get("size") or ():
        OmegaConf.update(unlimited, f"size.{name}", None)
    kept, whole = ((own.hydra.sweeper.get("params") or {}) for own in (config, unlimited))
    return [f"{key} {whole[key]} → {kept[key]}" for key in kept if key not in typed and kept[key] != whole[key]]


def planned(config: DictConfig) -> dict[str, list[str]]:
    """Returns `swept_values` of a multirun: those of its command line, and before them what its experiment sweeps
    over."""
    return swept_values(command_line(config))


def varied_keys(config: DictConfig) -> list[str]:
    """Returns the keys that have several values in a multirun; none where another sweeper than Hydra's own draws the
    values."""
    if not is_basic(config):
        return []
    return [key for key, values in planned(config).items() if len(values) > 1]


def planned_jobs(config: DictConfig) -> int | None:
    """Returns how many jobs a multirun is to have; None where another sweeper than Hydra's own draws the values."""
    return math.prod(map(len, planned(config).values())) if is_basic(config) else None


def is_basic(config: DictConfig) -> bool:
    """Returns whether the sweeper is Hydra's own."""
    return str(config.hydra.sweeper.get("_target_")).endswith(".BasicSweeper")


def lowered(key: str, value: str, config: DictConfig) -> str:
    """Returns a swept value as text, lowered to its limit in `size` where the setting has one."""
    rule, text = rules(config).get(key), plain(key, value)
    if rule is None or rule.cap is None or text == "null":
        return text
    return plain(key, rule.lowered(float(text), config.size))


def planned_arms(config: DictConfig, values: Mapping[str, list[str]], comparison: Comparison) -> list[str] | None:
    """Returns the arms of a multirun's jobs, or None where only its jobs' own configurations tell them."""
    arm, choices = config.compare.arm, dict(config.hydra.runtime.choices)
    hidden = any(len(values.get(name, [])) > 1 for name in CARRIERS)
    if arm is not None:
        swept = values.get(arm)
        if swept is None:
            return None if hidden else [arm_of(arm, choices, config, comparison)]
        return sorted({lowered(arm, value, config) for value in swept})
    if hidden and "contender" not in values:
        return None
    sides = {key: values.get(key) or [choices.get(key)] for key in ("contender", *comparison.groups)}
    return sorted(
        {arm_of(None, dict(zip(sides, job, strict=True)), {}, comparison) for job in product(*sides.values())}
    )


def is_planned(name: str, arms: Sequence[str], figure: str) -> bool:
    """Returns whether an arm has that name. For figure "contenders" the name of a model counts too, where an arm is
    that model with a readout."""
    return name in arms or (figure == "contenders" and any(arm.startswith(f"{name}_") for arm in arms))


def check_arms(config: DictConfig, values: Mapping[str, list[str]], comparison: Comparison) -> None:
    """Raises PipelineError where `compare` asks for a comparison that the jobs cannot give.

    Such is an arm named on the command line that no job will have. Where an experiment names such an arm, the function
    prints a note that nothing will be compared with it. It refuses also arms by data or seed, two equal arms, ratios of
    a metric of which higher values are better, and figure "epoch" of a recipe that logs no curves.
    """
    if config.compare.arm in ("data", "seed"):
        raise PipelineError(
            f"compare.arm={config.compare.arm}: arms are compared on the same data, paired by seed; name another key"
        )
    if comparison.report is not None:
        check_own_report(config)
        return
    arms = planned_arms(config, values, comparison)
    named = {side: config.compare.get(side) for side in ("baseline", "challenger")}
    if named["baseline"] is not None and named["baseline"] == named["challenger"]:
        raise PipelineError(f"compare.baseline and compare.challenger are both {named['baseline']}; name two arms")
    check_ratios(config.compare, comparison)
    if comparison.curves is None and config.compare.figure == "epoch":
        raise PipelineError(f"compare.figure=epoch: recipe={config.recipe} logs no curves; leave it out")
    if arms is None or config.compare.figure == "trials":
        return
    for side, name in named.items():
        if name is None or is_planned(plain(config.compare.arm or "", name), arms, config.compare.figure):
            continue
        words = f"compare.{side}={name}: no job of this sweep has that arm; there are {', '.join(arms)}"
        if any(key.startswith("compare") for key in values):
            raise PipelineError(words)
        print(f"note: {words}, so nothing is compared with it", flush=True)


def check_own_report(config: DictConfig) -> None:
    """Raises PipelineError where `compare` asks for what a recipe with a report of its own does not look at."""
    compare = config.compare
    asked = [f"compare.{key}={compare[key]}" for key in ("arm", "baseline", "challenger") if compare[key] is not None]
    asked += [f"compare.figure={compare.figure}"] if compare.figure not in ("count", "trials") else []
    if asked:
        raise PipelineError(
            f"{asked[0]}: recipe={config.recipe} draws and compares its models by itself; leave it out, or give "
            "compare.figure=trials"
        )


def check_register(config: DictConfig, values: Mapping[str, list[str]]) -> None:
    """Raises PipelineError where the best model could not be registered at the end."""
    name = config.tracking.register
    if name is None or len(values.get("recipe", [])) > 1:
        return
    if system(config.recipe).servable is None:
        raise PipelineError(f"tracking.register={name}: recipe={config.recipe} makes no model; leave it out")
    chosen_for = {data_of_contender(value) for value in values.get("contender", [])} - {None}
    data = sorted(map(str, set(values.get("data", [])) or chosen_for))
    if len(data) > 1:
        raise PipelineError(
            f"tracking.register={name}: the jobs run on different data ({', '.join(data)}), so none is the best; "
            "register from a sweep over one"
        )


def check_choices(values: Mapping[str, list[str]]) -> None:
    """Raises PipelineError for swept choices that their config groups do not have, one of each group; Hydra would find
    them job by job."""
    told = []
    for key, asked in values.items():
        group = group_of(key)
        options = choices_of(group) if "." not in group else []
        unknown = [choice for choice in asked if options and "/" not in choice and choice not in (*options, "null")]
        told += [no_such_choice(key, choice, options) for choice in unknown[:1]]
    if told:
        raise PipelineError(joined(told))


def check_replaced(config: DictConfig) -> None:
    """Raises PipelineError for a swept choice of a group in which the defaults choose nothing, typed without +; Hydra
    would refuse it job by job. Where what is swept may add the group, the jobs tell."""
    typed, chosen = list(config.hydra.overrides.task), config.hydra.runtime.choices
    swept = [own for own in OverridesParser.create().parse_overrides(typed) if own.is_discrete_sweep()]
    if any(own.key_or_group in ("experiment", "recipe") for own in swept):
        return
    for own in swept:
        key, line = key_of(own), str(own.input_line)
        is_group = choices_of(group_of(key)) or groups_in(group_of(key))
        if not line.startswith(("+", "~")) and key not in chosen and is_group:
            folders = own_folders(config.hydra.runtime.config_sources)
            raise PipelineError(nothing_to_replace(key, f"+{line}", [*folders, *typed]))


def jobs_are_here(config: DictConfig) -> bool:
    """Returns whether the jobs of a multirun are processes of this machine that end with it; those of a cluster go
    on."""
    return str(config.hydra.launcher.get("_target_")).endswith(("BasicLauncher", "JoblibLauncher"))


def check_file(config: DictConfig, values: Mapping[str, list[str]]) -> None:
    """Raises DataError where the jobs run on this machine and one of them reads a table whose file is not there. A path
    that other settings tell is left to the check of each job."""
    if not jobs_are_here(config) or any(len(values.get(key, [])) > 1 for key in CARRIERS):
        return
    for name, group in SECTIONS.items():
        choices, typed = values.get(group, []), typed_values(command_line(config), f"{name}.path")
        swept = [section_of_choice("data", choice) for choice in choices] if len(choices) > 1 else None
        for section, path in product(swept or [config.get(name)], typed or [OmegaConf.select(config, f"{name}.path")]):
            if path is not None or not tells_by_others(section, "path"):
                refuse_missing_file(section, name, path=path)


def tells_by_others(section: Any, key: str) -> bool:
    """Returns whether a section of the settings takes the value of a key from other settings."""
    return section is not None and key in section and OmegaConf.is_interpolation(section, key)


def check_sweep(config: DictConfig) -> None:
    """Checks before the first job that a multirun can be compared and registered at its end, as far as the command line
    tells.

    Raises PipelineError where it cannot, and DataError for a missing table. The values of a sweeper other than Hydra's
    own are not known before; the rules of settings that are not swept are checked under any sweeper.
    """
    check_rules(config)
    if not is_basic(config):
        return
    values = planned(config)
    check_choices(values)
    check_replaced(config)
    check_file(config, values)
    check_register(config, values)
    comparison = system(config.recipe).comparison
    if comparison is not None:
        check_arms(config, values, comparison)
