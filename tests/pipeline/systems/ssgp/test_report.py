"""Tables and curves of a comparison, from rows of fits."""

from __future__ import annotations

import math

import pandas as pd

from pipeline.systems.ssgp.report import lines_of, means_of, over_seeds, pairs_of


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


def test_a_panel_has_the_lines_it_has_room_for() -> None:
    arms = ["ssgp/sobol", "ssgp/orthogonal", "ssgp/iid", "pca/iid", "svgp", "rff/iid"]
    assert lines_of(arms) == ["ssgp/iid", "ssgp/orthogonal", "rff/iid", "ssgp/sobol", "pca/iid"]
