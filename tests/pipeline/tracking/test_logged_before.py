"""Models that an earlier version logged still load, forecast the same numbers and are served.

The folders in `models_logged_before` are what `python -m pipeline … tracking.register=NAME` logged of a made-up table
of two columns, before modules of `models` moved: a PSRNN (`readout=skip readout.lags=2 refine.epochs=1 features.count=5
size=tiny`) and the model of CONTRIBUTING.md's example (`season: 4`). They are as MLflow wrote them, but for paths of
the machine and the copy of the package `models`: what is tested is the package of today. The numbers beside them are
those of the version that logged them. Nothing of this is to be made again.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest

from models.forecasting.forecaster import Forecaster, load_forecaster
from served_in_process import application, in_process

LOGGED = Path(__file__).with_name("models_logged_before")
OWN_MODULE = "seasonal_before"
COLUMNS = ["angle", "speed"]
HORIZON, INTERVAL = 3, 0.8
KEPT_NAMES = {  # what sources of one's own, and `served.py` of every logged model, import
    "models.baselines.persistence": ("Persistence",),
    "models.documents.predictor": ("load_predictor",),
    "models.documents.tables": ("COLUMNS", "predicted_table"),
    "models.experts.predictor": ("load_predictor",),
    "models.experts.tables": ("translated_table",),
    "models.filtering": ("State", "SequenceModel"),
    "models.fitting": ("Fitted", "Problem"),
    "models.forecaster": ("Forecaster", "load_forecaster", "save_forecaster"),
    "models.forecasting.divergence": ("FARTHEST", "first_diverged"),
    "models.forecasting.forecaster": ("Forecaster", "load_forecaster"),
    "models.forecasting.frame": ("are_missing",),
    "models.forecasting.held_out": ("filled_forward",),
    "models.forecasting.intervals": ("NotCalibrated", "TooFewForecasts"),
    "models.forecasting.request": ("LONGEST_VALUE", "SERIES", "decoded"),
    "models.forecasting.times_ahead": ("read_times", "times_ahead"),
    "models.forms.detect.saved": ("load_detector",),
    "models.forms.images": ("as_ink",),
    "models.forms.reader": ("FormReader", "WholeReader"),
    "models.forms.recognise.saved": ("load_recogniser",),
    "models.forms.saved": ("load_reader",),
    "models.forms.tables": ("found_table",),
    "models.mctn.tables": ("load_table_predictor",),
    "models.psrnn.cell": ("PSRNN",),
    "models.recurrent": ("Recurrent",),
    "models.request": ("FORMATS", "LONGEST_VALUE", "PARAMETERS", "decoded"),
    "models.runtime.request": ("read_table_body",),
    "models.runtime.request_values": ("numbers_in_column",),
    "models.runtime.scoring_server": ("bad_request", "check_before_mlflow"),
    "models.runtime.threads": ("threads_for",),
    "models.ssgp.predictor": ("load_predictor",),
    "models.ssgp.request": ("POINTS", "decoded"),
}


class Before:
    """A logged model and what it said when it was logged."""

    def __init__(self, name: str) -> None:
        self.uri = str(LOGGED / name)
        self.said: dict[str, Any] = json.loads((LOGGED / f"{name}.json").read_text())
        self.rows = np.array(self.said["rows"])
        self.extensions = [OWN_MODULE] if name == "own" else []

    def check_forecast(self, answer: pd.DataFrame) -> None:
        for column, values in self.said["forecast"].items():
            np.testing.assert_allclose(answer[column], values, rtol=0, atol=1e-10)


@pytest.fixture(params=["psrnn", "own"])
def before(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Before]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield Before(request.param)
    sys.modules.pop(OWN_MODULE, None)


def test_mlflow_loads_it(before: Before) -> None:
    model: Any = mlflow.pyfunc.load_model(before.uri)
    one_step = model.predict(before.rows, params={"horizon": 0})[COLUMNS].to_numpy()
    np.testing.assert_allclose(one_step, before.said["one_step"], rtol=0, atol=1e-10)
    before.check_forecast(model.predict(before.rows, params={"horizon": HORIZON, "interval": INTERVAL}))


def test_it_loads_without_mlflow(before: Before) -> None:
    forecaster = load_forecaster(Path(before.uri) / "artifacts" / "parameters", extensions=before.extensions)
    assert type(forecaster) is Forecaster
    np.testing.assert_allclose(forecaster.predict(before.rows), before.said["one_step"], rtol=0, atol=1e-10)
    forecast, radius = forecaster.forecast(before.rows, HORIZON), forecaster.radius(INTERVAL, HORIZON)
    ends = {"": forecast, "_lower": forecast - radius, "_upper": forecast + radius}
    found = {f"{name}{end}": values[:, i] for end, values in ends.items() for i, name in enumerate(COLUMNS)}
    before.check_forecast(pd.DataFrame(found))


def test_the_recipe_takes_it(before: Before, run_pipeline, tmp_path: Path) -> None:
    pd.DataFrame(before.rows, columns=COLUMNS).to_csv(tmp_path / "rows.csv", index=False)
    output = tmp_path / "forecasts.csv"
    asked = (f"model={before.uri}", f"data.path={tmp_path / 'rows.csv'}", f"horizon={HORIZON}", f"interval={INTERVAL}")
    result = run_pipeline("recipe=predict", *asked, f"output={output}")
    assert result.status == 0, result.err
    before.check_forecast(pd.read_csv(output))


@pytest.mark.parametrize("kind", ["plain", "strict"])
def test_both_servers_answer_with_it(kind: str, before: Before, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(before.uri, kind, monkeypatch)
    params = {"horizon": HORIZON, "interval": INTERVAL}
    status, answer = in_process(app, {"inputs": before.said["rows"], "params": params})
    assert status == 200, answer
    before.check_forecast(pd.DataFrame(answer["predictions"]))
    status, refused = in_process(app, {"inputs": [[0.1, True]]})
    assert (status, refused["message"]) == (400, "inputs[0][1]: true is not a number; a gap is null")


@pytest.mark.parametrize("module", KEPT_NAMES)
def test_names_that_sources_import_are_where_they_were(module: str) -> None:
    found = importlib.import_module(module)
    assert [name for name in KEPT_NAMES[module] if not hasattr(found, name)] == []
