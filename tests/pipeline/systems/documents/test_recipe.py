"""`recipe=documents`, tiny, from the command line to the store, a file of predictions and a parent's tables."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import numpy as np
import pandas as pd
import pytest

from data.documents.generator import SyntheticDocuments
from full_disk import SAID, full_disk_at
from logged import artifacts, only_run, table
from models.sequence.patterns import Distance, SlidingWindow
from models.sequence.vocabulary import Vocabulary
from other_vocabulary import other_pieces
from pipeline.compare.claims import VERDICTS
from pipeline.host.errors import PipelineError
from pipeline.host.paths import store_folder
from pipeline.job.step import Stepper
from pipeline.settings.schema import SizeConfig
from pipeline.systems.documents import baselines, fitting, recipe
from pipeline.systems.documents.comparison import columns
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.load import Read, check_answers, documents_of
from pipeline.systems.documents.recipe import data_of_run, described, names_of_run
from pipeline.systems.documents.servable import table_of

SMALL = (
    "recipe=documents", "data=synthetic_documents", "size=tiny", "data.train=6", "data.validation=3", "data.test=3",
    "data.words=60", "data.questions=6", "data.values=3", "documents.vocabulary=300", "documents.stride=10",
    "documents.max_length=48", "encoder.width=16", "encoder.heads=2", "encoder.hidden=16", "encoder.layers=1",
    "attention.neighbours=8", "pretrain.steps=2",
)  # fmt: skip
LAYERS = ("attention=layers", "encoder.layers=2")
QUIET = (*SMALL, "tracking.detail=summary", "tracking.log_model=false")


def test_a_run_leaves_scores_tables_figures_and_a_model_that_says_the_same(run_pipeline: Callable, client) -> None:
    result = run_pipeline(*SMALL, "attention.window=8")
    assert result.status == 0, result.err
    run = only_run(client)
    metrics, tags = run.data.metrics, run.data.tags
    assert (tags["arm"], tags["task"], tags["cue"]) == ("distance_window", "entities", "spatial")
    rows = table(run, "by_document.csv")
    true, named, right = rows[["true", "named", "right"]].sum()
    assert metrics["evaluate/test_error"] == pytest.approx(1 - 2 * right / (true + named))
    assert metrics["evaluate/test_entity_f1"] == 1 - metrics["evaluate/test_error"]
    low, high = (metrics[f"evaluate/test_entity_f1_interval_{end}"] for end in ("low", "high"))
    assert 0 <= low <= metrics["evaluate/test_entity_f1"] <= high <= 1
    assert "F1 of entities, strict: low end of its 95 % interval" in tags["mlflow.note.content"]
    assert {"evaluate/test_error_window_tagger", "evaluate/test_error_window_tagger_layout"} <= set(metrics)
    assert set(table(run, "baselines.csv")["baseline"]) == {"window tagger", "window tagger, layout"}
    ahead = "The network is behind a simple model, window tagger: test error "  # trained for two epochs alone
    assert ahead in tags["mlflow.note.content"]
    assert ahead in result.out
    for name in ("window_tagger", "window_tagger_layout"):
        score = metrics[f"evaluate/test_entity_f1_{name}"]
        assert score == pytest.approx(1 - metrics[f"evaluate/test_error_{name}"])
    assert 0 < metrics["attention/share_of_pairs"] < 1
    assert metrics["attention/longest_chunk"] == table(run, "plans.csv")["longest_chunk"][0] <= 48
    assert min(metrics["attention/plan_seconds"], metrics["attention/saved_bytes"]) > 0
    curves = {stage: table(run, f"curves/{stage}.csv") for stage in ("pretrain", "finetune")}
    assert curves["pretrain"]["validation_accuracy"].between(0, 1).all()
    assert curves["finetune"]["validation_entity_f1"].tolist() == pytest.approx(
        (1 - curves["finetune"]["validation_error"]).tolist()
    )
    for stage, rows_of_curve in curves.items():
        assert rows_of_curve["tokens_per_second"].isna().tolist() == [True, *[False] * (len(rows_of_curve) - 1)]
        assert metrics[f"{stage}/tokens_per_second"] == rows_of_curve["tokens_per_second"].iloc[-1] > 0
    (vocabulary,) = (store_folder() / "shared").glob("vocabulary-*/vocabulary.json")
    assert mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/vocabulary.json") == vocabulary.read_text()
    assert metrics["data/later_chunks"] > 0
    assert metrics["data/documents_cut"] == 0
    assert table(run, "curves/finetune.csv")["epoch"].tolist() == [0, 1, 2]
    assert {f"{stage}/seconds" for stage in ("load", "plan", "pretrain", "finetune", "evaluate")} <= set(metrics)
    drawn = {f"figures/{name}.svg" for name in ("pretrain", "finetune", "confusion", "page")}
    assert drawn <= artifacts(client, run, "figures")
    counts = table(run, "confusion.csv").set_index("true \\ named")
    assert counts.sum().sum() == rows["words"].sum()
    documents = SyntheticDocuments(train=6, validation=3, test=3, words=60, questions=6, values=3).load().parts["test"]
    model = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    said = model.predict(table_of(documents))
    predicted = table(run, "predictions.csv")
    told = dict(zip(zip(predicted["document"], predicted["word"], strict=True), predicted["named"], strict=True))
    place = said.groupby("document").cumcount()
    assert said["label"].tolist() == [
        told.get(key, "O") for key in zip(said["document"], place, strict=True)
    ]  # fmt: skip
    both = predicted.merge(said.assign(place=place), left_on=["document", "word"], right_on=["document", "place"])
    assert both["probability_x"].tolist() == pytest.approx(both["probability_y"].tolist())
    assert len(both) == len(predicted)


@pytest.mark.filterwarnings("ignore:.* of 180 words are not read")
def test_a_model_that_cuts_is_logged_as_it_was_scored_and_predicts(run_pipeline: Callable, client, tmp_path) -> None:
    result = run_pipeline(*SMALL, "documents.overflow=cut", "tracking.detail=summary", "documents.baselines=false")
    assert result.status == 0, result.err
    run = only_run(client)
    assert not {"confusion.csv", "figures"} & artifacts(client, run)
    cut = "\nsynthetic_documents: 12 of 12 documents are read to their first 48 tokens alone (documents.overflow=cut); "
    assert -1 < result.out.find(cut) < result.out.find("pretrain")
    assert run.data.metrics["data/documents_cut"] == run.data.metrics["data/documents"]
    documents = SyntheticDocuments(train=6, validation=3, test=3, words=60, questions=6, values=3).load().parts["test"]
    with pytest.warns(UserWarning, match="of 180 words are not read"):
        said = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(table_of(documents))
    predicted = table(run, "predictions.csv")
    named = dict(zip(zip(predicted["document"], predicted["word"], strict=True), predicted["named"], strict=True))
    keys = zip(said["document"], said.groupby("document").cumcount(), strict=True)
    assert said["label"].fillna("O").tolist() == [named.get(key, "O") for key in keys]
    assert said["label"].isna().any()
    table_of(documents).to_csv(tmp_path / "new.csv", index=False)
    asked = ("recipe=predict", f"model=runs:/{run.info.run_id}/model", f"data.path={tmp_path / 'new.csv'}")
    output = f"output={tmp_path / 'found.csv'}"
    assert f"predict: python -m pipeline {' '.join(asked[:2])} data.path=" in run.data.tags["mlflow.note.content"]
    answer = run_pipeline(*asked, output)
    assert answer.status == 0, answer.err
    assert f"tags of {said['label'].notna().sum()} words in 3 documents" in answer.out


def test_arms_without_a_global_token_stand_beside_those_with_one(run_pipeline: Callable, client) -> None:
    asked = ("attention.global_tokens=[],[first]", "attention.window=8", "pretrain.steps=0")
    result = run_pipeline("-m", *QUIET, *asked, "documents.baselines=false")
    assert result.status == 0, result.err
    parent = next(run for run in client.search_runs(["1", "2"]) if "multirun" in run.info.run_name)
    means = table(parent, "means.csv").set_index("arm")
    alone, usual = "distance_window no global token no pretraining", "distance_window no pretraining"
    assert set(means.index) == {usual, alone}
    assert means.loc[alone, "keys_per_query"] < means.loc[usual, "keys_per_query"]


def test_each_layer_has_an_attention_of_its_own_and_so_has_the_logged_model(run_pipeline: Callable, client) -> None:
    given = [own for own in SMALL if not own.startswith(passed_over(LAYERS[0]))]
    own = ("attention.per_layer=[sliding_window,distance]", "attention.patterns.distance.neighbours=8",
           "attention.patterns.sliding_window.window=8", "attention.patterns.distance.global_tokens=[]")  # fmt: skip
    summary = ("tracking.detail=summary", "documents.baselines=false")
    result = run_pipeline(*given, *LAYERS, *own, *summary)
    assert result.status == 0, result.err
    run = only_run(client)
    assert run.data.tags["arm"] == "1 sliding_window, 1 distance no global token"
    documents = SyntheticDocuments(train=6, validation=3, test=3, words=60, questions=6, values=3).load().parts["test"]
    model = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    kept = model.unwrap_python_model().predictor.reading.patterns
    assert kept == (SlidingWindow(8), Distance(8, global_tokens=()))
    said = model.predict(table_of(documents))
    place = said.groupby("document").cumcount()
    both = table(run, "predictions.csv").merge(
        said.assign(place=place), left_on=["document", "word"], right_on=["document", "place"]
    )
    assert both["named"].tolist() == both["label"].tolist()
    assert both["probability_x"].tolist() == pytest.approx(both["probability_y"].tolist())


@pytest.mark.parametrize(("stopped_in", "repeated"), [(4, 2), (24, 6)], ids=["pretrain", "finetune"])
def test_a_run_that_was_stopped_goes_on_to_the_same_numbers_with_dropout(
    stopped_in: int, repeated: int, run_pipeline: Callable, client, monkeypatch
) -> None:
    """There are four steps of pretraining, with a row of the curve after each second one, and then those of tagging. A
    run that is stopped in a step takes it again, and those before it since the last row."""
    asked = (
        *QUIET,
        "size=full",
        "encoder.adjacent=2",
        "documents.lower_case=false",
        "finetune.epochs=3",
        "finetune.max_tokens=96",
        "pretrain.max_tokens=96",
        "pretrain.steps=4",
        "pretrain.evaluate_every=2",
        "seed=3",
    )
    steps = full_disk_at(0, Stepper, "take", monkeypatch)  # never
    assert run_pipeline(*asked).status == 0
    without_stop = len(steps)
    whole = only_run(client)
    client.delete_run(whole.info.run_id)
    (learned_before,) = (store_folder() / "shared").glob("pretrained-*")
    shutil.rmtree(learned_before)
    steps = full_disk_at(stopped_in, Stepper, "take", monkeypatch)
    assert SAID in run_pipeline(*asked).error
    (shared,) = (store_folder() / "shared").glob("vocabulary-*/vocabulary.json")
    learned = shared.read_text()
    shared.write_text(other_pieces(learned))
    refused = run_pipeline(*asked, "resume=true").error
    digests = [Vocabulary.from_json(text).digest[:12] for text in (learned, shared.read_text())]
    assert re.search(r"began with the vocabulary {}… of 300 pieces, .* go on with {}… of 300".format(*digests), refused)
    shared.write_text(learned)
    assert run_pipeline(*asked, "resume=true").status == 0
    assert len(steps) == without_stop + repeated
    resumed = only_run(client)
    for name in ("by_document.csv", "predictions.csv"):
        pd.testing.assert_frame_equal(table(whole, name), table(resumed, name), check_exact=True)
    numbers = [logged_by(client, run.info.run_id) for run in (whole, resumed)]
    assert numbers[0] == numbers[1]
    assert sum(key == "finetune/validation_entity_f1" for key, _ in numbers[0]) == 1 + 3  # epochs


def logged_by(client, run_id: str) -> dict[tuple[str, int], float]:
    """Every metric of a run at every step but for times, and for those of guessing hidden words, which runs share."""
    times = ("seconds", "tokens_per_second")
    return {
        (key, metric.step): metric.value
        for key in client.get_run(run_id).data.metrics if not key.endswith(times) and not key.startswith("pretrain/")
        for metric in client.get_metric_history(run_id, key)
    }  # fmt: skip


def test_jobs_stand_side_by_side_with_simple_models_and_pretraining_is_shared(run_pipeline: Callable, client) -> None:
    result = run_pipeline("-m", *QUIET, "documents.task=classes", "data.cue=late", "data.late_after=40",
                          "attention=distance,distance_window", "documents.overflow=chunk,cut")  # fmt: skip
    assert result.status == 0, result.err
    assert (result.out + result.err).count("vocabulary: found, made before") >= 3
    parent = next(run for run in client.search_runs(["1", "2"]) if "multirun" in run.info.run_name)
    means = table(parent, "means.csv")
    assert means["arm"].tolist() == [
        "distance",
        "distance @48",
        "distance_window",
        "distance_window @48",
        "TF-IDF",
        "majority",
    ]
    paired = table(parent, "paired.csv")
    assert len(paired) == 15
    simple = paired[paired["arm"].isin(means["arm"][4:]) & paired["against"].isin(means["arm"][4:])]
    assert set(simple["verdict"]) <= set(VERDICTS[:3])
    assert set(paired.drop(simple.index)["verdict"]) == {"undecided: one seed"}
    assert (paired["low"] <= paired["high"]).all()


def test_simple_models_stand_beside_networks_that_read_as_badly(run_pipeline: Callable, client) -> None:
    result = run_pipeline("-m", *QUIET, "documents.task=classes", "data.cue=late", "data.late_after=40",
                          "documents.shuffle=false,true", "pretrain.steps=0")  # fmt: skip
    assert result.status == 0, result.err
    parent = next(run for run in client.search_runs(["1", "2"]) if "multirun" in run.info.run_name)
    arms = ["distance_window no pretraining", "distance_window shuffled no pretraining"]
    simple = ["TF-IDF", "TF-IDF shuffled", "majority", "majority shuffled"]
    assert table(parent, "means.csv")["arm"].tolist() == arms + simple


def test_what_other_code_made_is_made_anew(run_pipeline: Callable, client, monkeypatch) -> None:
    asked = (*QUIET, "data.questions=4", "finetune.epochs=0")
    shared = [store_folder() / "shared" / f"{name}-*" for name in ("pretrained", "baselines")]

    def count() -> list[int]:
        return [len(list(path.parent.glob(path.name))) for path in shared]

    assert run_pipeline(*asked).status == 0
    client.delete_run(only_run(client).info.run_id)
    assert count() == [1, 1]
    monkeypatch.setattr(fitting, "VERSION", fitting.VERSION + 1)
    monkeypatch.setattr(baselines, "VERSION", baselines.VERSION + 1)
    assert run_pipeline(*asked).status == 0
    assert count() == [2, 2]
    client.delete_run(only_run(client).info.run_id)
    monkeypatch.setattr(fitting, "seconds_of", lambda _: 1000)
    assert "pretrain: found, learned before" in (again := run_pipeline(*asked)).out + again.err
    assert count() == [2, 2]
    assert columns(only_run(client))["seconds"] == pytest.approx(1000, abs=60)


def test_hidden_words_are_learned_from_other_documents(run_pipeline: Callable, client) -> None:
    other = ("+data@pretrain_on=synthetic_documents", "pretrain_on.seed=5", "pretrain_on.words=30",
             "pretrain_on.questions=2")  # fmt: skip
    result = run_pipeline(*QUIET, *other, "documents.task=mlm")
    assert result.status == 0, result.err
    metrics = only_run(client).data.metrics
    assert metrics["evaluate/test_error"] == metrics["evaluate/test_mlm_loss"]
    rows = table(only_run(client), "by_document.csv")
    assert metrics["evaluate/test_mlm_accuracy"] == rows["right"].sum() / rows["tokens"].sum() <= 1
    assert 2 < metrics["evaluate/test_mlm_loss"] < np.log(400)


def test_arms_guess_the_same_tokens_whatever_they_read_at_once(run_pipeline: Callable, client) -> None:
    asked = ("documents.task=mlm", "documents.max_length=32,48", "documents.overflow=cut,chunk")
    result = run_pipeline("-m", *QUIET, *asked)
    assert result.status == 0, result.err
    parent = next(run for run in client.search_runs(["1", "2"]) if "multirun" in run.info.run_name)
    children = client.search_runs(["1", "2"], f"tags.`mlflow.parentRunId` = '{parent.info.run_id}'")
    cut = {run.data.params["documents.overflow"]: run.data.metrics["data/documents_cut"] for run in children}
    assert cut == {"cut": 6, "chunk": 0}  # all training documents; those that are scored are read whole
    counted = [rows["tokens"].tolist() for _, rows in table(parent, "documents.csv").groupby("run_id")]
    assert len(counted) == 4
    assert all(own == counted[0] for own in counted)


def test_a_small_table_of_ones_own_is_read(run_pipeline: Callable, client, tmp_path) -> None:
    made = SyntheticDocuments(train=5, validation=1, test=1, words=40, questions=4, values=2, seed=4).load()
    own = [document for _, document in made.all()]
    rows = table_of(own).assign(tag=[tag for document in own for tag in document.tags])
    rows.loc[3:4, ["x0", "y0", "x1", "y1"]] = None
    rows.to_csv(tmp_path / "words.csv", index=False)
    sizes = [setting for setting in SMALL if setting.startswith(("encoder.", "documents.max", "documents.stride"))]
    with (
        pytest.warns(UserWarning, match=r"^2 of 280 words have no box; each is taken to stand at the last word"),
        pytest.warns(UserWarning, match=r"^the training texts allow \d{3} of the 8192 pieces that documents.vocab"),
    ):
        result = run_pipeline("recipe=documents", "data=documents_table", f"data.path={tmp_path / 'words.csv'}", *sizes,
                              "pretrain.steps=1", "finetune.epochs=1")  # fmt: skip
    assert result.status == 0, result.err
    assert 260 < int(only_run(client).data.tags["documents.pieces"]) < 1000


@pytest.mark.filterwarnings("ignore:the training texts")
def test_a_table_without_boxes_is_refused_with_settings_that_read_it(run_pipeline: Callable, tmp_path) -> None:
    made = SyntheticDocuments(train=5, validation=1, test=1, words=40, questions=4, values=2, seed=4).load()
    own = [document for _, document in made.all()]
    rows = table_of(own).assign(tag=[tag for document in own for tag in document.tags])
    rows.assign(x0=None, y0=None, x1=None, y1=None).to_csv(tmp_path / "words.csv", index=False)
    sizes = [setting for setting in QUIET if setting.startswith(("encoder.", "documents.max", "documents.s", "track"))]
    asked = ("recipe=documents", "data=documents_table", f"data.path={tmp_path / 'words.csv'}", *sizes,
             "pretrain.steps=0", "finetune.epochs=1", "documents.baselines=false")  # fmt: skip
    said = run_pipeline(*asked).error
    advised = re.search(r"document train-\d: no word has a box, .* give boxes, or choose (\S+) (\S+)$", said.strip())
    assert advised is not None, said
    assert run_pipeline(*asked, *advised.groups()).status == 0


@pytest.mark.parametrize(("most", "said"), [(2, "4 of 6"), (4, ""), (None, "")])
def test_documents_that_a_limit_leaves_out_are_counted(
    most: int | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    section = {"_target_": "data.documents.generator.SyntheticDocuments", "train": 4, "validation": 1, "test": 1,
               "words": 60, "questions": 6, "values": 3}  # fmt: skip
    settings: Any = SimpleNamespace(size=SizeConfig(sequences=most), extensions=[],
                                    documents=SimpleNamespace(jitter=0, shuffle=False))  # fmt: skip
    data = documents_of("data", section, settings)
    assert len(data.parts["train"]) == min(4, most or 4)
    line = f"synthetic_documents: size.sequences={most} takes {said} documents, at most so many of a part\n"
    assert capsys.readouterr().out == (line if said else "")


def test_kinds_and_classes_without_a_training_document_are_named() -> None:
    data = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3).load()
    assert described("entities", data) == "synthetic_documents: 2 train, 1 validation, 1 test documents"
    (own,) = data.parts["test"]
    other = own._replace(tags=("B-date", "I-date", *own.tags[2:]), label="sale")
    others = replace(data, parts={**data.parts, "test": (other,)}, tags=(*data.tags, "B-date", "I-date"))
    said = "; no training document has {}, which count as missed in the others"
    assert described("entities", others).endswith(said.format("date"))
    assert described("classes", others).endswith(said.format("sale"))
    assert described("mlm", others) == described("mlm", data)


def test_a_run_that_learns_from_a_stand_in_before_is_one() -> None:
    data = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3).load()
    stand_in = replace(data, stand_in=True)
    told = {
        (a.stand_in, b.stand_in): data_of_run(Read(a, b)).stand_in for a in (data, stand_in) for b in (data, stand_in)
    }
    assert told == {(False, False): False, (False, True): True, (True, False): True, (True, True): True}
    assert data_of_run(Read(data, stand_in)).checksum == data.checksum


def test_a_run_is_another_one_where_other_data_that_it_learns_from_before_changed() -> None:
    """A run that learns from its own data alone is known by their checksum, as it was."""
    data, *others = (
        SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3, seed=seed).load()
        for seed in range(3)
    )
    settings, job = DocumentsConfig(attention={}), cast("Any", SimpleNamespace(choices={"attention": "distance"}))
    pieces = Vocabulary.train(["one two"], pieces=260)
    contents = [names_of_run(settings, job, Read(data, guessed), pieces).content for guessed in (data, *others)]
    assert contents == ["", *(other.checksum for other in others)]
    assert len(set(contents)) == 3


@pytest.mark.parametrize(("steps", "idle"), [(600, ()), (0, ("pretrain.evaluate_every",))])
def test_how_often_guesses_are_scored_is_not_read_where_none_are_learned(steps: int, idle: tuple[str, ...]) -> None:
    data = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3).load()
    settings, job = DocumentsConfig(attention={}), cast("Any", SimpleNamespace(choices={"attention": "distance"}))
    settings.pretrain.steps = steps
    pieces = Vocabulary.train(["one two"], pieces=260)
    assert names_of_run(settings, job, Read(data, data), pieces).passed_over == idle


def test_errors_of_unlike_tasks_and_of_guessing_unlike_pieces_are_told_apart() -> None:
    data = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3).load()
    job = cast("Any", SimpleNamespace(choices={"attention": "distance"}))
    told = dict[tuple[str, int], str]()
    for task, pieces in product(("entities", "classes", "mlm"), (260, 261)):
        settings, vocabulary = DocumentsConfig(attention={}), Vocabulary.train(["one one"], pieces=pieces)
        settings.documents.task = task
        told[task, pieces] = names_of_run(settings, job, Read(data, data), vocabulary).tags["measured"]
    assert {told["entities", 260], told["classes", 261]} == {"documents.task=entities", "documents.task=classes"}
    assert len(set(told.values())) == 4
    assert told["mlm", 260].startswith("documents.task=mlm vocabulary ")


@pytest.mark.parametrize(("part", "what"), [
    ("train", "the network learns"), ("validation", "the best epoch is chosen"), ("test", "the network is scored"),
])  # fmt: skip
def test_a_part_without_an_entity_is_refused(part: str, what: str) -> None:
    data = SyntheticDocuments(train=1, validation=1, test=1, words=60, questions=6, values=3).load()
    check_answers("entities", data)
    (own,) = data.parts[part]
    empty = replace(data, parts={**data.parts, part: (own._replace(tags=("O",) * 60),)})
    check_answers("mlm", empty)
    said = rf"^documents.task=entities: synthetic_documents has no entity in its 1 {part} documents, by which {what}; "
    other = "size" if part == "train" else rf"data\.{part}"
    with pytest.raises(PipelineError, match=rf"{said}.*another data.seed or {other}\)$"):
        check_answers("entities", empty)


def own_table(folder: Path, texts: Sequence[str], labels: Sequence[str], *, train: int) -> tuple[str, ...]:
    """Writes a document a text, so many of them to learn from, and of the others half to validate by and half to test
    by; returns the settings that learn their classes."""
    rest = (len(texts) - train) // 2
    parts = ["train"] * train + ["validation"] * rest + ["test"] * rest
    pd.DataFrame([
        {"document": f"d{place}", "page": 1, "word": word, "x0": 1, "y0": 1, "x1": 2, "y1": 2, "page_width": 9,
         "page_height": 9, "label": label, "part": part}
        for place, (text, label, part) in enumerate(zip(texts, labels, parts, strict=True)) for word in text.split()
    ]).to_csv(folder / "own.csv", index=False)  # fmt: skip
    small = [own for own in QUIET if not own.startswith(("data", "pretrain", "documents.vocabulary"))]
    return (*small, "data=documents_table", f"data.path={folder / 'own.csv'}", "documents.task=classes",
            "finetune.epochs=1", "pretrain.steps=0", "documents.vocabulary=260", "size=full")  # fmt: skip


def test_training_documents_of_one_class_are_refused(run_pipeline: Callable, tmp_path: Path) -> None:
    texts, labels = ("one two", "two one", "one two one", "two two"), ("bill", "bill", "bill", "letter")
    said = (
        "documents.task=classes: own has one label alone, 'bill', in its 2 train documents, by which the network learns"
    )
    result = run_pipeline(*own_table(tmp_path, texts, labels, train=2))
    assert f"{said}; give it documents of two at least (column part, or another data.seed or size)" in result.error
    assert "\n" not in result.error.strip()


@pytest.mark.parametrize("texts", [
    ("a b", "b c", "a c", "d a", "a d", "b d"), ("one two", "red wine", "tea time", "old ship", "one ship", "tea two"),
])  # fmt: skip
def test_documents_of_single_characters_or_without_a_shared_word_have_simple_models(
    run_pipeline: Callable, client, tmp_path: Path, texts: tuple[str, ...]
) -> None:
    result = run_pipeline(*own_table(tmp_path, texts, ("bill", "letter") * 3, train=4))
    assert result.status == 0, result.err
    assert "evaluate/test_error_tf_idf" in only_run(client).data.metrics


def test_a_simple_model_that_cannot_be_fitted_ends_a_run_before_its_training(
    run_pipeline: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise PipelineError("no simple model")

    steps = list[Any]()
    monkeypatch.setattr(recipe, "baselines_of", fails)
    monkeypatch.setattr(recipe, "fit", lambda *own: steps.append(own))
    assert "no simple model" in run_pipeline(*QUIET).error
    assert not steps


def passed_over(asked: str) -> str:
    """What `SMALL` has and another choice of that group does not take."""
    return {"data": "data", "attention": "attention."}.get(asked.partition("=")[0], "none")


@pytest.mark.parametrize(("asked", "said"), [
    (("documents.task=classes",), "documents.task=classes: synthetic_documents has no labels"),
    (("data.cue=late", "data.late_after=40"), "documents.task=entities: synthetic_documents has no tags"),
    (("documents.task=mlm", "pretrain.steps=0"), "give its steps, as pretrain.steps=600"),
    (("documents.task=classes", "data.cue=late", "data.late_after=40", "documents.repeated=0.3"),
     "documents.repeated=0.3 is for documents.task=entities, and documents.task=classes tags no words; give "),
    (("size=full", "documents.stride=47"), "documents.stride=47 leaves no room"),
    (("finetune.max_tokens=20",), "finetune.max_tokens=20 is less than documents.max_length=48"),
    (("documents.vocabulary=100",), "documents.vocabulary=100: pieces must be at least 260"),
    (("attention.window=7",), "attention: window must be an even number"),
    (("attention.global_tokens=[0,1]",), "attention: global_tokens must be [first] or [], got [0, 1]"),
    (("documents.task=classes", "attention.global_tokens=[]"), "reads the class off the first token, which sees few"),
    ((*LAYERS, "attention.per_layer=[full]"), "attention.per_layer has 1 names, and encoder.layers=2; give as many"),
    ((*LAYERS, "attention.per_layer=[full,near]"), "attention: per_layer names 'near'; name for each layer one of"),
    ((*LAYERS, "attention.per_layer=full"), "attention: per_layer=full is no list; name the pattern of each layer"),
    (LAYERS, "attention: per_layer is empty; name for each layer one of distance, distance_approximate"),
    ((*LAYERS, "attention.per_layer=[full,distance]", "documents.layout=text"), "the attention Distance looks at"),
    (("documents.layout=text",), "documents.layout=text: the attention DistanceWindow looks at where words stand"),
    (("documents.variant='full 512 (LayoutLM)'",), "is called 'full 512 (LayoutLM)' by its reader="),
    (("encoder.heads=3",), "encoder: width must be a multiple of heads"),
    (("documents.task=mlm", "pretrain.share=0.00001"), "pretrain.share=1e-05 hides less than one of "),
    (("data=cycles",), "takes documents"),
    (("+data@pretrain_on=cycles",), "choose pretrain_on="),
])  # fmt: skip
def test_what_does_not_go_together_is_refused_in_one_line(run_pipeline: Callable, asked: tuple, said: str) -> None:
    given = [own for own in SMALL if not own.startswith(passed_over(asked[0]))]
    result = run_pipeline(*given, *asked)
    assert result.status == 1
    assert said in result.error
    assert "\n" not in result.error.strip()
