"""`+experiment=ssgp`, tiny: its jobs come to what one fit after the other comes to, and their parent compares them."""

from __future__ import annotations

import math
from importlib.util import find_spec

import mlflow
import pandas as pd
import pytest
import torch

from data.regression.abalone import load
from killing import stop_in
from logged import table
from models.features.kernels import Gaussian
from models.features.samplers import Iid, Orthogonal
from pipeline.job.fit import Fit
from pipeline.systems.ssgp.config import FeatureCountConfig, SsgpConfig, SsgpSectionConfig
from pipeline.systems.ssgp.curves import standardised_points
from pipeline.systems.ssgp.fits import Draw, fit_process, fit_ridge

OWN = ("+experiment=ssgp", "size=tiny", "data.source=stand_in", "data.points=40")
RIDGES = [1.0e-6, 1.0e-4, 1.0e-2, 1.0e-1, 1.0]


def runs(client):
    """The parent and its jobs, in the order in which these ran."""
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = [run for run in found if run.data.tags.get("multirun") == "parent"]
    return parent, sorted((r for r in found if r is not parent), key=lambda r: int(r.data.tags["job"]))


def numbers(run) -> dict[str, float]:
    """Every metric of a run, but for the times."""
    return {name: value for name, value in run.data.metrics.items() if not name.endswith("seconds")}


def curves_one_after_the_other() -> pd.DataFrame:
    """What the loop over seeds and arms gives that the jobs replace."""
    points = load(root=None, source="stand_in", seed=0, points=40)
    data = standardised_points(points, rows=100, dtype=torch.float64, device=torch.device("cpu"))
    rows = []
    for seed in (0, 1):
        own = SsgpSectionConfig(iterations=2, learning_rate=0.1, every=10)
        asked = SsgpConfig(seed=seed, features=FeatureCountConfig(10), ssgp=own)
        curves = {
            ("ssgp/iid", 10): fit_process(asked, data, Draw(Gaussian(), Iid()), train_frequencies=False).curve,
            ("ssgp/orthogonal", 10): fit_process(
                asked, data, Draw(Gaussian(), Orthogonal()), train_frequencies=False
            ).curve,
            **({("ridge", 0): fit_ridge(data, RIDGES).curve} if seed == 0 else {}),
        }
        for (arm, p), curve in curves.items():
            front = {"arm": arm, "p": p, "seed": seed}
            rows += [{**front, "iteration": row.iteration, **row.values()} for row in curve]
    return pd.DataFrame(rows)


def test_the_jobs_come_to_what_one_after_the_other_comes_to(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, "contender=ssgp/iid,ssgp/orthogonal,ridge")
    assert result.status == 0, result.err
    parent, jobs = runs(client)
    assert [job.data.tags["arm"] for job in jobs] == [
        "ssgp/iid",
        "ssgp/orthogonal",
        "ridge",
        "ssgp/iid",
        "ssgp/orthogonal",
    ]
    assert "ridge-seed1 comes to the same as STAND-IN-ssgp-abalone-ridge-seed0, which has finished" in result.out
    assert "6 jobs: 5 run, 1 not run as they would repeat those; 0 failed" in result.out
    curves = table(parent, "curves.csv")
    expected = curves_one_after_the_other()
    pd.testing.assert_frame_equal(curves[list(expected)], expected, check_exact=True)
    assert set(curves.loc[~curves["seeded"], "arm"]) == {"ridge"}
    means = table(parent, "means.csv")
    assert means["arm"].tolist() == ["ssgp/iid", "ssgp/orthogonal", "ridge"]
    assert means["runs"].tolist() == [2, 2, 1]
    chosen = curves[curves["chosen"]]
    assert means["rmse"].tolist() == chosen.groupby("arm", sort=False)["test_rmse"].mean().tolist()
    assert set(table(parent, "claims.csv")["verdict"]) == {"no claim (stand-in data)"}
    paired = table(parent, "paired.csv")
    beside = paired[(paired["baseline"] == "ridge") & (paired["score"] == "rmse")]
    assert beside[["challenger", "p", "pairs"]].to_numpy().tolist() == [["ssgp/iid", 10, 2], ["ssgp/orthogonal", 10, 2]]
    tables = {"jobs.csv", "curves.csv", "means.csv", "paired.csv", "claims.csv"}
    assert {item.path for item in client.list_artifacts(parent.info.run_id)} >= {*tables, "figures"}
    text = mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/figures/rmse.svg")
    assert "test RMSE (rings)" in text


def test_an_autoencoder_serves_all_jobs_of_its_seed(run_pipeline, client) -> None:
    asked = ("contender=revisited/iid,vae_ridge,pca/iid", "data=precipitation", "data.validation=20", "data.test=20")
    result = run_pipeline(*OWN, *asked, "data.points=90")
    assert result.status == 0, result.err
    assert result.out.count("found, trained before") == 2  # by vae_ridge, of two seeds
    parent, jobs = runs(client)
    assert len(jobs) == 6
    trained = table(parent, "autoencoders.csv")
    assert trained["seed"].tolist() == [0, 1]
    radii = {job.data.metrics["autoencoder/radius"] for job in jobs if "autoencoder/radius" in job.data.metrics}
    assert sorted(radii) == sorted(trained["radius"])
    clusters = table(parent, "clusters.csv")
    pd.testing.assert_frame_equal(clusters, table(jobs[0], "evaluate/clusters.csv"))
    assert clusters["inputs"].value_counts().to_dict() == {"inputs": 20, "reconfigured": 20}
    text = mlflow.artifacts.load_text(f"{parent.info.artifact_uri}/figures/clusters.svg")
    assert "reconfigured; silhouette" in text


