"""Figures of multiruns of `recipe=documents`: what is drawn is what the tables hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.systems.documents.figures import errors_by_length, errors_by_most
from pipeline.systems.documents.multirun import by_most


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


def means_of(*rows: tuple[str, str, float]) -> pd.DataFrame:
    """Rows of arms: panel, arm, error."""
    means = pd.DataFrame(rows, columns=["panel", "arm", "error"])
    return means.assign(low=means["error"] - 0.1, high=means["error"] + 0.2)


def test_errors_by_how_many_tokens_are_read_have_a_line_for_a_pattern() -> None:
    means = means_of(("x", "distance @4096", 0.5), ("x", "distance @512", 0.7), ("x", "distance_window @512", 0.6),
                     ("x", "distance_window @4096", 0.4), ("x", "window tagger", 0.3),
                     ("y", "distance @512", 0.2), ("z", "distance", 0.2))  # fmt: skip
    rows = by_most(means)
    assert rows[["line", "most_tokens", "error"]].to_numpy().tolist() == [
        ["distance", 512, 0.7], ["distance + window", 512, 0.6],
        ["distance", 4096, 0.5], ["distance + window", 4096, 0.4],
    ]  # fmt: skip
    assert set(rows["panel"]) == {"x"}
    (panel,) = (own for own in errors_by_most(rows, title="t").axes if own.containers)
    assert panel.get_xscale() == "log"
    assert panel.get_xticks().tolist() == [512, 4096]
    assert [own.get_label() for own in panel.containers] == ["distance", "distance + window"]
    for bars, errors in zip(panel.containers, ([0.7, 0.5], [0.6, 0.4]), strict=True):
        line, _, (drawn,) = bars.lines
        assert line.get_xdata(orig=False) == pytest.approx([512, 4096], rel=0.05)
        np.testing.assert_allclose(line.get_ydata(orig=False), errors)
        ends = np.array([segment[:, 1] for segment in drawn.get_segments()])
        np.testing.assert_allclose(ends, np.array(errors)[:, None] + [-0.1, 0.2])


def test_arms_that_all_read_as_many_tokens_have_no_such_rows() -> None:
    assert by_most(means_of(("x", "distance @512", 0.2), ("x", "sliding_window @512", 0.3), ("x", "full", 0.1))).empty
