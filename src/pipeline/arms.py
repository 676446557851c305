"""What tells the jobs of a multirun apart: the values that it sweeps over, and the arm of each job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from pipeline.config import CAPS
from pipeline.errors import PipelineError
from pipeline.nearest import no_such_choice

GIVEN = "given"  # tag of a job: what its overrides give, as JSON
CARRIERS = ("experiment", "contender", "recipe", "size")  # groups that set others: known when a job is composed
FORECASTERS = ("psrnn", "tune")  # the recipes whose jobs end with a model and a test error


def plain(key: str, value: Any) -> str:
    """A value as text: a group's choice without its folder, a number alike however it was typed (0.50, 1.0)."""
    text = str(value).strip("'\"")
    try:
        number = float(text)
    except ValueError:
        return text if "." in key else text.rpartition("/")[2]
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def swept_values(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Every key of the command line with the values that it takes, one or several; of a key given twice the last.

    Raises HydraException for what cannot be parsed.
    """
    values: dict[str, list[str]] = {}
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if override.is_delete():
            continue
        swept = override.is_discrete_sweep()
        texts = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
        values[override.key_or_group] = [str(text).strip("'\"") for text in texts]
    return values


def given(overrides: Sequence[str]) -> dict[str, str]:
    """What the overrides of one job give, value by key; see `plain`."""
    return {key: plain(key, values[-1]) for key, values in swept_values(overrides).items()}


def value_of(key: str, choices: Mapping[str, Any], settings: Any) -> str | None:
    """The choice of a group, else the value of a setting by its dotted key; None where there is neither.

    settings: a configuration or its plain mapping.
    """
    if choices.get(key):
        return plain(key, choices[key])
    config = settings if isinstance(settings, DictConfig) else OmegaConf.create(dict(settings))
    found = OmegaConf.select(config, key)
    return None if found is None or OmegaConf.is_dict(found) else plain(key, found)


def arm_of(arm: str | None, choices: Mapping[str, Any], settings: Any) -> str:
    """What a comparison tells a job apart by: the value of the key `arm`; without one the contender, else the model,
    and for model=psrnn its sampler. Raises PipelineError for a key that is neither group nor setting."""
    if arm is not None:
        found = value_of(arm, choices, settings)
        if found is None:
            raise PipelineError(f"compare.arm={arm} is no group or setting that has a value; name one that is swept")
        return found
    if choices.get("contender"):
        return plain("contender", choices["contender"])
    model = plain("model", choices.get("model") or "psrnn")
    return plain("sampler", choices.get("sampler") or "") if model == "psrnn" else model


def told_apart(arm: str | None, figure: str, keys: Sequence[str]) -> set[str]:
    """Those of the keys that have a column of their own in the tables of a multirun: all but these say what else was
    varied. `figure` is `compare.figure`: by epoch and by contender the number of frequencies has none."""
    own = {"data", "seed"}
    own |= {"features.count"} if figure == "count" else set()
    own |= {arm} if arm is not None else {"contender"} if "contender" in keys else {"model", "sampler"}
    aside = ("resume", "run_name", "tracking", "compare", "hydra", "tune")
    return {key for key in keys if key in own or key.partition(".")[0] in aside}


def varied(jobs: Sequence[Mapping[str, str]], data: Sequence[str], arm: str | None, figure: str) -> list[str]:
    """For each job what was varied beside data, arm, frequencies and seed, as "kernel=matern, readout.lags=2".

    jobs: what each was `given`; data: the names of their data sets. Empty where nothing else was varied, or the name of
    the data set tells it.
    """
    keys = sorted({key for job in jobs for key in job})
    aside = told_apart(arm, figure, keys)
    pairs = {key: {(name, job.get(key)) for name, job in zip(data, jobs, strict=True)} for key in keys}
    differ = [key for key in keys if key not in aside and len(pairs[key]) > len(set(data))]
    return [", ".join(f"{key}={job[key]}" for key in differ if key in job) for job in jobs]


def planned(config: DictConfig) -> dict[str, list[str]]:
    """`swept_values` of a multirun: its command line, and before it what its experiment sweeps over."""
    params = config.hydra.sweeper.get("params") or {}
    return swept_values([*(f"{key}={value}" for key, value in params.items()), *config.hydra.overrides.task])


def lowered(key: str, value: str, config: DictConfig) -> str:
    """A value as `size` caps it."""
    limit = OmegaConf.select(config, f"size.{CAPS[key]}") if key in CAPS else None
    text = plain(key, value)
    return text if limit is None or text == "null" else plain(key, min(float(text), limit))


def planned_arms(config: DictConfig, values: Mapping[str, list[str]]) -> list[str] | None:
    """The arms of a multirun's jobs, or None where only its jobs' own configurations tell them."""
    arm, choices = config.compare.arm, dict(config.hydra.runtime.choices)
    hidden = any(len(values.get(name, [])) > 1 for name in CARRIERS)
    if arm is not None:
        swept = values.get(arm)
        if swept is None:
            return None if hidden else [arm_of(arm, choices, config)]
        return sorted({lowered(arm, value, config) for value in swept})
    if hidden and "contender" not in values:
        return None
    sides = {key: values.get(key) or [choices.get(key)] for key in ("contender", "model", "sampler")}
    found = {
        arm_of(None, {"contender": contender, "model": model, "sampler": sampler}, {})
        for contender in sides["contender"] for model in sides["model"] for sampler in sides["sampler"]
    }  # fmt: skip
    return sorted(found)


def check_arms(config: DictConfig, values: Mapping[str, list[str]]) -> None:
    """Raise PipelineError where `compare` names on the command line an arm that no job will have; where an experiment
    names it, say that nothing will be compared."""
    if config.compare.arm in ("data", "seed"):
        raise PipelineError(
            f"compare.arm={config.compare.arm}: arms are compared on the same data, paired by seed; name another key"
        )
    arms = planned_arms(config, values)
    named = {side: config.compare.get(side) for side in ("baseline", "challenger")}
    if named["baseline"] is not None and named["baseline"] == named["challenger"]:
        raise PipelineError(f"compare.baseline and compare.challenger are both {named['baseline']}; name two arms")
    if arms is None or config.compare.figure == "trials":
        return
    for side, name in named.items():
        if name is None or plain(config.compare.arm or "", name) in arms:
            continue
        words = f"compare.{side}={name}: no job of this sweep has that arm; there are {', '.join(arms)}"
        if any(key.startswith("compare") for key in values):
            raise PipelineError(words)
        print(f"note: {words}, so nothing is compared with it", flush=True)


def check_register(config: DictConfig, values: Mapping[str, list[str]]) -> None:
    """Raise PipelineError where the best model could not be registered at the end."""
    name = config.tracking.register
    if name is None or len(values.get("recipe", [])) > 1:
        return
    if config.recipe not in FORECASTERS:
        raise PipelineError(f"tracking.register={name}: recipe={config.recipe} makes no model; leave it out")
    folders = {value.rpartition("/")[0] for value in values.get("contender", [])} - {"", "refined", "refined_bayes"}
    data = sorted(set(values.get("data", [])) or folders)
    if len(data) > 1:
        raise PipelineError(
            f"tracking.register={name}: the jobs run on different data ({', '.join(data)}), so none is the best; "
            "register from a sweep over one"
        )


def check_choices(values: Mapping[str, list[str]]) -> None:
    """Raise PipelineError for a swept choice that its config group does not have; Hydra finds it job by job."""
    loader = GlobalHydra.instance().config_loader()
    for group, asked in values.items():
        options = loader.get_group_options(group) if "." not in group else []
        unknown = [choice for choice in asked if options and "/" not in choice and choice not in (*options, "null")]
        if unknown:
            raise PipelineError(no_such_choice(group, unknown[0], options))


def check_sweep(config: DictConfig) -> None:
    """Raise PipelineError for a multirun that could not be compared or registered at its end, as far as the command
    line tells. Of a sweeper other than Hydra's own nothing is known before."""
    if not str(config.hydra.sweeper.get("_target_")).endswith(".BasicSweeper"):
        return
    values = planned(config)
    check_choices(values)
    check_register(config, values)
    if config.recipe in FORECASTERS:
        check_arms(config, values)
