"""Exponential traces beside their recursion written out."""

from __future__ import annotations

import math

import pytest
import torch

from models.forecasting.traces import decays, next_traces, traces_along

CONSTANTS = [0.5, 4.0, 30.0]


def written_out(values: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    traces = start.clone()
    rows = []
    for t in range(values.shape[1]):
        rows.append(traces.clone())
        for i, tau in enumerate(CONSTANTS):
            c, columns = math.exp(-1 / tau), slice(2 * i, 2 * i + 2)
            traces[:, columns] = c * traces[:, columns] + (1 - c) * values[:, t]
    return torch.stack(rows, 1)


@pytest.mark.parametrize("steps", [1, 7])
def test_traces_along_are_the_recursion(steps):
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(3, steps, 2, generator=generator, dtype=torch.float64)
    start = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(traces_along(values, CONSTANTS, start), written_out(values, start))
    torch.testing.assert_close(traces_along(values, CONSTANTS), written_out(values, 0 * start))


def test_one_step_goes_on_where_traces_along_end():
    values = torch.randn(2, 9, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    along = traces_along(values, CONSTANTS)
    decay = torch.from_numpy(decays(CONSTANTS)).unsqueeze(1)
    torch.testing.assert_close(next_traces(along[:, 7], values[:, 7], decay), along[:, 8])


def test_no_constants_give_no_columns():
    assert traces_along(torch.zeros(2, 5, 3), []).shape == (2, 5, 0)


@pytest.mark.parametrize("tau", [0.0, -1.0, math.inf, math.nan])
def test_a_time_constant_that_is_not_positive_is_refused(tau):
    with pytest.raises(ValueError, match="time constants of traces must be positive"):
        traces_along(torch.zeros(1, 3, 1), [tau])
