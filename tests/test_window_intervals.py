"""The table of coverage of intervals along a test period, on few simulated periods."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "window_intervals", raising=False)
    found = importlib.import_module("window_intervals")
    monkeypatch.setattr(found, "BOOTSTRAPPED", 500)
    return found


def test_drawn_periods_are_blocks_that_follow_one_another_in_a_circle(benchmark: Any) -> None:
    counts = benchmark.drawn_counts(10, 4, np.random.default_rng(0))
    assert set(counts.sum(1)) == {10}
    np.testing.assert_allclose(counts.mean(0), 1.0, atol=0.15)
    one_block = benchmark.drawn_counts(10, 10, np.random.default_rng(0))
    assert np.array_equal(one_block, np.ones((500, 10)))


def test_batch_means_cover_more_often_than_the_bootstrap(benchmark: Any, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.argv", ["window_intervals", "--periods", "300", "--correlations", "0"])
    benchmark.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:3] for row in rows] == [["96", "16", "0.0"], ["192", "8", "0.0"], ["336", "7", "0.0"]]
    for row in rows:
        covered, significant, bootstrapped, _ = map(float, row[3:])
        assert bootstrapped < covered < 97
        assert covered + significant == pytest.approx(100)
