"""Bandwidth ℓ of a kernel, from the distances between data points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

RULES = ("median_pairs", "median_neighbours", "percentile", "fixed")
RULES_OF_PAIRS = ("median_pairs", "percentile")  # which look at random pairs
PAIRS = 20000  # of points, unless another number is asked for
CHUNK = 1024


class NothingVaries(ValueError):
    """Says that points have no distances that a bandwidth could be read off."""


@dataclass(frozen=True)
class BandwidthRule:
    """Says how a bandwidth is read off the Euclidean distances between data points.

    rule: "median_pairs", the median over `pairs` pairs drawn at random with replacement;
    "median_neighbours", the median over consecutive rows, the paper's "between neighboring data points" (section 6.1);
    "percentile", the percentile `percentile` (0 to 100) over as many random pairs; "fixed", the number `value`.
    scale: a factor of what the rule gives. Distances, `value` and the bandwidth have the unit of the points.

    Raises ValueError for an unknown rule, an option out of range and one that the rule does not use.
    """

    rule: str = "median_pairs"
    value: float | None = None
    percentile: float = 50.0
    scale: float = 1.0
    pairs: int = PAIRS

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.rule == "fixed" and (self.value is None or not 0 < self.value < math.inf):
            raise ValueError(f"rule fixed needs a positive, finite value, got {self.value}")
        if self.rule != "fixed" and self.value is not None:
            raise ValueError(f"value is used with rule fixed only, got rule {self.rule}")
        if not 0 <= self.percentile <= 100:
            raise ValueError(f"percentile must lie between 0 and 100, got {self.percentile}")
        if self.rule != "percentile" and self.percentile != 50:
            raise ValueError(f"percentile is used with rule percentile only, got rule {self.rule}")
        if not 0 < self.scale < math.inf:
            raise ValueError(f"scale must be positive and finite, got {self.scale}")
        if self.pairs < 1:
            raise ValueError(f"pairs must be at least 1, got {self.pairs}")
        if self.rule not in RULES_OF_PAIRS and self.pairs != PAIRS:
            raise ValueError(f"pairs is used with rules {' and '.join(RULES_OF_PAIRS)} only, got rule {self.rule}")


MEDIAN_OF_PAIRS = BandwidthRule()


def bandwidth(
    points: Tensor,
    rule: BandwidthRule = MEDIAN_OF_PAIRS,
    *,
    generator: torch.Generator,
    adjacent: Tensor | None = None,
) -> float:
    """Returns the bandwidth ℓ that the rule reads off the points (n, dimension), in the unit of the points.

    Distances that are zero or not finite (rows with gaps) are left out, so constant columns and repeated rows never
    give a zero bandwidth.

    adjacent: bool (n − 1,), True where row i + 1 really follows row i, all True when left out; used by
    "median_neighbours" alone, which takes the points to be in the order of time.
    Raises NothingVaries, a ValueError, when no two compared points differ, and ValueError for an `adjacent` of another
    shape.
    """
    if rule.value is not None:
        return rule.scale * rule.value
    first, second = _compared(points, rule, adjacent, generator)
    distances = _distances(points, first, second)
    distances = distances[distances.isfinite() & (distances > 0)]
    if distances.numel() == 0:
        raise NothingVaries(
            f"nothing varies by bandwidth rule {rule.rule}: no two compared points of {len(points)} differ by a finite "
            "distance; give a fixed bandwidth"
        )
    return rule.scale * float(np.percentile(distances.cpu().numpy(), rule.percentile))


def _compared(
    points: Tensor, rule: BandwidthRule, adjacent: Tensor | None, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Returns the rows of the points whose distances the rule looks at, the first and the second of each pair, (pair,)
    each."""
    if rule.rule == "median_neighbours":
        return _neighbours(points, adjacent)
    return _pairs(points, rule.pairs, generator)


def _pairs(points: Tensor, pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns the rows of `pairs` ordered pairs of different points, (pair,) each, uniform, with replacement; none when
    there is one point."""
    rows = len(points)
    if rows < 2:
        return _no_rows(points), _no_rows(points)
    first = torch.randint(rows, (pairs,), generator=generator, device=generator.device)
    shift = torch.randint(1, rows, (pairs,), generator=generator, device=generator.device)
    return first.to(points.device), ((first + shift) % rows).to(points.device)


def _neighbours(points: Tensor, adjacent: Tensor | None) -> tuple[Tensor, Tensor]:
    first = torch.arange(max(len(points) - 1, 0), device=points.device)
    if adjacent is not None:
        if adjacent.shape != first.shape:
            raise ValueError(f"adjacent must have shape {tuple(first.shape)}, got {tuple(adjacent.shape)}")
        first = first[adjacent.to(points.device)]
    return first, first + 1


def _no_rows(points: Tensor) -> Tensor:
    return torch.empty(0, dtype=torch.int64, device=points.device)


def _distances(points: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Returns ‖points[first] − points[second]‖₂ in float64, (pair,). They are computed a chunk of rows at a time."""
    chunks = zip(first.split(CHUNK), second.split(CHUNK), strict=True)
    differences = (points[i].double() - points[j].double() for i, j in chunks)
    return torch.cat([torch.linalg.vector_norm(difference, dim=-1) for difference in differences])
