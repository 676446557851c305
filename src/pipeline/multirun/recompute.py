"""A result page made again from its own files: tables, claims and figures, without the runs themselves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from omegaconf import OmegaConf

from pipeline.compare.summary import summarise
from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.plotting import save_svg
from pipeline.systems.ssgp.clusters import cluster_figure
from pipeline.systems.ssgp.report import claims_of, curve_figure, has_curves, in_words
from pipeline.systems.ssgp.streamed import cost_figure

WORDS = ("run", "run_id", "data", "arm", "model", "sampler", "kernel", "overrides", "varied")
TARGET = re.compile(r"<!-- test RMSE \((?P<target>.+)\) -->")
COMMIT = re.compile(r"^Commit (?P<commit>.+); (?P<jobs>\d+) jobs?, (?P<failed>\d+) failed\.", re.M)


class Remade(NamedTuple):
    """Tables and figures by file name, and the words of a page."""

    tables: dict[str, pd.DataFrame]
    figures: dict[str, Figure]
    text: str


def typed(texts: list[str]) -> list[Any]:
    """Truth values, whole numbers or floats to the last digit, whichever all of them are; else the words. "" is NaN."""
    if set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    for kind in (int, float):
        try:
            return [kind(text or "nan") for text in texts]
        except ValueError:
            continue
    return texts


def read_table(path: Path) -> pd.DataFrame:
    """A table, its numbers to the last digit, no gaps in its words. Raises PipelineError where it is missing."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise PipelineError(f"{path} cannot be read ({error.strerror}); a page is made again from it") from error
    return pd.DataFrame({name: list(table[name]) if name in WORDS else typed(list(table[name])) for name in table})


def command_on(page: str) -> str:
    """The command that a page says it was made by: its first indented line."""
    return next(line.strip() for line in page.splitlines() if line.startswith("    "))


def compare_of(command: str) -> Any:
    """`compare` as the experiment of a command sets it, and the command itself after it."""
    words = [word for word in shlex.split(command) if "=" in word]
    (experiment,) = [word.partition("=")[2] for word in words if word.startswith("+experiment=")]
    settings: Any = OmegaConf.load(conf_folder() / "experiment" / f"{experiment}.yaml")
    base = settings.get("compare") or {}
    typed = OmegaConf.from_dotlist([word for word in words if word.startswith("compare.")]).get("compare") or {}
    unset = {"figure": "count", "arm": None, "baseline": None, "challenger": None}
    return SimpleNamespace(**(unset | dict(OmegaConf.merge(base, typed))))


def multirun_from(folder: Path, command: str) -> Remade:
    """Of a multirun: from jobs.csv, and curves.csv where the errors are by epoch."""
    jobs = read_table(folder / "jobs.csv")
    summary = summarise(jobs, compare_of(command), lambda _: read_table(folder / "curves.csv"))
    kept = {path: table for path, table in summary.tables.items() if path not in ("jobs.csv", "curves.csv")}
    return Remade(kept, {Path(name).name: figure for name, figure in summary.figures.items()}, summary.text)


def target_of(folder: Path) -> str:
    """What a study predicts, from the axis of its earlier figure: matplotlib writes texts as comments too. Raises
    PipelineError where that does not say it."""
    figure = folder / "rmse.svg"
    found = TARGET.search(figure.read_text(encoding="utf-8")) if figure.is_file() else None
    if found is None:
        raise PipelineError(f"{figure} does not say what the target is; export the study again from the store")
    return found["target"]


def points_of(folder: Path, *, drawn: bool) -> Any:
    """What is known of a study's data set: its name where it is in a table, its target where errors are drawn."""
    known = read_table(folder / "paired.csv") if (folder / "paired.csv").is_file() else None
    name, stand_in = ("", False) if known is None else (known["data"].iloc[0], bool(known["stand_in"].iloc[0]))
    return SimpleNamespace(name=name, stand_in=stand_in, target_name=target_of(folder) if drawn else "")


def study_figures(folder: Path, curves: pd.DataFrame, points: Any) -> dict[str, Figure]:
    """Those that the folder has the tables of."""
    found = {}
    if has_curves(curves):
        found["rmse"] = curve_figure(curves, points, title=f"{folder.name}: error over training")
    if (folder / "clusters.csv").is_file():
        title = f"{folder.name}: clusters of the test inputs"
        found["clusters"] = cluster_figure(read_table(folder / "clusters.csv"), title=title)
    if (folder / "stream.csv").is_file():
        title = f"{folder.name}: a fit in a stream of generated rows"
        found["stream"] = cost_figure(read_table(folder / "stream.csv"), title=title)
    return found


def study_from(folder: Path) -> Remade:
    """Of `recipe=ssgp`: paired rows, claims and the figure from curves.csv, the other figures from their own tables.
    Means show no intervals, and stay."""
    curves = read_table(folder / "curves.csv")
    points = points_of(folder, drawn=has_curves(curves))
    paired, claims = claims_of(curves[curves["chosen"]], points)
    text = in_words(read_table(folder / "means.csv"), paired, claims)
    tables = {"paired.csv": paired, "claims.csv": claims} if len(paired) else {}
    return Remade(tables, study_figures(folder, curves, points), text)


def kept_where_equal(folder: Path, name: str, after: pd.DataFrame) -> pd.DataFrame:
    """The table with those columns as they were that come out equal up to rounding, which differs between machines."""
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
    """Raises PipelineError for a page whose files do not hold what its tables are made from."""
    if (folder / "jobs.csv").is_file():
        return multirun_from(folder, command_on(page))
    if (folder / "curves.csv").is_file() and (folder / "means.csv").is_file():
        return study_from(folder)
    raise PipelineError(f"{folder} has neither jobs.csv nor curves.csv with means.csv: nothing to make the page from")


def write_files(folder: Path, found: Remade) -> None:
    for name, table in found.tables.items():
        with written_whole(folder / name) as temporary:
            kept_where_equal(folder, name, table).to_csv(temporary, index=False)
    for name, figure in found.figures.items():
        with written_whole(folder / f"{name}.svg") as temporary:
            save_svg(figure, temporary, name)
