"""`recipe=experts`, tiny, from the command line to the store, a file of translations and a served answer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.experts.objective import TranslationObjective
from models.experts.scores import metrics
from models.sequence import vocabulary
from pipeline.systems.predict.sentences import said_of
from served_in_process import application, in_process

SMALL = ("translator.width=8", "translator.heads=2", "translator.hidden=8", "translator.layers=1", "adapter.hidden=4",
         "sampling.tokens=120")  # fmt: skip
TINY = ("recipe=experts", "data=ciphers", "data.languages=3", "size=tiny", *SMALL)


def test_a_tiny_run_leaves_scores_translations_and_shares(run_pipeline: Callable, client) -> None:
    result = run_pipeline(*TINY, "experts.count=3")
    assert result.status == 0, result.err
    assert re.search(
        r"\nciphers: size\.sequences=6 takes 54 of \d{3,} pairs, at most so many of a task in a part\n", result.out
    )
    run = only_run(client)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "experts-ciphers-token+shared-seed0")
    assert {name: run.data.tags[name] for name in ("arm", "tag", "tasks")} == {
        "arm": "token+shared", "tag": "target", "tasks": "c1-en c2-en c3-en"
    }  # fmt: skip
    assert re.fullmatch("vocabulary [0-9a-f]{12}", run.data.tags["measured"])
    metrics, curve = run.data.metrics, table(run, "curves/fit.csv")
    assert curve["epoch"].tolist() == [0, 1, 2]
    assert curve["learning_rate"].tolist() == pytest.approx(
        [0.0003, 0.003 * (10 / 11) ** 0.5, 0.003 * (10 / 21) ** 0.5]
    )
    for name in ("validation", "nll_c1-en", "bleu_c2-en", "balance_entropy_encoder.0", "starved", "largest_share"):
        points = client.get_metric_history(run.info.run_id, f"fit/{name}")
        assert [point.step for point in points] == [0, 1, 2], name
    assert {"tokens_per_second", "ms_per_step", "padding"} <= set(curve)
    assert float(run.data.tags["validation_error"]) == curve["validation"].min()
    scores = table(run, "scores.csv").set_index("task")
    assert metrics["evaluate/test_error"] == pytest.approx(scores["nll"].mean())
    assert metrics["evaluate/chrf_c3-en"] == pytest.approx(scores.loc["c3-en", "chrf"])
    assert "| BLEU | chrF | BLEU, copy | BLEU, nearest | BLEU, words |" in result.out
    assert f"| {metrics['evaluate/bleu_words_c3-en']:.4g} |\n\nData: ciphers" in result.out
    assert not [name for name in metrics if "_low_" in name]  # six sentences have no interval
    assert {"evaluate/bleu_nearest_c2-en", "evaluate/bleu_copy_c3-en"} <= set(metrics)
    assert {"evaluate/bleu_xe", "evaluate/adapter_information", "model/parameters_active"} <= set(metrics)
    assert metrics["model/parameters"] > metrics["model/parameters_active"] > 0
    assert {f"{stage}/seconds" for stage in ("load", "tokenise", "fit", "evaluate", "report")} <= set(metrics)
    shares = table(run, "shares.csv")
    by_task = shares.groupby(["layer", "kind", "task"])["share"].sum()
    assert by_task.to_numpy() == pytest.approx(np.ones(2 * 2 * 3))
    assert len(table(run, "translations.csv")) == 3 * 6
    assert {"pairs.csv", "embeddings.csv", "translations.md", "figures", "parameters"} <= artifacts(client, run)


def test_a_killed_run_goes_on_to_the_same_numbers_whatever_is_drawn(
    run_pipeline: Callable, client, monkeypatch
) -> None:
    asked = (*TINY, "experts.arm=random", "translator.dropout=0.3", "fit.updates=3", "fit.epochs=2", "fit.bleu=0",
             "tracking.detail=summary", "tracking.log_model=false")  # fmt: skip
    # in the middle of the second epoch
    losses = stopped_and_resumed(run_pipeline, asked, TranslationObjective, 5, monkeypatch)
    assert len(losses) == 5 + 3  # one epoch was kept
    resumed = only_run(client)
    client.delete_run(resumed.info.run_id)
    assert "vocabulary: found, made before" in (whole := run_pipeline(*asked)).out + whole.err
    again = only_run(client)
    for path in ("translations.csv", "scores.csv", "shares.csv"):
        pd.testing.assert_frame_equal(table(again, path), table(resumed, path), check_exact=True)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Forty German and French sentences with their English, and one with a typed tag."""
    nouns = ["house", "dog", "tree", "cat", "car", "door", "book", "bird", "fish", "road"]
    rows = [
        {"text": f"{word} {noun} {code} {k}", "translation": f"the {noun} {code} {k}", "from": code, "to": "en"}
        for code, word in (("de", "das"), ("fr", "<2de>")) for k, noun in enumerate(nouns * 2)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "pairs.csv", index=False)
    return tmp_path / "pairs.csv"


