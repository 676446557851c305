"""Evaluation of test sequences of unequal length: rows that are there are predicted, whatever pads the others."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch

from data.base import Dataset, Sequences
from models.forecasting.filtering import filter_sequences
from models.psrnn.cell import PSRNN
from pipeline.systems.psrnn.evaluate import evaluate
from pipeline.systems.psrnn.load import load

LENGTHS = (30, 20, 25)


def sequences(lengths: tuple[int, ...], seed: int, *, gaps: bool = False) -> Sequences:
    random = np.random.default_rng(seed)
    arrays = [random.normal(size=(length, 2)) for length in lengths]
    if gaps:
        arrays[1][-3:] = np.nan
        arrays[0][5, 0] = np.nan
    return Sequences.from_arrays(arrays, [str(i) for i in range(len(lengths))])


@torch.no_grad()
def test_missing_last_rows_are_forecast_and_padding_is_not_looked_at() -> None:
    parts = sequences((30, 20), 0), sequences((15,), 1), sequences(LENGTHS, 2, gaps=True)
    dataset = Dataset("drawn", *parts, ("a", "b"), ("", ""), "drawn")
    loaded = load(dataset, span=5, first_step=2, dtype=torch.float64, device=torch.device("cpu"))
    model, generator = PSRNN(frequencies=3, dimension=2, state=4, lags=1).double(), torch.Generator().manual_seed(3)
    for tensor in model.state_dict().values():
        tensor.copy_(torch.randn(tensor.shape, generator=generator))
    part = loaded.parts.test
    found = evaluate({"model": model}, part, dataset.test.lengths, SimpleNamespace(horizons=[1, 5], first_step=2))
    for i, length in enumerate(LENGTHS):  # each by itself has no padding
        alone = filter_sequences(model, part.values[i : i + 1, :length], part.mask[i : i + 1, :length]).predictions[0]
        torch.testing.assert_close(found.predictions[i, :length], alone, rtol=1e-10, atol=1e-10)
    squared = found.squared["model"][1]
    assert torch.equal(~squared.isnan(), part.scored)
