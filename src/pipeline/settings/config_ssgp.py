"""Sections of the schema that `recipe=ssgp` alone has."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING


@dataclass
class SsgpSectionConfig:
    arms: list[str] = MISSING
    counts: list[int] = MISSING
    seeds: int = MISSING
    iterations: int = MISSING
    learning_rate: float = MISSING
    every: int = MISSING
    ridges: list[float] = MISSING
    picture: int = MISSING


@dataclass
class AutoencoderConfig:
    components: int = MISSING
    latent: int = MISSING
    alpha: float = MISSING
    beta: float = MISSING
    steps: int = MISSING
    batch_size: int = MISSING
    learning_rate: float = MISSING


@dataclass
class GpytorchConfig:
    points: int = MISSING
    batch_size: int = MISSING


@dataclass
class StreamConfig:
    rows: list[int] = MISSING
    dimension: int = MISSING
    count: int = MISSING


SSGP_POSITIVE = (
    "ssgp.counts", "ssgp.seeds", "ssgp.iterations", "ssgp.learning_rate", "ssgp.every", "ssgp.ridges", "ssgp.picture",
    "autoencoder.components", "autoencoder.latent", "autoencoder.steps", "autoencoder.batch_size",
    "autoencoder.learning_rate", "gpytorch.points", "gpytorch.batch_size", "stream.rows",
    "stream.dimension", "stream.count",
)  # fmt: skip
SSGP_NOT_NEGATIVE = ("autoencoder.alpha", "autoencoder.beta")
SSGP_MAY_BE_EMPTY = ("stream.rows",)
SSGP_CAPS = {
    "ssgp.counts": "count", "ssgp.seeds": "seeds", "ssgp.iterations": "epochs", "ssgp.picture": "steps",
    "autoencoder.steps": "epochs", "gpytorch.points": "steps",
    "stream.rows": "steps", "stream.count": "count",
}  # fmt: skip
