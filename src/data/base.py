"""The one record type that every loader returns: padded sequences with masks, names and units."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from torch import Tensor


class DataError(ValueError):
    """Says that input data cannot be used. The message is one line: what is wrong, where (file, column, row), what
    to do.

    give: arguments, by name, that go on without what is wrong; the line ends with them.
    """

    def __init__(self, message: str, *, give: Mapping[str, Any] | None = None) -> None:
        self.message, self.give = message, dict(give or {})
        given = ", ".join(f"{name}={value!r}" for name, value in self.give.items())
        super().__init__(f"{message} {given}" if given else message)


def check_whole_numbers(data_set: str, values: Mapping[str, Any], *, least: int = 1) -> None:
    """Raises DataError, naming data set and parameter, for a value that is no whole number of at least `least`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise DataError(f"{data_set}: {name} must be a whole number of at least {least}, got {value!r}")


def check_numbers(data_set: str, values: Mapping[str, Any], *, positive: bool = False) -> None:
    """Raises DataError, naming data set and parameter, for a value that is no finite number of at least 0, or none
    above 0 where it must be `positive`."""
    wanted = "a number above 0" if positive else "a number of at least 0"
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < math.inf or (positive and value == 0):
            raise DataError(f"{data_set}: {name} must be {wanted}, got {value!r}")


def spread(count: int, most: int | None) -> np.ndarray:
    """Returns the numbers, of 0 to `count` − 1, of at most `most`, spread evenly over all; None keeps all."""
    if most is None or most >= count:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(int)


class Part(Protocol):
    """Is a part of a data set that can be cut."""

    def __len__(self) -> int: ...

    def at(self, rows: np.ndarray) -> Self:
        """Returns the part with these rows alone."""
        ...


