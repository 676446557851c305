"""Errors about a bandwidth name settings on the command line, and parameters in the library."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from models import PSRNNForecaster
from models.features.bandwidth import RULES, BandwidthRule
from models.features.kernels import Gaussian
from models.features.samplers import Orthogonal
from models.forecasting.filtering import MaskedSequences
from models.psrnn.features import FeatureDraw, draw_features
from models.psrnn.method import Psrnn
from models.runtime.seeding import generators_of
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.config import BandwidthConfig, FeaturesConfig
from pipeline.systems.psrnn.stages import draw_of
from pipeline.systems.psrnn.two_stage import drawn


def still(count: int) -> tuple[MaskedSequences, FeatureDraw]:
    values = torch.zeros(1, 60, 1, dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values, mask, mask), FeatureDraw(count=count, window=2)


def test_where_nothing_varies_the_settings_of_a_fixed_bandwidth_are_named() -> None:
    said = r"^features\.bandwidth\.rule=median_pairs: nothing varies .* features\.bandwidth\.rule=fixed features\."
    with pytest.raises(PipelineError, match=said):
        drawn(*still(3), generators_of(0))


@pytest.mark.parametrize("rule", RULES)
def test_pairs_that_an_experiment_sets_go_with_every_rule(rule: str) -> None:
    value = 2.0 if rule == "fixed" else None
    bandwidth = BandwidthConfig(rule, value=value, pairs=4000)
    settings = FeaturesConfig(count=3, bandwidth=bandwidth)
    drawn_by = draw_of(settings, Psrnn(), Gaussian(), Orthogonal()).bandwidth
    assert drawn_by.pairs == (4000 if rule in ("median_pairs", "percentile") else BandwidthRule().pairs)


def test_the_library_names_no_settings() -> None:
    spike = np.r_[np.zeros(359), 1.0, np.zeros(40)]
    for call in (
        lambda: PSRNNForecaster(count=5).fit(spike),
        lambda: draw_features(
            still(3)[0], FeatureDraw(count=0, bandwidth=BandwidthRule("fixed", 1.0)), generators_of(0)
        ),
        lambda: BandwidthRule("mean"),
    ):
        with pytest.raises(ValueError, match=r"fixed|at least 1") as refused:
            call()
        assert not re.search(r"(features|bandwidth)\.\w", str(refused.value))