def test_pairs_of_ones_own_are_learned_predicted_and_served(
    run_pipeline: Callable, client, pairs: Path, monkeypatch
) -> None:
    asked = ("recipe=experts", "data=text_pairs", f"data.path={pairs}", "vocabulary.pieces=280", *SMALL)
    result = run_pipeline(*asked, "experts.arm=token+static", "fit.epochs=1", "fit.updates=3", "fit.bleu=0",
                          "tracking.register=mine")  # fmt: skip
    assert result.status == 0, result.err
    assert "predict: python -m pipeline recipe=predict model=models:/mine/1 data.path=new.csv" in result.out
    tested = table(only_run(client), "translations.csv")
    assert tested["source"].str.contains("<2de>").any()
    monkeypatch.chdir(pairs.parent)
    new = tested[["source", "task"]].rename(columns={"source": "text"})
    new = new.assign(**{"from": new["task"].str[:2], "to": "en"}).drop(columns="task")
    new.loc[len(new)] = [" ", "de", "en"]
    new.to_csv("new.csv", index=False)
    result = run_pipeline("recipe=predict", "model=models:/mine/1", "data.path=new.csv")
    found = pd.read_csv("new-predictions-mine-1.csv", keep_default_na=False, float_precision="round_trip")
    assert f"{said_of(found)}: " in result.out, result.err
    assert found["finished"].tolist() == [*tested["finished"], True]
    assert list(found) == ["text", "from", "to", "translation", "score", "truncated", "finished"]
    assert found["translation"].tolist() == [*tested["translation"].fillna(""), ""]
    assert found["score"].tolist() == pytest.approx([*tested["score"], 0.0], abs=1e-5)
    for changed, reason in (
        ({"from": "xx"}, "new.csv: row 0: this model does not translate from xx into en; it knows de-en, fr-en"),
        ({"to": "de"}, "new.csv: row 0: from and to are both 'de'; give two languages"),
    ):
        new.assign(**changed).sort_values("from", kind="stable").to_csv("new.csv", index=False)
        assert reason in run_pipeline("recipe=predict", "model=models:/mine/1", "data.path=new.csv").error
    new.to_csv("new.csv", index=False)
    predict = ("recipe=predict", "model=models:/mine/1", "data.path=new.csv")
    for setting, reason in (
        ("horizon=3", "horizon=3: this model translates sentences; leave it out"),
        ("interval=0.9", "interval=0.9: this model translates sentences; leave it out"),
        ("data.decimal=comma", "data.decimal=comma: this model translates sentences; leave it out"),
        ("beam=9", "beam=9 must be from 1 to 8"),
    ):
        assert reason in run_pipeline(*predict, setting).error
    assert run_pipeline(*predict, "beam=1", "output=greedy.csv").status == 0
    greedy = mlflow.pyfunc.load_model("models:/mine/1").predict(new, params={"beam": 1})
    written = pd.read_csv("greedy.csv", keep_default_na=False, float_precision="round_trip")
    pd.testing.assert_frame_equal(written[list(greedy)], greedy)
    assert not written["score"].equals(found["score"])  # of four hypotheses
    Path("new.csv").write_bytes(b"text,from,to\na,de,en\n\xff,de,en\n")
    assert "new.csv, line 3" in run_pipeline(*predict).error
    with monkeypatch.context() as patched:
        patched.setattr(vocabulary, "find_spec", lambda _: None)
        needs = "a vocabulary of pieces needs tokenizers; install it with: pip install -c constraints.txt -e '.[text]'"
        assert f"model=models:/mine/1 cannot be loaded: {needs}" in run_pipeline(*predict).error
        assert f"recipe=experts: {needs}" in run_pipeline(*TINY).error
    check_served(application("models:/mine/1", "strict", monkeypatch), found[:3])


def test_phrases_of_three_words_have_no_bleu_and_it_cannot_decide(run_pipeline: Callable, client, pairs: Path) -> None:
    table_ = pd.read_csv(pairs)
    table_.assign(translation=table_["translation"].str.rpartition(" ")[0].str.partition(" ")[2]).to_csv(pairs)
    asked = ("recipe=experts", "data=text_pairs", f"data.path={pairs}", "vocabulary.pieces=280", *SMALL,
             "experts.arm=dense", "fit.epochs=1", "fit.updates=2")  # fmt: skip
    reason = "fit.select=bleu: no validation sentence that is translated has four words, so BLEU is undefined; take"
    assert reason in run_pipeline(*asked, "fit.select=bleu", "tracking=off").error
    result = run_pipeline(*asked)
    assert result.status == 0, result.err
    metrics = only_run(client).data.metrics
    assert "evaluate/chrf_de-en" in metrics
    assert not [name for name in metrics if "bleu" in name]
    assert "\n\nBLEU is missing where it is undefined: no reference of the task has four words.\n\nData: " in result.out


