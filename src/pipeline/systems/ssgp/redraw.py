"""A result page of `recipe=ssgp` made again from its own files."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from models.ssgp.method import MODELS
from pipeline.compare.pages import Remade, read_table
from pipeline.host.errors import PipelineError
from pipeline.systems.ssgp.clusters import cluster_figure
from pipeline.systems.ssgp.report import DataSet, claims_of, curve_figure, has_curves, in_words
from pipeline.systems.ssgp.streamed import cost_figure

TARGET = re.compile(r"<!-- test RMSE \((?P<target>.+)\) -->")


def target_of(folder: Path) -> str:
    """Returns what a study predicts, from the axis of its earlier figure: matplotlib writes texts as comments too.
    Raises PipelineError where that figure does not say it."""
    figure = folder / "rmse.svg"
    match = TARGET.search(figure.read_text(encoding="utf-8")) if figure.is_file() else None
    if match is None:
        raise PipelineError(f"{figure} does not say what the target is; export the study again from the store")
    return match["target"]


def points_of(folder: Path, *, drawn: bool) -> DataSet:
    """Returns what is known of a study's data set: its name where a table has it, its target where errors are drawn."""
    known = read_table(folder / "paired.csv") if (folder / "paired.csv").is_file() else None
    name, stand_in = ("", False) if known is None else (known["data"].iloc[0], bool(known["stand_in"].iloc[0]))
    return DataSet(name, target_of(folder) if drawn else "", stand_in)


def with_seeded(curves: pd.DataFrame) -> pd.DataFrame:
    """Returns curves with the column `seeded`. Where the file is older than that column, the model says whether its fit
    depends on the seed."""
    if "seeded" in curves:
        return curves
    return curves.assign(seeded=[MODELS[str(arm).partition("/")[0]].random for arm in curves["arm"]])


def study_figures(folder: Path, curves: pd.DataFrame, points: DataSet) -> dict[str, Figure]:
    """Returns by name the figures that the folder has the tables of."""
    figures = {}
    if has_curves(curves):
        figures["rmse"] = curve_figure(curves, points, title=f"{folder.name}: error over training")
    if (folder / "clusters.csv").is_file():
        title = f"{folder.name}: clusters of the test inputs"
        figures["clusters"] = cluster_figure(read_table(folder / "clusters.csv"), title=title)
    if (folder / "stream.csv").is_file():
        title = f"{folder.name}: a fit in a stream of generated rows"
        figures["stream"] = cost_figure(read_table(folder / "stream.csv"), title=title)
    return figures


def study_from(folder: Path) -> Remade:
    """Returns the page of a study of `recipe=ssgp`: paired rows, claims and the figure from curves.csv, the other
    figures from their own tables. The table of means shows no intervals, and stays as it is."""
    curves = with_seeded(read_table(folder / "curves.csv"))
    points = points_of(folder, drawn=has_curves(curves))
    paired, claims = claims_of(curves[curves["chosen"]], points)
    text = in_words(read_table(folder / "means.csv"), paired, claims)
    tables = {"paired.csv": paired, "claims.csv": claims} if len(paired) else {}
    return Remade(tables, study_figures(folder, curves, points), text)
