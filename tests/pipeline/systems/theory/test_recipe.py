"""recipe=theory from the command line to the store, its tables, and settings that make no sense."""

from __future__ import annotations

import io
import re
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir
from mlflow.artifacts import load_text

from data.points import Points
from data.regression import precipitation
from logged import only_run
from pipeline.compare.claims import NO_CLAIM
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.settings.build import settings_of
from pipeline.settings.schema import SizeConfig, register_schemas
from pipeline.systems.registry import schemas
from pipeline.systems.theory import recipe, tables
from pipeline.systems.theory.config import TheorySettings
from pipeline.systems.theory.inputs import inputs_of, normal_inputs, table_of

SMALL = (
    "+experiment=theory", "size=tiny", "threads=1", "theory.kernels=[gaussian]", "theory.samplers=[iid,orthogonal]",
    "theory.baselines=[iid]", "theory.rows=20", "theory.counts=[4]", "theory.dimensions=[2,4]", "theory.data=[]",
)  # fmt: skip
PRECIPITATION = ("theory.data=[precipitation]", "datasets.precipitation.source=stand_in")


def theory_of(*overrides: str) -> TheorySettings:
    register_schemas(schemas())
    with initialize_config_dir(str(conf_folder()), version_base=None):
        return settings_of(compose("config", list(overrides))).theory


def table(store, run, name: str) -> Any:
    mlflow.set_tracking_uri(f"sqlite:///{store / 'mlflow.db'}")
    return pd.read_csv(io.StringIO(load_text(f"{run.info.artifact_uri}/tables/{name}.csv")))


def test_tiny_run_leaves_tables_figures_and_no_claim_for_stand_in_data(run_pipeline, client, store) -> None:
    result = run_pipeline(*SMALL, *PRECIPITATION, "theory.counts=[4,64]")
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == "STAND-IN-theory-normal+precipitation-seed0"
    assert run.data.tags["data.source"] == "generated, stand-in"
    assert run.data.params["theory.counts"] == "[4, 10]"
    assert run.data.metrics["exact/normal_n2_gaussian/statistical_dimension"] > 1
    history = client.get_metric_history(run.info.run_id, "delta/precipitation_n3_gaussian/orthogonal")
    assert sorted(m.step for m in history) == [4, 10]
    found = {item.path.removeprefix("figures/") for item in client.list_artifacts(run.info.run_id, "figures")}
    names = {"delta_gaussian", "failures_gaussian", "delta_distribution_gaussian", "ratio_orthogonal_over_iid"}
    assert {f"{name}.{kind}" for name in names for kind in ("png", "svg")} <= found
    draws = table(store, run, "draws")
    assert len(draws) == 3 * 2 * 2 * 2
    assert np.allclose(draws["delta"], np.maximum(draws["highest"], -draws["lowest"]).clip(lower=0))
    assert np.allclose(draws["risk"], draws["bias"] + draws["variance"])
    claims = table(store, run, "claims")
    assert set(claims.loc[claims["family"] == "precipitation", "verdict"]) == {NO_CLAIM}
    assert set(claims.loc[claims["family"] == "normal", "verdict"]) == {"undecided"}
    assert table(store, run, "theorem_1")["violated"].sum() == 0
    assert "orthogonal: Δ smaller than iid" in run.data.tags["mlflow.note.content"]
    assert not list((store / "checkpoints").iterdir())


def test_a_run_that_was_stopped_goes_on_with_the_same_numbers(run_pipeline, client, store, monkeypatch) -> None:
    whole = run_pipeline(*SMALL)
    assert whole.status == 0, whole.err
    expected = table(store, only_run(client), "draws")
    measured, first = recipe.measure, []

    def stopping(problem, *rest):
        if first:
            raise KeyboardInterrupt
        first.append(problem.name)
        return measured(problem, *rest)

    monkeypatch.setattr(recipe, "measure", stopping)
    assert run_pipeline(*SMALL, "seed=1").status != 0
    monkeypatch.setattr(recipe, "measure", measured)
    assert run_pipeline(*SMALL, "seed=1").status == 0
    undisturbed, stopped = client.search_runs(["1"], filter_string="params.seed = '1'")
    assert (stopped.info.status, undisturbed.info.status) == ("KILLED", "FINISHED")
    again = []
    monkeypatch.setattr(
        recipe, "measure", lambda problem, *rest: again.append(problem.name) or measured(problem, *rest)
    )
    assert run_pipeline(*SMALL, "seed=1", "resume=true").status == 0
    assert again == ["normal_n4_gaussian"]
    resumed = client.get_run(stopped.info.run_id)
    assert resumed.info.status == "FINISHED"
    numbers = table(store, resumed, "draws")
    pd.testing.assert_frame_equal(numbers, table(store, undisturbed, "draws"))
    assert not np.allclose(numbers["delta"], expected["delta"])