def check_served(app, found: pd.DataFrame) -> None:
    """What the strict server answers is what was predicted; what it cannot read it refuses in one line."""
    rows = json.loads(found[["text", "from", "to"]].to_json(orient="records"))
    status, answer = in_process(app, {"dataframe_records": rows})
    assert status == 200, answer
    assert [row["translation"] for row in answer["predictions"]] == found["translation"].tolist()
    status, answer = in_process(app, {"dataframe_records": rows, "params": {"beam": 1, "longest": 4}})
    assert [row["truncated"] for row in answer["predictions"]] == [True] * 3, answer
    for body, reason in (
        ({"dataframe_records": [{"text": "a", "from": "de"}]}, "column to is missing; the model needs text, from, to"),
        ({"dataframe_records": rows, "params": {"beam": 9}}, "beam must be a whole number from 1 to 8, got 9"),
        ({"dataframe_records": rows, "params": {"longest": 1000}}, "got 1000; the model learned from no longer texts"),
        ({"dataframe_records": [{"text": "a\x00", "from": "de", "to": "en"}]}, "it holds the character U+0000"),
        ({"inputs": [["a"]]}, "this model takes a table; send dataframe_split or dataframe_records"),
    ):
        status, answer = in_process(app, body)
        assert (status, reason in answer["message"]) == (400, True), answer


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("experts.arm=tokens",), "experts.arm=tokens: an arm is ROUTER or ROUTER+ADAPTER, as token+static"),
        (("experts.arm=hash+shared",), "experts.arm=hash+shared: adapter shared needs a router with a gate"),
        (("fit.schedule=cosinus",), "fit.schedule=cosinus"),
        (("experts.top=5",), "experts: top must be 1 to count, got 5 of 4 experts"),
        (("experts.every=3",), "experts: every must be at most layers, got 3 of"),
        (("experts.capacity=1", "experts.count=1", "experts.top=1"), "capacity must be above 0, with several experts"),
        (("adapter.count=4",), "experts.arm=token+shared: adapter shared needs at least 3 tasks and 2 to that many"),
        (("adapter.count=4",), "there are 3 tasks, pairs of languages; lower adapter.count=4"),
        (("data.languages=2",), "experts.arm=token+shared: adapter shared needs at least 3 tasks"),
        (("data.languages=1", "vocabulary.pieces=200"), "there is 1 task, a pair of languages; take experts.arm="),
        (("data.languages=2", "experts.arm=token+dynamic+tag"), "; take experts.arm=token+static+tag"),
        (("translator.heads=3",), "translator: width must be even and a multiple of heads, got 8 and 3"),
        (("vocabulary.pieces=200",), "vocabulary.pieces=200: pieces must be at least 264, for 256 bytes and 4 signs ("),
        (("size=full", "data.pairs=9"), "vocabulary.pieces=4000: the texts allow"),
        (("vocabulary.longest=4",), "training pairs of c1-en have more than 4 tokens on a side (vocabulary.longest)"),
        (("vocabulary.longest=200",), "vocabulary.longest=200 is more than sampling.tokens=120"),
        (("fit.select=bleu", "fit.bleu=0"), "fit.select=bleu needs translations to score"),
        (("sampling.temperature=0.5",), "sampling.temperature=0.5 must be 1 or greater"),
        (("decode.beam=9",), "decode.beam=9 must be from 1 to 8"),
    ],
)  # fmt: skip
def test_bad_settings_end_in_one_line(overrides, message, run_pipeline: Callable) -> None:
    assert message in run_pipeline(*TINY, *overrides, "tracking=off").error


def test_few_pairs_are_for_one_process(run_pipeline: Callable, monkeypatch) -> None:
    """What is learned from some hundred pairs gains nothing by being shared; it is said before anything is loaded."""

    def of_two(settings: object) -> object:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "of two")
        monkeypatch.setenv("WORLD_SIZE", "2")
        return settings

    monkeypatch.setattr("pipeline.systems.experts.recipe.settings_of_rank", of_two)
    result = run_pipeline(*TINY, "fewshot.languages=[c3]", "tracking=off")
    assert "fewshot.languages is for one process; start it with python -m pipeline, not with torchrun" in result.error
    assert "load …" not in result.out + result.err


def test_without_scores_nothing_is_begun(run_pipeline: Callable, monkeypatch) -> None:
    metrics.cache_clear()
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    needs = "scores of translations need sacrebleu; install it with: pip install -c constraints.txt -e '.[text]'"
    result = run_pipeline(*TINY)
    assert f"recipe=experts: {needs}" in result.error
    assert "load …" not in result.out


def test_a_training_of_which_nothing_is_taken_keeps_the_first_weights(run_pipeline: Callable, client) -> None:
    """A learning rate beyond all numbers: every epoch is taken back, and the run says so and ends with what it had."""
    result = run_pipeline(*TINY, "experts.arm=dense", "fit.learning_rate=1e30", "fit.clip=1e30", "fit.updates=2",
                          "fit.bleu=0", "tracking.log_model=false")  # fmt: skip
    assert result.status == 0, result.err
    assert "loss or gradient is not finite; taken back" in result.out + result.err
    curve = table(only_run(client), "curves/fit.csv")
    assert curve["accepted"].tolist() == [True, False, False]
    assert curve["validation"].nunique() == 1
