"""A model of a person's own: through all stages, kept, served from elsewhere, or refused before the first stage."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from mlflow.tracking import MlflowClient

from models.forecasting.readout import ReadoutSettings
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.own_models import check_method, rehearse

THINGS = """
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from models.forecasting.filtering import State
from models.forecasting.fitting import Fitted, Problem


class SeasonalNaive(nn.Module):
    def __init__(self, *, dimension: int, season: int) -> None:
        super().__init__()
        self.architecture = {"dimension": dimension, "season": season}
        self.origin: Tensor
        self.register_buffer("origin", torch.zeros(season, dimension))

    def initial_state(self, batch: int) -> State:
        return (self.origin.expand(batch, -1, -1),)

    def predict(self, state: State) -> Tensor:
        return state[0][:, 0]

    def update(self, state: State, observation: Tensor) -> State:
        return (torch.cat([state[0][:, 1:], observation.unsqueeze(1)], 1),)


@dataclass(frozen=True, kw_only=True)
class Method:
    name: ClassVar[str] = "seasonal_naive_mine"
    trained: ClassVar[bool] = False
    season: int = 4

    def fit(self, problem: Problem) -> Fitted:
        values = problem.train.values
        model = SeasonalNaive(dimension=problem.dimension, season=self.season)
        return Fitted(model.to(dtype=values.dtype, device=values.device), {"season": self.season})
"""
MODULE = "my_seasonal_things"
ARCHITECTURE = 'self.architecture = {"dimension": dimension, "season": season}'


class Own:
    """The folder with the module and its YAML file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "conf" / "model").mkdir(parents=True)
        (folder / "conf" / "model" / "mine.yaml").write_text(f"_target_: {MODULE}.Method\nseason: 4\n")
        steps = np.arange(160)
        waves = np.sin(np.pi / 2 * steps) + 0.01 * np.random.default_rng(0).normal(size=160)
        pd.DataFrame({"a": waves, "b": 2 - waves}).to_csv(folder / "waves.csv", index=False)
        self.write()

    def write(self, *changes: tuple[str, str]) -> None:
        text = THINGS
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (self.folder / f"{MODULE}.py").write_text(text)

    @property
    def arguments(self) -> tuple[str, ...]:
        settings = (f"data.path={self.folder / 'waves.csv'}", "evaluate.horizons=[1,2]", f"extensions=[{MODULE}]")
        return ("--config-dir", str(self.folder / "conf"), "model=mine", "data=table", "size=tiny", *settings)


def forget() -> None:
    sys.modules.pop(MODULE, None)
    importlib.invalidate_caches()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # written twice within a second it would be read again
    monkeypatch.syspath_prepend(tmp_path)
    yield Own(tmp_path)
    forget()


@pytest.fixture
def elsewhere(own: Own, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """As another process that was started elsewhere: the module is not imported, nor found."""

    def go() -> None:
        forget()
        (own.folder / f"{MODULE}.py").unlink()
        monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(own.folder)])

    return go


def check_served(uri: str) -> None:
    model: Any = mlflow.pyfunc.load_model(uri)
    rows = [[float(i), float(-i)] for i in range(6)]
    found = model.predict(np.array(rows), params={"horizon": 3})
    assert found[["a", "b"]].to_numpy().tolist() == pytest.approx(np.array(rows[2:5]))


def test_it_is_kept_registered_and_served_from_elsewhere(
    own: Own, run_pipeline, client: MlflowClient, elsewhere, tmp_path: Path
) -> None:
    result = run_pipeline(*own.arguments, "tracking.register=mine", "tracking.detail=summary")
    assert result.status == 0, result.err
    version = client.get_model_version("mine", "1")
    elsewhere()
    kept = Path(client.download_artifacts(version.run_id, "parameters", str(tmp_path)))
    assert (kept / "code" / f"{MODULE}.py").read_text() == THINGS
    mlflow.set_tracking_uri(client.tracking_uri)
    check_served("models:/mine@best")
    forget()
    output = tmp_path / "forecasts.csv"
    asked = ("recipe=predict", "model=models:/mine/1", f"data.path={own.folder / 'waves.csv'}", "horizon=4")
    result = run_pipeline(*asked, f"output={output}")
    assert result.status == 0, result.err
    waves = pd.read_csv(own.folder / "waves.csv")[["a", "b"]]
    assert pd.read_csv(output)[["a", "b"]].to_numpy() == pytest.approx(waves.to_numpy()[-4:])


def test_the_best_of_a_multirun_is_registered_without_the_source(
    own: Own, run_pipeline, client: MlflowClient, elsewhere
) -> None:
    result = run_pipeline("-m", *own.arguments, "seed=0,1", "tracking.register=mine", "tracking.detail=summary")
    assert result.status == 0, result.err
    elsewhere()
    mlflow.set_tracking_uri(client.tracking_uri)
    check_served("models:/mine@best")


