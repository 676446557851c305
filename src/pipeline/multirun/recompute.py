"""A result page made again from its own files: tables, claims and figures, without the runs themselves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import OmegaConf

from pipeline.compare.pages import Remade, read_table
from pipeline.compare.summary import summarise, with_varied
from pipeline.compare.windows import ALONG
from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError
from pipeline.plotting import save_svg
from pipeline.settings.command_line import experiment_file, recipe_of
from pipeline.systems.registry import System, function, system

COMMIT = re.compile(r"^Commit (?P<commit>.+); (?P<jobs>\d+) jobs?, (?P<failed>\d+) failed\.(?P<note>.*)$", re.M)


def command_on(page: str) -> str:
    """Returns the command that a page says it was made by: the first indented line of the page, with those that it goes
    on in where it ends in a backslash. Raises PipelineError for a page without one."""
    joined = re.sub(r" *\\\n *", " ", page)
    command = next((line.strip() for line in joined.splitlines() if line.startswith("    ")), None)
    if command is None:
        title = page.partition("\n")[0].removeprefix("# ")
        raise PipelineError(f"the page {title!r} has no line with its command, indented by four spaces; put it back")
    return command


def system_of(command: str) -> System:
    """Returns the system of the recipe that a command runs. Raises PipelineError for a command of an experiment that is
    not in conf/."""
    recipe = recipe_of(shlex.split(command))
    if recipe is None:
        raise PipelineError(f"the page's command names an experiment that is not in conf/experiment: {command}")
    return system(recipe)


def compare_of(command: str) -> Any:
    """Returns `compare` as the experiment of a command sets it; what the command itself sets wins over that."""
    words = shlex.split(command)
    experiment = experiment_file(words)
    settings: Any = {} if experiment is None else OmegaConf.load(experiment)
    typed = OmegaConf.from_dotlist([word for word in words if word.startswith("compare.")]).get("compare") or {}
    unset = {"figure": "count", "arm": None, "baseline": None, "challenger": None}
    return SimpleNamespace(**(unset | dict(OmegaConf.merge(settings.get("compare") or {}, typed))))


def measured_by_job(path: Path) -> pd.DataFrame:
    """Returns a table of what was measured along each job, with data and what else was varied as one text, as
    `with_varied` has them of the jobs."""
    table = read_table(path)
    return table.assign(data=with_varied(table)[0]).drop(columns="varied", errors="ignore")


def multirun_from(folder: Path, command: str) -> Remade:
    """Makes the tables, figures and words of a multirun again from jobs.csv. It reads curves.csv too where the errors
    are by epoch, and along.csv where they are over windows."""
    comparison = system_of(command).comparison
    words = () if comparison is None else comparison.words
    jobs = read_table(folder / "jobs.csv", words)
    compare = compare_of(command)
    measured = ALONG if compare.figure == "windows" else "curves.csv"
    summary = summarise(jobs, compare, lambda _: measured_by_job(folder / measured), comparison)
    return Remade.of(summary, without=["jobs.csv", measured])


def kept_where_equal(folder: Path, name: str, after: pd.DataFrame) -> pd.DataFrame:
    """Returns the table `after`; of the columns that are equal to those of the file up to rounding it has the file's
    numbers. Rounding differs between machines."""
    if not (folder / name).is_file():
        return after
    before = read_table(folder / name)
    if len(before) != len(after):
        return after
    numbers = [column for column in after.select_dtypes("number") if column in before.select_dtypes("number")]
    equal = [
        column for column in numbers
        if np.allclose(before[column], after[column].to_numpy(), rtol=1e-9, atol=0, equal_nan=True)
    ]  # fmt: skip
    return after.assign(**{column: before[column].to_numpy() for column in equal})


def remade(folder: Path, page: str) -> Remade:
    """Makes the tables, figures and words of a page again. Raises PipelineError for a page whose files do not hold what
    its tables are made from."""
    own = system_of(command_on(page))
    reported = own.comparison is not None and own.comparison.report is not None
    measured = "jobs.csv" if reported and (folder / "jobs.csv").is_file() else "curves.csv"
    if own.redraw is not None and (folder / measured).is_file() and (folder / "means.csv").is_file():
        return function(own.redraw)(folder)
    if (folder / "jobs.csv").is_file():
        return multirun_from(folder, command_on(page))
    raise PipelineError(f"{folder} has neither jobs.csv nor curves.csv with means.csv: nothing to make the page from")


def write_files(folder: Path, found: Remade) -> None:
    for name, table in found.tables.items():
        with written_whole(folder / name) as temporary:
            kept_where_equal(folder, name, table).to_csv(temporary, index=False)
    for name, figure in found.figures.items():
        with written_whole(folder / f"{name}.svg") as temporary:
            save_svg(figure, temporary, name)