def test_a_comparison_that_was_stopped_goes_on_and_registers_its_best(run_pipeline, client, monkeypatch) -> None:
    from pipeline.systems.ssgp import recipe

    fit, fits = recipe.fit, []

    def breaks(settings, *rest):
        if settings.seed == 1 and not fits:
            raise OSError("the disk is full")
        return fit(settings, *rest)

    asked = (*OWN, "contender=ssgp/iid", "tracking.register=abalone")
    monkeypatch.setattr(recipe, "fit", breaks)
    assert "the disk is full" in run_pipeline(*asked).err
    monkeypatch.setattr(recipe, "fit", lambda settings, *rest: (fits.append(settings.seed), fit(settings, *rest))[1])
    result = run_pipeline(*asked, "resume=true")
    assert result.status == 0, result.err
    assert fits == [1]
    parent, jobs = runs(client)
    assert parent.info.status == "FINISHED"
    best = min(jobs, key=lambda job: float(job.data.tags["validation_rmse"]))
    assert parent.data.tags["best.run"] == best.info.run_id
    assert client.get_model_version_by_alias("abalone", "best").run_id == best.info.run_id
    assert math.isfinite(parent.data.metrics["best/test_rmse"])


@pytest.mark.slow
def test_killed_in_a_training_a_comparison_ends_with_the_same_numbers(run_pipeline, client, store, monkeypatch) -> None:
    asked = (*OWN, "contender=ssgp/iid,ssgp/orthogonal", "seed=0", "ssgp.every=1")
    taken, step = [], Fit._step
    stop_in("pipeline.job.fit:Fit._step", store, *asked, calls=4)  # the second of two steps of the second job
    first, second = runs(client)[1]
    assert (first.info.status, second.info.status) == ("FINISHED", "RUNNING")
    monkeypatch.setattr(Fit, "_step", lambda fit, batches: (taken.append(fit), step(fit, batches))[1])
    assert run_pipeline(*asked, "resume=true").status == 0
    assert len(taken) == 1
    resumed = [table(runs(client)[0], name) for name in ("curves.csv", "paired.csv", "claims.csv")]
    metrics = [numbers(job) for job in runs(client)[1]]
    for run in client.search_runs([e.experiment_id for e in client.search_experiments()]):
        client.delete_run(run.info.run_id)
    assert run_pipeline(*asked).status == 0
    parent, jobs = runs(client)
    assert [numbers(job) for job in jobs] == metrics
    for name, found in zip(("curves.csv", "paired.csv", "claims.csv"), resumed, strict=True):
        whole = table(parent, name).drop(columns="seconds", errors="ignore")
        pd.testing.assert_frame_equal(found.drop(columns="seconds", errors="ignore"), whole, check_exact=True)


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
def test_a_model_of_gpytorchs_that_is_the_best_is_registered(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, "contender=rff/iid,ridge", "seed=0", "ssgp.ridges=[1000]", "tracking.register=mine")
    assert result.status == 0, result.err
    parent, (peer, ridge) = runs(client)
    assert float(peer.data.tags["validation_rmse"]) < float(ridge.data.tags["validation_rmse"])
    assert parent.data.tags["best.run"] == peer.info.run_id
    assert client.get_model_version_by_alias("mine", "best").run_id == peer.info.run_id
    assert f"registered: models:/mine/1, the model of {peer.info.run_name}" in result.out


@pytest.mark.parametrize("asked", ["compare.baseline=ridge", "compare.figure=contenders", "compare.arm=kernel"])
def test_what_its_report_does_not_look_at_is_refused(asked: str, run_pipeline) -> None:
    error = run_pipeline(*OWN, "contender=ssgp/iid,ridge", asked).error
    assert f"{asked}: recipe=ssgp draws and compares its models by itself; leave it out" in error


def test_trials_of_a_process_are_listed_by_their_validation_error(run_pipeline, client) -> None:
    asked = ("-m", "recipe=ssgp", "size=tiny", "data.source=stand_in", "data.points=40", "tracking.detail=summary")
    result = run_pipeline(*asked, "ssgp.learning_rate=0.1,0.01", "compare.figure=trials")
    assert result.status == 0, result.err
    parent, jobs = runs(client)
    trials = table(parent, "trials.csv")
    assert trials["validation_rmse"].tolist() == sorted(float(job.data.tags["validation_rmse"]) for job in jobs)


def test_data_sets_are_compared_apart(run_pipeline, client) -> None:
    result = run_pipeline(*OWN, "data=abalone,gas_turbine", "contender=ssgp/iid,ssgp/sobol", "seed=0")
    assert result.status == 0, result.err
    parent, _ = runs(client)
    means = table(parent, "means.csv")
    assert means["data"].tolist() == ["abalone", "abalone", "gas_turbine", "gas_turbine"]
    figures = {item.path for item in client.list_artifacts(parent.info.run_id, "figures")}
    assert {"figures/rmse_abalone.svg", "figures/rmse_gas_turbine.svg"} <= figures
    assert "## gas_turbine" in parent.data.tags["mlflow.note.content"]
