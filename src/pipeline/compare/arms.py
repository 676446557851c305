"""What tells the jobs of a multirun apart: the values that it sweeps over, and the arm of each job."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString
from omegaconf import DictConfig, OmegaConf

from pipeline.compare.comparison import Comparison
from pipeline.host.errors import PipelineError
from pipeline.host.overrides import key_of

SETTING = re.compile(r", (?=[\w.@/]+=)")  # between two settings of the column `varied`
OVERRIDE = re.compile(r" (?=[+~]*[\w.@/]+=)")  # between two overrides on a line
GIVEN = "given"  # tag of a job: what its overrides give, as JSON
MEASURED = "measured"  # tag of a job: what its error is of, beside the data; errors of unlike ones cannot be compared
VOCABULARY = "vocabulary"  # tag that jobs of an older version had in its place: the checksum of the pieces of texts


def plain(key: str, value: Any) -> str:
    """Returns a value as text: a group's choice without its folder, a number alike however it was typed (0.50, 1.0)."""
    text = str(value).strip("'\"")
    try:
        number = float(text)
    except ValueError:
        return text if "." in key else text.rpartition("/")[2]
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)


def swept_values(overrides: Sequence[str]) -> dict[str, list[str]]:
    """Returns every key of the command line with the values that it takes, one or several. Of a key that is given twice
    the last counts. A group that is put into another section has that in its key: "data@pretrain_on".

    Raises HydraException for what cannot be parsed.
    """
    values: dict[str, list[str]] = {}
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        if override.is_delete():
            continue
        swept = override.is_discrete_sweep()
        texts = override.sweep_string_iterator() if swept else [override.get_value_element_as_str()]
        values[key_of(override)] = [str(text).strip("'\"") for text in texts]
    return values


def typed_values(overrides: Sequence[str], key: str) -> list[Any]:
    """Returns the values that a command line gives a key, as jobs have them: without quotes and backslashes. Of a key
    that is given twice the last counts.

    Raises HydraException for what cannot be parsed.
    """
    parsed = [own for own in OverridesParser.create().parse_overrides(list(overrides)) if own.key_or_group == key]
    if not parsed or parsed[-1].is_delete():
        return []
    values = parsed[-1].sweep_iterator() if parsed[-1].is_discrete_sweep() else [parsed[-1].value()]
    return [value.text if isinstance(value, QuotedString) else value for value in values]


def words_of(overrides: str) -> list[str]:
    """Returns the overrides of a job that stand in a line; a value may have spaces, as `data.time="the hour"` has."""
    return OVERRIDE.split(overrides)


def named_data(tags: Mapping[str, str]) -> tuple[str, str]:
    """Returns the name of a job's data, and the file that was given, as two may have one name. tags: of the job."""
    return tags["data"], json.loads(tags.get(GIVEN, "{}")).get("data.path", "")


def of_vocabulary(digest: str) -> str:
    """Returns what is said of errors of a piece of text. digest: of the vocabulary that has the pieces."""
    return f"vocabulary {digest[:12]}"


def measured_of(tags: Mapping[str, str]) -> str:
    """Returns what the error of a job is of, beside its data; "" where an older version does not say it. tags: of the
    job."""
    return tags.get(MEASURED) or (of_vocabulary(tags[VOCABULARY]) if VOCABULARY in tags else "")


def data_of(jobs: Sequence[Mapping[str, str]]) -> list[tuple[str, str, str, str]]:
    """Returns for each job what tells its data from those of the others: name and file, as `named_data`; their
    checksum, which differs where parts are drawn by another seed, or a file was changed; and what errors are of, as
    `measured_of`, "" unless jobs of one checksum have several. jobs: the tags of each.

    Jobs of older versions do not say what their errors are of, so they count as measured like the others where these
    are all measured alike, and as data of their own where they are not.
    """
    known = {(tags["data.checksum"], measured_of(tags)) for tags in jobs if measured_of(tags)}
    ways, found = Counter(checksum for checksum, _ in known), []
    for tags in jobs:
        checksum = tags["data.checksum"]
        found.append((*named_data(tags), checksum, measured_of(tags) if ways[checksum] > 1 else ""))
    return found


def differing(jobs: Sequence[Mapping[str, str]], fronts: tuple[str, ...]) -> list[str]:
    """Returns the keys in which what jobs were `given` differs. fronts: what the keys begin with."""
    keys = sorted({key for job in jobs for key in job if key.startswith(fronts)})
    return [key for key in keys if len({job.get(key) for job in jobs}) > 1]


