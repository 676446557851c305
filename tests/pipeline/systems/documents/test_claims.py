"""Claims about networks that read documents: which can be made of the arms that ran, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
import pytest
import yaml

from pipeline.compare.bootstrap import DRAWS
from pipeline.compare.claims import ALPHA
from pipeline.host.paths import conf_folder
from pipeline.systems.documents.claims import BRIEF, LONG, NETWORKS, PATTERNS, SIMPLE, claims_on
from pipeline.systems.documents.labels import SAME, most_tokens, parts_of, without_most
from pipeline.systems.documents.multirun import summary_of

READERS = [yaml.safe_load(path.read_text()) for path in sorted((conf_folder() / "reader").glob("*.yaml"))]
VARIANTS = [own["documents"]["variant"] for own in READERS if "documents" in own]
ATTENTIONS = [path.stem for path in (conf_folder() / "attention").glob("*.yaml")]


def pairs_on(*names: str, short: bool = False) -> list[tuple[str, str]]:
    return sorted((own.challenger, own.against) for own in claims_on(names, short=short))


def test_every_arm_of_a_claim_is_one_that_experiments_have() -> None:
    known = {*VARIANTS, *(SAME.get(name, name) for name in ATTENTIONS)}
    assert set(SAME) < set(ATTENTIONS)
    assert {arm for own in (*PATTERNS, *LONG, *BRIEF) for arm in (own.challenger, own.against)} <= known
    assert set(NETWORKS) < known


def test_the_parts_of_a_name() -> None:
    assert parts_of("distance_window jitter 2 shuffled @512 large no pretraining") == (
        "distance + window", "jitter 2 shuffled", "@512", "large", "no pretraining", "")  # fmt: skip
    assert parts_of("full 512, large (LayoutLM large)") == ("full 512, large (LayoutLM large)", "", "", "", "", "")
    told = "distance keys, window values @512, encoder.layers=2, finetune.learning_rate=0.001"
    assert parts_of(told) == ("distance keys, window values", "", "@512", "", "", told.split(" @512, ")[1])
    assert without_most(told) == told.replace(" @512", "")
    assert parts_of("sliding_window text").pattern == "sliding_window text"
    assert [most_tokens(name) for name in ("distance @512 no pretraining", "distance")] == [512, None]
    with pytest.raises(ValueError, match="without line breaks"):
        parts_of("a\nb")


@pytest.mark.parametrize(
    ("arms", "made"),
    [
        (["distance + window", "distance", "sliding window"],
         [("distance", "sliding window"), ("distance + window", "distance"), ("distance + window", "sliding window")]),
        (["distance_window no pretraining", "window_random no pretraining", "distance_keys_window_values"],
         [("distance_window no pretraining", "window_random no pretraining")]),
        (["distance + window", "distance keys, window values"],
         [("distance + window", "distance keys, window values")]),
        (["sliding window", "sliding window, text (Longformer)"],
         [("sliding window", "sliding window, text (Longformer)")]),
        (["full 512, text (RoBERTa)", "full 512, text, static (BERT)"],
         [("full 512, text (RoBERTa)", "full 512, text, static (BERT)")]),
        (["distance", "distance no pretraining", "window tagger"],
         [("distance", "distance no pretraining"), ("distance", "window tagger"),
          ("distance no pretraining", "window tagger")]),
        (["distance shuffled", "sliding_window", "TF-IDF shuffled", "clause rule", "majority shuffled"],
         [("distance shuffled", "TF-IDF shuffled"), ("sliding_window", "clause rule")]),
        (["distance @512", "distance @4096", "distance @2048", "distance_window @4096"],
         [("distance @4096", "distance @512"), ("distance_window @4096", "distance @4096")]),
        (["distance", "distance_approximate"], [("distance", "distance_approximate")]),
        (["distance", "spatial_window"], [("distance", "spatial_window")]),
        (["distance, encoder.layers=2", "distance, encoder.layers=4", "sliding window, encoder.layers=2", "TF-IDF"],
         [("distance, encoder.layers=2", "TF-IDF"), ("distance, encoder.layers=4", "TF-IDF"),
          ("sliding window, encoder.layers=2", "TF-IDF"),
          ("distance, encoder.layers=2", "sliding window, encoder.layers=2")]),
        (["distance no pretraining", "distance, pretrain.steps=2", "distance, pretrain.steps=4"],
         [("distance, pretrain.steps=2", "distance no pretraining"),
          ("distance, pretrain.steps=4", "distance no pretraining")]),
        (["majority", "TF-IDF"], []),
    ],
)  # fmt: skip
def test_claims_are_made_of_the_arms_that_ran(arms: list[str], made: list[tuple[str, str]]) -> None:
    assert pairs_on(*arms) == sorted(made)


def test_on_short_documents_the_thesis_claims_that_512_tokens_are_enough() -> None:
    arms = ("sliding window", "full 512, large (LayoutLM large)", "full 512, text (RoBERTa)",
            "sliding window, text (Longformer)")  # fmt: skip
    cut, window = arms[1], arms[0]
    assert (window, cut) in pairs_on(*arms)
    assert (cut, window) not in pairs_on(*arms)
    assert (cut, window) in pairs_on(*arms, short=True)
    assert (window, cut) not in pairs_on(*arms, short=True)
    assert (arms[3], arms[2]) not in pairs_on(*arms, short=True)


@pytest.mark.parametrize("short", [True, False])
def test_no_experiment_has_so_many_claims_that_none_can_hold(short: bool) -> None:
    funsd = [f"{name}{guessing}" for name, guessing in product(VARIANTS, ("", " no pretraining"))]
    noises = [
        f"{moved}{order}"
        for moved, order in product(("", *(f" jitter {most}" for most in (2, 5, 20))), ("", " shuffled"))
    ]
    attentions = ("sliding_window", "distance", "distance_approximate", "distance_window")
    noise = [f"{name}{worse}" for name, worse in product((*attentions, *SIMPLE[:2]), noises)]
    for arms in ((*funsd, *SIMPLE[:2]), noise):
        assert len(pairs_on(*arms, short=short)) * 2 / DRAWS <= ALPHA


def guessed(
    wrong: Mapping[str, int | list[int]], *, stand_in: bool, seeds: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Jobs and sums of classes of 40 documents, of which an arm has so many wrong, with each seed or with all."""
    named = [(arm, f"run {arm} {seed}", seed) for arm in wrong for seed in range(seeds)]
    jobs = pd.DataFrame(named, columns=["arm", "run_id", "seed"]).assign(
        data="letters", task="classes", cue="", stand_in=stand_in, test_error=0.0
    )
    counts = {arm: own if isinstance(own, list) else [own] * seeds for arm, own in wrong.items()}
    rows = [(run, f"d{place:02d}", 600, 1, int(place >= counts[arm][seed]))
            for arm, run, seed in named for place in range(40)]  # fmt: skip
    sums = pd.DataFrame(rows, columns=["run_id", "document", "words", "documents", "right"]).assign(baseline="")
    return jobs, sums


