"""`recipe=mctn`, tiny, from the command line to the store, a file of predictions and a served answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
import torch

from data.files.exact_numbers import EXACT
from data.utterances import Utterances
from full_disk import stopped_and_resumed
from logged import artifacts, only_run, table
from models.mctn.objective import SentimentObjective
from models.runtime.objective import Loss
from pipeline.job.curve import Decision
from pipeline.settings.build import build
from pipeline.systems.mctn import recipe
from pipeline.systems.mctn.fitting import FittedSentimentNetwork, fit_network
from served_in_process import application, in_process

TINY = ("recipe=mctn", "data=cycles", "size=tiny", "mctn.units=4", "mctn.bar=word_vectors")
SIMPLE = (*TINY, "tracking.detail=summary", "tracking.log_model=false")


def arrays(run, path: str) -> dict[str, np.ndarray]:
    with np.load(mlflow.artifacts.download_artifacts(f"{run.info.artifact_uri}/{path}"), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """Texts with a label each, and a speaker whom the model does not look at."""
    said = [
        f"{how} {what} number {k}" for k in range(5) for how in ("good", "bad", "awful") for what in ("film", "day")
    ]
    labels = [1.0 if text.startswith("good") else -1.0 for text in said]
    pd.DataFrame({"text": said, "label": labels}).to_csv(tmp_path / "reviews.csv", index=False)
    return tmp_path / "reviews.csv"


def test_a_tiny_run_leaves_what_comparisons_and_figures_read(run_pipeline: Callable, client) -> None:
    result = run_pipeline(*TINY, "mctn.arm=cyclic-t-v", "mctn.dropout=0.2", "fit.epochs=2")
    assert result.status == 0, result.err
    run = only_run(client)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "mctn-cycles-cyclic-t-v-seed0")
    tags, metrics = run.data.tags, run.data.metrics
    known = {name: tags[name] for name in ("arm", "read", "label_kind", "contaminated", "positive_from")}
    assert known == {
        "arm": "cyclic-t-v", "read": "t", "label_kind": "score", "contaminated": "false", "positive_from": "0.0",
    }  # fmt: skip
    curve = table(run, "curves/fit.csv")
    assert curve["epoch"].tolist() == [0, 1, 2]
    for name in ("train", "validation", "prediction", "translation", "cycle", "learning_rate", "accepted"):
        points = client.get_metric_history(run.info.run_id, f"fit/{name}")
        assert [point.step for point in points] == ([1, 2] if name == "train" else [0, 1, 2])
    assert float(tags["validation_error"]) == curve["validation"].min()
    predicted = table(run, "predictions.csv")
    assert list(predicted) == ["name", "group", "part", "label", "prediction"]
    error = (predicted["label"] - predicted["prediction"]).abs().mean()
    assert metrics["evaluate/test_error"] == metrics["evaluate/test_mae"] == pytest.approx(error)
    assert {f"evaluate/{name}" for name in ("test_accuracy", "test_f1", "test_f1_macro", "translation_r2_v", "cycle_r2",
                                            "bar_error", "bar_mae")} <= set(metrics)  # fmt: skip
    assert metrics["model/parameters"] > metrics["model/parameters_at_test"] > 0
    assert {f"{stage}/seconds" for stage in ("load", "fit", "evaluate", "report")} <= set(metrics)
    encodings = arrays(run, "encodings.npz")
    assert encodings["encoding"].shape == (6, 4)
    assert encodings["kinds"].tolist() == ["negative", "positive"]
    assert "mean absolute error of the simple baseline, mctn.bar" in result.out
    assert set(table(run, "translation.csv")["term"]) == {"translation", "cycle"}
    assert {"parameters", "figures", "model", "attention.npz"} & artifacts(client, run) >= {"parameters", "figures"}


def test_without_tracking_a_network_ends_with_its_table(run_pipeline: Callable) -> None:
    result = run_pipeline(*TINY, "mctn.arm=cyclic-t-v", "fit.epochs=1", "tracking=off")
    assert result.status == 0, result.err
    assert "mean absolute error of the simple baseline, mctn.bar" in result.out
    assert "tracking=off: nothing was kept" in result.out


def test_no_prediction_hangs_on_targets(run_pipeline: Callable, client) -> None:
    """What is read is text: the same to the bit without video and audio. Early fusion reads all three."""
    asked = (*SIMPLE, "mctn.missing=va", "data.three=true", "fit.epochs=1")
    for arm, same in (("cyclic-t-v-a", True), ("none-tva", False)):
        assert run_pipeline(*asked, f"mctn.arm={arm}").status == 0
        run = only_run(client)
        predicted = table(run, "predictions.csv")
        assert (predicted["prediction"] == predicted["prediction_missing"]).all() == same
        assert (run.data.metrics["evaluate/missing_error"] == run.data.metrics["evaluate/test_error"]) == same
        assert run.data.metrics.get("evaluate/missing_equal") == (1.0 if same else None)
        assert (
            "mean absolute error, modalities missing"
            in client.get_run(run.info.run_id).data.tags["mlflow.note.content"]
        )
        client.delete_run(run.info.run_id)


def test_a_killed_run_goes_on_to_the_same_numbers_with_dropout(run_pipeline: Callable, client, monkeypatch) -> None:
    asked = (*SIMPLE, "size=full", "data.train=12", "data.validation=6", "data.test=6", "mctn.arm=cyclic-t-v",
             "mctn.dropout=0.3", "mctn.feedback=teacher", "fit.epochs=4", "fit.batch_size=4", "seed=3")  # fmt: skip
    # in the middle of the third epoch
    losses = stopped_and_resumed(run_pipeline, asked, SentimentObjective, 8, monkeypatch)
    assert len(losses) == 8 + 6  # two epochs were kept
    resumed = only_run(client)
    client.delete_run(resumed.info.run_id)
    assert run_pipeline(*asked).status == 0
    whole = only_run(client)
    pd.testing.assert_frame_equal(table(whole, "predictions.csv"), table(resumed, "predictions.csv"), check_exact=True)
    curves = [
        [point.value for point in client.get_metric_history(run.info.run_id, "fit/train")] for run in (whole, resumed)
    ]
    assert curves[0] == curves[1]


def test_a_loss_that_is_not_finite_is_taken_back_and_said(run_pipeline: Callable, client, monkeypatch) -> None:
    calls, loss = [], SentimentObjective.loss

    def breaks(self, batch):
        calls.append(1)
        found = loss(self, batch)
        return Loss(found.total * torch.nan, found.weight) if len(calls) == 1 else found

    monkeypatch.setattr(SentimentObjective, "loss", breaks)
    result = run_pipeline(*SIMPLE, "mctn.arm=none-t", "fit.epochs=2")
    assert result.status == 0, result.err
    assert (
        "epoch 1: loss or gradient is not finite; taken back, learning rate halved to 0.0005" in result.out + result.err
    )
    points = client.get_metric_history(only_run(client).info.run_id, "fit/accepted")
    assert [point.value for point in points] == [1, 0, 1]


def test_a_baseline_is_scored_and_not_kept(run_pipeline: Callable, client) -> None:
    result = run_pipeline(*TINY, "mctn.arm=audio")
    assert result.status == 0, result.err
    run = only_run(client)
    assert (run.data.tags["read"], run.data.tags["not_kept"]) == ("a", "simple baselines are not kept")
    predicted = table(run, "predictions.csv")
    assert run.data.metrics["evaluate/test_error"] == pytest.approx(
        (predicted["label"] - predicted["prediction"]).abs().mean()
    )
    assert "parameters" not in artifacts(client, run)


def test_texts_of_ones_own_are_learned_registered_predicted_and_served(
    run_pipeline: Callable, client, reviews: Path, monkeypatch
) -> None:
    asked = ("recipe=mctn", "data=utterances", f"data.path={reviews}", "data.words=own", "mctn.arm=none-t")
    result = run_pipeline(*asked, "mctn.units=4", "fit.epochs=2", "tracking.register=reviews", "data.decimal=point",
                          "mctn.bar=word_vectors")  # fmt: skip
    assert result.status == 0, result.err
    command = "recipe=predict model=models:/reviews/1 data.path=new.csv data.decimal=point"
    assert f"predict: python -m pipeline {command}" in result.out
    run = only_run(client)
    monkeypatch.chdir(reviews.parent)
    tested = table(run, "predictions.csv")
    texts = pd.read_csv(reviews)["text"]
    new = pd.DataFrame({"text": texts[tested["name"].astype(int) - 1].to_numpy(), "a_1": "no number"})
    new.loc[len(new)] = [None, "no number"]
    new.to_csv("new.csv", index=False)
    with pytest.warns(UserWarning, match="no step to read: NaN"):
        result = run_pipeline("recipe=predict", "model=models:/reviews@best", "data.path=new.csv")
    assert f"score of {len(new)} samples (1 with nothing to read have none)" in result.out
    found = pd.read_csv("new-predictions-reviews-best.csv", **EXACT)
    assert list(found) == ["sample", "text", "score", "positive"]
    assert found["text"].tolist()[:-1] == new["text"].tolist()[:-1]
    assert found["score"].to_numpy()[:-1].tolist() == tested["prediction"].tolist()
    assert np.isnan(found["score"].iloc[-1])
    model = mlflow.pyfunc.load_model("models:/reviews@best")
    assert (model.metadata.metadata["takes"], model.metadata.metadata["columns"]) == ("utterances", ["text"])
    refused = run_pipeline("recipe=predict", "model=models:/reviews@best", "data.path=new.csv", "beam=2").error
    assert "beam=2: this model says of each sample how positive it is; leave it out" in refused
    served = new[:3]
    new.rename(columns={"text": "words"}).to_csv("new.csv", index=False)
    absent = run_pipeline("recipe=predict", "model=models:/reviews@best", "data.path=new.csv").error
    assert "new.csv: column text is missing; the model needs text" in absent
    check_served(application("models:/reviews@best", "strict", monkeypatch), asked=served, found=found[:3])


def check_served(app, asked: pd.DataFrame, found: pd.DataFrame) -> None:
    """What the strict server answers is what was predicted; what it cannot read it refuses in one line."""
    rows = json.loads(asked.to_json(orient="records"))
    status, answer = in_process(app, {"dataframe_records": rows})
    assert status == 200, answer
    assert [row["score"] for row in answer["predictions"]] == pytest.approx(found["score"].tolist(), abs=1e-12)
    assert [row["positive"] for row in answer["predictions"]] == [
        value in (True, "True") for value in found["positive"]
    ]
    for body, reason in (
        ({"dataframe_records": [{"words": "good"}]}, "column text is missing; the model needs text"),
        ({"dataframe_records": [{"text": 5}]}, "column text, row 0: 5 is not a text; leave the row out"),
        ({"inputs": [["good"]]}, "this model takes a table; send dataframe_split or dataframe_records"),
    ):
        status, answer = in_process(app, body)
        assert (status, reason in answer["message"]) == (400, True), answer


def test_of_epochs_with_equal_errors_of_classes_the_least_loss_is_kept(
    run_pipeline: Callable, reviews: Path, monkeypatch
) -> None:
    """Of scores the first is kept, as ever."""
    fits = list[FittedSentimentNetwork]()
    monkeypatch.setattr(recipe, "fit_network", lambda *asked: fits.append(fit_network(*asked)) or fits[-1])
    asked = ("recipe=mctn", "data=utterances", f"data.path={reviews}", "mctn.arm=none-t", "tracking=off")
    for labels in ("class", "score"):
        told = ("mctn.bar=null", "mctn.units=4", "fit.epochs=6", "fit.learning_rate=0.0001", f"data.labels={labels}")
        result = run_pipeline(*asked, *told)
        assert result.status == 0, result.err
    classes, scores = (fit.progress for fit in fits)
    pairs = [(row.values["validation"], row.values["prediction"]) for row in classes.rows]
    assert len({error for error, _ in pairs}) < len(pairs)  # some are equal
    assert pairs[classes.best_row] == min(pairs)
    assert classes.best_row > min(range(7), key=lambda place: pairs[place][0])
    assert scores.rows[0].decides == Decision("validation")


def test_steps_of_classes_are_served_from_rows_of_samples(run_pipeline: Callable, client, tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    rows = [
        {"sample": f"s{k}", "step": step, "label": ("low", "high")[k % 2], "a_pitch": k % 2 + chance.normal(), "v_x": 1}
        for k in range(20) for step in range(2)
    ]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "steps.csv", index=False)
    asked = (
        "recipe=mctn",
        "data=utterances",
        f"data.path={tmp_path / 'steps.csv'}",
        "mctn.arm=none-a",
        "mctn.bar=null",
    )
    result = run_pipeline(*asked, "mctn.units=3", "fit.epochs=1")
    assert result.status == 0, result.err
    run = only_run(client)
    metrics = run.data.metrics
    assert metrics["evaluate/test_error"] == pytest.approx(1 - metrics["evaluate/test_accuracy"])
    model = mlflow.pyfunc.load_model(f"runs:/{run.info.run_id}/model")
    assert model.metadata.metadata["columns"] == ["a_pitch"]
    example = pd.DataFrame(rows).drop(columns=["label", "v_x"])
    found = model.predict(example)
    assert list(found) == ["sample", "class", "probability_high", "probability_low"]
    assert found["sample"].tolist() == [f"s{k}" for k in range(20)]
    shares = found[["probability_high", "probability_low"]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-6)
    tested = table(run, "predictions.csv").set_index("name")["prediction"]
    named = found.set_index("sample")["class"].loc[tested.index]
    assert named.tolist() == [("high", "low")[int(number)] for number in tested]
    for bad, reason in (
        (example.drop(columns="sample"), "column sample is missing; the model needs a_pitch, sample"),
        (example.assign(step=1), "column step, row 1: it does not rise"),
        (example.assign(a_pitch=np.inf), "column a_pitch, row 0: not a finite number"),
        (example[:0], "there are no rows"),
    ):
        with pytest.raises(ValueError, match=reason):
            model.predict(bad)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("mctn.arm=cyclic-t-x",), "mctn.arm=cyclic-t-x: arm 'cyclic-t-x' is no row of cyclic: give cyclic-v-a"),
        (("mctn.arm=cyclic-t-t",), "mctn.arm=cyclic-t-t: arm 'cyclic-t-t' is no row of cyclic"),
        (("mctn.arm=round-t-a",), "with kind cyclic, simple, bothways, double"),
        (("mctn.weights.cycle=-1",), "mctn.weights.cycle=-1.0 must be 0 or greater"),
        (("mctn.share=some",), "mctn.share=some is unknown; choose one of padded, core, none"),
        (("mctn.dropout=1",), "mctn.dropout=1.0 must be at least 0 and below 1"),
        (("mctn.bar=mean",), "mctn.bar=mean is unknown; choose one of median"),
        (("mctn.arm=median", "mctn.missing=x"), "mctn.missing=x must be letters, each once"),
        (("mctn.missing=x",), "mctn.missing=x must be letters, each once: t text, v video, a audio"),
        (("mctn.missing=t",), "mctn.missing=t leaves mctn.arm=cyclic-t-a nothing to read"),
        (("mctn.arm=median", "tracking.register=mine"), "mctn.arm=median is a simple baseline, which is not kept"),
        (("data=mmmo", "data.source=stand_in", "mctn.arm=none-t"), "error: data: mmmo: no modality text (text_train"),
        (("data=mmmo", "data.source=stand_in", "mctn.arm=cyclic-t-a"), "give mctn.arm=cyclic-v-a, or choose"),
        (("data=mocap",), "gives sequences; recipe=mctn takes utterances: choose data="),
        (("device=cuda",), "device=cuda: recipe=mctn computes on the CPU"),
        (("fit.epoch=3",), "did you mean fit.epochs?"),
        (("mctn.baseline=median",), "mctn.baseline"),
    ],
)  # fmt: skip
def test_bad_settings_end_in_one_line(overrides, message, run_pipeline: Callable) -> None:
    assert message in run_pipeline(*TINY, *overrides).error


def test_sources_that_were_trained_on_labels_are_allowed_by_a_setting(run_pipeline: Callable, monkeypatch) -> None:
    def contaminated(*given: Any) -> Utterances:
        return replace(build(*given), contaminated=frozenset({"text"}))

    monkeypatch.setattr("pipeline.systems.mctn.recipe.build", contaminated)
    said = (
        "data: cycles: the text features were trained on labels, so they are no source; take them as a target, or give"
    )
    error = run_pipeline(*TINY, "mctn.arm=none-t").error
    assert error == f"error: {said} data.allow_contaminated=true"
    result = run_pipeline(*SIMPLE, "mctn.arm=none-v", "fit.epochs=1")
    assert (
        f"mctn.bar=word_vectors stands beside nothing: {said} data.allow_contaminated=true" in result.out + result.err
    )


def test_of_texts_alone_the_arm_that_takes_them_is_named(run_pipeline: Callable, tmp_path) -> None:
    path = tmp_path / "films.csv"
    path.write_text("text,label\n" + "".join(f"good film {i},{i % 3 - 1}\n" for i in range(20)), encoding="utf-8")
    typed = ("recipe=mctn", "data=utterances", f"data.path={path}", "size=tiny", "tracking=off")
    said = "error: data: films: no modality audio (there is text); give mctn.arm=none-t, or choose other data"
    assert run_pipeline(*typed).error == said
