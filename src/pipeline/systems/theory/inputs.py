"""What recipe=theory measures on: points x_1 … x_N with the values of f there, generated or from a data set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from data.base import Dataset, Standardiser
from data.points import Points
from models.numerics.signs import with_fixed_signs
from models.numerics.standardisation import Standardisation
from models.psrnn.windows import extract_windows
from models.runtime.seeding import generator
from pipeline.host.errors import PipelineError
from pipeline.settings.schema import SizeConfig

GENERATED = "normal"


@dataclass(frozen=True, eq=False)
class Inputs:
    """Holds the points and the values of f there. points: float64 (N, n), of unit scale. signal: f at the points (N,),
    of about unit variance.

    family: "normal" for Gaussian inputs of any dimension, else the data set's name. stand_in: no claim is made from it.
    """

    name: str
    family: str
    points: Tensor
    signal: Tensor
    source: str
    checksum: str
    stand_in: bool = False


@dataclass(frozen=True)
class Collection:
    """Holds all inputs of a study as one data set, for the tracking store."""

    inputs: Sequence[Inputs]

    @property
    def name(self) -> str:
        return "+".join(dict.fromkeys(part.family for part in self.inputs))

    @property
    def source(self) -> str:
        return ", ".join(dict.fromkeys(part.source for part in self.inputs))

    @property
    def stand_in(self) -> bool:
        return any(part.stand_in for part in self.inputs)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(repr([(part.name, part.checksum) for part in self.inputs]).encode()).hexdigest()


def checksum_of(*tensors: Tensor) -> str:
    """Returns the SHA-256 of the values of tensors, in hexadecimal."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return digest.hexdigest()


def normal_inputs(dimension: int, *, rows: int, seed: int) -> Inputs:
    """Draws points x ~ N(0, I), (rows, dimension). f is √2 sin(aᵀx) with a of unit length, equally smooth in every
    dimension."""
    chance = generator(seed, f"theory/normal/{dimension}")
    points = torch.randn(rows, dimension, dtype=torch.float64, generator=chance)
    direction = torch.randn(dimension, dtype=torch.float64, generator=chance)
    signal = 2**0.5 * torch.sin(points @ direction / torch.linalg.vector_norm(direction))
    return Inputs(f"{GENERATED}_n{dimension}", GENERATED, points, signal, "generated", checksum_of(points, signal))


def windows_of(dataset: Dataset, *, window: int) -> tuple[Tensor, Tensor]:
    """Returns the training windows o_{t−k} … o_{t−1}, (row, k·feature), standardised by feature, and the first
    principal component of o_t, (row,). window: k."""
    scaled = Standardiser.fit(dataset.train, dataset.feature_names, common_scale=dataset.common_scale)
    train = scaled.apply(dataset.train)
    windows = extract_windows(train.values, train.mask, length=window)
    centred = windows.observation - windows.observation.mean(0)
    directions = with_fixed_signs(torch.linalg.eigh(centred.T @ centred).eigenvectors)
    return windows.history, centred @ directions[:, -1]


def table_of(record: Dataset | Points, *, window: int, size: SizeConfig) -> tuple[Tensor, Tensor]:
    """Returns all candidates for points, (row, n), and the values of f there, (row,). Points are standardised. window:
    the steps of a window of sequences."""
    if isinstance(record, Points):
        inputs, targets = record.part(record.train)
        return Standardisation.of(inputs).apply(inputs), targets
    return windows_of(record.shortened(sequences=size.sequences, steps=size.steps), window=window)


def inputs_of(
    name: str, load: Callable[[], Dataset | Points], *, rows: int, window: int, size: SizeConfig, seed: int
) -> Inputs:
    """Draws `rows` rows of a data set's training part without replacement.

    Raises PipelineError when the training part has fewer rows, and for a loader that returns something else than a
    Dataset or Points.
    """
    record = load()
    if not isinstance(record, Dataset | Points):
        raise PipelineError(
            f"datasets.{name}: its loader returns {type(record).__name__}; a Dataset or Points is meant"
        )
    points, signal = table_of(record, window=window, size=size)
    if len(points) < rows:
        raise PipelineError(f"theory.rows={rows}: {name} has {len(points)} rows in its training part; take fewer")
    drawn = torch.randperm(len(points), generator=generator(seed, f"theory/rows/{name}"))[:rows]
    points, signal = points[drawn], Standardisation.of(signal[drawn]).apply(signal[drawn])
    label = f"{name}_n{points.shape[1]}"
    return Inputs(label, name, points, signal, record.source, checksum_of(points, signal), record.stand_in)
