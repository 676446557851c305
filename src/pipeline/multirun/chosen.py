"""`python -m pipeline.multirun.chosen SEARCH FILE [KEY=VALUE …]`: the best trial of a search, as a contender.

SEARCH is a run, or the trials.csv that pipeline.export wrote of it. FILE is conf/contender/DATA/NAME.yaml. The best is
the one of least validation error of those that finished, or of those that have the settings named, as readout=kernel.
The file names the search, the trial and its error. Where the best is a contender that was tried as it is, the file has
that contender's settings. Horizons beyond one step, of which a search has none, are left to the readout. trials=12
looks at the first twelve alone, where searches that are to be equal have come differently far. A search over several
data sets wants data=… to say which.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from pipeline.compare.arms import words_of
from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError
from pipeline.host.overrides import group_of, key_of
from pipeline.host.paths import conf_folder, refuse_shadowing
from pipeline.host.process import prepare_environment
from pipeline.settings.choices import choices_of
from pipeline.settings.messages import expected_errors, one_line
from pipeline.systems.registry import prepare_composition
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.ended import ended_parent
from pipeline.tracking.run import scratch_folder
from pipeline.tracking.store import open_store

SEARCHES = ("tune", "equal_effort")  # the experiments whose own settings are known here
REFINED = {"refine": "bptt"}  # what both choose where nothing is typed; the recipe refines no PSRNN on a table
NOT_OF_A_CONTENDER = (
    "contender", "tune", "tracking", "experiment", "recipe", "space", "run_name", "threads", "resume", "size",
    "seed", "device", "evaluate", "compare", "readout.direct",
)  # fmt: skip


def logged_trials(search: str) -> Any:
    """Returns the trials.csv of a run of the store. Raises PipelineError for a run that is no search."""
    client = open_store(None)
    run = ended_parent(client, search)
    with scratch_folder() as folder:
        path = fetched(client, run.info.run_id, "trials.csv", folder)
        if path is None:
            raise PipelineError(f"{search} has no trials.csv; name a multirun of +experiment=equal_effort or tune")
        return pd.read_csv(path)


def trials_of(search: str) -> pd.DataFrame:
    """Returns the trials of a run or of a file that `pipeline.export` wrote, as far as they finished. Raises
    PipelineError where the run or the file is no search by validation_mse."""
    table: Any = pd.read_csv(search) if search.endswith(".csv") else logged_trials(search)
    lacking = [name for name in ("trial", "state", "overrides", "validation_mse") if name not in table.columns]
    if lacking:
        raise PipelineError(f"{search} has no column {', '.join(lacking)}; name the trials.csv of a search")
    return table[table["state"] == "finished"]


def best_of(trials: Any) -> Any:
    """Returns the trial of least validation error, the first of equals. Raises PipelineError for trials on several data
    sets, whose errors cannot be compared, and where no error is a number."""
    data = sorted(set(trials["data"].astype(str))) if "data" in trials else []
    if len(data) > 1:
        raise PipelineError(
            f"the trials are on different data ({', '.join(data)}), whose errors cannot be compared; "
            f"add data={data[0]} to look at those alone"
        )
    errors: Any = pd.to_numeric(trials["validation_mse"], errors="coerce")
    finite = errors[np.isfinite(errors)]
    if finite.empty:
        raise PipelineError(f"none of the {len(trials)} trials that finished has a validation error that is a number")
    return trials.loc[finite.idxmin()]


def typed_in(overrides: str) -> dict[str, Any]:
    """Returns what was typed for a trial, value by key."""
    parsed = OverridesParser.create().parse_overrides(words_of(overrides))
    return {key_of(each): each.value() for each in parsed}


def among_first(trials: Any, asked: Sequence[str]) -> tuple[Any, list[str]]:
    """Returns the trials whose number is below the one that trials=… gives, and what is asked for beside trials=….
    Without trials=… all trials are returned.

    Raises PipelineError for trials=… with anything but a whole number above 0.
    """
    limits = [each.partition("=")[2] for each in asked if each.startswith("trials=")]
    others = [each for each in asked if not each.startswith("trials=")]
    for limit in limits:
        if not limit.isdecimal() or not int(limit):
            raise PipelineError(f"trials={limit} must be a whole number above 0")
        trials = trials[trials["trial"] < int(limit)]
    return trials, others


def contender_file(name: str) -> Path:
    return conf_folder() / "contender" / f"{name}.yaml"


def of_contender(name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Returns the choices of groups that the file of a contender makes, and the settings of that file."""
    file: Any = OmegaConf.to_container(OmegaConf.load(contender_file(name)))
    chosen = [pair for each in file.pop("defaults") if isinstance(each, dict) for pair in each.items()]
    return {group.removeprefix("override /"): choice for group, choice in chosen}, file


def of_recipe() -> dict[str, str]:
    """Returns the choices of the groups of a contender that the recipe of forecasts makes where none is typed."""
    file: Any = OmegaConf.to_container(OmegaConf.load(conf_folder() / "recipe" / "psrnn.yaml"))
    chosen = {key: choice for each in file["defaults"] if isinstance(each, dict) for key, choice in each.items()}
    return {group: chosen[f"/{group}"] for group in ("data", "model")}


