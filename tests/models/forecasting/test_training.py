"""Training in a library call gives the numbers of the gradient loop of runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from models.baselines.networks import LSTM
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences, filter_sequences
from models.forecasting.fitting import Problem
from models.forecasting.readout import ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.training import BATCH, CLIP, HORIZON, Descent, train_by_gradient
from models.numerics.ridge import masked_mse
from models.psrnn.features import FeatureDraw
from models.psrnn.fit import fit
from models.psrnn.kronecker import KroneckerPreconditioner
from models.runtime.seeding import generators_of
from pipeline.job.curve import Decision, Measures
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings

SETTINGS = ReadoutSettings(1, [1.0], "none")


def parts() -> tuple[MaskedSequences, MaskedSequences]:
    generator = torch.Generator().manual_seed(0)
    time = torch.arange(160, dtype=torch.float64)
    noise = 0.3 * torch.randn(2, 160, 2, generator=generator, dtype=torch.float64)
    values = torch.stack([torch.sin(0.3 * time), torch.cos(0.2 * time) ** 3], 1) + noise
    mask = torch.ones_like(values, dtype=torch.bool)
    mask[1, 40:44, 0] = False
    return tuple(MaskedSequences(values[:, s], mask[:, s], mask[:, s]) for s in (slice(0, 120), slice(120, 160)))  # pyright: ignore[reportReturnType]


def psrnn() -> Any:
    return fit(*parts(), features=FeatureDraw(count=4), readout=SETTINGS, generators=generators_of(0)).model


def lstm() -> Any:
    return LSTM(units=4).fit(Problem(*parts(), SETTINGS, generators_of(0)("weights"))).model


@pytest.mark.parametrize(
    ("make", "name", "rate"),
    [(psrnn, "kronecker", 2.0), (lstm, "adam", 0.001), (lstm, "adam", 3.0)],
    ids=["psrnn", "lstm", "lstm with steps taken back"],
)
def test_numbers_equal_those_of_a_run(make: Any, name: str, rate: float) -> None:
    train, validation = parts()
    first = make()
    second, solve = copy.deepcopy(first), ReadoutFit(train, validation, SETTINGS)
    descent = Descent(rate, KroneckerPreconditioner(damping=0.01) if name == "kronecker" else None)
    errors = train_by_gradient(first, solve, epochs=4, descent=descent, generator=generators_of(0)("order"))

    def error() -> dict[str, float]:
        filtered = filter_sequences(second, validation.values, validation.mask)
        return {"validation": float(masked_mse(filtered.predictions, validation.values, validation.scored))}

    rows: list[Any] = []
    objective = TruncatedBPTT(
        second, train, horizon=HORIZON, batch_size=BATCH, solve_readout=lambda model: solve(model).train
    )
    progress = Fit(
        objective,
        FitSettings(4, name, rate, CLIP),
        generator=generators_of(0)("order"),
        measures=Measures(error, rows.append, Decision("validation"), "train"),
        preconditioner=KroneckerPreconditioner(damping=0.01) if name == "kronecker" else None,
    ).run()
    assert errors == pytest.approx([row.values["validation"] for row in progress.rows], rel=1e-9)
    if rate == 3.0:
        assert not all(row.accepted for row in progress.rows)
    for own, other in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        torch.testing.assert_close(own, other, rtol=1e-9, atol=1e-12)


def test_the_best_epoch_is_kept() -> None:
    model = psrnn()
    solve = ReadoutFit(*parts(), SETTINGS)
    descent = Descent(2.0, KroneckerPreconditioner(damping=0.01))
    errors = train_by_gradient(model, solve, epochs=3, descent=descent, generator=generators_of(0)("order"))
    validation = parts()[1]
    with torch.no_grad():
        predictions = filter_sequences(model, validation.values, validation.mask).predictions
    assert float(masked_mse(predictions, validation.values, validation.scored)) == pytest.approx(min(errors), rel=1e-9)


def test_the_best_epoch_is_that_of_the_error_given() -> None:
    given, models = [3.0, 1.0, 2.0, 1.5], [lstm(), lstm()]
    for model, epochs in zip(models, (3, 1), strict=True):
        left, solve = iter(given), ReadoutFit(*parts(), SETTINGS)
        errors = train_by_gradient(
            model, solve, epochs=epochs, descent=Descent(), generator=generators_of(0)("order"),
            error=lambda left=left: next(left),
        )  # fmt: skip
        assert errors == given[: epochs + 1]
    longer, shorter, first = (model.state_dict().values() for model in (*models, lstm()))
    assert all(map(torch.equal, longer, shorter))
    assert not all(map(torch.equal, longer, first))
