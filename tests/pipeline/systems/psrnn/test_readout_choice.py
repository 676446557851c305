"""`readout=auto`: the default on a table, what it chooses, and that what is typed wins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from pipeline.host.paths import conf_folder
from pipeline.settings.composition import register_resolvers
from pipeline.settings.schema import register_schemas
from pipeline.systems.psrnn import recipe as psrnn
from pipeline.systems.registry import resolvers, schemas

QUICK = ("data=table", "features.count=4", "evaluate.horizons=[1,6]", "threads=1")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two series of order 4 that a state of the last two observations does not tell of."""
    noise = np.random.default_rng(0).normal(size=(500, 2))
    values = noise.copy()
    for t in range(4, 500):
        values[t] += 0.9 * values[t - 4]
    file = tmp_path / "fourth.csv"
    pd.DataFrame(values, columns=["a", "b"]).to_csv(file, index=False)
    return file


def runs(client):
    experiments = [e.experiment_id for e in client.search_experiments()]
    return sorted(client.search_runs(experiments), key=lambda run: run.info.start_time)


@pytest.mark.parametrize(
    ("typed", "lags", "choices", "epochs"),
    [
        ((), 0, 0, 20),
        (("data=swimmer",), 0, 0, 20),
        (("data=table",), None, 7, 0),
        (("data=table", "model=lstm"), None, 7, 20),
        (("data=table", "readout=linear"), 0, 0, 0),
        (("data=table", "readout=skip", "readout.lags=24"), 24, 0, 0),
        (("data=table", "readout.lags=3", "refine=bptt"), 3, 7, 20),
        (("data=table", "refine.epochs=5"), None, 7, 5),
        (("+experiment=mocap", "readout=auto"), None, 7, 20),
        (("+experiment=tune", "data=table"), None, 7, 20),  # what is drawn by default is a setting of refinement
        (("+experiment=tune", "data=table", "refine=none"), None, 7, 0),
    ],
)
def test_defaults_are_those_of_the_data_and_what_is_typed_wins(typed, lags, choices, epochs) -> None:
    register_schemas(schemas())
    register_resolvers(resolvers())
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        config = compose("config", overrides=list(typed))
    assert (config.readout.lags, len(config.readout.choices), config.refine.epochs) == (lags, choices, epochs)


@pytest.mark.parametrize("model", ["psrnn", "echo_state"])
def test_validation_chooses_and_the_run_is_the_one_with_these_lags(run_pipeline, client, table, model: str) -> None:
    quick = (*QUICK, f"data.path={table}", f"model={model}", "tracking.log_model=false")
    result = run_pipeline(*quick)
    assert result.status == 0, result.err
    (chosen,) = runs(client)
    lags = int(chosen.data.tags["readout.lags"])
    assert lags in (4, 8)
    assert f"the state and the last {lags} observations, chosen by the one-step validation error" in result.out
    assert f"readout with {lags} lags" in chosen.data.tags["mlflow.note.content"]
    assert run_pipeline(*quick, "readout=skip", f"readout.lags={lags}").status == 0
    typed = runs(client)[1]
    same = {name: value for name, value in typed.data.metrics.items() if "seconds" not in name}
    assert {name: chosen.data.metrics[name] for name in same} == pytest.approx(same, rel=1e-9)
    assert "readout.lags" not in typed.data.tags
    assert typed.info.run_name != chosen.info.run_name


def test_a_model_without_a_readout_is_not_asked(run_pipeline, table) -> None:
    result = run_pipeline(*QUICK, f"data.path={table}", "model=var", "tracking=off")
    assert result.status == 0, result.err
    assert "readout" not in (result.out + result.err).replace(str(table), "")  # whose folder is named after the test


def test_a_checkpoint_remembers_the_lags_that_were_chosen(run_pipeline, client, table, monkeypatch) -> None:
    quick = (*QUICK, f"data.path={table}", "tracking.log_model=false", "refine=bptt", "refine.epochs=1")

    def fails(*_: object, **__: object) -> None:
        raise OSError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(psrnn, "refine_stage", fails)
        assert "no more" in run_pipeline(*quick).error
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.systems.psrnn.two_stage.initialise", fails)
        result = run_pipeline(*quick, "resume=true")
    assert result.status == 0, result.err
    (run,) = runs(client)
    assert run.data.tags["readout.lags"] in ("4", "8")
    assert torch.isfinite(torch.tensor(run.data.metrics["bptt/validation_mse"]))


def test_nothing_to_choose_from_is_refused(run_pipeline, table) -> None:
    result = run_pipeline(*QUICK, f"data.path={table}", "readout=linear", "readout.lags=null", "tracking=off")
    assert "readout.lags=null leaves the choice to readout.choices, which is empty" in result.error
