"""Errors about the ridges of two-stage regression name the settings."""

from __future__ import annotations

import re

import pytest
import torch

from models.features.bandwidth import BandwidthRule
from models.psrnn import fit
from models.psrnn.features import FeatureDraw, draw_features
from models.psrnn.fit import Regression
from models.runtime.seeding import generators_of
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.two_stage import cell_in_memory
from small_problems import oscillation


@pytest.mark.parametrize(
    ("regression", "said"),
    [
        (Regression(ridge=1e-9), "initialise.ridge is 1e-09 on means, below the rounding of float32"),
        (Regression(whitening=1e-9), "initialise.whitening is 1e-09 on means, below the rounding of float32"),
    ],
)
@pytest.mark.parametrize("within", ["", "hessian."])
def test_what_is_below_the_rounding_of_single_precision_is_named(
    regression: Regression, said: str, within: str
) -> None:
    features = draw_features(oscillation(1, dtype=torch.float32), FeatureDraw(count=4), generators_of(0))
    with pytest.raises(PipelineError, match=re.escape(within + said)):
        cell_in_memory(features, regression, generators_of(0), lags=0, within=within)


def test_the_whitening_that_leaves_a_moment_indefinite_is_named_and_not_the_ridge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fit, "check_ridges", lambda *_: None)  # rounding may be larger than it can know
    wide = FeatureDraw(count=100, bandwidth=BandwidthRule("fixed", value=1e3))  # features that hardly vary
    features = draw_features(oscillation(1, dtype=torch.float32), wide, generators_of(0))
    with pytest.raises(PipelineError, match=r"^initialise\.whitening 1e-12 leaves a 200 × 200 system"):
        cell_in_memory(features, Regression(whitening=1e-12), generators_of(0), lags=0)
