"""What a run fits before refinement is what `models.psrnn.fit` gives without settings and without tracking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from data.tables.sequences import load_table
from models.forecasting.filtering import MaskedSequences, filter_by_all_ranks, up_to_end
from models.forecasting.readout_settings import ReadoutSettings
from models.numerics.ridge import masked_mse
from models.psrnn.features import FeatureDraw
from models.psrnn.fit import FittedPSRNN, Regression, fit, fit_forecaster
from models.runtime.seeding import generators_of
from pipeline.systems.psrnn.load import Parts, load
from pipeline.tracking.model import load_model

SEED, COUNT, FIRST = 3, 6, 4
RUN = (
    "data=table", f"features.count={COUNT}", f"seed={SEED}", "evaluate.horizons=[1]", "evaluate.orders=[]", "threads=1",
    "tracking.detail=summary",
)  # fmt: skip
READOUT = ReadoutSettings(0, [1e-2, 1.0], "none", [1e-2, 1.0], choices=[0, 1, 2])
OPEN = ("readout.ridges=[0.01,1]", "readout.state_ridges=[0.01,1]", "readout.choices=[0,1,2]")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two waves with noise and a gap."""
    random, step = np.random.default_rng(0), np.arange(500)
    waves = np.stack([np.sin(step / 4), np.cos(step / 7)], 1) + 0.1 * random.normal(size=(500, 2))
    waves[40:43, 1] = np.nan
    path = tmp_path / "waves.csv"
    pd.DataFrame(waves, columns=["level", "flow"]).to_csv(path, index=False)
    return path


def run_of(client: MlflowClient) -> Run:
    (run,) = client.search_runs([each.experiment_id for each in client.search_experiments()])
    return run


def parts_of(table: Path) -> Parts:
    dataset = load_table(path=str(table))
    return load(dataset, span=5, first_step=FIRST, dtype=torch.float64, device=torch.device("cpu")).parts


@torch.no_grad()
def error(model: Any, part: MaskedSequences) -> float:
    predictions = filter_by_all_ranks(model, part.values, up_to_end(part.mask)).predictions
    return float(masked_mse(predictions, part.values, part.scored))


def fitted_to(parts: Parts, regression: Regression, readout: ReadoutSettings) -> FittedPSRNN:
    return fit(
        parts.train, parts.validation, features=FeatureDraw(count=COUNT), regression=regression, readout=readout,
        generators=generators_of(SEED),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "regression", "readout"),
    [
        (OPEN, Regression(), READOUT),
        (
            ("readout=linear", "update=whitened", "features.projection=4", "model=psrnn_cp", "model.rank=5"),
            Regression(update="whitened", projection=4, rank=5),
            ReadoutSettings(0, [0.01], "none"),
        ),
        (
            ("readout=linear", "initialise=random", "update=sign"),
            Regression(update="sign", random=True),
            ReadoutSettings(0, [0.01], "none"),
        ),
    ],
    ids=["lags chosen", "projected and factorised", "random"],
)
def test_the_errors_are_those_of_the_run_to_the_last_digit(
    typed: tuple[str, ...], regression: Regression, readout: ReadoutSettings, table: Path, run_pipeline, client
) -> None:
    result = run_pipeline(*RUN, f"data.path={table}", "tracking.log_model=false", "refine=none", *typed)
    assert result.status == 0, result.err
    parts = parts_of(table)
    fitted = fitted_to(parts, regression, readout)
    run = run_of(client)
    assert error(fitted.model, parts.test) == run.data.metrics["two_stage/test_mse"]
    assert {key: run.data.tags[key] for key in fitted.readout.chosen} == {
        key: f"{value:g}" for key, value in fitted.readout.chosen.items()
    }
    if fitted.decomposition is not None:
        assert fitted.decomposition.error == run.data.metrics["two_stage/decomposition_error"]


def test_arrays_give_the_forecasts_of_the_logged_model(table: Path, run_pipeline, client) -> None:
    """But for rounding: mean and scale are summed in another order."""
    assert run_pipeline(*RUN, f"data.path={table}", "refine=none", *OPEN).status == 0
    dataset = load_table(path=str(table))
    forecaster = fit_forecaster(
        dataset.train.to_arrays(), dataset.validation.to_arrays(), features=FeatureDraw(count=COUNT), readout=READOUT,
        generators=generators_of(SEED),
    )  # fmt: skip
    series = pd.DataFrame(dataset.test.to_arrays()[0], columns=["level", "flow"])
    logged = load_model(f"runs:/{run_of(client).info.run_id}/model").predict(series, params={"horizon": 12})
    expected = np.asarray(logged[["level", "flow"]])
    np.testing.assert_allclose(forecaster.forecast(series.to_numpy(), 12), expected, rtol=1e-6, atol=1e-9)