def test_iterative_forms_give_the_same_draws(run_pipeline, client, store) -> None:
    assert run_pipeline(*SMALL).status == 0
    assert run_pipeline(*SMALL, "theory.dense_rows=1", "theory.preconditioner=8").status == 0
    iterative, dense = (table(store, run, "draws") for run in client.search_runs(["1"]))
    assert np.allclose(iterative["delta"], dense["delta"], atol=1e-5)
    assert np.allclose(iterative["theorem_1"], dense["theorem_1"], rtol=1e-4)
    assert not np.array_equal(iterative["delta"], dense["delta"])


def test_the_experiment_at_large_n_decomposes_nothing(run_pipeline, client, store, monkeypatch) -> None:
    def refused(matrix: torch.Tensor) -> None:
        raise AssertionError(f"{len(matrix)} rows decomposed")

    monkeypatch.setattr("pipeline.systems.theory.draws.KernelSpectrum", refused)
    result = run_pipeline("+experiment=theory_large", "size=tiny", "threads=1", "theory.preconditioner=16")
    assert result.status == 0, result.err
    draws = table(store, only_run(client), "draws")
    assert len(draws) == 2 * 2 * 1 * 2
    assert draws["delta"].between(0.01, 10).all()
    whole = theory_of("+experiment=theory_large")
    assert whole.rows > 2000 > whole.dense_rows


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("theory.ridge=0", "theory.ridge=0.0 must be greater than 0"),
        ("theory.ridge=-1", "theory.ridge=-1.0 must be greater than 0"),
        ("theory.ridge=inf", "theory.ridge=inf must be finite"),
        ("theory.noise=-0.1", "theory.noise=-0.1 must be 0 or greater"),
        ("theory.rows=1", "a kernel matrix of one point is always approximated"),
        ("theory.counts=[]", "theory.counts is empty"),
        ("theory.counts=[8,8,0]", "must be greater than 0"),
        ("theory.dimensions=[]", "theory.dimensions and theory.data are both empty"),
        ("theory.dimensions=[2,2]", "names one twice"),
        ("theory.kernels=[gausian]", "theory.kernels: gausian is unknown; choose among gaussian, matern"),
        ("theory.samplers=[iid,iid]", "names one twice"),
        ("theory.data=[mocap2]", "theory.data: mocap2 is unknown; choose among"),
        ("theory.data=[precipitation,mocap2]", "theory.data: mocap2 is unknown; choose among"),  # nothing is loaded
        ("theory.data=[mocap,mocap]", "names one twice"),
        ("theory.baselines=[sobol]", r"theory.baselines=\['sobol'\] must be among theory.samplers"),
        ("dtype=float32", "recipe=theory computes in float64"),
        ("+theory.wrong=3", "theory.wrong is not a setting; choose one of kernels, samplers"),
        ("samplers.iid._target_=os.system", "is not allowed"),
    ],
)
def test_settings_that_make_no_sense_end_at_once(run_pipeline, override: str, message: str) -> None:
    error = run_pipeline(*SMALL, override, "tracking=off").error
    assert re.search(message, error), error


def test_a_kernel_that_is_not_isotropic_needs_independent_frequencies(run_pipeline) -> None:
    laplacian = ("+kernel@kernels.l1=laplacian_l1", "theory.kernels=[l1]", "tracking=off")
    assert "not isotropic" in run_pipeline(*SMALL, *laplacian).error
    alone = run_pipeline(*SMALL, *laplacian, "theory.samplers=[iid]")
    assert alone.status == 0, alone.err
    assert "nothing to compare" in alone.out


