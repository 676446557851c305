"""The gradient loop refining a PSRNN: a step back filters nothing, and a resumed run goes on to the same bits."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import one_step_error
from models.forecasting.readout import LagShares, ReadoutFit, ReadoutSettings
from models.psrnn.cell import PSRNN
from models.psrnn.kronecker import KroneckerPreconditioner
from pipeline.job.curve import Decision, EpochRow, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from small_problems import oscillation


class FilteredAnew(Fit):
    """Goes back by filtering everything again, as a slow twin."""

    def _step_back(self) -> None:
        super()._step_back()
        self.progress.train = self._refresh(solve=False) or math.nan

    def _record(self, train: float | None, *, accepted: bool) -> None:
        super()._record(train, accepted=accepted)
        last = self.progress.rows[-1]
        self.progress.rows[-1] = replace(last, values={**last.values, **self.measures.evaluate()})


def refinement(
    kind: type[Fit], *, lags: int, gaps: bool = False, path: Path | None = None, last: int | None = None
) -> tuple[list[EpochRow], TruncatedBPTT, list[int]]:
    """Steps that are too large at first; the rows, the objective, and after how many rows something was filtered.

    path, last: of the checkpoint, and the epoch after which the loop is stopped.
    """
    train, validation = oscillation(1, sequences=1, steps=200), oscillation(2, sequences=1, steps=80)
    if gaps:
        train.mask[0, 50:53] = train.scored[0, 50:53] = False
    model, generator = PSRNN(frequencies=4, dimension=2, state=8, lags=lags).double(), torch.Generator().manual_seed(2)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.4 * torch.randn(tensor.shape, generator=generator))
    settings, lagged = ReadoutSettings(lags, [1e-2], "samples"), LagShares()
    ReadoutFit(train, validation, settings, lagged)(model)  # the start-up
    lagged = LagShares() if path and path.exists() else lagged  # nothing is kept from the process before
    fit_readout = ReadoutFit(train, validation, settings, lagged)
    objective = TruncatedBPTT(
        model, train, horizon=10, batch_size=4, solve_readout=lambda refined: fit_readout(refined).train
    )
    rows, filtered = list[EpochRow](), list[int]()

    def evaluate() -> dict[str, float]:
        filtered.append(len(rows))
        return {"validation": one_step_error(model, validation)}

    def on_epoch(row: EpochRow) -> None:
        rows.append(row)
        if row.epoch == last:
            raise KeyboardInterrupt

    loop = kind(
        objective, FitSettings(10, "kronecker", 40.0, clip=100.0), generator=generator,
        measures=Measures(evaluate, on_epoch, Decision("validation"), "train"),
        preconditioner=KroneckerPreconditioner(damping=0.01), path=path,
    )  # fmt: skip
    loop.run()
    return loop.progress.rows, objective, filtered


@pytest.mark.parametrize("gaps", [False, True])
def test_refinement_goes_on_to_the_same_bits(gaps: bool, tmp_path: Path) -> None:
    whole, *_ = refinement(Fit, lags=2, gaps=gaps)
    assert [row.accepted for row in whole].count(False) > 1
    for last in (2, next(row.epoch for row in whole if not row.accepted)):
        path = tmp_path / f"{last}.npz"
        with pytest.raises(KeyboardInterrupt):
            refinement(Fit, lags=2, gaps=gaps, path=path, last=last)
        assert refinement(Fit, lags=2, gaps=gaps, path=path)[0] == whole


@pytest.mark.parametrize("lags", [0, 2])
def test_a_step_back_filters_nothing_and_goes_on_as_if_it_had(lags: int) -> None:
    rows, objective, filtered = refinement(Fit, lags=lags)
    slow_rows, slow, _ = refinement(FilteredAnew, lags=lags)
    accepted = [row.accepted for row in rows]
    assert False in accepted
    assert True in accepted[accepted.index(False) :]
    assert filtered == [row.epoch for row in rows if row.accepted]
    assert accepted == [row.accepted for row in slow_rows]
    for row, other in zip(rows, slow_rows, strict=True):
        assert row.values == pytest.approx(other.values, rel=1e-7)
        assert (row.epoch, row.learning_rate) == (other.epoch, other.learning_rate)
    for found, expected in zip(objective.states, slow.states, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(objective.lag_share, slow.lag_share, rtol=1e-6, atol=1e-8)
