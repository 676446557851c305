"""Claims, goals and tables of translators' jobs, from numbers that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from models.experts.scores import scores_of
from pipeline.systems.experts.arm_figures import chrf_by_pairs, nats_by_arm, scores_by_task
from pipeline.systems.experts.claims import paired_of
from pipeline.systems.experts.goals import goals_of
from pipeline.systems.experts.labels import labelled
from pipeline.systems.experts.multirun import bleu_of_claims, summary_of
from pipeline.systems.experts.scores import paired_bleu
from pipeline.systems.experts.tables import by_task, fewshot_of, means_of, thesis_of
from pipeline.systems.experts.words import bleu_in_words, page

TASKS = ("de-en", "et-en")


def jobs_of(factors: dict[str, float], *, seeds: int = 8, **more: Any) -> pd.DataFrame:
    """Jobs whose nats are those of dense times a factor, a little more or less from seed to seed."""
    places = np.arange(len(factors))[:, None]
    noise = np.exp((0.01 + 0.001 * places) * np.where((np.arange(seeds) + places) % 2, 1, -1))
    rows = [
        {
            "run_id": f"{arm}{seed}", "data": "mt_small", "arm": arm, "seed": seed, "stand_in": False, "overrides": "",
            "tasks": " ".join(TASKS), "low": "et-en", "varied": "", "parameters": 10, "parameters_active": 5,
            "shots": 0, "adapt": "", "starved": 0.0,
            **{f"nll_{task}": (2 + i + seed / 10) * factor * noise[place, seed] for i, task in enumerate(TASKS)},
            **{f"{score}_{task}": 30.0 for score in ("bleu", "chrf") for task in TASKS},
        } | more
        for place, (arm, factor) in enumerate(factors.items()) for seed in range(seeds)
    ]  # fmt: skip
    jobs = pd.DataFrame(rows)
    error = jobs[[f"nll_{task}" for task in TASKS]].mean(axis=1)
    return labelled(jobs.assign(test_error=error, validation_error=error))


def test_ratios_are_of_tasks_and_intervals_over_seeds() -> None:
    jobs = jobs_of({"dense": 1.0, "token": 0.9, "token+shared": 0.9, "random": 1.1})
    paired = paired_of(jobs).set_index(["challenger", "against", "tasks"])
    assert paired.loc[("dense", "token", "all"), "verdict"] == "does not hold"
    own = paired.loc[("token", "random", "all")]
    assert (own["verdict"], own["pairs"], own["whose"]) == ("holds", 8, "here")
    assert own["ratio"] == pytest.approx(0.9 / 1.1, rel=0.02)
    assert own["ratio_low"] < own["ratio"] < own["ratio_high"] < 1
    sides = [jobs[jobs["arm"] == arm].sort_values("seed") for arm in ("token", "random")]
    logs = [np.log(side[[f"nll_{task}" for task in TASKS]].to_numpy()).mean() for side in sides]
    assert own["ratio"] == pytest.approx(np.exp(logs[0] - logs[1]))
    assert paired.loc[("token+shared", "token", "all"), "verdict"] == "undecided"
    assert ("token+shared", "token", "low-resource") in paired.index
    few = paired_of(jobs[jobs["seed"] < 4]).set_index(["challenger", "against", "tasks"])
    assert few.loc[("token", "random", "all"), "verdict"] == "holds"
    assert few.loc[("token+shared", "token", "all"), "verdict"] == "undecided"
    assert paired_of(jobs.assign(stand_in=True))["verdict"].eq("no claim (stand-in data)").all()


@pytest.mark.parametrize("seeds", [3, 5, 6, 8, 20])
def test_more_seeds_do_not_undecide_a_clear_claim(seeds: int) -> None:
    """Of six seeds the least p of a test of signs or ranks is 1/32, too much among these claims."""
    arms = {"dense": 1.0, "token": 0.9, "token+static": 0.8, "token+dynamic": 0.5, "random": 1.2, "hash": 1.1}
    jobs = jobs_of(arms, seeds=seeds)
    found = paired_of(jobs).set_index(["challenger", "against", "tasks"])
    assert len(found) > 5
    own = found.loc[("token+dynamic", "dense", "all")]
    assert own["verdict"] == "holds"
    sides = [jobs[jobs["arm"] == arm].sort_values("seed") for arm in ("token+dynamic", "dense")]
    logs = [np.log(side[[f"nll_{task}" for task in TASKS]].to_numpy()).mean(1) for side in sides]
    assert own["p"] == pytest.approx(stats.ttest_rel(*logs).pvalue)


def test_every_job_of_the_experiments_has_its_claims() -> None:
    arms = ("dense", "dense_wide", "dense_total", "dense+static", "dense+dynamic", "token", "sentence", "token+static",
            "token+dynamic")  # fmt: skip
    found = paired_of(jobs_of(dict.fromkeys(arms, 1.0)))
    pairs = set(zip(found["challenger"], found["against"], strict=True))
    assert {("dense+static", "dense"), ("dense+dynamic", "dense"), ("token", "dense_wide"), ("token", "dense_total"),
            ("token+static", "sentence"), ("token+dynamic", "sentence")} <= pairs  # fmt: skip
    drawn = pd.concat([
        jobs_of({"token+dynamic": 1.0}), jobs_of({"token+dynamic": 0.9}, varied="experts.variant=temperature-5")
    ])  # fmt: skip
    own = paired_of(drawn).set_index("tasks")["challenger"]
    assert own.to_dict() == dict.fromkeys(("all", "low-resource"), "token+dynamic temperature-5")


def test_goals_and_the_page_say_what_was_found() -> None:
    jobs = jobs_of({"dense": 1.0, "dense_wide": 0.98, "token+shared": 0.8, "token": 0.9}, bleu_low=1.0)
    jobs = jobs.assign(**{"balance_entropy_encoder.0": 0.95, "pairs_de-en": 9000, "pairs_et-en": 800})
    bars = {
        "bleu_nearest_de-en": 10.0,
        "chrf_nearest_de-en": 25.0,
        "bleu_low_nearest_de-en": 9.0,
        "bleu_high_nearest_de-en": 11.0,
    }
    jobs = jobs.assign(**bars)
    paired, tasks, means = paired_of(jobs), by_task(jobs), means_of(jobs)
    goals = goals_of(jobs, paired, pd.DataFrame()).set_index("goal")["verdict"]
    assert goals["ratio of nats, token+shared / dense_wide, below 1"] == "holds"
    assert goals["no expert with less than a fifth of its even share"] == "holds"
    assert goals["BLEU of dense over that of the nearest training sentence, de-en, at least 2"] == "holds"
    assert goals["BLEU of de-en, best arm on validation (token+shared), at least 28"] == "holds"
    own = jobs.assign(data="text_pairs")  # German pairs of one's own are no captions
    others = goals_of(own, paired, pd.DataFrame())["goal"].tolist()
    assert [goal for goal in others if "BLEU" in goal] == [
        "BLEU of dense over that of the nearest training sentence, de-en, at least 1"
    ]
    lucky = jobs.assign(**{"bleu_de-en": np.where(jobs["arm"] == "dense", 30.0, 20.0)})  # of the test part
    chosen = goals_of(lucky, paired, pd.DataFrame()).set_index("goal")["verdict"]
    assert chosen["BLEU of de-en, best arm on validation (token+shared), at least 28"] == "does not hold"
    assert not goals.index.str.contains("et-en").any()  # of few pairs
    unsure = paired.assign(p_holm=0.2, verdict="undecided")  # as among many claims; the intervals are what they were
    adjusted = goals_of(jobs, unsure, pd.DataFrame()).set_index("goal")["verdict"]
    assert adjusted["ratio of nats, token+shared / dense_wide, below 1"] == "undecided"
    low = goals_of(jobs.assign(**{"bleu_nearest_de-en": 15.1}), paired, pd.DataFrame()).set_index("goal")["verdict"]
    assert low["BLEU of dense over that of the nearest training sentence, de-en, at least 2"] == "does not hold"
    older = jobs.assign(**{"bleu_nearest_de-en": np.where(jobs["seed"] > 5, np.nan, 10.0)})
    some = goals_of(older, paired, pd.DataFrame()).set_index("goal")["verdict"]
    assert some["BLEU of dense over that of the nearest training sentence, de-en, at least 2"] == "holds"
    (row,) = tasks[tasks["arm"] == "nearest"].to_dict("records")
    assert (row["task"], row["bleu"], row["chrf"], row["bleu_sentences_high"]) == ("de-en", 10.0, 25.0, 11.0)
    assert np.isnan(row["bleu_sd"])  # of one training part: equal scores are no spread
    thesis = thesis_of(tasks)
    assert set(thesis["table"]) == {"3.4"}  # of two tasks; table 3.3 is of a translator of eighteen
    four = thesis.set_index("arm")
    assert four.loc["token", "printed_de-en"] == 32.4
    assert four.loc["token", "bleu_de-en"] == 30.0
    assert np.isnan(four.loc["dense+static", "bleu_de-en"])
    tables = {"means": means, "tasks": tasks, "thesis": thesis, "fewshot": pd.DataFrame(), "paired": paired}
    text = page(tables | {"bleu": pd.DataFrame(), "goals": pd.DataFrame()})
    assert "| MoE | token | 30.0 ± 0.0 / 32.4 | 30.0 ± 0.0 / 24.2 | 30.0 / 28.3 |" in text
    assert "| model | arm | de-en | et-en | mean |" in text  # of two of four tasks, so not the average that is printed
    assert "*mean*: of those found / of the printed ones" in text
    assert "| nearest | 10.0 (9.0 to 11.0), 25.0 |" in text
    assert "learned routing beats" not in text  # no arm without it ran


def test_the_best_arm_for_captions_is_chosen_among_jobs_that_learned_all_tasks_at_once() -> None:
    """The nats on validation of the others are of the new tasks alone, and say nothing of German."""
    later = jobs_of({"token+static": 0.5}, shots=256, adapt="all", old_equal=0.0)
    both = pd.concat([jobs_of({"dense": 1.0}), later])
    chosen = goals_of(both, pd.DataFrame(), pd.DataFrame())["goal"].tolist()
    assert chosen == ["BLEU of de-en, best arm on validation (dense), at least 28"]
    assert goals_of(later, pd.DataFrame(), pd.DataFrame()).empty


def test_shares_of_what_all_numbers_gain_are_of_the_same_network_and_pairs() -> None:
    def of(adapt: str, shots: int, gain: float) -> pd.DataFrame:
        more = {"zero_shot_chrf": 10.0, "new_chrf": 10.0 + gain, "forgotten": 0.0, "old_equal": float(adapt != "all")}
        own = jobs_of({"token+static": 1.0}, shots=shots, adapt=adapt, **more)
        return own.assign(arm=f"token+static static-{adapt} pairs={shots}")

    jobs = pd.concat([of("all", 16, 4.0), of("all", 256, 20.0), of("adapters", 16, 1.0), of("adapters", 256, 18.0)])
    found = fewshot_of(jobs).set_index(["adapt", "pairs"])
    assert found["share_of_all"].to_dict() == pytest.approx(
        {("all", 16): 1.0, ("all", 256): 1.0, ("adapters", 16): 0.25, ("adapters", 256): 0.9}
    )
    assert set(found["arm"]) == {"token+static static-all", "token+static static-adapters"}
    goals = goals_of(jobs, pd.DataFrame(), found.reset_index()).set_index("goal")["verdict"]
    words = "share of the chrF gained by learning all numbers, 256 pairs, at least 0.8: token+static static-adapters"
    assert goals[words] == "holds"
    few = jobs.assign(shots=jobs["shots"].replace(256, 237), asked=jobs["shots"])  # one of three languages has 200
    own = goals_of(few, pd.DataFrame(), fewshot_of(few)).set_index("goal")["verdict"]
    assert own[words.replace("256 pairs", "256 pairs (237 there)")] == "holds"
    assert goals["old tasks stay the same to the bit: token+static static-adapters"] == "holds"


def test_numbers_of_pairs_that_come_to_the_same_are_rows_of_their_own() -> None:
    jobs = []
    for adapt, gains in (("all", (20.0, 21.0, 19.0)), ("adapters", (10.0, 11.0, 9.0))):
        for asked in (800, 2000):
            more = {"zero_shot_chrf": 10.0, "forgotten": 0.0, "old_equal": 1.0, "shots": 768, "adapt": adapt}
            own = jobs_of({"token+static": 1.0}, seeds=3, **more)
            varied = f"experts.variant=static-{adapt}, fewshot.pairs={asked}"
            jobs.append(own.assign(arm="token+static", varied=varied, new_chrf=10 + np.array(gains)))
    named = labelled(pd.concat(jobs, ignore_index=True).drop(columns="asked"))
    assert "token+static static-all pairs=768 (asked 2000)" in set(named["arm"])
    found = fewshot_of(named)
    rows = found[["arm", "pairs", "asked", "jobs"]].to_numpy().tolist()
    ways = ("token+static static-all", "token+static static-adapters")
    assert sorted(rows) == sorted([arm, 768, asked, 3] for arm in ways for asked in (800, 2000))
    own = found[found["adapt"] == "adapters"]
    assert own["share_of_all"].tolist() == [0.5, 0.5]
    assert own["gain_low"].tolist() == pytest.approx([10 - 4.302653 / 3**0.5] * 2)  # of three seeds, deviation 1


def test_a_share_is_of_jobs_with_the_same_settings() -> None:
    def of(adapt: str, rate: str, gain: float) -> pd.DataFrame:
        more = {"zero_shot_chrf": 10.0, "forgotten": 0.0, "old_equal": 1.0, "shots": 256, "adapt": adapt}
        own = jobs_of({"token+static": 1.0}, seeds=3, **more)
        return own.assign(arm=f"token+static static-{adapt} learning_rate={rate} pairs=256", new_chrf=10 + gain)

    found = fewshot_of(pd.concat([of("all", "0.1", 4.0), of("all", "0.01", 20.0), of("adapters", "0.1", 3.0)]))
    assert found.set_index("arm")["share_of_all"].to_dict() == pytest.approx({
        "token+static static-all learning_rate=0.1": 1.0, "token+static static-all learning_rate=0.01": 1.0,
        "token+static static-adapters learning_rate=0.1": 0.75,
    })  # fmt: skip


def learned_by(whole: tuple[float, ...], own: tuple[float, ...]) -> pd.DataFrame:
    """Jobs that gain so much chrF from 256 pairs, by all numbers and by adapters."""
    sides = []
    for adapt, gains in (("all", whole), ("adapters", own)):
        more = {"zero_shot_chrf": 10.0, "forgotten": 0.0, "old_equal": 1.0, "shots": 256, "adapt": adapt}
        jobs = jobs_of({"token+static": 1.0}, seeds=len(gains), **more)
        sides.append(jobs.assign(arm=f"token+static static-{adapt} pairs=256", new_chrf=10 + np.array(gains)))
    return pd.concat(sides)


@pytest.mark.parametrize(("shots", "over"), [([0], "tasks"), ([256], "new tasks"), ([0, 256], "tasks or new tasks")])
def test_nats_of_jobs_that_learned_tasks_later_are_said_to_be_of_these(shots: list[int], over: str) -> None:
    more = {"zero_shot_chrf": 10.0, "new_chrf": 12.0, "forgotten": 0.0, "old_equal": 1.0}
    jobs = pd.concat([jobs_of({"token+static": 1.0}, seeds=3, shots=own, adapt="all", **more) for own in shots])
    figure = nats_by_arm(jobs, means_of(jobs), title="arms")
    assert f"(nats, mean over {over})" in figure.get_supxlabel()
    text = summary_of(jobs, paired_of(jobs), pd.DataFrame(), "arms").text
    assert ("Of jobs that learned tasks later, nats are the mean over these alone." in text) == (max(shots) > 0)
    assert ("or its static adapters, where the arm has these, are chosen by its" in text) == (max(shots) > 0)


def test_the_interval_of_a_share_is_that_of_a_ratio_of_means() -> None:
    """The share is 30/60. Of the seeds r + (a − r b)/b̄ is 0.5, 0.45 and 0.55: standard deviation 0.05."""
    row = fewshot_of(learned_by((20.0, 22.0, 18.0), (10.0, 10.0, 10.0))).set_index("adapt").loc["adapters"]
    half = 4.302653 * 0.05 / 3**0.5  # Student's t at 97.5 %, two degrees of freedom
    ends = row[["share_of_all", "share_low", "share_high"]].tolist()
    assert ends == pytest.approx([0.5, 0.5 - half, 0.5 + half])
    assert row["gain_of_all_low"] == pytest.approx(20 - 4.302653 * 2 / 3**0.5)


@pytest.mark.parametrize(
    ("whole", "own", "verdict"),
    [
        ((-1.0, -1.1, -0.9), (-2.0, -2.2, -1.8), "undecided"),  # a share of 2 of a loss
        ((20.0, 21.0, 19.0), (18.0, 19.0, 17.1), "holds"),
        ((20.0, 21.0, 19.0), (8.0, 9.0, 7.1), "does not hold"),
        ((20.0, 21.0, 19.0), (18.0, 22.0, 11.0), "undecided"),
        ((1.0, 9.0, -4.0), (1.0, 9.0, -4.0), "undecided"),
    ],
)
def test_a_share_of_what_all_numbers_gain_needs_a_gain_and_an_interval(
    whole: tuple[float, ...], own: tuple[float, ...], verdict: str
) -> None:
    jobs = learned_by(whole, own)
    found = fewshot_of(jobs)
    row = found.set_index("adapt").loc["adapters"]
    assert row["share_of_all"] == pytest.approx(np.mean(own) / np.mean(whole))
    (panel,) = chrf_by_pairs(found, title="new").axes
    bars = panel.containers[0].lines[2][0].get_segments()[0]
    whole = found.set_index("adapt").loc["all"]
    assert bars[:, 1].tolist() == pytest.approx([whole["new_chrf_low"], whole["new_chrf_high"]])
    goals = goals_of(jobs, pd.DataFrame(), found).set_index("goal")["verdict"]
    assert goals.loc[goals.index.str.startswith("share of the chrF")].tolist() == [verdict]


def test_jobs_on_other_drawn_data_are_no_seeds_of_one_arm() -> None:
    """With one seed they were pairs of the same seed, of which each arm had several."""
    jobs = pd.concat([jobs_of({"dense": 1.0, "token": 0.9}, seeds=1, varied=f"data.seed={seed}") for seed in (3, 4)])
    jobs = labelled(jobs.assign(data="mt_small"))
    assert jobs["data"].unique().tolist() == ["mt_small, data.seed=3", "mt_small, data.seed=4"]
    assert paired_of(jobs)["pairs"].eq(1).all()
    assert bleu_of_claims(paired_of(jobs), jobs, {}).empty
    own = [jobs_of({"dense": 1.0}, seeds=2).query(f"seed == {seed}").assign(varied=f"data.seed={seed}")
           for seed in (0, 1)]  # fmt: skip
    assert set(labelled(pd.concat(own))["data"]) == {"mt_small"}


@pytest.mark.parametrize(("key", "values"), [("pieces", (500, 2000)), ("prefix_space", ("False", "True"))])
def test_arms_of_unlike_vocabularies_are_not_compared(key: str, values: tuple[object, ...]) -> None:
    """Nats are of a piece, and more pieces are longer: dense has fewer nats of 500 pieces than token of 2000."""
    factors = {values[0]: {"dense": 0.5, "token": 0.4}, values[1]: {"dense": 1.0, "token": 0.9}}
    jobs = [jobs_of(own, varied=f"vocabulary.{key}={value}") for value, own in factors.items()]
    named = labelled(pd.concat(jobs).assign(data="mt_small"))
    assert named["arm"].unique().tolist() == ["dense", "token"]
    data = [f"mt_small, vocabulary.{key}={value}" for value in values]
    paired = paired_of(named)
    assert paired.groupby("data").size().index.tolist() == sorted(data)
    goals = goals_of(named, paired, pd.DataFrame())
    asked = goals[goals["goal"].str.startswith("BLEU of de-en")].set_index("data")["goal"].to_dict()
    assert asked == dict.fromkeys(data, "BLEU of de-en, best arm on validation (token), at least 28")
    means = means_of(named).set_index(["data", "arm"])["jobs"].to_dict()
    assert means == {(name, arm): 8 for name in data for arm in ("dense", "token")}


def test_new_tasks_of_several_data_sets_are_lines_of_their_own() -> None:
    more = {"zero_shot_chrf": 10.0, "new_chrf": 12.0, "forgotten": 0.0, "old_equal": 1.0, "adapt": "all"}
    jobs = [jobs_of({"dense": 1.0}, seeds=3, shots=shots, varied=f"vocabulary.pieces={pieces}", **more)
            for pieces in (500, 2000) for shots in (16, 256)]  # fmt: skip
    named = labelled(pd.concat(jobs).assign(data="mt_small", arm="dense"))
    (panel,) = chrf_by_pairs(fewshot_of(named), title="new").axes
    words = {text.get_text() for text in panel.get_legend().get_texts()}
    assert words == {f"mt_small, vocabulary.pieces={pieces}: dense" for pieces in (500, 2000)}


def test_labels_leave_out_what_changes_nothing() -> None:
    varied = pd.DataFrame({
        "data": "ciphers", "arm": ["dense", "token"], "varied": "data.families=1, experts.top=1", "seed": 0,
    })  # fmt: skip
    found = labelled(varied)
    assert found["arm"].tolist() == ["dense", "token top=1"]
    assert set(found["data"]) == {"ciphers, data.families=1"}
    own = varied.assign(varied="experts.variant=all, fewshot.pairs=800", shots=768)
    assert labelled(own)["arm"].tolist() == ["dense all pairs=768", "token all pairs=768"]


def test_bleu_of_itself_is_100_and_pairs_are_of_the_same_sentences() -> None:
    texts = [f"the cat number {k} sat on the mat" for k in range(12)]
    assert scores_of(texts, texts)["bleu"] == pytest.approx(100)
    assert scores_of(texts, texts)["chrf"] == pytest.approx(100)
    half = pd.DataFrame({"task": "de-en", "source": range(12), "reference": texts})
    half = half.assign(translation=[texts[0]] * 6 + texts[6:])
    whole = half.assign(translation=texts)
    found = paired_bleu(half, whole)
    assert found["bleu_challenger"] == pytest.approx(100)
    assert found["p"] < 0.01
    assert paired_bleu(half, half)["p"] == 1.0
    spread = scores_of(half["translation"].tolist(), texts)
    assert spread["bleu_low"] < spread["bleu"] < spread["bleu_high"] < 100
    assert np.isnan(paired_bleu(half[5:], whole[5:])["p"])  # of 7 sentences, as an interval is
    assert paired_bleu(half[4:], whole[4:])["p"] > 0
    short = whole.assign(reference="a cat", translation="a cat")
    undefined = paired_bleu(short, short)
    assert np.isnan([undefined["bleu_against"], undefined["p"]]).all()
    with pytest.raises(ValueError, match="translations of other sentences cannot be compared"):
        paired_bleu(half, whole.assign(reference=texts[::-1]))


def test_a_task_of_which_bleu_is_undefined_has_its_other_scores() -> None:
    jobs = jobs_of({"dense": 1.0, "token": 0.9})
    some = jobs.drop(columns="bleu_et-en").assign(chrf_copy_x=1.0, **{"chrf_copy_et-en": 12.0})
    for own, defined in ((some, 1), (some.drop(columns="bleu_de-en"), 0)):
        tasks = by_task(own).set_index(["arm", "task"])
        assert tasks.loc[("dense", "et-en"), "chrf"] == 30
        assert tasks.loc[("copy", "et-en"), "jobs"] == 1
        assert tasks["bleu"].notna().sum() == 2 * defined
        found = summary_of(own, paired_of(own), pd.DataFrame(), "t")
        assert ("figures/tasks" in found.figures) == defined
        assert len(scores_by_task(tasks.reset_index(), title="t").axes if defined else []) == defined
        assert f"| token | {'30.0 ± 0.0' if defined else '–'}, 30.0 ± 0.0 | –, 30.0 ± 0.0 |" in found.text
        assert "nan" not in found.text
        assert (
            found.text.count("\n\nBLEU is missing where it is undefined: no reference of the task has four words.\n")
            == 1
        )
    assert "undefined" not in summary_of(jobs, paired_of(jobs), pd.DataFrame(), "t").text


def test_a_sentence_of_several_seeds_and_tasks_is_drawn_as_one() -> None:
    texts = [f"the cat number {k} sat on the mat" for k in range(12)]
    against = pd.DataFrame({"task": "de-en", "source": [f"de {k}" for k in range(12)], "reference": texts})
    challenger = against.assign(translation=[*texts[:5], *texts[:6], texts[11]])
    against = against.assign(translation=[texts[11], *texts[1:5], *texts[:7]])
    one = paired_bleu(against, challenger)
    three = paired_bleu(*(pd.concat([own] * 3) for own in (against, challenger)))
    assert (one["sentences"], three["sentences"], three["translations"]) == (12, 12, 36)
    assert 0.01 < one["p"] < 1
    assert three["p"] == one["p"]  # copies are no evidence
    reversed_ = [own.assign(task="en-fr", source=texts, reference=texts) for own in (against, challenger)]
    both = paired_bleu(*(pd.concat(pair) for pair in zip((against, challenger), reversed_, strict=True)))
    assert (both["sentences"], both["p"]) == (12, one["p"])
    other = [own.assign(task="en-fr", source=range(12)) for own in (against, challenger)]
    apart = paired_bleu(*(pd.concat(pair) for pair in zip((against, challenger), other, strict=True)))
    assert apart["sentences"] == 24
    assert apart["p"] < one["p"]
    clear = paired_bleu(against.assign(translation=texts[0]), against.assign(translation=texts))
    assert 26 * clear["p"] < 0.05  # even among many claims


def test_pages_say_of_older_tests_that_they_count_a_sentence_by_its_seeds() -> None:
    row = {"data": "mt_small", "against": "a", "challenger": "b", "sentences": 9, "bleu_against": 1.0}
    old = pd.DataFrame([{**row, "bleu_challenger": 2.0, "p_holm": 0.04}])
    assert "counts several times" in bleu_in_words(old)[0]
    assert bleu_in_words(old.assign(translations=27, draws=10_000))[0].endswith("seeds and tasks. 10,000 draws.")
