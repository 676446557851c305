"""Exponential traces of a sequence: a fading memory of its past, one for each time constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.signal import lfilter
from torch import Tensor


def decays(constants: Sequence[float]) -> np.ndarray:
    """Returns c = exp(−1/τ) for each time constant τ, in steps. Raises ValueError for one that is not positive."""
    taus = np.asarray(constants, np.float64)
    if not (np.isfinite(taus) & (taus > 0)).all():
        raise ValueError(f"time constants of traces must be positive and finite, got {list(constants)}")
    return np.exp(-1 / taus)


def next_traces(traces: Tensor, observation: Tensor, constants: Sequence[float]) -> Tensor:
    """Returns the traces after one more observation: c e + (1 − c) o for each time constant.

    traces (batch, constant · d); observation (batch, d). Raises ValueError as `decays`.
    """
    decay = torch.from_numpy(decays(constants)).to(traces).unsqueeze(1)
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
    begin = np.zeros((batch, len(constants) * dimension)) if start is None else start.detach().cpu().double().numpy()
    rows = values.detach().cpu().double().numpy()
    along = np.empty((batch, steps, len(constants), dimension))
    for place, (decay, first) in enumerate(
        zip(decays(constants), np.split(begin, len(constants), axis=1), strict=True)
    ):
        along[:, 0, place] = first
        after, _ = lfilter([1 - decay], [1.0, -decay], rows[:, :-1], axis=1, zi=decay * first[:, np.newaxis])
        along[:, 1:, place] = after
    return torch.from_numpy(along.reshape(batch, steps, -1)).to(values)
