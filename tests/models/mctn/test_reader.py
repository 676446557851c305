"""The reader as a person calls it: learning, predicting from the source alone, files, what is refused."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from mctn_problems import utterances
from models import SentimentReader
from models.mctn.predictor import streams_of
from models.mctn.reader import numbers_of
from models.mctn.samples import Stream, in_units, units_of
from models.mctn.training import train
from models.sequence.packing import Packed

QUICK: dict[str, Any] = {"units": 4, "epochs": 2}


def test_eight_samples_are_learned_by_heart() -> None:
    own = utterances(8)
    reader = SentimentReader("cyclic-t-v", units=12, epochs=90, learning_rate=0.02, held_out=0.0).fit(own)
    assert np.abs(reader.predict(own) - own["labels"]).mean() < 0.05
    assert len(reader.curve_) == 90


def test_predictions_are_the_same_bits_whatever_the_targets_hold() -> None:
    own = utterances(40)
    reader = SentimentReader("cyclic-t-v-a", **QUICK).fit(own)
    expected = reader.predict({"text": own["text"]})
    spoilt = {**own, "video": [each * np.nan for each in own["video"]], "audio": [each[:0] for each in own["audio"]]}
    for samples in (own, spoilt, {**own, "video": None, "labels": None}):
        assert np.array_equal(reader.predict(samples), expected)


def test_a_share_of_too_few_samples_is_said_unless_none_is_wanted() -> None:
    with pytest.warns(
        UserWarning, match=r"^held_out=0\.15 of 33 samples is fewer than 5: no epoch is chosen"
    ) as caught:
        reader = SentimentReader("none-t", **QUICK).fit(utterances(33))
    assert (caught[0].filename, len(reader.curve_)) == (__file__, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SentimentReader("none-t", held_out=0, **QUICK).fit(utterances(33))
        SentimentReader("none-t", **QUICK).fit(utterances(34))


def test_a_column_far_from_zero_is_read_as_one_near_it(tmp_path: Path) -> None:
    near = utterances(12, seed=1)
    near["text"] = [np.round(each, 3) for each in near["text"]]
    far = near | {"text": [each + 1e9 for each in near["text"]]}
    one, other = (SentimentReader("none-t", units=4, epochs=2, held_out=0).fit(own) for own in (near, far))
    np.testing.assert_allclose(other.predict(far), one.predict(near), rtol=1e-3)
    other.save(tmp_path / "reader")
    assert np.array_equal(SentimentReader.load(tmp_path / "reader").predict(far), other.predict(far))


@pytest.mark.parametrize("unit", [10, 1e-6])
def test_scores_in_another_unit_give_predictions_in_that_unit(unit: float) -> None:
    own = utterances(40)
    options: dict[str, Any] = {"translation": 5.0, "cycle": 1.0, "l2": 0.1, "clip": 0.3, "units": 6, "epochs": 8}
    one, other = (
        SentimentReader("cyclic-t-v", learning_rate=0.01, **options).fit({**own, "labels": own["labels"] * times})
        for times in (1, unit)
    )
    np.testing.assert_allclose(other.predict(own) / unit, one.predict(own), atol=1e-4)
    np.testing.assert_allclose(np.array(other.curve_) / unit, one.curve_, rtol=1e-4)


def test_a_saved_reader_predicts_the_same(tmp_path: Path) -> None:
    own = utterances(40)
    reader = SentimentReader("double-t-v", share="padded", dropout=0.1, **QUICK).fit(own)
    reader.save(tmp_path / "reader")
    loaded = SentimentReader.load(tmp_path / "reader")
    assert np.array_equal(loaded.predict(own), reader.predict(own))
    assert (loaded.get_params(), loaded.curve_) == (reader.get_params(), reader.curve_)
    assert sorted(file.name for file in (tmp_path / "reader").iterdir()) == ["sentiment.json", "sentiment.npz"]
    with pytest.raises(FileExistsError, match="is there already"):
        reader.save(tmp_path / "reader")
    with pytest.raises(ValueError, match=r"holds no saved model: sentiment\.json is not there"):
        SentimentReader.load(tmp_path)
    described = tmp_path / "reader" / "sentiment.json"
    described.write_bytes(described.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"^[^\n]*holds no saved model that can be read \([^\n]*; save it again$"):
        SentimentReader.load(tmp_path / "reader")


def test_classes_keep_their_names(tmp_path: Path) -> None:
    own = utterances(40)
    own["labels"] = np.where(own["labels"] > 0, "good", "bad")
    reader = SentimentReader("none-t", labels="class", units=8, epochs=60, learning_rate=0.03, held_out=0).fit(own)
    assert np.mean(reader.predict(own) == own["labels"]) > 0.9
    np.testing.assert_allclose(reader.predict_proba(own).sum(1), 1, rtol=1e-6)
    reader.save(tmp_path / "reader")
    assert SentimentReader.load(tmp_path / "reader").predict(own).tolist() == reader.predict(own).tolist()
    own["text"][1] = own["text"][1][:0]
    with pytest.warns(UserWarning, match=r"sample 1 \(and 0 more\) has no step to read: NaN"):
        assert reader.predict(own)[1] is None


def test_scores_are_read_with_an_error_and_a_correlation() -> None:
    own, held = utterances(40), utterances(20)
    reader = SentimentReader("none-t", **QUICK).fit(own)
    read = reader.predict(held)
    assert reader.score(held) == pytest.approx(
        {"mae": np.abs(read - held["labels"]).mean(), "correlation": np.corrcoef(read, held["labels"])[0, 1]}
    )
    flat = {**held, "labels": np.zeros(20)}
    assert reader.score(flat) == pytest.approx({"mae": np.abs(read).mean()})
    with pytest.raises(ValueError, match=r"must hold one label for each of 20 samples, got \(19,\)"):
        reader.score({**held, "labels": np.zeros(19)})
    with pytest.raises(NotFittedError):
        SentimentReader().score(own)
    held["text"][3] = held["text"][3][:0]
    rest = np.arange(20) != 3
    with pytest.warns(UserWarning, match="sample 3"):
        assert reader.score(held)["mae"] == pytest.approx(np.abs(read - held["labels"])[rest].mean())


def test_classes_are_read_with_an_accuracy_and_a_weighted_f1() -> None:
    own = utterances(40)
    own["labels"] = np.where(own["labels"] > 0, "good", "bad")
    reader = SentimentReader("none-t", labels="class", **QUICK).fit(own)
    read, true = reader.predict(own), own["labels"]
    assert reader.score(own) == pytest.approx(
        {"accuracy": np.mean(read == true), "f1": f1_score(true, read.astype(str), average="weighted")}
    )
    assert reader.score({**own, "labels": ["other", *true[1:]]})["accuracy"] == pytest.approx(
        np.mean(read[1:] == true[1:]) * 39 / 40
    )
    with pytest.raises(
        ValueError, match="no label is one of the classes that were learned: 'other' is none of 'bad', 'go"
    ):
        reader.score({**own, "labels": ["other"] * 40})
    with pytest.raises(ValueError, match="sample 0: its label is missing"):
        reader.score({**own, "labels": [None, *true[1:]]})
    with pytest.raises(ValueError, match="nothing to score"), pytest.warns(UserWarning, match="no step to read"):
        reader.score({**own, "text": [each[:0] for each in own["text"]]})


def test_a_sample_without_a_source_is_nan_and_alone_in_it() -> None:
    own = utterances(40)
    reader = SentimentReader("simple-t-v", **QUICK).fit(own)
    expected = reader.predict(own)
    own["text"][3] = own["text"][3][:0]
    with pytest.warns(UserWarning, match=r"sample 3 \(and 0 more\) has no step to read: NaN"):
        found = reader.predict(own)
    assert np.isnan(found[3])
    np.testing.assert_allclose(np.delete(found, 3), np.delete(expected, 3), rtol=1e-5)


def test_modalities_may_be_missing_where_several_are_read() -> None:
    """The reader that learned with modalities missing does better without them, and says nothing of them."""
    own = utterances(60, noise=1.5)
    without = {"text": own["text"], "video": [each[:0] for each in own["video"]], "audio": [np.zeros((0, 2))] * 60}
    errors = []
    for share in (0.0, 0.5):
        reader = SentimentReader("none-tva", units=8, epochs=40, learning_rate=0.02, held_out=0, modality_dropout=share)
        errors.append(np.abs(reader.fit(own).predict(without) - own["labels"]).mean())
    assert errors[1] < 0.8 * errors[0]


def test_equal_samples_give_equal_numbers_and_the_global_generator_is_left_alone() -> None:
    own, before = utterances(40), torch.get_rng_state()
    reader = SentimentReader("cyclic-t-a", dropout=0.3, feedback="teacher", **QUICK)
    first, second = (clone(reader).fit(own) for _ in range(2))
    assert first.curve_ == second.curve_
    assert np.array_equal(first.predict(own), second.predict(own))
    assert torch.equal(torch.get_rng_state(), before)
    assert clone(reader).set_params(random_state=1).fit(own).curve_ != first.curve_


def test_the_best_epoch_is_kept_and_patience_ends_training() -> None:
    own = utterances(60)
    own["labels"] = np.random.default_rng(1).normal(size=60)  # nothing to learn
    reader = SentimentReader("none-t", units=8, epochs=200, learning_rate=0.05, patience=3).fit(own)
    validation = [each[1] for each in reader.curve_]
    assert len(validation) == int(np.argmin(validation)) + 4 < 200


def test_units_leave_constant_numbers_alone_and_cut_extreme_ones() -> None:
    values = torch.tensor([[1.0, 5.0]] * 60 + [[100.0, 5.0]], dtype=torch.float64)
    stream = Stream(Packed(values, torch.tensor([61])))
    inside = in_units(stream, units_of(stream)).steps.values
    assert inside[-1].tolist() == [5.0, 0.0]
    assert (inside[:-1, 0] < 0).all()


def test_steps_may_be_rows_of_a_table() -> None:
    table = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 5.0]], dtype=torch.float64)
    words = Stream(Packed.of([torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0]])]), table)
    plain = Stream(Packed.of([table[[1, 2]], table[[2]]], dtype=torch.float64))
    rows = torch.tensor([1, 0])
    for one, other in ((words, plain), (in_units(words, units_of(words)), in_units(plain, units_of(plain)))):
        torch.testing.assert_close(one.pick(rows).values, other.pick(rows).values, rtol=0, atol=0)
    assert (words.width, plain.width) == (2, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"audio": None}, "no modality audio: give text, audio"),
        ({"audio": None}, r"one array \(step, number\) a sample each$"),
        (
            {"audio": None, "text": ["poor actor"] * 12},
            '; the arm "none-t" reads text alone, and the notebook sentiment_',
        ),
        ({"audio": []}, "modalities differ in their number of samples: {'text': 12, 'audio': 0}"),
        ({"labels": [1.0]}, r"samples\['labels'\] must hold one label for each of 12 samples, got \(1,\)"),
        ({"labels": [np.nan] * 12}, "sample 0: its label is not a finite number"),
        ({"text": [np.zeros((2, 4))] * 11 + [np.zeros((2, 3))]}, r"text, sample 11: expected shape \(step, 4\), got"),
        ({"text": [np.full((2, 4), np.inf)] * 12}, "text, sample 0, step 0, number 0: not a finite number"),
        ({"labels": ["fine"] * 12}, "sample 0: its label 'fine' is not a number; labels='class' learns names"),
        ({"labels": [1.0] * 11 + [None]}, "sample 11: its label None is not a number"),
        ({"text": [np.zeros((10_001, 4))] * 12}, "text, sample 0: 10001 steps; at most 10000; give fewer"),
        (
            {"text": ["poor actor"] * 12},
            r"text, sample 0: must be an array \(step, number\), got 'poor actor'; .* mctn",
        ),
        (
            {"text": [["poor", "actor"]] * 12},
            r"text, sample 0: must be an array \(step, number\), got \['poor', 'actor'",
        ),
        (
            {"text": [np.zeros((2, 4)), [[1.0], [1.0, 2.0]]] * 6},
            r"text, sample 1: must be an array \(step, number\), got",
        ),
        ({"text": [1.0, 2.0] * 6}, r"text, sample 0: must be an array \(step, number\), got 1\.0; give"),
        ({"text": [[1.0, 2.0]] * 12}, r"text, sample 0: expected shape \(step, 2\), got \(2,\)"),
        ({"text": 1.0}, r"text must be a list with one array \(step, number\) a sample, got 1\.0"),
        ({"text": "poor actors"}, r"text must be a list with one array .* a sample, got 'poor actors'"),
        ({"text": [np.zeros((0, 4))] * 12}, "sample 0 has no step of what is read; leave it out"),
    ],
)
def test_samples_that_make_no_sense_are_refused(change: dict[str, Any], message: str) -> None:
    own = {name: value for name, value in {**utterances(), **change}.items() if value is not None}
    reader = SentimentReader("cyclic-t-a", **QUICK)
    with pytest.raises(ValueError, match=message):
        reader.fit(own)
    with pytest.raises(NotFittedError):
        reader.predict(utterances())


@pytest.mark.parametrize("seed", range(6))
def test_a_sample_without_a_step_is_named_by_its_own_number(seed: int) -> None:
    """Whether it would have been learned from or held out."""
    own = utterances(40)
    own["text"][7] = own["text"][7][:0]
    with pytest.raises(ValueError, match=r"^sample 7 has no step of what is read; leave it out$"):
        SentimentReader("cyclic-t-a", held_out=0.5, random_state=seed, **QUICK).fit(own)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"arm": "cyclic-a-t"}, "is no row of cyclic"),
        ({"labels": "number"}, "labels must be one of score, class"),
        ({"translation": -1}, "translation must be a number of 0 or more"),
        (
            {"modality_dropout": 0.5},
            "modality_dropout needs an arm that reads several modalities, as none-tva; got cyc",
        ),
        ({"modality_dropout": 1.0}, "modality_dropout must be a number from 0 to below 1, got 1"),
        ({"units": 0}, "units must be a whole number of at least 1"),
        ({"share": "all"}, "share must be one of padded, core, none"),
        ({"attention": "z"}, "attention must be one of additive, dot"),
        ({"labels": "class"}, "there is one class alone"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    own = utterances()
    own["labels"] = np.zeros(12)
    with pytest.raises(ValueError, match=message):
        SentimentReader(**{**QUICK, **parameters}).fit(own)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["good", "bad"] * 5 + ["good", None], "sample 11: its label is missing; give the name of its class"),
        ([0.0, 1.0] * 5 + [np.nan, 1.0], "sample 10: its label is missing"),
        (["good", "bad"] * 5 + [float("nan"), "bad"], "sample 10: its label is missing"),
        (["good", "bad"] * 5 + ["good", pd.NA], "sample 11: its label is missing"),
        (["good", "bad"] * 5 + ["", "bad"], "sample 10: its label is missing"),
        (["good", "bad"] * 5 + ["good", " "], "sample 11: its label is missing"),
        (np.array(["good", "bad"] * 5 + ["good", np.nan]), "sample 11: its label is missing"),
        (pd.Series(["good", "bad"] * 5 + ["good", None], index=range(5, 17)), "sample 11: its label is missing"),
    ],
)
def test_classes_without_a_name_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SentimentReader(**{**QUICK, "labels": "class"}).fit({**utterances(), "labels": labels})


def test_a_class_may_be_called_nan_where_its_name_is_a_text() -> None:
    own = {**utterances(), "labels": ["nan", "bad"] * 6}
    reader = SentimentReader(**{**QUICK, "labels": "class", "held_out": 0}).fit(own)
    assert reader.classes_.tolist() == ["bad", "nan"]


def test_samples_of_a_group_are_learned_from_together_or_held_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """So an epoch is not chosen by utterances of videos that were learned from."""
    own, videos = utterances(40), [f"video {place // 4}" for place in range(40)]
    told = dict(zip(own["labels"].astype(np.float32).tolist(), videos, strict=True))
    counts = list[tuple[int, int]]()

    def looked_at(objective: Any, validation: Any, *how: Any, **seeds: Any) -> Any:
        learned, held = ({told[label] for label in part.labels.tolist()} for part in (objective.samples, validation))
        counts.append((len(held), len(learned & held)))
        return train(objective, validation, *how, **seeds)

    monkeypatch.setattr("models.mctn.reader.train", looked_at)
    for groups in (None, videos, np.array(videos), pd.Series(videos, index=range(5, 45))):
        SentimentReader("none-t", held_out=0.2, **QUICK).fit(own, groups)
    assert counts[0][1] > 0
    assert counts[1:] == [(2, 0)] * 3


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 11, r"groups must hold one group for each of 12 samples, got 11"),
        ("a", "groups must hold one group for each of 12 samples, got 'a'"),
        (5, "groups must hold one group for each of 12 samples, got 5"),
        ({"a": 1}, "groups must hold one group for each of 12 samples, got {'a': 1}"),
        ([("a", [1])] * 12, "sample 0: a group must be a text, a number or a tuple of these, got ('a', [1])"),
        ([("a", float("nan"))] * 12, "sample 0: its group is missing; name it, or leave the sample out"),
        ([["a", 1]] * 11 + [["b"]], "sample 0: a group must be a text, a number or a tuple of these, got ['a', 1]"),
        (["a"] * 11 + [None], "sample 11: its group is missing; name it, or leave the sample out"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        SentimentReader("none-t", **QUICK).fit(utterances(), groups)


def test_a_group_may_be_named_by_a_tuple() -> None:
    named, numbered = ([make(place // 2) for place in range(6)] for make in (lambda video: ("film", video), int))
    assert numbers_of(named, 6).tolist() == numbers_of(numbered, 6).tolist() == [0, 0, 1, 1, 2, 2]
    assert numbers_of(torch.tensor(numbered), 6).tolist() == [0, 0, 1, 1, 2, 2]


def test_samples_that_repeat_another_are_told_of_before_groups() -> None:
    few = utterances(3)
    own = {name: [values[place % 3] for place in range(60)] for name, values in few.items()}
    with pytest.warns(UserWarning, match=r"^57 of 60 samples hold the same as another"):
        SentimentReader("none-t", held_out=0.2, **QUICK).fit(own, range(60))


def test_groups_of_which_none_can_be_held_out_are_said() -> None:
    with pytest.warns(UserWarning, match=r"^held_out=0\.2 has room for too few whole groups of samples") as caught:
        SentimentReader("none-t", held_out=0.2, **QUICK).fit(utterances(40), ["a", "b"] * 20)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("seed", range(8))
def test_of_every_class_some_samples_are_learned_from(seed: int) -> None:
    """Half of them are held out, and so would be the only one of a class under some of these seeds."""
    own = utterances(40)
    own["labels"] = ["bad", *["good"] * 39]
    reader = SentimentReader(**{**QUICK, "labels": "class", "held_out": 0.5, "random_state": seed}).fit(own)
    assert reader.classes_.tolist() == ["bad", "good"]


def test_scores_have_no_probabilities() -> None:
    reader = SentimentReader("none-t", held_out=0, **QUICK).fit(utterances())
    with pytest.raises(ValueError, match="scores have no probabilities; fit with labels='class'"):
        reader.predict_proba(utterances())


def test_there_is_something_to_read() -> None:
    with pytest.raises(ValueError, match="there is no sample"):
        streams_of({"text": []}, "t")
