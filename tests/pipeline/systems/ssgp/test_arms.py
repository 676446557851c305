"""The records of the arms: one for each model, and what they say of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.host.errors import PipelineError
from pipeline.systems.ssgp.arms import ARMS, arm_of
from pipeline.systems.ssgp.report import LEVELS

SAMPLERS = {"iid": None, "sobol": None}


def named(**flags: Any) -> set[str]:
    return {name for name, arm in ARMS.items() if all(getattr(arm, key) == value for key, value in flags.items())}


def test_what_each_model_is() -> None:
    assert named(draws=True) == {"ssgp", "spectrum", "revisited", "pca", "rff"}
    assert named(counted=False) == {"ridge", "vae_ridge", "full_gp"} == set(LEVELS)
    assert named(linear=True) == {"ridge", "vae_ridge"}
    assert named(peer=True) == {"rff", "svgp", "full_gp"}
    assert named(autoencoder=True) == {"revisited", "vae_ridge"}
    assert named(dashes=None) == named(counted=True)
    assert all(arm.counted for arm in ARMS.values() if arm.draws)


def test_a_name_is_a_model_and_its_sampler() -> None:
    assert arm_of("ssgp/sobol", SAMPLERS) == (ARMS["ssgp"], "sobol")
    assert arm_of("svgp", SAMPLERS) == (ARMS["svgp"], "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("svgp/iid", "ssgp.arms: svgp/iid is unknown; choose of ssgp/SAMPLER, spectrum/SAMPLER, revisited/SAMPLER, "),
        ("forest", "forest is unknown; choose of .*, svgp, ridge, vae_ridge, full_gp$"),
        ("ssgp/halton", "ssgp/halton needs a sampler; choose ssgp/ one of iid, sobol$"),
        ("rff/sobol", "GPyTorch draws frequencies independently; use rff/iid in place of rff/sobol$"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        arm_of(name, SAMPLERS)


@pytest.mark.parametrize(("model", "rows", "once"), [("ridge", 99, True), ("full_gp", 10, True), ("full_gp", 11, False),
                                                     ("ssgp", 5, False), ("vae_ridge", 5, False)])  # fmt: skip
def test_one_fit_stands_for_all_seeds_where_there_is_no_chance(model: str, rows: int, once: bool) -> None:
    settings: Any = SimpleNamespace(gpytorch=SimpleNamespace(points=10))
    assert ARMS[model].fits_once(settings, rows) is once
