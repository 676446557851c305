"""Errors about the ridges of two-stage regression name the settings."""

from __future__ import annotations

import pytest
import torch

from models.features.bandwidth import BandwidthRule
from models.psrnn.features import FeatureDraw, draw_features
from models.psrnn.fit import Regression
from models.runtime.seeding import generators_of
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.two_stage import cell_in_memory
from small_problems import oscillation


def test_the_whitening_that_leaves_a_moment_indefinite_is_named_and_not_the_ridge() -> None:
    wide = FeatureDraw(count=100, bandwidth=BandwidthRule("fixed", value=1e3))  # features that hardly vary
    features = draw_features(oscillation(1, dtype=torch.float32), wide, generators_of(0))
    with pytest.raises(PipelineError, match=r"^initialise\.whitening 1e-12 leaves a 200 × 200 system"):
        cell_in_memory(features, Regression(whitening=1e-12), generators_of(0), lags=0)
