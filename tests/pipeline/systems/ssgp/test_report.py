"""Tables and curves of a comparison, from rows of fits."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from pipeline.systems.ssgp.redraw import with_seeded
from pipeline.systems.ssgp.report import DataSet, claims_of, jobs_of, lines_of, means_of, over_seeds, pairs_of


def test_pairs_are_those_whose_arms_both_ran() -> None:
    arms = ["svgp", "revisited/iid", "ssgp/sobol", "ssgp/iid", "spectrum/sobol", "revisited/hadamard", "ridge"]
    assert pairs_of(arms) == [
        ("revisited/iid", "ssgp/iid"),
        ("spectrum/sobol", "ssgp/sobol"),
        ("ssgp/sobol", "ssgp/iid"),
        ("ssgp/iid", "svgp"),
    ]


def test_every_arm_is_compared_with_ridge_where_no_autoencoder_ran() -> None:
    assert pairs_of(["ssgp/iid", "spectrum/iid", "full_gp", "ridge"]) == [
        ("spectrum/iid", "ssgp/iid"),
        ("ssgp/iid", "full_gp"),
        ("ssgp/iid", "ridge"),
        ("spectrum/iid", "ridge"),
        ("full_gp", "ridge"),
    ]
    assert pairs_of(["ssgp/iid", "vae_ridge", "ridge"]) == []


def test_ridge_ran_once_and_is_paired_with_every_seed() -> None:
    """A row a score and count; two arms without frequencies have one row, whatever the counts of other arms are."""
    chosen = pd.DataFrame(
        [*fitted("ssgp/iid", 7, seeded=True), *fitted("full_gp", 1, seeded=False), *fitted("ridge", 1, seeded=False)]
    )
    chosen.loc[chosen["arm"] == "ridge", ["p", "test_rmse", "test_nlpd"]] = (0, 8.0, 9.0)
    paired, claims = claims_of(chosen, DataSet("own", "price", False))
    rows = paired[(paired["baseline"] == "ridge") & (paired["score"] == "rmse")].set_index("challenger")
    assert rows[["p", "pairs"]].to_numpy().tolist() == [[8, 7], [0, 1]]
    logs = [math.log((1.0 + seed) / 8.0) for seed in range(7)]
    assert rows.loc["ssgp/iid", "ratio"] == pytest.approx(math.exp(sum(logs) / 7))
    own = claims[(claims["claim"] == "ssgp/iid ahead of ridge") & (claims["score"] == "rmse")]
    assert own[["counts", "better", "verdict"]].to_numpy().tolist() == [[1, 1, "holds"]]


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


def fitted(arm: str, seeds: int, *, seeded: bool) -> list[dict[str, object]]:
    return [
        {"arm": arm, "p": 0 if arm == "full_gp" else 8, "seed": seed, "seeded": seeded, "test_rmse": 1.0 + seed,
         "test_nlpd": 1.0 + seed}
        for seed in range(seeds)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("baseline", "seeded", "seeds"),
    [("full_gp", False, [0, 1, 2]), ("full_gp", True, [0]), ("rff/iid", True, [0])],
)
def test_one_fit_stands_beside_every_seed_where_it_does_not_depend_on_it(
    baseline: str, seeded: bool, seeds: list[int]
) -> None:
    """The full process draws rows where there are more than it takes, and a sweep may have been stopped."""
    chosen = pd.DataFrame([*fitted("ssgp/iid", 3, seeded=True), *fitted(baseline, 1, seeded=seeded)])
    jobs = jobs_of(chosen, "rmse", DataSet("abalone", "rings", False))
    own = jobs[jobs["arm"] == baseline]
    assert (own["seed"].tolist(), set(own["count"]), set(own["error"])) == (seeds, {8}, {1.0})
    paired, _ = claims_of(chosen, DataSet("abalone", "rings", False))
    assert set(paired["pairs"]) == {len(seeds)}


def test_of_a_page_that_does_not_say_it_the_model_says_whether_its_fit_depends_on_the_seed() -> None:
    old = pd.DataFrame({"arm": ["ssgp/iid", "ridge", "vae_ridge", "full_gp"]})
    assert with_seeded(old)["seeded"].tolist() == [True, False, True, False]
    told = old.assign(seeded=True)
    assert with_seeded(told)["seeded"].tolist() == [True] * 4


def test_a_panel_has_the_lines_it_has_room_for() -> None:
    arms = ["ssgp/sobol", "ssgp/orthogonal", "ssgp/iid", "pca/iid", "svgp", "rff/iid"]
    assert lines_of(arms) == ["ssgp/iid", "ssgp/orthogonal", "rff/iid", "ssgp/sobol", "pca/iid"]
