"""Delayed observations, windows of two lengths, traces and whitened windows, from the command line to the store."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from mlflow.artifacts import download_artifacts

from models.features.kernels import Gaussian
from models.features.samplers import Orthogonal
from models.forecasting.forecaster import load_forecaster
from models.psrnn.features import FeatureDraw
from models.psrnn.method import Psrnn
from pipeline.host.errors import PipelineError
from pipeline.systems.psrnn.stages import draw_of
from pipeline.systems.psrnn.too_large import refuse_wide_windows
from pipeline.systems.psrnn.two_stage import windows_in_words

TINY = (
    "+experiment=mocap", "size=tiny", "data.source=stand_in", "features.count=5", "tracking.detail=summary",
    "evaluate.horizons=[1]", "evaluate.orders=[2]",
)  # fmt: skip
ON = (
    "model.delay=3", "model.history=4", "model.future=1", "features.whiten=0.5", "features.linear=2",
    "features.traces=[2,5]", "features.bandwidth.scale=2",
)  # fmt: skip
GIGABYTE = 10**9


def the_run(client):
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return run


@pytest.mark.parametrize("model", ["psrnn", "psrnn_cp"])
def test_a_run_leaves_a_model_with_what_was_set(model: str, run_pipeline, client) -> None:
    rank = ("model.rank=4",) if model == "psrnn_cp" else ()
    result = run_pipeline(*TINY, f"model={model}", *rank, *ON, "readout=skip", "refine.learning_rate=0.01")
    assert result.status == 0, result.err
    run = the_run(client)
    folder = download_artifacts(run_id=run.info.run_id, artifact_path="parameters")
    loaded: Any = load_forecaster(Path(folder)).model
    shape = {name: loaded.architecture[name] for name in ("delay", "whitened", "linear", "state")}
    dimension = len(loaded.readout_bias)
    assert shape == {"delay": 3, "whitened": True, "linear": True, "state": 10 + dimension}
    assert loaded.features.size == 10 + 3 * dimension
    curve = {m.step: m.value for m in client.get_metric_history(run.info.run_id, "bptt/train_mse")}
    assert min(curve.values()) <= curve[0]


def test_a_run_with_nothing_set_has_the_model_of_before(run_pipeline, client) -> None:
    off = ("model.delay=1", "model.history=null", "features.whiten=0", "features.linear=0", "features.traces=[]")
    found = []
    for settings in ((), off):
        assert run_pipeline(*TINY, *settings, "seed=3").status == 0
        runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
        found = [run.data.metrics["evaluate/test_mse"] for run in runs]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("model.delay=0",), "model.delay=0"),
        (("model.history=0",), "model.history=0"),
        (("features.linear=-1",), "features.linear=-1"),
        (("features.whiten=2",), "features.whiten=2"),
        (("features.traces=[3,0]",), "features.traces"),
        (("model.history=70", "model.future=40"), "a history of 70 and a future of 40 need 111"),
    ],
)
def test_settings_that_make_no_sense_end_in_one_line(settings: tuple[str, ...], message: str, run_pipeline) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "NOT REAL|.*fewer than")
        result = run_pipeline(*TINY, "tracking=off", *settings)
    assert result.status != 0
    assert message in result.error


def test_a_linear_part_beside_no_lags_is_warned_of(run_pipeline, recwarn: pytest.WarningsRecorder) -> None:
    warnings.simplefilter("always")
    for readout, expected in (("linear", 1), ("skip", 0), ("auto", 0)):
        recwarn.clear()
        result = run_pipeline(*TINY, "features.linear=2", f"readout={readout}", "refine=none", "tracking=off")
        assert result.status == 0, result.err
        said = [str(w.message) for w in recwarn] + result.err.splitlines()
        assert sum("features.linear=2 makes the state alone worse" in line for line in said) == expected


def test_settings_reach_the_draw() -> None:
    from pipeline.systems.psrnn.config import BandwidthConfig, FeaturesConfig

    features = FeaturesConfig(
        count=7, linear=2.0, whiten=0.5, traces=[3.0], bandwidth=BandwidthConfig(rule="median_pairs", scale=2.0)
    )
    kernel, sampler = Gaussian(), Orthogonal()
    draw = draw_of(features, Psrnn(window=5, history=6, delay=2), kernel, sampler)
    assert (draw.past, draw.ahead, draw.delay, draw.span) == (6, 5, 2, 12)
    assert (draw.count, draw.linear, draw.whiten, draw.traces, draw.bandwidth.scale) == (7, 2.0, 0.5, (3.0,), 2.0)
    assert windows_in_words(draw) == ", history 6, delay 2, whiten 0.5, linear 2.0, traces 3"
    assert windows_in_words(FeatureDraw()) == ""


def test_windows_too_wide_for_memory_are_refused_where_they_are_used_as_they_are() -> None:
    wide = 4096
    for draw, projection in ((FeatureDraw(whiten=0.5, history=20), 40), (FeatureDraw(linear=1.0), None)):
        with pytest.raises(PipelineError, match=r"windows of up to \d+ numbers make .* of 2 GB of memory; take"):
            refuse_wide_windows(draw, wide, projection=projection, memory=2 * GIGABYTE)
        refuse_wide_windows(draw, wide, projection=projection, memory=None)
        refuse_wide_windows(draw, 5, projection=projection, memory=2 * GIGABYTE)
    refuse_wide_windows(FeatureDraw(delay=50), wide, projection=None, memory=GIGABYTE)
