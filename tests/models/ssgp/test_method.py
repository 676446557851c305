"""What the models of points say of themselves."""

from __future__ import annotations

from typing import Any

from models.ssgp.method import MODELS, arm_of


def named(**flags: Any) -> set[str]:
    return {name for name, model in MODELS.items() if all(getattr(model, key) == value for key, value in flags.items())}


def test_what_each_model_is() -> None:
    assert named(draws=True) == {"ssgp", "spectrum", "revisited", "pca"}
    assert named(counted=False) == {"ridge", "vae_ridge", "full_gp"}
    assert named(linear=True) == {"ridge", "vae_ridge"}
    assert named(random=False) == {"ridge", "full_gp"}
    assert named(peer=True) == {"rff", "svgp", "full_gp"}
    assert named(inputs="autoencoder") == {"revisited", "vae_ridge"}
    assert named(changes_ssgp=True) == {"spectrum", "revisited"}


def test_an_arm_is_a_model_and_the_sampler_that_it_draws_by() -> None:
    assert arm_of("ssgp", "sobol") == "ssgp/sobol"
    assert arm_of("svgp", "sobol") == "svgp"
    assert arm_of("rff", "sobol") == "rff/iid"
