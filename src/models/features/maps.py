"""Random-feature maps: inner products of features approximate the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from models.features.metric import Metric
from models.runtime.scratch import empty_rows
from models.runtime.threads import share_out

BLOCK_BYTES = 2**20  # phases of a block of rows, for each thread: what a cache holds


def random_features(x: Tensor, frequencies: Tensor) -> Tensor:
    """Returns Φ(x) = (1/√m) (cos w_1ᵀx, …, cos w_mᵀx, sin w_1ᵀx, …, sin w_mᵀx) (paper, equation 3).

    All cosines come first, then all sines. ‖Φ(x)‖₂ = 1, and Φ(x)ᵀΦ(y) estimates K(x, y) without bias when every w_i
    follows the kernel's spectral measure. The phases wᵀx are formed in x's dtype: float32 keeps about seven digits of a
    phase, hence few of its value modulo 2π where a heavy-tailed kernel draws a very large frequency.

    Many rows without a gradient are taken in blocks, straight into the result.

    x: (..., dimension); frequencies: (m, dimension), same dtype and device. Returns (..., 2m).
    Raises ValueError when the last axis of x does not fit the frequencies, and for whole numbers.
    """
    count, dimension = frequencies.shape
    _check_inputs(x, dimension)
    rows = x.shape[:-1].numel()
    if rows * count * x.element_size() > BLOCK_BYTES and not _recorded(x, frequencies):
        features = empty_rows(rows, 2 * count, like=x)
        write_features(features, x.reshape(rows, dimension), frequencies)
        return features.view(*x.shape[:-1], 2 * count)
    phases = x @ frequencies.T
    return torch.cat((phases.cos(), phases.sin()), dim=-1) / count**0.5


def _check_inputs(x: Tensor, dimension: int) -> None:
    if not x.is_floating_point():
        raise ValueError(f"the random-feature map takes floating-point inputs, got {x.dtype}")
    if x.shape[-1:] != (dimension,):
        raise ValueError(f"the random-feature map takes inputs of {dimension} columns, got shape {tuple(x.shape)}")


def _recorded(x: Tensor, frequencies: Tensor) -> bool:
    """Says whether the operations are differentiated, traced or exported, which results written in place do not
    suit."""
    differentiated = torch.is_grad_enabled() and (x.requires_grad or frequencies.requires_grad)
    return differentiated or torch.compiler.is_compiling()


@torch.no_grad()
def write_features(features: Tensor, x: Tensor, frequencies: Tensor) -> None:
    """Writes the features Φ(x) of `random_features` into `features` (row, 2m), a block of rows at a time.

    `features` may be columns of a wider tensor.
    x: (row, dimension); frequencies: (m, dimension), same dtype and device. In single precision on the CPU cosines and
    sines are NumPy's, and torch's number of threads share the blocks; elsewhere they are torch's.
    Raises ValueError when the last axis of x does not fit the frequencies, and for whole numbers.
    """
    _check_inputs(x, frequencies.shape[1])
    if x.device.type == "cpu" and x.dtype == torch.float32:
        _write_by_threads(features, x, frequencies)
    else:
        _write_by_torch(features, x, frequencies)


def _write_by_torch(features: Tensor, x: Tensor, frequencies: Tensor) -> None:
    """Writes the features of rows x by torch. Cosines go through a buffer: written into columns of the result, threads
    of a CPU take turns at its cache lines.

    All rows are one block off the CPU, where no cache has to hold them.
    """
    count = len(frequencies)
    block = _rows_of_a_block(x, count, torch.get_num_threads()) if x.device.type == "cpu" else len(x)
    phases = x.new_empty(block, count)
    buffer = torch.empty_like(phases)
    for rows, result in zip(x.split(block), features.split(block), strict=True):
        angles, values = torch.mm(rows, frequencies.T, out=phases[: len(rows)]), buffer[: len(rows)]
        for function, columns in ((torch.cos, result[:, :count]), (torch.sin, result[:, count:])):
            torch.div(function(angles, out=values), count**0.5, out=columns)


def _rows_of_a_block(x: Tensor, count: int, threads: int) -> int:
    return max(1, min(len(x), BLOCK_BYTES * threads // (count * x.element_size())))


def _write_by_threads(features: Tensor, x: Tensor, frequencies: Tensor) -> None:
    """Writes the features of rows x by several threads. Each thread takes the next block when it is done with one, and
    forms the block's product by itself too.

    A product that torch shares out leaves threads behind that turn, waiting for the next, for longer than NumPy takes
    for the cosines of a block, and take the cores away from it.
    """
    threads = torch.get_num_threads()
    rounds = max(1, -(-len(x) // (threads * _rows_of_a_block(x, len(frequencies), threads=1))))
    block = max(1, -(-len(x) // (threads * rounds)))  # every thread has as many
    share_out(
        partial(_write_by_numpy, frequencies=frequencies), zip(x.split(block), features.split(block), strict=True)
    )


@torch.no_grad()
def _write_by_numpy(blocks: Iterator[tuple[Tensor, Tensor]], frequencies: Tensor) -> None:
    """Writes the features of rows x into the result, for each (x, result), by NumPy, which lets other threads run
    meanwhile.

    An infinite phase gives NaN, as with torch.
    """
    phases, count = frequencies.new_empty(0), len(frequencies)
    for rows, result in blocks:
        if len(phases) < len(rows):
            phases = frequencies.new_empty(len(rows), count)
        angles, written = torch.mm(rows, frequencies.T, out=phases[: len(rows)]).numpy(), result.numpy()
        with np.errstate(invalid="ignore"):
            np.cos(angles, out=written[:, :count])
            np.sin(angles, out=written[:, count:])
            np.divide(written, written.dtype.type(count**0.5), out=written)


def joint_features(x: Tensor, frequencies: Tensor, metric: Metric | None) -> Tensor:
    """Returns Φ_a(x) = [Φ(x̃); a x̃/√E‖x̃‖²], whose inner products are k(x̃, ỹ) + a² ⟨x̃, ỹ⟩/E‖x̃‖²; Φ(x) without a metric.

    x: (..., n); frequencies: (m, n). Returns (..., 2m), and n columns more where the metric has a weight for x̃. Raises
    ValueError as `random_features`.
    """
    if metric is None:
        return random_features(x, frequencies)
    moved = metric.applied(x)
    features = random_features(moved, frequencies)
    return features if metric.linear is None else torch.cat([features, metric.linear * moved], -1)


class RandomFeatureMap(torch.nn.Module):
    """Maps x ↦ Pᵀ Φ_a(x), Φ_a as in `joint_features`; its frequencies are a parameter, not trained unless asked to.

    frequencies: (m, dimension), at least one row and column, finite; see `samplers.draw_frequencies`.
    projection: P (features, p), or None for Φ_a itself. metric: of the inputs; None for Φ.
    Raises ValueError for frequencies of another shape, empty or not finite, and a projection that does not fit.
    """

    projection: Tensor | None
    centre: Tensor | None
    root: Tensor | None
    linear: Tensor | None

    def __init__(self, frequencies: Tensor, projection: Tensor | None = None, metric: Metric | None = None) -> None:
        super().__init__()
        if frequencies.ndim != 2 or frequencies.numel() == 0:
            raise ValueError(f"frequencies must have shape (count, dimension), got {tuple(frequencies.shape)}")
        if not bool(frequencies.isfinite().all()):
            raise ValueError("frequencies must be finite")
        self.frequencies = torch.nn.Parameter(frequencies, requires_grad=False)
        for name, part in zip(Metric._fields, metric or (None, None, None), strict=True):
            self.register_buffer(name, part)
        if projection is not None and (projection.ndim != 2 or len(projection) != self.unprojected):
            raise ValueError(f"projection must have {self.unprojected} rows, got shape {tuple(projection.shape)}")
        self.register_buffer("projection", projection)

    @property
    def metric(self) -> Metric | None:
        """Returns the metric of the inputs; None where they are taken as they are."""
        return None if self.centre is None else Metric(self.centre, self.root, self.linear)

    @property
    def unprojected(self) -> int:
        """Returns the number of features before a projection: 2m, and one for each input beside them."""
        count, dimension = self.frequencies.shape
        return 2 * count + (0 if self.linear is None else dimension)

    @property
    def size(self) -> int:
        """Returns the number of features: all of them, or p with a projection."""
        return self.unprojected if self.projection is None else self.projection.shape[1]

    def forward(self, x: Tensor) -> Tensor:
        """Returns the features (..., size) of inputs (..., dimension). Raises ValueError as `random_features`."""
        features = joint_features(x, self.frequencies, self.metric)
        return features if self.projection is None else features @ self.projection
