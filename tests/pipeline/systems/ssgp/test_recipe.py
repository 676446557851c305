"""`recipe=ssgp`, tiny, from the command line to the store."""

from __future__ import annotations

import io
import json
import math
from importlib.util import find_spec

import mlflow
import pandas as pd
import pytest

from pipeline.host.errors import PipelineError
from pipeline.systems.ssgp.recipe import VERSION, finished_cells
from pipeline.systems.ssgp.report import lines_of, means_of, over_seeds, pairs_of

OWN = ("+experiment=ssgp", "size=tiny", "data.source=stand_in")
SMALL = ("ssgp.arms=[ssgp/iid,ssgp/orthogonal,ridge]",)


needs_gpytorch = pytest.mark.skipif(
    find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'"
)


def only_run(client):
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return run


def table(run, path: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/{path}")))


def test_a_tiny_run_leaves_tables_figures_and_metrics(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, *SMALL)
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "STAND-IN-ssgp-abalone-seed0"
    assert run.data.params["ssgp.counts"] == "[10]"
    means = table(run, "evaluate/means.csv")
    assert means["arm"].tolist() == ["ssgp/iid", "ssgp/orthogonal", "ridge"]
    assert means["runs"].tolist() == [2, 2, 1]  # ridge regression has no chance in it
    assert bool((means["rmse"] > 0).all())
    claims = table(run, "evaluate/claims.csv")
    assert set(claims["verdict"]) == {"no claim (stand-in data)"}
    curves = table(run, "curves/curves.csv")
    assert curves.loc[curves["arm"] == "ssgp/iid", "iteration"].tolist() == [0, 2, 0, 2]
    chosen = curves[curves["chosen"]]
    assert len(chosen) == 5
    best = curves.groupby(["arm", "p", "seed"])["validation_nlpd"].min()
    assert sorted(best) == sorted(chosen["validation_nlpd"])
    history = client.get_metric_history(run.info.run_id, "ssgp-iid-p10/test_rmse")
    assert sorted(metric.step for metric in history) == [0, 1]
    mean = run.data.metrics["ssgp-iid-p10/mean_test_rmse"]
    assert mean == pytest.approx(sum(metric.value for metric in history) / 2)
    figures = {item.path for item in client.list_artifacts(run.info.run_id, "figures")}
    assert {"figures/rmse.png", "figures/rmse.svg"} <= figures


@pytest.mark.parametrize("data", ["gas_turbine", "precipitation"])
def test_reconfigured_inputs_are_shown_and_a_stream_is_timed(data: str, run_pipeline, client) -> None:
    arms = "ssgp.arms=[revisited/iid,vae_ridge,pca/iid]"
    result = run_pipeline(*OWN, arms, f"data={data}", "ssgp.seeds=1", "stream.rows=[50,90]", "stream.dimension=2")
    assert result.status == 0, result.err
    run = only_run(client)
    clusters = table(run, "evaluate/clusters.csv")
    assert clusters["inputs"].value_counts().to_dict() == {"inputs": 100, "reconfigured": 100}
    assert run.data.metrics["autoencoder/radius"] > 0
    trained = table(run, "evaluate/autoencoders.csv").iloc[0]
    assert trained["radius"] == pytest.approx(run.data.metrics["autoencoder/radius"])
    assert run.data.metrics["autoencoder/explained"] < 1
    costs = table(run, "evaluate/stream.csv")
    assert costs["rows"].tolist() == [50, 90]
    assert "stream/slope" in run.data.metrics
    figures = {item.path for item in client.list_artifacts(run.info.run_id, "figures")}
    assert {"figures/clusters.svg", "figures/stream.svg"} <= figures


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
@pytest.mark.slow
def test_the_peers_run_and_begin_where_ours_does(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, "ssgp.arms=[ssgp/iid,rff/iid,svgp,full_gp]", "ssgp.seeds=1")
    assert result.status == 0, result.err
    means = table(only_run(client), "evaluate/means.csv")
    assert set(means["arm"]) == {"ssgp/iid", "rff/iid", "svgp", "full_gp"}
    assert bool((means["rmse"] > 0).all())


def test_a_table_of_ones_own(run_pipeline, client, tmp_path) -> None:
    path = tmp_path / "houses.csv"
    pd.DataFrame({"rooms": range(60), "price": [i**0.5 for i in range(60)]}).to_csv(path, index=False)
    arguments = ("+experiment=ssgp", "size=tiny", "data=points", f"data.path={path}", "data.target=price")
    result = run_pipeline(*arguments, *SMALL)
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.info.run_name == "ssgp-houses-seed0"
    assert bool((table(run, "evaluate/means.csv")["rmse"] < 3).all())


def test_every_sampler_is_compared_with_independent_frequencies(run_pipeline, client) -> None:
    others = ["orthogonal", "hadamard", "stratified", "near_orthogonal", "sobol"]
    arms = ",".join(f"ssgp/{sampler}" for sampler in ("iid", *others))
    result = run_pipeline(*OWN, f"ssgp.arms=[{arms}]", "ssgp.seeds=1")
    assert result.status == 0, result.err
    assert set(table(only_run(client), "evaluate/claims.csv")["claim"]) == {
        f"ssgp/{s} ahead of ssgp/iid" for s in others
    }


def test_samplers_that_no_arm_names_are_not_asked_to_suit_the_kernel(run_pipeline) -> None:
    arms = ("kernel=laplacian_l1", "ssgp.arms=[ssgp/iid]", "ssgp.seeds=1", "tracking=off")
    result = run_pipeline(*OWN, *arms)
    assert result.status == 0, result.err
    assert "| ssgp/iid | 10 | 1 |" in result.out


def test_pairs_are_those_whose_arms_both_ran() -> None:
    arms = ["svgp", "revisited/iid", "ssgp/sobol", "ssgp/iid", "spectrum/sobol", "revisited/hadamard", "ridge"]
    assert pairs_of(arms) == [
        ("revisited/iid", "ssgp/iid"),
        ("spectrum/sobol", "ssgp/sobol"),
        ("ssgp/sobol", "ssgp/iid"),
        ("ssgp/iid", "svgp"),
    ]


def test_curves_go_as_far_as_all_seeds_and_means_say_what_was_kept() -> None:
    """Seed 1 ended after iteration 10; seed 0 was best untrained."""
    nlpd = {(0, 0): 1.0, (0, 10): 2.0, (0, 20): 3.0, (1, 0): 2.0, (1, 10): 1.0}
    front = {"arm": "ssgp/iid", "p": 8, "seconds": 1.0, "test_nlpd": 1.0, "validation_rmse": 1.0}
    rows = [
        {**front, "seed": seed, "iteration": at, "test_rmse": float(at + seed), "chosen": value == 1.0}
        for (seed, at), value in nlpd.items()
    ]
    ridge = {**front, "arm": "ridge", "p": 0, "seed": 0, "iteration": 0, "test_rmse": 9.0, "chosen": True}
    curves = over_seeds(pd.DataFrame(rows))
    assert curves["iteration"].tolist() == [0, 10]
    assert curves["error"].tolist() == [0.5, 10.5]
    assert curves[["error_low", "error_high"]].to_numpy().tolist() == [[0.25, 0.75], [10.25, 10.75]]
    table = pd.DataFrame([*rows, ridge])
    means = means_of(table[table["chosen"]])
    assert means[["arm", "runs", "rmse", "rmse_median", "untrained"]].to_numpy().tolist() == [
        ["ssgp/iid", 2, 5.5, 5.5, 1],
        ["ridge", 1, 9.0, 9.0, 0],
    ]
    assert means["kept"].tolist()[0] == 5.0
    assert math.isnan(means["kept"].tolist()[1])


def test_fits_of_another_version_are_not_gone_on_with(tmp_path) -> None:
    path = tmp_path / "cells.json"
    assert finished_cells(path) == {}
    for kept in ([], {"version": VERSION - 1, "cells": []}):
        path.write_text(json.dumps(kept))
        with pytest.raises(PipelineError, match=r"cells\.json was begun by another version of recipe=ssgp"):
            finished_cells(path)
    row = {"cell": {"arm": "ridge", "p": 0, "seed": 1}}
    path.write_text(json.dumps({"version": VERSION, "cells": [row]}))
    assert finished_cells(path) == {("ridge", 0, 1): row}


def test_a_panel_has_the_lines_it_has_room_for() -> None:
    arms = ["ssgp/sobol", "ssgp/orthogonal", "ssgp/iid", "pca/iid", "svgp", "rff/iid"]
    assert lines_of(arms) == ["ssgp/iid", "ssgp/orthogonal", "rff/iid", "ssgp/sobol", "pca/iid"]


def test_a_fit_that_stops_early_is_said_and_tagged(run_pipeline, client, monkeypatch) -> None:
    from pipeline.systems.ssgp.recipe import Bench

    fit = Bench.fit
    monkeypatch.setattr(Bench, "fit", lambda self, cell: fit(self, cell)[: 1 if cell == ("ssgp/iid", 10, 1) else None])
    assert run_pipeline(*OWN, *SMALL).status == 0
    run = only_run(client)
    assert run.data.tags["ssgp.stopped"] == "ssgp/iid p=10 seed=1"
    curves = table(run, "curves/curves.csv")
    assert curves.groupby("arm")["stopped"].sum().to_dict() == {"ridge": 0, "ssgp/iid": 1, "ssgp/orthogonal": 0}


@pytest.mark.parametrize(
    "arm",
    ["ssgp/iid", *(pytest.param(peer, marks=needs_gpytorch) for peer in ("rff/iid", "svgp", "full_gp"))],
)
def test_a_fit_that_cannot_go_on_counts_to_where_it_came(arm: str, run_pipeline, client) -> None:
    result = run_pipeline(*OWN, f"ssgp.arms=[{arm},ridge]", "ssgp.seeds=1", "ssgp.learning_rate=1e10")
    assert result.status == 0, result.err
    assert "training ends early and counts to 0" in result.out
    assert only_run(client).data.tags["ssgp.stopped"].startswith(arm)


def test_a_peer_that_is_not_installed_is_named(run_pipeline, monkeypatch) -> None:
    monkeypatch.setattr("pipeline.systems.ssgp.arms.find_spec", lambda _: None)
    error = run_pipeline(*OWN, "ssgp.arms=[ssgp/iid,full_gp]").error
    assert "full_gp need GPyTorch; install it" in error


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("ssgp.arms=[ssgp]",), "ssgp needs a sampler; choose ssgp/ one of iid, orthogonal, hadamard, stratified, "),
        (("ssgp.arms=[forest]",), "ssgp.arms: forest is unknown; choose of"),
        (("ssgp.arms=[]",), "ssgp.arms is empty; give at least one"),
        (("ssgp.counts=[0]",), "must be greater than 0"),
        (("ssgp.counts=[]",), "ssgp.counts is empty; give at least one value"),
        (("data.validation=3133",), "data.validation=3133 of 3133 training rows leaves none"),
        (("data.validation=0",), "abalone: the validation part has no row"),
        (("data.points=0",), "data.points=0 must be at least 1"),
        (("kernel=laplacian_l1",), "is not isotropic"),
        (("ssgp.iteration=3",), "ssgp.iteration"),
        (("ssgp.arms=[ssgp/iid,ridge,ssgp/iid]",), "ssgp.arms=['ssgp/iid', 'ridge', 'ssgp/iid'] names one twice"),
        (("ssgp.arms=[revisited/iid]", "ssgp.picture=3"), "ssgp.picture=3: a t-SNE takes at least 4 points"),
        (("ssgp.arms=[vae_ridge]", "autoencoder.batch_size=1"), "its layers normalise over a batch; give at least 2"),
        (("ssgp.arms=[rff/orthogonal]",), "use rff/iid in place of rff/orthogonal"),
        (("ssgp.arms=[rff/iid]", "kernel=laplacian"), "have the Gaussian kernel"),
        (("ssgp.arms=[revisited/iid]", "autoencoder.components=9"), "the cross-polytope has 8 vertices"),
        (("autoencoder.beta=-1",), "must be 0 or greater"),
    ],
)
def test_bad_settings_end_in_one_line(overrides, message, run_pipeline) -> None:
    assert message in run_pipeline(*OWN, *SMALL, *overrides).error