def test_inputs_that_cannot_be_drawn_say_why() -> None:
    wrong: Any = dict
    with pytest.raises(PipelineError, match="its loader returns dict"):
        inputs_of("mine", wrong, rows=3, window=2, size=SizeConfig(), seed=0)

    def few():
        return precipitation.load(source="stand_in", points=5)

    with pytest.raises(PipelineError, match=r"theory\.rows=6: precipitation has 5 rows"):
        inputs_of("precipitation", few, rows=6, window=2, size=SizeConfig(), seed=0)
    found = inputs_of("precipitation", few, rows=5, window=2, size=SizeConfig(), seed=0)
    assert (found.name, found.stand_in, found.points.shape) == ("precipitation_n3", True, (5, 3))
    assert float(found.signal.mean()) == pytest.approx(0, abs=1e-12)


def test_generated_inputs_follow_their_seed() -> None:
    first, same, other = (normal_inputs(3, rows=2000, seed=seed) for seed in (0, 0, 1))
    assert first.checksum == same.checksum != other.checksum
    assert float(first.points.std()) == pytest.approx(1, abs=0.05)
    assert float(first.signal.square().mean()) == pytest.approx(1, abs=0.2)


def test_a_constant_column_stays_at_0() -> None:
    """Its entries less their mean are 1e-17 and not 0: divided by their standard deviation they would be ±1."""
    values = torch.full((8, 2), 0.1, dtype=torch.float64)
    values[:, 0] = torch.arange(8.0)
    table = Points(
        name="table", inputs=values, targets=values[:, 0], train=torch.arange(6), validation=torch.tensor([6]),
        test=torch.tensor([7]), input_names=("a", "b"), target_name="c", source="generated",
    )  # fmt: skip
    points, _ = table_of(table, window=1, size=SizeConfig())
    assert float(points[:, 0].square().mean()) == pytest.approx(1)
    assert float(points[:, 1].abs().max()) < 1e-15


