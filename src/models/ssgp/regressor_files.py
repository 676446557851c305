"""A fitted regressor in files, without pickle: its predictor, and what goes on learning needs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from models.runtime.plain import made_of, plain
from models.runtime.saved import readable
from models.runtime.whole_folder import folder_written_whole
from models.ssgp.model import Posterior
from models.ssgp.moments import FeatureMoments
from models.ssgp.predictor import load_predictor, read_saved, under, write_predictor
from models.ssgp.regression import Learnt

DESCRIPTION, ARRAYS = "regressor.json", "regressor.npz"
TARGET = "y"


class SavedRegressor(NamedTuple):
    """Holds what is saved of a regressor: its parameters by name, what it learnt, the names of its columns, whether
    they had these of their own, and the losses of its training."""

    parameters: Mapping[str, Any]
    learnt: Learnt
    names: tuple[str, ...]
    named: bool
    losses: list[float]


def save_regressor(saved: SavedRegressor, folder: Path) -> None:
    """Writes predictor.json, predictor.npz, regressor.json and regressor.npz into a new folder, which appears under its
    name when it is whole.

    Raises ValueError as `plain`, and FileExistsError where something is there already.
    """
    description = {
        "parameters": {name: plain(value, name) for name, value in saved.parameters.items()},
        "rows": saved.learnt.moments.rows, "named": saved.named,
    }  # fmt: skip
    sums = {f"moments/{name}": value for name, value in saved.learnt.moments._asdict().items() if name != "rows"}
    arrays = {name: np.asarray(value) for name, value in sums.items()}
    arrays |= {"length_scales": saved.learnt.length_scales.numpy(), "losses": np.array(saved.losses)}
    with folder_written_whole(folder) as partial:
        write_predictor(saved.learnt.predictor(saved.names, TARGET), partial)
        (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        np.savez(partial / ARRAYS, allow_pickle=False, **arrays)  # pyright: ignore[reportArgumentType]


def read_regressor(folder: Path) -> SavedRegressor:
    """Returns what `save_regressor` wrote. Nothing is unpickled. Raises ValueError for a folder without it,
    and for one that is not as it was written."""
    with readable(folder):
        return _read(folder)


def _read(folder: Path) -> SavedRegressor:
    description, arrays = read_saved(folder, DESCRIPTION, ARRAYS)
    predictor = load_predictor(folder)
    if not isinstance(predictor.process, Posterior):
        raise ValueError(f"{folder} holds a linear model in place of a sparse-spectrum process")
    moments = FeatureMoments(**under(arrays, "moments/"), rows=description["rows"])
    learnt = Learnt(predictor.inputs, predictor.target, predictor.process, moments, arrays["length_scales"])
    parameters = {name: made_of(value) for name, value in description["parameters"].items()}
    return SavedRegressor(parameters, learnt, predictor.input_names, description["named"], arrays["losses"].tolist())
