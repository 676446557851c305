"""The curve of a training as a table and a figure."""

from __future__ import annotations

import math

from pipeline.job.curve import EpochRow, Progress
from pipeline.job.curve_report import curve_figure, curve_table


def test_a_curve_is_a_row_a_row_and_a_panel_a_value_over_the_same_steps() -> None:
    rows = [EpochRow(0, 0, {"error": 0.9}, 0.1), EpochRow(1, 50, {"loss": 2.0, "error": 0.5}, 0.2),
            EpochRow(2, 100, {"loss": 1.0, "error": 0.7}, 0.3)]  # fmt: skip
    table = curve_table(Progress(0.1, rows, best_row=1))
    assert table.drop(columns="loss").to_dict("list") == {
        "epoch": [0, 1, 2], "step": [0, 50, 100], "error": [0.9, 0.5, 0.7], "learning_rate": [0.1, 0.2, 0.3]
    }  # fmt: skip
    assert math.isnan(table["loss"][0])
    loss, error = curve_figure(table, 50, {"loss": "loss (nats)", "none": "-", "error": "error"}, "made").axes
    assert (loss.get_ylabel(), error.get_ylabel()) == ("loss (nats)", "error")
    assert loss.get_xlim() == error.get_xlim()
    assert [line.get_xdata()[0] for line in (loss.lines[-1], error.lines[-1])] == [50, 50]
