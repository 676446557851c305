"""Made-up jobs of multiruns of `recipe=mctn`, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

SEEDS = range(8)
R2 = {"none-t": None, "cyclic-t-v": 0.49, "cyclic-t-v-a": 0.48, "simple-t-v": 0.5, "shuffled-t-v": -0.02}
ERRORS = {"none-t": 1.1, "cyclic-t-v": 0.8, "cyclic-t-v-a": 0.7, "simple-t-v": 0.8, "shuffled-t-v": 1.1}


def job(arm: str, seed: int, error: float, r2: float | None, **other: Any) -> dict[str, Any]:
    own: dict[str, Any] = {
        "run": f"{arm}-{seed}", "run_id": f"{arm}{seed}{other}", "data": "cycles", "stand_in": False, "arm": arm,
        "read": "t", "label_kind": "score", "positive_from": "0.0", "bar": "words_and_vader", "count": 0, "seed": seed,
        "parameters": 60000, "parameters_at_test": 30000, "validation_error": error, "test_error": error,
        "overrides": "", "stable": True, "varied": "", "contaminated": False, "unlinked": False, "fold": 0,
        "split": "published", "missing": "va", "seconds": 2.0, "test_mae": error, "test_accuracy": 0.7, "test_f1": 0.69,
        "test_correlation": 0.5,     }  # fmt: skip
    streams = {f"translation_r2_{letter}": np.nan if r2 is None else r2 for letter in "va" if f"-{letter}" in arm}
    return own | streams | other


def jobs_of(errors: dict[str, float] = ERRORS, r2: dict[str, Any] = R2, **other: Any) -> pd.DataFrame:
    """Jobs of several arms and seeds; arms of one seed have a share of their error in common."""
    chance = np.random.default_rng(5)
    common, own = 1 + 0.1 * chance.random(len(SEEDS)), lambda: 1 + 0.02 * (chance.random() - 0.5)
    return pd.DataFrame(
        [
            job(arm, seed, error * common[seed] * own(), r2[arm], **other)
            for arm, error in errors.items()
            for seed in SEEDS
        ]
    )
