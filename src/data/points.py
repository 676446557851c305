"""The record that loaders of tables for regression return: points with a target, and a split."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from data.base import DataError


@dataclass(frozen=True, eq=False)
class Points:
    """Holds rows of inputs and a target, in their own units.

    inputs: float64 (row, input). targets: float64 (row,). train, validation, test: disjoint row numbers, int64.
    source: what `data.source` is tagged with. stand_in: generated in place of real data; no claim is made from it.
    Raises DataError for a value that is not finite, for shapes that do not agree and for a row in two parts.
    """

    kind: ClassVar[str] = "a table of points"

    name: str
    inputs: Tensor
    targets: Tensor
    train: Tensor
    validation: Tensor
    test: Tensor
    input_names: tuple[str, ...]
    target_name: str
    source: str
    stand_in: bool = False

    def __post_init__(self) -> None:
        rows, columns = self.inputs.shape
        if self.targets.shape != (rows,) or columns != len(self.input_names):
            raise DataError(
                f"{self.name}: inputs {tuple(self.inputs.shape)}, targets {tuple(self.targets.shape)} and "
                f"{len(self.input_names)} names do not belong together"
            )
        for names, values in ((self.input_names, self.inputs), ((self.target_name,), self.targets.unsqueeze(1))):
            bad = (~values.isfinite()).nonzero()
            if len(bad):
                row, column = bad[0].tolist()
                raise DataError(f"{self.name}: column {names[column]}, row {row}: not a finite number")
        used = torch.cat([self.train, self.validation, self.test])
        if len(used.unique()) < len(used):
            raise DataError(f"{self.name}: a row is in two of training, validation and test part")

    def part(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Returns inputs (row, input) and targets (row,) of `rows`: `points.part(points.train)`."""
        return self.inputs[rows], self.targets[rows]

    @property
    def checksum(self) -> str:
        """Returns the SHA-256 over names, values and split: equal data gives equal checksums."""
        digest = hashlib.sha256(repr((self.input_names, self.target_name)).encode())
        for tensor in (self.inputs, self.targets, self.train, self.validation, self.test):
            digest.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
        return digest.hexdigest()


def random_split(rows: int, *, validation: int, test: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draws the row numbers of training, validation and test part under the seed.

    Raises DataError when no row is left for training.
    """
    if min(validation, test) < 0 or validation + test >= rows:
        raise DataError(f"{validation} validation and {test} test rows of {rows} leave none for training")
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(seed))
    return order[validation + test :], order[test : validation + test], order[:test]


def check_points(points: int | None) -> None:
    """Checks a limit of rows; None is no limit. Raises DataError for one that leaves no row."""
    if points is not None and points < 1:
        raise DataError(f"points={points} must be at least 1; for all of them give", give={"points": None})


def some_of(rows: Tensor, points: int | None, generator: torch.Generator) -> Tensor:
    """Returns at most `points` of the rows, drawn without replacement and kept in order; all of them for None."""
    if points is None or points >= len(rows):
        return rows
    return rows[torch.randperm(len(rows), generator=generator)[:points].sort().values]


def cut_split(
    rows: int, *, train: int, validation: int, points: int | None, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Takes the first `train` rows for training, less the `validation` of them that are drawn under the seed; the rest
    is for test. points: keep as many of each part at most, drawn under the seed.

    Raises DataError for a number out of range, and when no row is left for training.
    """
    if not 0 <= validation < train:
        raise DataError(f"validation={validation} of {train} training rows leaves none for training; lower it")
    check_points(points)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(train, generator=generator)
    parts = order[validation:].sort().values, order[:validation].sort().values, torch.arange(train, rows)
    first, second, third = (some_of(part, points, generator) for part in parts)
    return first, second, third
