"""Figures of multiruns of `recipe=documents`: what is drawn is what the tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pipeline.systems.documents.figures import errors_by_length


def test_errors_by_length_have_their_intervals() -> None:
    lengths = pd.DataFrame({
        "panel": "x", "arm": ["a", "a", "b", "b"], "least_words": [0, 512, 0, 512],
        "error": [0.4, 0.5, 0.6, 0.7], "low": [0.3, 0.4, 0.5, 0.5], "high": [0.6, 0.8, 0.65, 0.75],
    })  # fmt: skip
    (panel,) = (own for own in errors_by_length(lengths, title="t").axes if own.containers)
    assert [own.get_label() for own in panel.containers] == ["a", "b"]
    for bars, (_, rows) in zip(panel.containers, lengths.groupby("arm"), strict=True):
        ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
        np.testing.assert_allclose(ends, rows[["low", "high"]].to_numpy())