def drawn(delta: dict[tuple[int, str], float], *, draws: int = 12, stand_in: bool = False) -> pd.DataFrame:
    """Draws of one kernel with the given mean Δ by (dimension, sampler), spread a little."""
    spread = np.random.default_rng(0).uniform(0.95, 1.05, draws)
    rows = [
        {
            "problem": f"normal_n{n}_gaussian", "inputs": f"normal_n{n}", "family": "normal", "dimension": n,
            "kernel": "gaussian", "stand_in": stand_in, "sampler": sampler, "count": 8, "draw": i,
            "delta": mean * (spread[i] if sampler == "iid" else spread[-1 - i]), "risk": mean, "theorem_1": 2 * mean,
        }
        for (n, sampler), mean in delta.items()
        for i in range(draws)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def ordering(draws: pd.DataFrame) -> pd.DataFrame:
    pair = ("iid", "orthogonal")
    delta = tables.claim_rows(tables.paired_table(draws, "delta", *pair), tables.QUANTITIES["delta"], pair)
    failures = tables.claim_rows(tables.paired_failures(draws, *pair, [0.5]), tables.FAILS_LESS_OFTEN, pair)
    return tables.ordering_table(pd.concat([delta, failures])).set_index("claim")


def test_the_ordering_holds_from_the_dimension_above_which_it_never_fails() -> None:
    draws = drawn({
        (2, "iid"): 0.6, (2, "orthogonal"): 0.4, (4, "iid"): 0.6, (4, "orthogonal"): 0.6, (8, "iid"): 0.6,
        (8, "orthogonal"): 0.4, (16, "iid"): 0.7, (16, "orthogonal"): 0.3,
    })  # fmt: skip
    found = ordering(draws)
    row = found.loc["orthogonal: Δ smaller than iid"]
    assert (row["holds from"], row["holds"]) == ("n = 8", "normal_n2, normal_n8, normal_n16")
    assert found.loc["orthogonal fails less often than iid", "holds from"] == "n = 8"
    other_way = ordering(drawn({(2, "iid"): 0.4, (2, "orthogonal"): 0.6}))
    assert set(other_way["does not hold"]) == {"normal_n2"}
    assert set(other_way["holds from"]) == {"nowhere"}
    stand_in = ordering(drawn({(2, "iid"): 0.6, (2, "orthogonal"): 0.4}, stand_in=True))
    assert set(stand_in[NO_CLAIM]) == {"normal_n2"}
    assert set(stand_in["holds"]) == {"–"}


def test_p_values_are_adjusted_over_all_dimensions() -> None:
    draws = drawn({(n, s): 0.6 if s == "iid" else 0.4 for n in (2, 4, 8) for s in ("iid", "orthogonal")})
    found = tables.paired_table(draws, "delta", "iid", "orthogonal")
    assert np.allclose(found["p_holm"], 3 * found["p"])


@pytest.mark.parametrize(("won", "lost", "p"), [(0, 0, 1.0), (6, 0, 2 / 64), (5, 1, 14 / 64), (9, 9, 1.0)])
def test_failures_are_compared_by_the_exact_sign_test(won: int, lost: int, p: float) -> None:
    """Draws in which both fail, or neither does, say nothing of the order."""
    delta = [(0.6, 0.4)] * won + [(0.4, 0.6)] * lost + [(0.6, 0.6)] * 3 + [(0.4, 0.4)] * 3
    one = drawn({(2, "iid"): 0.5, (2, "orthogonal"): 0.5}, draws=len(delta))
    for sampler, values in zip(("iid", "orthogonal"), zip(*delta, strict=True), strict=True):
        one.loc[one["sampler"] == sampler, "delta"] = values
    row = tables.paired_failures(one, "iid", "orthogonal", [0.5]).iloc[0]
    assert (row["only_baseline"], row["only_challenger"]) == (won, lost)
    assert row["difference"] == pytest.approx((lost - won) / len(delta))
    assert row["p"] == pytest.approx(p)


def test_failures_are_counted_with_their_interval_and_bound() -> None:
    theory = TheorySettings(thresholds=[0.5], ridge=0.5)
    found: Any = tables.failure_table(drawn({(2, "iid"): 0.6, (2, "orthogonal"): 0.4}), theory, rows=10)
    by_sampler = found.set_index("sampler")
    assert by_sampler["failures"].to_dict() == {"iid": 12, "orthogonal": 0}
    assert by_sampler.loc["iid", "high"] == pytest.approx(1)
    assert 0.6 < by_sampler.loc["iid", "low"] < 1
    assert (found["theorem_2"] == 1).all()
    checked: Any = tables.theorem_1_table(drawn({(2, "iid"): 0.6}))
    assert checked[["delta_below_1", "violated", "median_bound_over_risk"]].iloc[0].tolist() == [12, 0, 2]


def test_the_tiny_experiment_draws_fewer_figures() -> None:
    whole, tiny = (theory_of("+experiment=theory", *more) for more in ((), ("size=tiny",)))
    assert (tiny.kernels, tiny.data) == (["gaussian", "matern"], ["swimmer", "mocap"])
    assert tiny.kernels == whole.kernels[:2]
    assert (tiny.dimensions, tiny.samplers) == (whole.dimensions, whole.samplers)


@pytest.mark.parametrize(("choice", "label"), [("points", "mine_n2"), ("table", "mine_n6")])
def test_a_table_of_ones_own(choice: str, label: str, run_pipeline, client, tmp_path) -> None:
    """As docs/theory.md has it: points with a target, or the windows of two observations of a sequence."""
    values = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    pd.DataFrame(values.numpy(), columns=["a", "b", "y"]).to_csv(tmp_path / "mine.csv", index=False)
    own = [f"+data@datasets.mine={choice}", f"datasets.mine.path={tmp_path / 'mine.csv'}"]
    own += ["datasets.mine.target=y"] if choice == "points" else []
    result = run_pipeline(*SMALL, *own, "theory.data=[mine]", "theory.dimensions=[]")
    assert result.status == 0, result.err
    assert only_run(client).data.metrics[f"exact/{label}_gaussian/statistical_dimension"] > 1