def test_of_many_arms_a_pair_that_no_draw_turns_is_told() -> None:
    wrong = {"full": 40} | {f"full, encoder.layers={layers}": 0 for layers in range(14)}
    paired = summary_of(*guessed(wrong, stand_in=False), "t").tables["paired.csv"]
    assert len(paired) == 105
    assert set(paired.loc[paired["against"] == "full", "verdict"]) == {"holds"}


def verdict_of(wrong: Mapping[str, int | list[int]], seeds: int) -> tuple[str, float]:
    """Of the claim that distance is ahead of a window, and its p."""
    claims = summary_of(*guessed(wrong, stand_in=False, seeds=seeds), "t").tables["claims.csv"]
    own = claims[(claims["arm"] == "distance") & (claims["against"] == "sliding window")].iloc[0]
    return own["verdict"], own["p"]


def test_an_arm_that_one_seed_puts_behind_is_not_ahead() -> None:
    """Documents alone told it: with two seeds of three it is far ahead."""
    assert verdict_of({"sliding window": 20, "distance": [5, 5, 5]}, 3)[0] == "holds"
    said, p = verdict_of({"sliding window": 20, "distance": [2, 2, 24]}, 3)
    assert said == "undecided"
    assert p > 1 / 27  # that seed is drawn three times


