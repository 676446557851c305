"""The sections that describe a PSRNN before refinement; see `pipeline.config`. `recipe=trace` has them too."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING


@dataclass
class BandwidthConfig:
    rule: str = MISSING
    value: float | None = None
    percentile: float = 50.0
    scale: float = 1.0
    pairs: int = 20000


@dataclass
class FeaturesConfig:
    count: int = MISSING
    projection: int | None = None
    bandwidth: BandwidthConfig = field(default_factory=BandwidthConfig)


@dataclass
class InitialiseConfig:
    method: str = MISSING
    ridge: float = MISSING
    scale: str = MISSING
    whitening: float = MISSING
    chunk: int = MISSING


@dataclass
class ReadoutConfig:
    lags: int = MISSING
    ridges: list[float] = MISSING
    state_ridges: list[float] | None = None
    scale: str = MISSING