def said_by(overrides: str) -> set[str]:
    """Returns what was typed for a trial. For a contender the choices of groups that its file makes are added."""
    typed = set(words_of(overrides))
    for name in [each.removeprefix("+contender=") for each in typed if each.startswith("+contender=")]:
        typed |= {f"{group}={choice}" for group, choice in of_contender(name)[0].items()}
    return typed


def with_what_was_asked(trials: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """Returns the trials that have the settings asked for; the data set is that of the table too, as an experiment may
    have set it. Raises PipelineError where there is none."""
    data = trials["data"] if "data" in trials else [None] * len(trials)
    said = [said_by(str(typed)) | {f"data={name}"} for typed, name in zip(trials["overrides"], data, strict=True)]
    if not any(each.startswith("model=") for own in said for each in own):  # a search of the model of the recipe
        usual = f"model={of_recipe()['model']}"
        said = [own | {usual} for own in said]
    found: Any = trials[[set(asked) <= each for each in said]]
    if found.empty:
        raise PipelineError(f"no trial that finished has {' '.join(asked) or 'a validation error'}")
    return found


def of_a_contender(key: str) -> bool:
    """Returns whether a contender says what was typed for the key."""
    return not any(f"{key}.".startswith(f"{name}.") for name in NOT_OF_A_CONTENDER)


def space_of(typed: Mapping[str, Any], model: str) -> str:
    """Returns the space that a trial was composed with, also where a typed `tune.space` drew its settings. Raises
    PipelineError for a trial of an experiment that is not of SEARCHES."""
    experiment = typed.get("experiment")
    if experiment not in SEARCHES:
        raise PipelineError(
            f"the best trial ran under experiment={experiment}, whose settings are not known here; write its contender "
            "by hand, from the parameters of its run"
        )
    space = typed.get("space", model if experiment == "equal_effort" else "default")
    return model if space == "${model}" else str(space)


def kept_by_space(space: str) -> DictConfig:
    """Returns what a space sets beside what is drawn, without how its trials are scored."""
    loader = GlobalHydra.instance().config_loader()
    config = loader.load_configuration(f"space/{space}", overrides=[], run_mode=RunMode.RUN)
    plain: Any = OmegaConf.to_container(config)
    return OmegaConf.create({key: value for key, value in plain.items() if key not in ("tune", "hydra", "evaluate")})


def chosen_and_set(typed: Mapping[str, Any]) -> tuple[dict[str, Any], DictConfig]:
    """Returns the choices of groups of a trial, and its settings: what its space keeps, what a contender that was tried
    sets, and what was typed or drawn, each before the next. Raises PipelineError as `space_of`."""
    groups, tried = of_contender(typed["contender"]) if "contender" in typed else ({}, {})
    own = {key: value for key, value in typed.items() if of_a_contender(key)}
    prepare_composition()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        chosen = of_recipe() | REFINED | groups
        chosen |= {key: value for key, value in own.items() if choices_of(group_of(key))}
        config: Any = OmegaConf.merge(kept_by_space(space_of(typed, chosen["model"])), tried)
    for key, value in own.items():
        if key not in chosen:
            OmegaConf.update(config, key, value)
    return chosen, config


def contender_of(chosen: Mapping[str, Any], config: DictConfig) -> str:
    """Returns the YAML of a contender with these choices of groups and these settings."""
    defaults = ["_self_", *({f"override /{group}": choice} for group, choice in chosen.items())]
    return OmegaConf.to_yaml({"defaults": defaults}) + "\n" + OmegaConf.to_yaml(config)


def write_contender(search: str, file: Path, asked: Sequence[str] = ()) -> str:
    """Writes the best of the trials asked for as the contender `file`, and returns the sentence that says so.

    The file is left alone where the best trial was this contender with its own settings. Raises PipelineError where no
    trial has what is asked for, and as `best_of` and `space_of`.
    """
    trials, asked = among_first(trials_of(search), asked)
    trials = with_what_was_asked(trials, asked)
    best = best_of(trials)
    typed, error = typed_in(str(best["overrides"])), f"validation error {best['validation_mse']:.6g}"
    which = f"the least of the {len(trials)} trials that finished" + (f" and have {' '.join(asked)}" if asked else "")
    size = f" at size={typed['size']}" if "size" in typed else ""
    told = f"trial {best['trial']} of {search}{size}, {error}"
    if "contender" in typed and contender_file(typed["contender"]).resolve() == file.resolve():
        return f"{told}: {which}; it is contender={typed['contender']} as it is, and no file is written"
    chosen, config = chosen_and_set(typed)
    head = f"# @package _global_\n# {chosen['model']} on {chosen['data']}: {told},\n# {which}.\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(file) as temporary:
        temporary.write_text(head + contender_of(chosen, config), encoding="utf-8")
    return f"{file}: {told}: {which}"


def main() -> None:
    prepare_environment()
    try:
        refuse_shadowing()
        if len(sys.argv) < 3:
            sys.exit(f"error: {(__doc__ or '').splitlines()[0]}")
        print(write_contender(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
    except expected_errors() as error:
        sys.exit(f"error: {one_line(error)}")


if __name__ == "__main__":
    main()
