"""A fitted process with its units: rows in, mean and standard deviation out, and back from disk without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.forecasting.frame import is_frame, values_of
from models.numerics.ridge import AffineMap
from models.numerics.standardisation import Standardisation
from models.runtime.saved import read_tensors, refuse_missing
from models.ssgp.autoencoder import MixtureAutoencoder
from models.ssgp.kernel_process import KernelProcess
from models.ssgp.linear import LinearGaussian
from models.ssgp.model import Posterior
from models.ssgp.moments import BLOCK

DESCRIPTION, ARRAYS = "predictor.json", "predictor.npz"
PROCESSES = {"sparse spectrum": Posterior, "kernel": KernelProcess, "linear": LinearGaussian}
Process = Posterior | KernelProcess | LinearGaussian
UNITS = ("mean", "scale")  # of a standardisation
AUTOENCODER = "autoencoder/"  # in front of the names of its arrays


class ChangedInputs(NamedTuple):
    """Holds what standardised inputs are mapped by, and the standardisation of what comes out.

    map: a projection (input, kept), which inputs are multiplied by, or an autoencoder, in evaluation mode, which
    reconfigures them.
    """

    map: Tensor | MixtureAutoencoder
    units: Standardisation

    def apply(self, inputs: Tensor) -> Tensor:
        """Returns (row, kept), float64 and standardised, for standardised inputs (row, input)."""
        if isinstance(self.map, Tensor):
            return self.units.apply(inputs @ self.map.to(inputs))
        return self.units.apply(self.map.reconfigure(inputs.to(self.map.centres)).to(inputs))


@dataclass(frozen=True, eq=False)
class Predictor:
    """Predicts a target from rows of inputs, both in their own units.

    inputs: standardisation (input,) of the inputs; target: that of the target, scalars. process: what predicts the
    standardised target. change: a map of the standardised inputs before that, None: they are taken as they are.
    input_names: the columns, in order. All tensors are on one device.
    """

    inputs: Standardisation
    target: Standardisation
    process: Process
    input_names: tuple[str, ...]
    target_name: str
    change: ChangedInputs | None = None

    def predict(self, inputs: Any, *, noise: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Returns mean and standard deviation of the target, float64 (row,) in its own unit, at inputs (row, input).

        The standard deviation is that of a new observation, the noise of observations included; with noise=False it is
        that of the function alone, which linear regression gives as 0.

        A table of pandas goes by the names of its columns, in any order. Rows are taken in blocks, so that memory does
        not grow with them. Raises ValueError for another number of columns, a column that is missing, and values that
        are not finite.
        """
        rows = torch.from_numpy(self.checked(inputs)).to(self.inputs.mean)
        blocks = [self._of_block(block, noise=noise) for block in rows.split(BLOCK)]
        mean, deviation = (torch.cat(parts).cpu().numpy() for parts in zip(*blocks, strict=True))
        return mean, deviation

    def checked(self, inputs: Any) -> np.ndarray:
        """Returns the inputs as float64 (row, input), in the order of `input_names`. Raises ValueError as `predict`."""
        values = values_of(inputs, self.input_names) if is_frame(inputs) else array_of(inputs)
        if values.ndim != 2 or values.shape[1] != len(self.input_names):
            names = ", ".join(self.input_names)
            raise ValueError(f"expected (row, {len(self.input_names)}) inputs {names}, got shape {values.shape}")
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            row, column = wrong[0]
            raise ValueError(f"row {row}, column {self.input_names[column]}: not a finite number; leave the row out")
        return values

    def standardised(self, inputs: Tensor) -> Tensor:
        """Returns what the process takes, float64 (row, dimension), for inputs (row, input) in their own units."""
        rows = self.inputs.apply(inputs.double())
        return rows if self.change is None else self.change.apply(rows)

    @torch.no_grad()
    def _of_block(self, inputs: Tensor, *, noise: bool) -> tuple[Tensor, Tensor]:
        prediction = self.process.predict(self.standardised(inputs))
        variance = prediction.variance if noise else prediction.function_variance
        return self.target.restore(prediction.mean), variance.sqrt() * self.target.scale


def array_of(inputs: Any) -> np.ndarray:
    """Returns inputs, an array, a tensor on any device or lists, as a new array in float64."""
    plain = inputs.detach().cpu().numpy() if isinstance(inputs, Tensor) else inputs
    return np.array(plain, np.float64, order="C")


