"""Which arms a multirun of `recipe=mctn` compares, and what it claims, of made-up jobs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mctn_jobs import ERRORS, R2, SEEDS, job, jobs_of
from models.mctn.arms import ARMS
from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, NO_CLAIM, UNDECIDED
from pipeline.systems.mctn import claims, labels, multirun, tables


def verdicts(jobs: pd.DataFrame) -> dict[str, str]:
    named = labels.labelled(jobs)
    paired = claims.paired_of(named, tables.means_of(named))
    return {f"{row['control']} {row['challenger']}": row["verdict"] for row in paired.to_dict("records")}


def test_arms_are_seen_beside_what_shows_where_a_gain_comes_from() -> None:
    assert verdicts(jobs_of()) == {
        "none cyclic-t-v": HOLDS, "shuffled cyclic-t-v": HOLDS, "simple cyclic-t-v": UNDECIDED,
        "none cyclic-t-v-a": HOLDS, "fewer cyclic-t-v-a": HOLDS, "none simple-t-v": HOLDS, "none shuffled-t-v": HOLDS,
    }  # fmt: skip
    assert verdicts(jobs_of(ERRORS | {"cyclic-t-v": 1.3}))["none cyclic-t-v"] == DOES_NOT_HOLD
    assert verdicts(jobs_of(ERRORS | {"shuffled-t-v": 0.9}))["none shuffled-t-v"] == DOES_NOT_HOLD


def test_nothing_is_claimed_without_ground() -> None:
    assert set(verdicts(jobs_of(stand_in=True)).values()) == {NO_CLAIM}
    assert set(verdicts(jobs_of(contaminated=True)).values()) == {claims.CONTAMINATED}
    found = verdicts(jobs_of(r2=dict.fromkeys(R2, 0.004)))
    assert found.pop("none shuffled-t-v") == HOLDS
    assert set(found.values()) == {claims.NO_TRANSLATION}
    unknown = verdicts(jobs_of(r2=dict.fromkeys(R2)))
    assert unknown["none cyclic-t-v"] == claims.NO_TRANSLATION
    few = verdicts(jobs_of().query("seed < 2"))
    assert set(few.values()) == {UNDECIDED}


def test_nothing_is_claimed_of_arms_that_were_scored_on_other_samples() -> None:
    """Of two arms with other modalities as many unread samples may be others; of one modality they are the same."""

    def found(jobs: pd.DataFrame) -> dict[str, str]:
        return verdicts(jobs.assign(read=jobs["read"].where(jobs["arm"] != "none-tva", "tva")))

    own = ERRORS | {"none-tva": 1.2}
    jobs = jobs_of(own, R2 | {"none-tva": None}, unread=0.0)
    assert found(jobs)["fusion cyclic-t-v-a"] == HOLDS
    fewer = found(jobs.assign(unread=np.where(jobs["arm"] == "none-tva", 0.0, 3.0)))
    assert fewer.pop("fusion cyclic-t-v-a") == claims.OTHER_SAMPLES
    assert fewer["none cyclic-t-v"] == fewer["fewer cyclic-t-v-a"] == HOLDS
    assert found(jobs.assign(unread=3.0))["fusion cyclic-t-v-a"] == claims.OTHER_SAMPLES
    anew = jobs.assign(unread=jobs["seed"] * np.where(jobs["arm"] == "none-tva", 0, 1))
    assert found(anew)["none cyclic-t-v"] == HOLDS
    one = anew[(anew["seed"] == 0) | (anew["arm"] != "none-tva")]  # a seed without unread samples is the only pair
    assert found(one)["fusion cyclic-t-v-a"] == UNDECIDED
    assert "other_samples" not in claims.paired_of(labels.labelled(jobs), tables.means_of(labels.labelled(jobs)))


@pytest.mark.parametrize(("unread", "verdict"), [(0.0, HOLDS), (2.0, claims.OTHER_SAMPLES)])
def test_a_bar_may_be_scored_on_other_samples(unread: float, verdict: str) -> None:
    jobs = jobs_of({"none-t": 0.9}, unread=0.0, bar="audio", bar_error=1.5, bar_mae=1.5, bar_unread=unread)
    assert verdicts(jobs)["bar none-t"] == verdict
    assert verdicts(jobs.drop(columns="bar_unread"))["bar none-t"] == HOLDS  # jobs of before do not say it


def test_every_arm_is_seen_beside_arms_that_exist() -> None:
    pairs = claims.pairs_of([*ARMS, "tfidf"], ["tfidf"])
    named = {pair for pair in pairs if pair.control not in ("bar", "settings")}
    assert {pair.against for pair in named} <= set(ARMS)
    assert {pair.challenger for pair in pairs if pair.control == "bar"} == set(ARMS)
    assert claims.Pair("concat", "cyclic-t-a-v", "concat-at-v") in named
    assert claims.Pair("double", "cyclic-t-v-a", "double-t-v-a") in named
    assert claims.Pair("fusion", "cyclic-t-v-a", "none-tva") in named
    assert claims.Pair("none", "paired-t-av", "none-t") in named
    for thesis in (  # what the thesis says of Q3 to Q5
        ("simple", "cyclic-t-v-a", "simple-t-v-a"), ("paired", "cyclic-t-v-a", "paired-t-av"),
        ("double", "simple-t-v-a", "double-t-v-a"), ("double", "bothways-t-v", "double-t-v"),
        ("source", "cyclic-t-a", "cyclic-v-a"), ("source", "cyclic-t-v-a", "cyclic-v-a-t"),
        ("order", "cyclic-t-v", "cyclic-t-a"), ("order", "cyclic-t-v-a", "cyclic-t-a-v"),
    ):  # fmt: skip
        assert claims.Pair(*thesis) in named
    assert not [pair for pair in named if pair.challenger in ("none-t", "double-t-a", "concat-tv-a")]


def test_settings_are_compared_with_the_default_ones_and_data_apart() -> None:
    rows = [
        job("cyclic-t-a", seed, 1 + seed / 10 + more, 0.3, varied=f"data.link={link}, mctn.share={share}")
        for link in ("true", "false") for share, more in (("core", 0.0), ("none", 0.01)) for seed in SEEDS
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    assert set(named["arm"]) == {"cyclic-t-a share=core", "cyclic-t-a share=none"}
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired["data"].tolist() == ["cycles, data.link=false", "cycles, data.link=true"]
    assert set(paired["control"]) == {"settings"}
    assert set(paired["challenger"]) == {"cyclic-t-a share=none"}
    assert (paired["ratio"] > 1).all()


def test_folds_are_units_of_pairs() -> None:
    """Seeds of a fold have its samples in common: more of them do not make more pairs."""
    more = {("none-t", 0, 0): 0.3, ("cyclic-t-v", 3, 1): -0.2}
    rows = [
        job(arm, seed, error + 0.1 * fold + 0.01 * seed + more.get((arm, fold, seed), 0), 0.2, fold=fold,
            varied=f"data.fold={fold}")
        for arm, error in (("none-t", 1.0), ("cyclic-t-v", 0.9)) for fold in range(5) for seed in range(2)
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    assert set(named["data"]) == {"cycles"}
    assert set(named["arm"]) == {"none-t", "cyclic-t-v"}
    (row,) = claims.paired_of(named, tables.means_of(named)).to_dict("records")
    assert (row["pairs"], row["missing"], row["paired_by"]) == (5, 0, "fold, mean over seeds")
    table = pd.DataFrame(rows).pivot_table("test_error", ["fold", "seed"], "arm")
    logs = (np.log(table["cyclic-t-v"]) - np.log(table["none-t"])).groupby("fold").mean()
    shared = np.sqrt(1 / 5 + 1 / 3)  # what folds have in common does not average out: three of five are learned from
    half = 2.7764451051977987 * logs.std() * shared  # Student's t of 4 degrees of freedom
    by_hand = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    np.testing.assert_allclose([row["ratio"], row["ratio_low"], row["ratio_high"]], by_hand)
    differences = (table["cyclic-t-v"] - table["none-t"]).groupby("fold").mean()
    np.testing.assert_allclose(row["mean_difference"], differences.mean())
    half = 2.7764451051977987 * differences.std() * shared
    np.testing.assert_allclose(row["mean_difference_high"], differences.mean() + half)
    text = multirun.summary_of(named, pd.DataFrame(), "folds").text
    assert "cycles, paired by fold, mean over seeds\n\n| claim |" in text


def test_five_folds_decide_no_claim_of_shuffled_targets() -> None:
    """The claim needs no p, so that the number of pairs has to be looked at."""
    rows = [job(arm, 0, (1.0 + 0.01 * fold) * factor, 0.2, fold=fold, varied=f"data.fold={fold}")
            for arm, factor in (("none-t", 1.0), ("shuffled-t-v", 0.5)) for fold in range(5)]  # fmt: skip
    folds, seeds = (labels.labelled(pd.DataFrame(own)) for own in (rows, [
        row | {"seed": row["fold"], "fold": 0, "varied": ""} for row in rows
    ]))  # fmt: skip
    assert claims.paired_of(folds, tables.means_of(folds))["verdict"].tolist() == [UNDECIDED]
    assert claims.paired_of(seeds, tables.means_of(seeds))["verdict"].tolist() == [DOES_NOT_HOLD]


def test_folds_of_several_partitions_are_pairs_that_share_their_samples() -> None:
    """The interval is that of the corrected resampled t-test: one fold of five is tested on, three are learned from."""
    generator = np.random.default_rng(0)
    rows = [
        job(arm, seed, error + 0.1 * generator.random(), 0.2, fold=fold, varied=f"data.fold={fold}, data.seed={drawn}")
        for arm, error in (("none-t", 1.0), ("cyclic-t-v", 0.9)) for drawn in range(3) for fold in range(5)
        for seed in range(2)
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    assert set(named["data"]) == {"cycles"}
    (row,) = claims.paired_of(named, tables.means_of(named)).to_dict("records")
    assert (row["pairs"], row["missing"], row["paired_by"]) == (15, 0, "fold of each partition, mean over seeds")
    table = pd.DataFrame(rows).pivot_table("test_error", ["varied", "seed"], "arm")
    logs = (np.log(table["cyclic-t-v"]) - np.log(table["none-t"])).groupby("varied").mean()
    error = logs.std() * np.sqrt(1 / 15 + 1 / 3)
    half = 2.1447866879169273 * error  # Student's t of 14 degrees of freedom
    by_hand = np.exp([logs.mean(), logs.mean() - half, logs.mean() + half])
    np.testing.assert_allclose([row["ratio"], row["ratio_low"], row["ratio_high"]], by_hand)
    np.testing.assert_allclose(row["p"], 2 * stats.t.sf(-logs.mean() / error, 14))


def test_a_seed_of_the_data_without_folds_is_data_of_its_own() -> None:
    rows = [job("none-t", 0, 1.0, None, varied=f"data.seed={drawn}") for drawn in range(2)]
    assert labels.labelled(pd.DataFrame(rows))["data"].tolist() == ["cycles, data.seed=0", "cycles, data.seed=1"]


def test_a_baseline_stands_beside_each_seed_with_its_error_of_the_fold() -> None:
    rows = [
        job("none-t", seed, 1.0 + fold + seed / 10, None, fold=fold, bar="audio", bar_error=2.0 + fold,
            varied=f"data.fold={fold}")
        for fold in range(2) for seed in range(2)
    ]  # fmt: skip
    rows += [job("median", 0, 5.0 + fold, None, fold=fold, varied=f"data.fold={fold}") for fold in range(2)]
    named = labels.labelled(pd.DataFrame(rows))
    errors = claims.errors_of(named, tables.means_of(named)).set_index(["arm", "seed"])["error"]
    assert errors["audio"].tolist() == [2.0, 2.0, 3.0, 3.0]
    assert errors["median"].tolist() == [5.0, 5.0, 6.0, 6.0]
    assert errors["none-t"].tolist() == [1.0, 1.1, 2.0, 2.1]


def test_default_settings_are_no_other_arm() -> None:
    dropout = "mctn.modality_dropout"
    rows = [
        job("none-tva", seed, 1 + seed / 9, None, read="tva", varied=f"{dropout}={p}")
        for p in (0, 0.3)
        for seed in SEEDS
    ]
    rows += [job("cyclic-t-v-a", seed, 0.9 + seed / 9, 0.5, varied=f"{dropout}=0") for seed in SEEDS]
    named = labels.labelled(pd.DataFrame(rows))
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired[["control", "challenger", "against"]].to_numpy().tolist() == [
        ["fusion", "cyclic-t-v-a", "none-tva modality_dropout=0"],
        ["fusion", "cyclic-t-v-a", "none-tva modality_dropout=0.3"],
        ["settings", "none-tva modality_dropout=0.3", "none-tva modality_dropout=0"],
    ]


def test_a_bar_of_data_drawn_anew_is_paired_by_seed() -> None:
    jobs = pd.DataFrame([job("none-t", seed, 1.0 + seed, None, bar="audio", bar_error=2.0 + seed) for seed in range(3)])
    named = labels.labelled(jobs)
    errors = claims.errors_of(named, tables.means_of(named))
    assert errors.loc[errors["arm"] == "audio", "error"].tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(("shuffled", "verdict"), [(0.9, DOES_NOT_HOLD), (1.1, HOLDS), (1.4, HOLDS)])
def test_no_gain_without_information_holds_unless_errors_fall(shuffled: float, verdict: str) -> None:
    named = labels.labelled(jobs_of({"none-t": 1.1, "shuffled-t-v": shuffled}))
    claimed = claims.claims_of(claims.paired_of(named, tables.means_of(named)))
    assert claimed["claim"].tolist() == ["no gain shown without information: shuffled-t-v against none-t"]
    assert claimed["verdict"].tolist() == [verdict]
    few = named[named["seed"] < 2]
    assert claims.paired_of(few, tables.means_of(few))["verdict"].tolist() == [UNDECIDED]


def test_a_fold_with_an_error_of_0_is_no_pair() -> None:
    """The logarithm of 0 is not finite: such draws are counted, as everywhere."""
    rows = [
        job(arm, seed, 0.0 if (arm, fold, seed) == ("none-t", 1, 1) else error + fold / 10, 0.2, fold=fold)
        for arm, error in (("none-t", 1.0), ("cyclic-t-v", 0.9)) for fold in range(4) for seed in range(2)
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    (row,) = claims.paired_of(named, tables.means_of(named)).to_dict("records")
    assert (row["pairs"], row["unstable_pairs"]) == (3, 1)
    assert np.isfinite(row["mean_difference_high"])
    assert row["mean_difference"] == pytest.approx(-0.1)


def test_a_setting_that_changes_nothing_in_the_control_parts_no_pair() -> None:
    weights = "mctn.weights.translation"
    rows = [
        job("cyclic-t-v", seed, 0.8 + more + seed / 9, 0.5, varied=f"{weights}={value}")
        for value, more in ((1, 0.1), (5, 0.0)) for seed in SEEDS
    ]  # fmt: skip
    rows += [job("none-t", seed, 1.2 + seed / 9, None, varied=f"{weights}=1") for seed in SEEDS]
    named = labels.labelled(pd.DataFrame(rows))
    paired = claims.paired_of(named, tables.means_of(named))
    assert paired.loc[paired["control"] == "none", ["challenger", "against"]].to_numpy().tolist() == [
        ["cyclic-t-v translation=1", "none-t"],
        ["cyclic-t-v translation=5", "none-t"],
    ]


def test_another_modality_helps_only_where_it_can_be_translated_into() -> None:
    jobs = jobs_of()
    added = jobs.assign(translation_r2_a=jobs["translation_r2_a"].where(jobs["arm"] != "cyclic-t-v-a", -0.1))
    assert verdicts(added)["fewer cyclic-t-v-a"] == claims.NO_TRANSLATION
    assert verdicts(added)["none cyclic-t-v-a"] == HOLDS
