"""The curve of a training as metrics, a table and a figure."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import Mock, call

from pipeline.job.curve import EpochRow, Progress
from pipeline.job.curve_report import curve_figure, curve_table, epoch_table, log_row


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


def test_a_row_is_logged_by_its_epoch_with_whether_that_was_accepted_or_by_its_step() -> None:
    run: Any = Mock()
    row = EpochRow(2, 100, {"error": 0.7}, 0.3, accepted=False)
    log_row(run, row, "fit")
    assert run.metric.mock_calls == [
        call("fit/error", 0.7, 2), call("fit/learning_rate", 0.3, 2), call("fit/accepted", 0.0, 2)
    ]  # fmt: skip
    run.reset_mock()
    log_row(run, row, "finetune", by_step=True)
    assert run.metric.mock_calls == [call("finetune/error", 0.7, 100), call("finetune/learning_rate", 0.3, 100)]


def test_a_table_by_epoch_says_which_epochs_were_accepted() -> None:
    table = epoch_table(Progress(0.1, [EpochRow(0, 0, {"error": 0.9}, 0.1), EpochRow(1, 9, {}, 0.2, accepted=False)]))
    assert list(table.columns) == ["epoch", "error", "learning_rate", "accepted"]
    assert table["accepted"].tolist() == [True, False]