def test_sequences_and_points_are_not_taken_for_one_another(run_pipeline) -> None:
    sequences = ("data=handwriting", "data.source=stand_in", "data.steps=20")
    error = run_pipeline("+experiment=ssgp", "size=tiny", *sequences).error
    assert "load_handwriting gives sequences; recipe=ssgp takes a table of points: choose data=abalone" in error
    error = run_pipeline("data=abalone", "data.source=stand_in", "size=tiny").error
    assert "abalone.load gives a table of points; recipe=psrnn takes sequences: choose data=handwriting" in error


def test_an_interrupted_run_goes_on_where_it_stopped(run_pipeline, client, monkeypatch) -> None:
    from pipeline.systems.ssgp.recipe import Bench

    fit, fitted = Bench.fit, []

    def breaks(self, cell):
        if len(fitted) == 3:
            raise OSError("the disk is full")
        fitted.append(cell)
        return fit(self, cell)

    monkeypatch.setattr(Bench, "fit", breaks)
    assert "the disk is full" in run_pipeline(*OWN, *SMALL).error
    monkeypatch.setattr(Bench, "fit", lambda self, cell: (fitted.append(cell), fit(self, cell))[1])
    result = run_pipeline(*OWN, *SMALL, "resume=true")
    assert result.status == 0, result.err
    assert len(fitted) == len(set(fitted)) == 5
    assert len(table(only_run(client), "evaluate/means.csv")) == 3
