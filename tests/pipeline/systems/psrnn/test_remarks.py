"""The line of advice: when a baseline is ahead, and which command is named."""

from __future__ import annotations

import torch

from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.evaluation import Evaluation
from pipeline.systems.psrnn.remarks import advice, reading

HORIZONS = (1, 5, 10)


def errors(**by_model: tuple[float, float, float]) -> Evaluation:
    squared = {
        model: {h: torch.full((1, 1, 1), value) for h, value in zip(HORIZONS, values, strict=True)}
        for model, values in by_model.items()
    }
    return Evaluation(squared, torch.zeros(1, 1, 1))


def test_nothing_is_said_of_a_model_that_is_ahead_or_behind_at_few_long_horizons() -> None:
    for last in ((2.0, 2.0, 2.0), (2.0, 2.0, 0.5), (0.995, 2.0, 2.0)):
        assert advice(errors(psrnn=(1.0, 1.0, 1.0), persistence=last), [], lags=0, chosen=False) == []


def test_the_state_alone_is_told_of_the_choice_by_validation() -> None:
    evaluation = errors(psrnn=(1.0, 1.0, 1.0), joined4=(0.4, 0.9, 0.9), ar2=(0.5, 2.0, 0.5))
    typed = ["data=table", "data.path=my file.csv", "readout=skip", "readout.lags=2", "resume=true"]
    (said,) = advice(evaluation, typed, lags=2, chosen=False)
    assert said == (
        "PSRNN is behind at horizons 1, 5 (state + last 4 observations is ahead) and at horizon 10 (AR(2) is ahead); "
        "to try: python -m pipeline data=table 'data.path=my file.csv' readout=auto"
    )


def test_after_that_choice_the_model_that_is_ahead_is_named_and_never_the_one_that_was_run() -> None:
    rows = {"persistence": (2.0, 2.0, 2.0), "seasonal_naive": (1.5, 0.5, 0.5), "ar4": (1.5, 1.5, 0.6)}
    (said,) = advice(errors(lstm=(1.0, 1.0, 1.0), **rows), ["model=lstm", "model.units=8"], lags=8, chosen=True)
    assert said.endswith(
        "behind at horizons 5, 10 (seasonal naive is ahead); to try: python -m pipeline model=seasonal_naive"
    )
    (said,) = advice(errors(kalman=(1.7, 1.0, 1.0), **rows), ["model=kalman"], lags=None, chosen=False)
    assert said.endswith("to try: python -m pipeline model=seasonal_naive")
    (said,) = advice(errors(var=(1.0, 1.7, 1.0), ar4=(0.9, 1.0, 1.0)), ["model=var"], lags=None, chosen=False)
    assert said == "ridge VAR is behind at horizons 1, 5 (AR(4) is ahead)"
    (said,) = advice(
        errors(last_value=(1.0, 1.7, 1.0), ar4=(0.9, 1.0, 1.0)), ["model=last_value"], lags=None, chosen=False
    )
    assert said.endswith("to try: python -m pipeline model=var")


def test_a_readout_above_a_naive_model_is_not_told_to_take_that_model() -> None:
    evaluation = errors(last_value_grouped=(1.0, 1.0, 1.0), persistence=(0.5, 0.5, 0.5))
    typed = ["model=last_value", "readout=kernel"]
    (said,) = advice(evaluation.shown(), typed, lags=4, chosen=True)
    assert said == "last value (grouped) is behind at horizons 1, 5, 10 (last value is ahead)"


def test_the_command_is_for_the_model_that_is_ahead_at_most_horizons() -> None:
    rows = {"persistence": (0.5, 1.1, 1.2), "ar4": (0.6, 0.7, 0.8)}
    (said,) = advice(errors(psrnn=(1.0, 1.0, 1.0), **rows), ["data=mine"], lags=4, chosen=True)
    assert said == (
        "PSRNN is behind at horizon 1 (last value is ahead) and at horizons 5, 10 (AR(4) is ahead); "
        "to try: python -m pipeline data=mine model=var"
    )


def test_a_baseline_that_is_the_model_of_the_run_is_not_shown_beside_it() -> None:
    values = (1.0, 2.0, 3.0)
    own = errors(last_value=values, persistence=values, ar4=(0.9, 1.0, 1.0)).shown()
    assert report.printed("t", own, []).count("last value") == 1
    assert [name for name, _ in report.error_rows(own)] == ["AR(4)", "last value"]
    assert "persistence" in errors(psrnn=values, persistence=values).shown().squared


def test_what_a_multirun_tells_its_jobs_is_not_repeated() -> None:
    evaluation = errors(psrnn=(1.0, 1.0, 1.0), joined4=(0.4, 0.4, 0.4))
    typed = ["data=swimmer", "seed=1", "tracking.parent=f75", "tracking.experiment='swimmer'"]
    (said,) = advice(evaluation, typed, lags=0, chosen=False)
    assert said.endswith("to try: python -m pipeline data=swimmer seed=1 readout=auto")
    (said,) = advice(evaluation, ["data=swimmer", "tracking.experiment=mine"], lags=0, chosen=False)
    assert said.endswith("data=swimmer tracking.experiment=mine readout=auto")


def test_the_settings_that_read_a_table_are_named_for_a_new_one() -> None:
    typed = ["data=table", "data.path=my.csv", "data.columns=[a]", "data.time=day", "data.decimal=comma"]
    assert reading(typed) == ["data.time=day", "data.decimal=comma"]
    assert reading(["data=mine", "data.time=3"]) == []