def given(overrides: Sequence[str]) -> dict[str, str]:
    """Returns what the overrides of one job give, value by key; see `plain`."""
    return {key: plain(key, values[-1]) for key, values in swept_values(overrides).items()}


def value_of(key: str, choices: Mapping[str, Any], settings: Any) -> str | None:
    """Returns the choice of a group, else the value of a setting by its dotted key; None where there is neither.

    settings: a configuration or its plain mapping.
    """
    if choices.get(key):
        return plain(key, choices[key])
    config = settings if isinstance(settings, DictConfig) else OmegaConf.create(dict(settings))
    value = OmegaConf.select(config, key)
    return None if value is None or OmegaConf.is_dict(value) else plain(key, value)


def arm_of(arm: str | None, choices: Mapping[str, Any], settings: Any, comparison: Comparison) -> str:
    """Returns what a comparison tells a job apart by: the value of the key `arm`; without one the contender, else
    what the system's own `comparison` makes of the choices. Raises PipelineError for a key that is neither group nor
    setting."""
    if arm is not None:
        value = value_of(arm, choices, settings)
        if value is None:
            raise PipelineError(f"compare.arm={arm} is no group or setting that has a value; name one that is swept")
        return value
    if choices.get("contender"):
        return plain("contender", choices["contender"])
    return "" if comparison.arm is None else comparison.arm(choices)


def told_apart(arm: str | None, figure: str, keys: Sequence[str], comparison: Comparison | None) -> set[str]:
    """Returns those of the keys that have a column of their own in the tables of a multirun, or that tell no jobs
    apart. The other keys say what else was varied.

    figure: `compare.figure`. By epoch and by contender the number of frequencies has no column; by seconds the epochs
    have one.
    """
    groups = () if comparison is None else comparison.groups
    own = {"data", "seed"}
    own |= {comparison.counted} if comparison is not None and figure == "count" else set()
    own |= {comparison.effort} if comparison is not None and figure == "seconds" else set()
    own |= {comparison.window} if comparison is not None and figure == "windows" else set()
    own |= {arm} if arm is not None else {"contender"} if "contender" in keys else set(groups)
    aside = ("resume", "run_name", "tracking", "compare", "hydra", *(comparison.aside if comparison else ()))
    return {key for key in keys if key in own or key.partition(".")[0] in aside}


def varied(
    jobs: Sequence[Mapping[str, str]], data: Sequence[str], arm: str | None, figure: str, comparison: Comparison | None
) -> list[str]:
    """Returns for each job what was varied beside data, arm, frequencies and seed, as "kernel=matern, readout.lags=2".

    jobs: what each was `given`; data: the names of their data sets. Empty where nothing else was varied, or the name of
    the data set tells it.
    """
    keys = sorted({key for job in jobs for key in job})
    aside = told_apart(arm, figure, keys, comparison)
    pairs = {key: {(name, job.get(key)) for name, job in zip(data, jobs, strict=True)} for key in keys}
    differ = [key for key in keys if key not in aside and len(pairs[key]) > len(set(data))]
    return [", ".join(f"{key}={job[key]}" for key in differ if key in job) for job in jobs]


def settings_in(varied: str) -> list[str]:
    """Returns what a job's column `varied` names, "key=value" each."""
    return [part for part in SETTING.split(varied) if part]


def varied_settings(jobs: Any) -> list[list[str]]:
    """Returns what `settings_in` finds in the column `varied` of each job; tables may have no such column, and files
    hold nothing where nothing was varied."""
    if "varied" not in jobs:
        return [[] for _ in range(len(jobs))]
    return [settings_in(str(text)) for text in jobs["varied"].fillna("")]


def apart(groups: Iterable[str], words: Sequence[list[str]]) -> list[list[str]]:
    """Returns the words of each job that not all jobs of its group have. groups: of each job."""
    jobs, common = list(zip(groups, words, strict=True)), dict[str, set[str]]()
    for group, own in jobs:
        common[group] = common.get(group, set(own)).intersection(own)
    return [[each for each in own if each not in common[group]] for group, own in jobs]


def short(setting: str) -> str:
    """Returns "top=1" of "experts.top=1"."""
    key, _, value = setting.partition("=")
    return f"{key.rpartition('.')[2]}={value}"


def base(label: str) -> str:
    """Returns the arm, or the data set, of a label without its settings."""
    return re.split(r",? ", label, maxsplit=1)[0]