def tried(method: Any) -> None:
    """What comes before the first stage of a run."""
    check_method(method)
    rehearse(method, ReadoutSettings(1, [1.0], "none"), dtype=torch.float32, kept=True)


TRAINED = ("trained: ClassVar[bool] = False", "trained: ClassVar[bool] = True")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            [(ARCHITECTURE, "pass")],
            "SeasonalNaive has no architecture, so it could not be loaded; set self.architecture",
        ),
        ([(ARCHITECTURE, 'self.architecture = {"season": season}')], "missing a required argument: 'dimension'"),
        ([("import torch\n", "import torch\nimport data.base\n")], "imports data, which does not travel with a model"),
        ([("trained: ClassVar[bool] = False", "")], "does not say whether it is trained by gradient; write trained"),
        ([("def fit", "def fits")], "Method has no fit; it takes a Problem and returns a Fitted"),
        (
            [("Fitted(model.to", "(model.to")],
            "fit returned a tuple, not a models.forecasting.fitting.Fitted(model, chosen)",
        ),
        (
            [("def update", "def advance")],
            "its model, a SeasonalNaive, has no update (models.forecasting.filtering.SequenceModel)",
        ),
        ([TRAINED], "is trained, but its model, a SeasonalNaive, is no models.forecasting.recurrent.Recurrent"),
        (
            [('self.register_buffer("origin", torch.zeros', "self.origin = (torch.rand")],
            "predicts otherwise once it was saved and loaded; what it computes with must be a parameter, a buffer",
        ),
    ],
)
def test_what_could_not_be_kept_is_refused(changes: list[tuple[str, str]], message: str, own: Own) -> None:
    own.write(*changes)
    method = importlib.import_module(MODULE).Method()
    with pytest.raises(PipelineError, match=re.escape(message)):
        tried(method)


def test_it_is_refused_before_the_first_stage(own: Own, run_pipeline) -> None:
    own.write((ARCHITECTURE, "pass"))
    result = run_pipeline(*own.arguments)
    assert result.error.startswith(
        f"error: model._target_={MODULE}.Method: its model could not be kept: {MODULE}.Seaso"
    )
    assert "load …" not in result.out + result.err


def test_a_model_that_is_not_kept_needs_no_architecture(own: Own, run_pipeline) -> None:
    own.write((ARCHITECTURE, "pass"))
    result = run_pipeline(*own.arguments, "tracking=off")
    assert result.status == 0, result.err
    assert "seasonal_naive_mine" in result.out


def test_what_asks_for_more_than_the_made_up_data_is_checked_by_its_own_stage(own: Own, run_pipeline) -> None:
    own.write(
        (ARCHITECTURE, "pass"),
        (
            "        values = problem.train.values",
            "        values = problem.train.values\n        assert len(values) == 1",
        ),
    )
    result = run_pipeline(*own.arguments)
    assert "has no architecture" in result.error
    assert "fit …" in result.out + result.err
    assert "evaluate …" not in result.out + result.err


def test_models_of_this_project_are_not_tried() -> None:
    class Never:
        __module__ = "models.baselines.mine"

        def fit(self, problem: object) -> None:
            raise AssertionError(problem)

    tried(Never())


def test_trying_a_model_leaves_the_global_generator_alone(own: Own) -> None:
    own.write(("        values =", "        torch.rand(3)\n        values ="))
    before = torch.random.get_rng_state()
    tried(importlib.import_module(MODULE).Method())
    assert torch.equal(torch.random.get_rng_state(), before)


def test_it_gets_a_readout_in_groups_and_is_served_with_it_from_elsewhere(
    own: Own, run_pipeline, client: MlflowClient, elsewhere
) -> None:
    """It exposes no state, so the readout sees lags alone, as many as validation chooses without a state."""
    result = run_pipeline(*own.arguments, "readout.direct=3", "tracking.register=mine", "tracking.detail=summary")
    assert result.status == 0, result.err
    assert "readout (no state): the last" in result.out
    elsewhere()
    mlflow.set_tracking_uri(client.tracking_uri)
    model: Any = mlflow.pyfunc.load_model("models:/mine@best")
    readout = model.unwrap_python_model().forecaster.model
    assert type(readout.base).__name__ == "SeasonalNaive"
    assert (readout.state_size, len(readout.direct)) == (0, 3)
    waves = pd.read_csv(own.folder / "waves.csv")[["a", "b"]]
    found = model.predict(waves.iloc[:60], params={"horizon": 3})
    np.testing.assert_allclose(found[["a", "b"]], waves.iloc[60:63], atol=0.1)
    few = model.predict(waves.iloc[:2], params={"horizon": 3})  # as the model itself: fewer rows than lags
    assert few[["a", "b"]].to_numpy().shape == (3, 2)