def test_arms_of_the_same_seeds_have_the_same_draws_of_them() -> None:
    """Seeds that are hard for both arms tell nothing of their difference."""
    wrong = {"sliding window": [10, 20, 30], "distance": [5, 15, 25]}
    assert verdict_of(wrong, 3)[0] == "holds"


@pytest.mark.parametrize(("seeds", "said"), [(1, "undecided: one seed"), (2, "undecided: two seeds"), (3, "holds")])
def test_a_verdict_is_undecided_where_few_seeds_stand_behind_it(seeds: int, said: str) -> None:
    assert verdict_of({"sliding window": 20, "distance": 5}, seeds)[0] == said


def test_a_simple_model_hangs_on_no_seed() -> None:
    jobs, sums = guessed({"distance": 30}, stand_in=False)
    simple = sums[sums["run_id"] == "run distance 0"].assign(baseline="TF-IDF", right=1)
    tables = summary_of(jobs, pd.concat([sums, simple], ignore_index=True), "t").tables
    assert tables["claims.csv"]["verdict"].tolist() == ["does not hold"]


def test_seeds_of_networks_are_nothing_to_two_simple_models() -> None:
    jobs, sums = guessed({"distance": 30}, stand_in=False, seeds=1)
    simple = [sums.assign(baseline=name, right=right) for name, right in (("TF-IDF", 1), ("majority", 0))]
    paired = summary_of(jobs, pd.concat([sums, *simple], ignore_index=True), "t").tables["paired.csv"]
    said = dict(zip(zip(paired["arm"], paired["against"], strict=True), paired["verdict"], strict=True))
    assert said == {
        ("TF-IDF", "distance"): "undecided: one seed", ("majority", "distance"): "undecided: one seed",
        ("majority", "TF-IDF"): "does not hold",
    }  # fmt: skip


def test_a_claim_holds_where_the_sums_say_so_and_stand_ins_give_none() -> None:
    wrong = {"sliding window": 30, "distance": 10, "distance + window": 11}
    summary = summary_of(*guessed(wrong, stand_in=False), "t")
    claims = summary.tables["claims.csv"].set_index(["arm", "against"])
    own = claims.loc[("distance", "sliding window")]
    assert (own["claim"], own["whose"]) == ("looking at places is ahead of looking along the text", "thesis")
    assert own["difference"] == pytest.approx(-0.5)
    assert own["low"] < -0.5 < own["high"] < 0
    assert claims["verdict"].to_dict() == {
        ("distance", "sliding window"): "holds", ("distance + window", "sliding window"): "holds",
        ("distance + window", "distance"): "undecided",
    }  # fmt: skip
    np.testing.assert_allclose(own["p_holm"], 3 * own["p"])
    assert "over the claims of a set alone" in summary.text
    other = summary_of(*guessed({"distance": 30, "sliding window": 10}, stand_in=False), "t").tables["claims.csv"]
    assert other["verdict"].tolist() == ["does not hold"]
    alone = summary_of(*guessed(wrong, stand_in=True), "t").tables
    for name in ("paired.csv", "claims.csv"):
        assert set(alone[name]["verdict"]) == {"no claim (stand-in data)"}
    none = summary_of(*guessed({"distance": 3, "full": 4}, stand_in=False), "t")
    assert "claims.csv" not in none.tables
    assert "over the claims of a set alone" not in none.text
