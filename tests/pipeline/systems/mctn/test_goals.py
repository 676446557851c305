"""What a multirun of `recipe=mctn` is asked to reach, of made-up jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mctn_jobs import ERRORS, job, jobs_of
from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, NO_CLAIM, UNDECIDED
from pipeline.systems.mctn import claims, defaults, goals, labels, tables


def test_goals_by_hand() -> None:
    def found(jobs: pd.DataFrame) -> dict[str, str]:
        named = labels.labelled(jobs)
        table = goals.goals_of(named, claims.paired_of(named, tables.means_of(named)))
        return dict(zip(table["goal"], table["verdict"], strict=True))

    gain, shuffled = (f"ratio of errors, {arm} / none-t, " for arm in ("cyclic-t-v", "shuffled-t-v"))
    assert found(jobs_of()) == {f"{gain}below 0.85": HOLDS, f"{shuffled}1 within its interval": HOLDS}
    assert found(jobs_of(ERRORS | {"cyclic-t-v": 1.0}))[f"{gain}below 0.85"] == DOES_NOT_HOLD
    unlinked = found(jobs_of(ERRORS | {"cyclic-t-v": 1.1}, unlinked=True))
    assert unlinked[f"{gain}1 within its interval"] == HOLDS
    mosi = {"cyclic-t-a": 1.05, "none-t": 1.05}
    kept = found(jobs_of(mosi, {"cyclic-t-a": 0.0, "none-t": None}, data="mosi"))
    assert kept["mae of cyclic-t-a at most 1.14"] == HOLDS
    assert kept["accuracy of cyclic-t-a at least 0.7"] == HOLDS
    other = found(jobs_of(mosi, {"cyclic-t-a": 0.0, "none-t": None}, data="mosi", split="extractor"))
    assert list(other) == ["difference of errors, cyclic-t-a − none-t, within ±0.03: no gain"]
    assert kept["difference of errors, cyclic-t-a − none-t, within ±0.03: no gain"] == HOLDS
    assert set(found(jobs_of(stand_in=True)).values()) == {NO_CLAIM}


def test_predictions_have_to_be_the_same_to_the_last_bit_whatever_others_hold() -> None:
    jobs = labels.labelled(jobs_of({"cyclic-t-v": 1.0}))
    jobs["missing_error"] = jobs["test_error"]
    for equal, verdict in ([1.0] * 8, HOLDS), ([1.0] * 7 + [0.0], DOES_NOT_HOLD):
        table = goals.goals_of(jobs.assign(missing_equal=equal), pd.DataFrame())
        assert table["verdict"].tolist() == [verdict]
        assert table["value"].tolist() == [np.mean(equal)]
    assert goals.goals_of(jobs, pd.DataFrame()).empty  # nobody looked, and equal errors do not show it
    fused = jobs.assign(arm="none-tva", read="tva", missing_error=2 * jobs["test_error"], missing_equal=np.nan)
    table = goals.goals_of(pd.concat([jobs.assign(missing_equal=1.0), fused]), pd.DataFrame())
    assert table["goal"].tolist() == [
        "predictions of cyclic-t-v are the same to the last bit whatever va hold",
        "ratio of errors without va, cyclic-t-v / none-tva, below 1",
    ]
    np.testing.assert_allclose(table.loc[1, ["value", "low", "high"]].tolist(), 0.5)


def test_nothing_is_claimed_of_other_samples_that_are_left_without_some_modalities() -> None:
    jobs = labels.labelled(jobs_of({"none-a": 1.0}, {"none-a": None}, read="a", missing_error=1.0, missing_unread=2.0))
    chance = np.random.default_rng(0).random(len(jobs))
    fused = jobs.assign(arm="none-tva", read="tva", missing_error=2 + chance)

    def verdict(unread: float, missing: str) -> str:
        table = pd.concat([jobs.assign(missing=missing), fused.assign(missing=missing, missing_unread=unread)])
        return goals.goals_of(table, pd.DataFrame())["verdict"].item()

    assert verdict(2.0, "tv") == HOLDS
    assert verdict(1.0, "tv") == verdict(2.0, "t") == claims.OTHER_SAMPLES  # of audio and video as many may be others


def test_the_goal_of_three_modalities_is_that_a_third_helps() -> None:
    named = labels.labelled(jobs_of(three=True))
    table = goals.goals_of(named, claims.paired_of(named, tables.means_of(named))).set_index("goal")
    assert not [goal for goal in table.index if "0.85" in goal]
    assert table.loc["ratio of errors, cyclic-t-v-a / cyclic-t-v, below 1", "verdict"] == HOLDS
    worse = labels.labelled(jobs_of(ERRORS | {"cyclic-t-v-a": 0.9}, three=True))
    again = goals.goals_of(worse, claims.paired_of(worse, tables.means_of(worse))).set_index("goal")
    assert again.loc["ratio of errors, cyclic-t-v-a / cyclic-t-v, below 1", "verdict"] == DOES_NOT_HOLD


def test_seeds_of_a_fold_count_once_in_an_interval() -> None:
    rows = [
        job(arm, seed, 1.0, None, fold=fold, read=read, missing_error=factor * (1 + fold / 10 + seed / 100),
            varied=f"data.fold={fold}")
        for arm, read, factor in (("none-t", "t", 0.5), ("none-tva", "tva", 1.0)) for fold in range(3)
        for seed in range(4)
    ]  # fmt: skip
    rows[0]["missing_error"] *= 1.5
    named = labels.labelled(pd.DataFrame(rows))
    own = goals.goals_of(named, pd.DataFrame()).set_index("goal")
    found = own.loc["ratio of errors without va, none-t / none-tva, below 1 (paired by fold, mean over seeds)"]
    logs = np.log(0.5) + np.array([np.log(1.5) / 4, 0, 0])
    half = 4.302652729911275 * logs.std(ddof=1) * np.sqrt(1 / 3 + 1 / 3)  # Student's t of 2 degrees of freedom
    np.testing.assert_allclose(found[["value", "high"]].tolist(), np.exp([logs.mean(), logs.mean() + half]))
    assert found["high"] < 1
    assert found["verdict"] == UNDECIDED  # three pairs of folds


@pytest.mark.parametrize(("count", "verdict"), [(5, UNDECIDED), (6, HOLDS)])
def test_fewer_than_six_folds_decide_no_goal(count: int, verdict: str) -> None:
    rows = [
        job(arm, 0, error + 1e-4 * (fold % 3), 0.2, fold=fold % 5, data=data,
            varied=f"data.fold={fold % 5}, data.seed={fold // 5}")
        for data, arm, error in (("cycles", "none-t", 1.0), ("cycles", "cyclic-t-v", 0.5), ("mosi", "none-t", 1.1),
                                 ("mosi", "cyclic-t-a", 1.1))
        for fold in range(count)
    ]  # fmt: skip
    named = labels.labelled(pd.DataFrame(rows))
    table = goals.goals_of(named, claims.paired_of(named, tables.means_of(named)))
    found = dict(zip(table["goal"].str.split(r"[ ,]").str[0], table["verdict"], strict=True))
    assert found == dict.fromkeys(("ratio", "difference", "mae", "accuracy"), verdict)


def test_goals_have_the_interval_over_videos_beside_that_over_seeds() -> None:
    named = labels.labelled(
        jobs_of({"cyclic-t-a": 1.05, "none-t": 1.05}, {"cyclic-t-a": 0.0, "none-t": None}, data="mosi")
    )
    row = {"data": "mosi", "arm": "cyclic-t-a", "low": 0.6, "high": 0.8, "mae_low": 1.0, "mae_high": 1.2,
           "mae_difference_low": -0.1, "mae_difference_high": 0.2}  # fmt: skip
    pairs = claims.paired_of(named, tables.means_of(named))
    table = goals.goals_of(named, pairs, pd.DataFrame([row])).set_index("goal")
    assert table["verdict"].tolist() == [HOLDS, HOLDS, HOLDS]  # over seeds; over videos none would
    sides = [table[f"by_group_{end}"].tolist() for end in ("low", "high")]
    assert sides == [[-0.1, 1.0, 0.6], [0.2, 1.2, 0.8]]
    without = goals.goals_of(named, pairs)
    assert without["by_group_low"].isna().all()


def test_goals_are_of_the_settings_that_the_experiment_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Swept settings stand in the name of an arm; those of the experiment are its own, not those of the recipe."""
    for name, text in {
        "recipe/mctn": "mctn: {arm: none-t, share: core, weights: {translation: 0.1}}\nfit: {learning_rate: 0.001}",
        "experiment/mine": "mctn: {weights: {translation: 20.0}}\n"
        "fit: {learning_rate: '${by_choice:${mctn.arm},{none-t:0.01},0.003}'}",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.setattr(defaults, "conf_folder", lambda: tmp_path)

    def found(varied: str, overrides: str) -> list[str]:
        table = jobs_of({"none-t": 1.1, "cyclic-t-v": 0.8}, varied=varied, overrides=overrides)
        named = labels.labelled(table)
        return goals.goals_of(named, claims.paired_of(named, tables.means_of(named))).get("goal", pd.Series()).tolist()

    mine = "mctn.arm=none-t +experiment=mine seed=0"
    for varied, own, control in (
        ("mctn.share=core", "share=core", "none-t share=core"),
        ("mctn.weights.translation=20", "translation=20", "none-t"),
    ):
        goal = f"ratio of errors, cyclic-t-v {own} / {control}, below 0.85"
        assert found(varied, mine) == [goal]
        assert found(varied, "seed=0") == ([goal] if "share" in varied else [])
    assert found("mctn.share=none", mine) == found("mctn.weights.translation=5", mine) == []
    rates = [labels.all_default(mine, arm, ["fit.learning_rate=0.003"]) for arm in ("none-t", "cyclic-t-v")]
    assert rates == [False, True]
