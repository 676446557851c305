"""What a grouped readout sees beside the state: recent observations, their traces, and random features of both."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.features.bandwidth import BandwidthRule, bandwidth
from models.features.maps import random_features
from models.features.samplers import draw_frequencies
from models.forecasting.readouts.settings import GroupedSettings
from models.numerics.standardisation import STANDARDISED, Standardisation
from models.numerics.whitening import whitening
from models.runtime.seeding import Generators

STATE, LAGS, TRACES, FEATURES = GROUPS = ("state", "lags", "traces", "features")


class HistoryFeatures(nn.Module):
    """Maps h ↦ Φ(W(h − centre)), Φ as in `models.features.maps.random_features`.

    centre (k,), frequencies W (count, k): what whitens h is multiplied into them. count 0: no columns.
    """

    centre: Tensor
    frequencies: Tensor

    def __init__(self, *, size: int, count: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(size))
        self.register_buffer("frequencies", torch.zeros(count, size))

    def forward(self, history: Tensor) -> Tensor:
        """Returns the features (…, 2·count) of h (…, k)."""
        if not len(self.frequencies):
            return history[..., :0]
        return random_features(history - self.centre, self.frequencies)

    @torch.no_grad()
    def draw(self, rows: Tensor, settings: GroupedSettings, generators: Generators) -> None:
        """Draws frequencies for rows of h (row, k), at the bandwidth that is read off them. Raises ValueError as
        `bandwidth` and `draw_frequencies`."""
        rows = rows.double()
        centre = rows.mean(0)
        whitened = row_scaling(rows, settings.whiten)
        rule = BandwidthRule(scale=settings.bandwidth)
        length = bandwidth((rows - centre) @ whitened, rule, generator=generators("bandwidth/readout"))
        drawn = draw_frequencies(
            kernel=settings.kernel, sampler=settings.sampler, count=settings.count, dimension=rows.shape[1],
            bandwidth=length, generator=generators("frequencies/readout"),
        )  # fmt: skip
        self.centre.copy_(centre)
        self.frequencies.copy_(drawn.to(whitened) @ whitened)


def row_scaling(rows: Tensor, whiten: float) -> Tensor:
    """Returns the symmetric matrix (k, k) that rows (row, k) less their mean are multiplied with before distances are
    taken: S^(−g/2) for g = `whiten` above 0, else one over each column's standard deviation."""
    if whiten:
        return whitening(torch.cov(rows.T, correction=0).reshape(rows.shape[1], -1), power=whiten)
    return torch.diag(1 / Standardisation.of(rows, least=STANDARDISED).scale)
