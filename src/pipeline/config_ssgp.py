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
    iterations: int = MISSING
    batch_size: int = MISSING


@dataclass
class StreamConfig:
    rows: list[int] = MISSING
    dimension: int = MISSING
    count: int = MISSING
