"""Sizes of a PSRNN that no memory of this machine could hold, refused before anything is loaded."""

from __future__ import annotations

from typing import Any

from models.psrnn.features import FeatureDraw
from pipeline.host.errors import PipelineError

DOUBLE = 8  # bytes: two-stage regression sums in double precision, whatever the dtype
AT_ITS_PEAK = 20  # bytes for each number of the update tensor, with what is made of it; what is advised fits in
MOMENTS = 4  # matrices of (2m)² numbers at once
ADVISED = 40  # directions of a projection


def largest(memory: int, power: int, *, each: float = AT_ITS_PEAK) -> int:
    """Returns an n whose n^power numbers, of `each` bytes, fit into memory; tens from 20 on."""
    found = int((memory / each) ** (1 / power))
    return found if found < 20 else found // 10 * 10


def gigabytes(size: float) -> str:
    return f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e9:.2g} GB"


def refuse_too_large(features: Any, memory: int | None) -> None:
    """Raises PipelineError where the update tensor of a PSRNN, or a moment of its features, is more than all memory.

    features: the settings `features`: 2m features, or p directions of them, make (2m)³ or p³ numbers, and moments of
    (2m)². memory: in bytes; nothing is refused where it is None. A factorised PSRNN is made from the tensor too.
    """
    count, projection = features.count, features.projection
    moments, tensor = (2 * count) ** 2, (projection or 2 * count) ** 3
    if memory is None or DOUBLE * max(moments, tensor) <= memory:
        return
    if DOUBLE * moments > memory:
        fewer = largest(memory, 2, each=MOMENTS * AT_ITS_PEAK) // 2
        told, numbers = f"features.count={count}: a moment of its features has (2·{count})² numbers", moments
        advice = f"features.count={fewer} or fewer, with features.projection={ADVISED}"
    else:
        told, advice = tensor_in_words(count, projection, largest(memory, 3))
        numbers = tensor
    there = f"{gigabytes(DOUBLE * numbers)} in double precision, of {gigabytes(memory)} of memory"
    raise PipelineError(f"{told}, {there}; take {advice}")


def refuse_wide_windows(draw: FeatureDraw, dimension: int, *, projection: int | None, memory: int | None) -> None:
    """Raises PipelineError where `features.whiten` and `features.linear` make more than all memory of wide windows.

    dimension: d observed features. A covariance of windows of n numbers has n² of them, and n numbers beside 2m
    features make moments of (2m + n)² and, without a projection, an update tensor to suit. memory: in bytes.
    """
    if memory is None or not (draw.whiten or draw.linear):
        return
    windows = draw.inputs(dimension)
    features = [2 * draw.count + (n if draw.linear else 0) for n in windows]
    state, observation = (projection, projection) if projection else features[1:]
    numbers = max(max(windows) ** 2, max(features) ** 2, state**2 * observation)
    if DOUBLE * numbers > memory:
        asked = f"features.whiten={draw.whiten:g}, features.linear={draw.linear:g}"
        raise PipelineError(
            f"{asked}: windows of up to {max(windows)} numbers make "
            f"{numbers:,} numbers, {gigabytes(DOUBLE * numbers)} in double precision, of {gigabytes(memory)} of "
            f"memory; take features.whiten=0 and features.linear=0, shorter windows, or features.projection={ADVISED}"
        )


def tensor_in_words(count: int, projection: int | None, most: int) -> tuple[str, str]:
    """Returns which setting makes the update tensor how large, and what to take where `most` directions fit."""
    if projection is not None:
        named = f"features.projection={projection}: the update tensor has {projection}³ numbers"
        return named, f"features.projection={most} or less"
    named = f"features.count={count}: the update tensor has (2·{count})³ numbers"
    return named, f"features.count={most // 2} or fewer, or features.projection={min(ADVISED, most)}"