def write_predictor(predictor: Predictor, folder: Path) -> None:
    """Writes predictor.json and predictor.npz (plain arrays) into a folder that is there, beside what it holds."""
    (name,) = (name for name, kind in PROCESSES.items() if isinstance(predictor.process, kind))
    description = {
        "process": name, "inputs": list(predictor.input_names), "target": predictor.target_name,
        "change": change_description(predictor.change),
    }  # fmt: skip
    arrays = {f"inputs/{key}": value for key, value in predictor.inputs._asdict().items()}
    arrays |= {f"target/{key}": value for key, value in predictor.target._asdict().items()}
    arrays |= {f"process/{key}": value for key, value in process_arrays(predictor.process).items()}
    arrays |= {f"change/{key}": value for key, value in change_arrays(predictor.change).items()}
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    plain: dict[str, Any] = {key: value.detach().cpu().numpy() for key, value in arrays.items()}
    np.savez(folder / ARRAYS, allow_pickle=False, **plain)


def process_arrays(process: Process) -> dict[str, Tensor]:
    """Returns the numbers of a process by name."""
    if isinstance(process, LinearGaussian):
        return {**process.fit._asdict(), "variance": process.variance}
    return process._asdict()


def change_description(change: ChangedInputs | None) -> dict[str, Any] | None:
    """Returns which kind of map there is, and the sizes that an autoencoder is built with, in plain values."""
    if change is None or isinstance(change.map, Tensor):
        return None if change is None else {"kind": "projection"}
    components, latent = change.map.centres.shape
    inputs = change.map.encoder.weights.in_features
    return {"kind": "autoencoder", "inputs": inputs, "latent": latent, "components": components}


def change_arrays(change: ChangedInputs | None) -> dict[str, Tensor]:
    """Returns the numbers of a map of inputs by name; none for None."""
    if change is None:
        return {}
    own = change.map
    arrays = {"projection": own} if isinstance(own, Tensor) else own.state_dict(prefix=AUTOENCODER)
    return {**arrays, **change.units._asdict()}


def load_predictor(folder: Path) -> Predictor:
    """Returns the predictor that `write_predictor` wrote into a folder, on the CPU. Nothing is unpickled, and no code
    of the folder is run.

    Raises ValueError for a folder without one.
    """
    description, arrays = read_saved(Path(folder), DESCRIPTION, ARRAYS)
    return Predictor(
        inputs=units_in(arrays, "inputs/"), target=units_in(arrays, "target/"), change=change_in(description, arrays),
        process=process_in(description, arrays), input_names=tuple(description["inputs"]),
        target_name=description["target"],
    )  # fmt: skip


def read_saved(folder: Path, description: str, arrays: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Returns what the two files hold: plain values, and tensors by name. Raises ValueError where one is not there."""
    refuse_missing(folder, (description, arrays))
    return json.loads((folder / description).read_text(encoding="utf-8")), read_tensors(folder / arrays)


def under(arrays: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Returns the arrays whose names begin with the prefix, by the rest of their names."""
    return {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}


def units_in(arrays: Mapping[str, Tensor], prefix: str) -> Standardisation:
    """Returns the standardisation whose arrays begin with the prefix."""
    return Standardisation(*(arrays[prefix + name] for name in UNITS))


def process_in(description: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> Process:
    """Returns the process of a saved predictor."""
    own = under(arrays, "process/")
    if description["process"] == "linear":
        return LinearGaussian(AffineMap(own["weight"], own["bias"]), own["variance"])
    return PROCESSES[description["process"]](**own)


def change_in(description: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> ChangedInputs | None:
    """Returns the map of inputs of a saved predictor, None where it has none."""
    own = description["change"]
    if own is None:
        return None
    units = units_in(arrays, "change/")
    if own["kind"] == "projection":
        return ChangedInputs(arrays["change/projection"], units)
    sizes = {name: own[name] for name in ("inputs", "latent", "components")}
    with torch.random.fork_rng(devices=[]):
        model = MixtureAutoencoder(**sizes, rows=2)  # whose variances, which follow from the rows, are among the arrays
    state = under(arrays, f"change/{AUTOENCODER}")
    model.to(state["centres"]).load_state_dict(state)
    return ChangedInputs(model.eval(), units)
