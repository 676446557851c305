"""The section of the schema that `recipe=theory` alone has."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING


@dataclass
class TheorySettings:
    kernels: list[str] = MISSING
    samplers: list[str] = MISSING
    baselines: list[str] = MISSING
    dimensions: list[int] = MISSING
    data: list[str] = MISSING
    rows: int = MISSING
    window: int = MISSING
    counts: list[int] = MISSING
    draws: int = MISSING
    ridge: float = MISSING
    noise: float = MISSING
    thresholds: list[float] = MISSING
    dense_rows: int = MISSING
    preconditioner: int = MISSING


THEORY_POSITIVE = (
    "theory.dimensions", "theory.rows", "theory.window", "theory.counts", "theory.draws", "theory.ridge",
    "theory.thresholds", "theory.dense_rows", "theory.preconditioner",
)  # fmt: skip
THEORY_NOT_NEGATIVE = ("theory.noise",)
THEORY_MAY_BE_EMPTY = ("theory.dimensions",)
THEORY_CAPS = {"theory.rows": "steps", "theory.counts": "count", "theory.draws": "seeds"}
