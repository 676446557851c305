"""Exponential traces of a sequence: a fading memory of its past, one for each time constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def decays(constants: Sequence[float]) -> np.ndarray:
    """Returns c = exp(−1/τ) for each time constant τ, in steps. Raises ValueError for one that is not positive."""
    taus = np.asarray(constants, np.float64)
    if not (np.isfinite(taus) & (taus > 0)).all():
        raise ValueError(f"time constants of traces must be positive and finite, got {list(constants)}")
    return np.exp(-1 / taus)


def next_traces(traces: Tensor, observation: Tensor, decay: Tensor) -> Tensor:
    """Returns the traces after one more observation: c e + (1 − c) o for each time constant.

    traces (batch, constant · d); observation (batch, d); decay (constant, 1): c, see `decays`.
    """
    before = traces.unflatten(1, (len(decay), observation.shape[1]))
    return (decay * before + (1 - decay) * observation.unsqueeze(1)).flatten(1)


def traces_along(values: Tensor, constants: Sequence[float], start: Tensor | None = None) -> Tensor:
    """Returns the traces before each row: e_t = c e_{t−1} + (1 − c) o_{t−1}, c = exp(−1/τ), for each time constant τ.

    values (batch, time, d); start (batch, constant · d): the traces before the first row, 0 where it is None. The
    result is (batch, time, constant · d), the traces of the first time constant first. There is no gradient. Raises
    ValueError as `decays`.
    """
    batch, steps, dimension = values.shape
    if not constants:
        return values[..., :0]
    decay = decays(constants)[:, np.newaxis]
    traces = np.zeros((batch, len(decay), dimension))
    if start is not None:
        traces += start.detach().cpu().double().numpy().reshape(traces.shape)
    rows, along = values.detach().cpu().double().numpy(), np.empty((steps, *traces.shape))
    for t in range(steps):
        along[t] = traces
        traces = decay * traces + (1 - decay) * rows[:, t, np.newaxis]
    return torch.from_numpy(np.moveaxis(along, 0, 1).reshape(batch, steps, -1)).to(values)
