"""What a run says beneath its table of errors: the model before refinement, the season, and what to try next."""

from __future__ import annotations

from pipeline.labels import label
from pipeline.stages.baselines import Season
from pipeline.stages.evaluate import Evaluation


def remarks(evaluation: Evaluation, *, before: float | None, season: Season | None) -> list[str]:
    """before: the one-step test error before refinement, None where there was none."""
    said = []
    if before is not None:
        said.append(f"{label(evaluation.main)} before refinement, horizon 1: {before:.3g}")
    if season is not None:
        said.append(f"seasonal naive: {season}")
    return said