def fewer_of(
    parts: Mapping[str, Part], *, train: int | None, held: int | None, **columns: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    """Returns `parts`, and each of `columns`, which belong to their rows as `files` do, with at most `train` rows of
    the training part and `held` of every other, each spread evenly over all; None keeps all."""
    rows = {name: spread(len(own), train if name == "train" else held) for name, own in parts.items()}
    fewer = {
        column: {name: tuple(own[row] for row in rows[name]) for name, own in by_part.items()}
        for column, by_part in columns.items()
    }
    return {"parts": {name: own.at(rows[name]) for name, own in parts.items()}, **fewer}


@dataclass(frozen=True, eq=False)
class Sequences:
    """Holds time series of unequal length, padded to the longest.

    values: float64 (sequence, time, feature); 0 wherever nothing was observed.
    mask: bool, same shape; True where the value was observed (False in gaps and beyond a sequence's end).
    lengths: int64 (sequence,).
    names: one per sequence.
    times: for each sequence the times of its rows, float64 or datetime64 (time,), with a zone in UTC; None where they
    are not known. zone: the one that the times came in; None where they have none.
    """

    values: Tensor
    mask: Tensor
    lengths: Tensor
    names: tuple[str, ...]
    times: tuple[np.ndarray, ...] | None = None
    zone: tzinfo | None = None

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_arrays(cls, arrays: Sequence[np.ndarray], names: Sequence[str], features: int | None = None) -> Sequences:
        """Pads arrays of shape (time, feature); NaN means "not observed". `features` is needed only without arrays."""
        width = arrays[0].shape[1] if arrays else int(features or 0)
        steps = max((len(a) for a in arrays), default=0)
        values = np.zeros((len(arrays), steps, width))
        mask = np.zeros(values.shape, dtype=bool)
        for i, array in enumerate(arrays):
            observed = ~np.isnan(array)
            values[i, : len(array)] = np.where(observed, array, 0.0)
            mask[i, : len(array)] = observed
        lengths = torch.tensor([len(a) for a in arrays], dtype=torch.int64)
        return cls(torch.from_numpy(values), torch.from_numpy(mask), lengths, tuple(names))

    def to_arrays(self, most: int | None = None) -> list[np.ndarray]:
        """Returns one array (time, feature) a sequence, NaN where not observed: the inverse of `from_arrays`. It
        takes the first `most` sequences, or all."""
        filled = torch.where(self.mask[:most], self.values[:most], torch.nan).cpu().numpy()
        return [filled[i, :n] for i, n in enumerate(self.lengths[:most].tolist())]

    def to(self, *, dtype: torch.dtype, device: torch.device | str) -> Sequences:
        return replace(self, values=self.values.to(device=device, dtype=dtype), mask=self.mask.to(device))

    def pick(self, rows: Sequence[int] | np.ndarray) -> Sequences:
        """Returns some of the sequences, in the order of `rows`, with the padding that they have."""
        index = np.asarray(rows, dtype=np.int64)
        names = tuple(self.names[i] for i in index)
        times = None if self.times is None else tuple(self.times[i] for i in index)
        return Sequences(self.values[index], self.mask[index], self.lengths[index], names, times, self.zone)

    def trimmed(self) -> Sequences:
        """Returns the sequences padded no further than to the longest of them."""
        longest = int(self.lengths.max()) if len(self) else 0
        return replace(self, values=self.values[:, :longest], mask=self.mask[:, :longest])

    def shortened(self, *, sequences: int | None, steps: int | None) -> Sequences:
        """Returns at most `sequences` sequences, spread evenly over all, with their first `steps` steps; None keeps
        all."""
        chosen = spread(len(self), sequences)
        lengths = self.lengths[chosen] if steps is None else self.lengths[chosen].clamp(max=steps)
        names = tuple(self.names[i] for i in chosen)
        times = None if self.times is None else tuple(self.times[i][:steps] for i in chosen)
        return Sequences(self.values[chosen, :steps], self.mask[chosen, :steps], lengths, names, times, self.zone)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Holds three disjoint sets of sequences in the data's own units, and says where they came from.

    source: what `data.source` is tagged with, for example "cmu", "stand-in" or a file's name.
    stand_in: generated in place of real data; no claim is made from it.
    common_scale: standardise all features by one scale instead of one each (pixels of a video).
    image_shape: (rows, columns) when the features are the pixels of an image, row by row.
    time_name: the column that `Sequences.times` come from. group_name: the column that told the sequences apart.
    cut_in_time: the parts are the beginnings, the middles and the ends of the same sequences, with nothing between.
    checksum: SHA-256 of the values, masks, names and split (see `checksum_of`).
    """

    kind: ClassVar[str] = "sequences"

    name: str
    train: Sequences
    validation: Sequences
    test: Sequences
    feature_names: tuple[str, ...]
    units: tuple[str, ...]
    source: str
    stand_in: bool = False
    common_scale: bool = False
    image_shape: tuple[int, int] | None = None
    time_name: str | None = None
    group_name: str | None = None
    cut_in_time: bool = False

    @property
    def parts(self) -> dict[str, Sequences]:
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @property
    def dated(self) -> bool | None:
        """Returns whether the times of the rows are dates; None where they are not known."""
        return self.train.times[0].dtype.kind == "M" if self.train.times else None

    def shortened(self, *, sequences: int | None, steps: int | None) -> Dataset:
        parts = {k: part.shortened(sequences=sequences, steps=steps) for k, part in self.parts.items()}
        whole = steps is None or all(bool((part.lengths <= steps).all()) for part in self.parts.values())
        return replace(self, **parts, cut_in_time=self.cut_in_time and whole)

    @property
    def rows(self) -> Sequences:
        """Returns the rows of all parts: whole sequences where the parts are cut from them in time, else the sequences
        of one part after those of the other. Times are left out."""
        arrays = [part.to_arrays() for part in self.parts.values()]
        if self.cut_in_time:
            joined = [np.concatenate(pieces) for pieces in zip(*arrays, strict=True)]
            return Sequences.from_arrays(joined, self.train.names, len(self.feature_names))
        names = [name for part in self.parts.values() for name in part.names]
        return Sequences.from_arrays([own for part in arrays for own in part], names, len(self.feature_names))

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over names, split, values and masks: equal data gives equal checksums."""
        digest = hashlib.sha256(repr((self.feature_names, self.units)).encode())
        for part, sequences in self.parts.items():
            digest.update(repr((part, sequences.names, sequences.lengths.tolist())).encode())
            digest.update(np.ascontiguousarray(sequences.values.cpu().numpy()).tobytes())
            digest.update(np.ascontiguousarray(sequences.mask.cpu().numpy()).tobytes())
        return digest.hexdigest()


ROUNDING = 1e-12  # of the largest numbers, which rounding makes of them


def is_constant(low: Tensor, high: Tensor) -> Tensor:
    """Returns which columns vary by rounding alone, whatever their unit; low and high are their smallest and largest
    number."""
    share = max(ROUNDING, 4 * torch.finfo(low.dtype).eps)
    return high - low <= share * torch.maximum(-low, high)


def named_where(feature_names: Sequence[str], where: Tensor) -> str:
    """Returns the names of the columns for which `where` (feature,) is true, separated by commas."""
    return ", ".join(name for name, there in zip(feature_names, where.tolist(), strict=True) if there)


def warn_of_rounding(low: Tensor, high: Tensor, constant: Tensor, feature_names: Sequence[str]) -> None:
    """Warns of columns that are, and vary by, no more than rounding makes of the others, unless they are constant; low
    and high are their smallest and largest number."""
    sizes, ranges = torch.maximum(-low, high), high - low
    small = (sizes <= ROUNDING * sizes.max()) & (ranges <= ROUNDING * ranges.max()) & ~constant
    if named := named_where(feature_names, small):
        warnings.warn(
            f"below {ROUNDING:g} of the other columns in the training part, and may be rounding of them: {named}; "
            "leave out what is",
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Maps x to (x − mean) / scale per feature, with mean and standard deviation of the training part only.

    mean, scale: float64 (feature,). A constant column keeps scale 1. With a common scale it is the root mean square
    deviation over all features, so that a mean squared error of 1 is still that of predicting the mean.
    constant: bool (feature,), whether the column is constant in the training part.
    """

    mean: Tensor
    scale: Tensor
    constant: Tensor

    @classmethod
    def fit(
        cls,
        train: Sequences,
        feature_names: Sequence[str],
        *,
        common_scale: bool = False,
        of_constant: str = "kept unscaled",
    ) -> Standardiser:
        """Returns the standardiser of a training part and warns of constant columns, by name, saying `of_constant` of
        them, and of columns that may be rounding of others. Raises DataError for a column without any observation, or
        with values whose standard deviation is not finite, and when no column varies."""
        count = train.mask.sum((0, 1))
        if empty := named_where(feature_names, count == 0):
            raise DataError(f"column {empty}: no observed value in the training part; leave it out or fill it")
        mean = train.values.sum((0, 1)) / count
        deviation = torch.where(train.mask, train.values - mean, 0.0)
        scale = (deviation.square().sum((0, 1)) / count).sqrt()
        squares = scale.square() * len(scale)  # whose mean is finite where each is
        if large := named_where(feature_names, ~(squares if common_scale else scale).isfinite()):
            raise DataError(
                f"column {large}: values too large for a standard deviation in double precision; rescale the column, "
                "or empty cells that mark a missing value"
            )
        low = torch.where(train.mask, train.values, torch.inf).amin((0, 1))
        high = torch.where(train.mask, train.values, -torch.inf).amax((0, 1))
        constant = is_constant(low, high) | (scale == 0)
        if bool(constant.all()):
            raise DataError(
                f"nothing varies in the training part (columns {', '.join(feature_names)}); nothing can be learned"
            )
        if common_scale:
            return cls(mean, scale.square().mean().sqrt().expand_as(scale), constant)
        if bool(constant.any()):
            named = named_where(feature_names, constant)
            warnings.warn(f"constant in the training part, {of_constant}: {named}", stacklevel=2)
        warn_of_rounding(low, high, constant, feature_names)
        return cls(mean, torch.where(constant, torch.ones_like(scale), scale), constant)

    def apply(self, sequences: Sequences) -> Sequences:
        scaled = (sequences.values - self.mean) / self.scale
        return replace(sequences, values=torch.where(sequences.mask, scaled, 0.0))
