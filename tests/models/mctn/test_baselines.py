"""Simple baselines: what they read, and the regressions that they are."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge as Reference

from models.mctn.baselines import NAMES, OWN_WORDS, Observed, baseline, reads
from models.mctn.baselines.features import Lexicon, Steps, Terms, analyser
from models.mctn.baselines.models import RIDGES, Ridge, largest_of_least
from models.mctn.baselines.ridges import applied, dense_maps, sparse_maps

GOOD, BAD, PLAIN = ("good", "great", "lovely"), ("bad", "awful", "boring"), ("film", "the", "was", "plot")


def observed(count: int, *, seed: int, classes: int = 0) -> Observed:
    """Texts with good and bad words; the score is how many more of them are good."""
    chance = np.random.default_rng(seed)
    texts, scores, steps = [], [], []
    for _ in range(count):
        words = [str(word) for word in chance.choice([*GOOD, *BAD, *PLAIN], chance.integers(2, 8))]
        values = np.array([float(word in GOOD) - float(word in BAD) for word in words])
        texts.append(" ".join(words))
        scores.append(values.mean())
        steps.append(np.c_[values, chance.normal(size=len(values))])
    modalities = dict.fromkeys(("text", OWN_WORDS, "audio", "video"), steps)
    labels = np.array(scores)
    return Observed(modalities, np.digitize(labels, [-0.1, 0.1]) if classes else labels, texts, classes)


@pytest.mark.parametrize("name", NAMES)
def test_baselines_learn_what_can_be_learned(name: str) -> None:
    if "vader" in name:
        pytest.importorskip("vaderSentiment")
    train, validation, test = (observed(count, seed=seed) for seed, count in enumerate((120, 40, 60)))
    fitted = baseline(name).fit(train, validation)
    error = np.abs(fitted.predict(test) - test.labels).mean()
    constant = np.abs(np.median(train.labels) - test.labels).mean()
    assert fitted.parameters >= 1
    assert error == constant if name == "median" else error < 0.8 * constant


@pytest.mark.parametrize("name", ["median", "word_vectors", "tfidf"])
def test_classes_get_probabilities(name: str) -> None:
    train, validation, test = (observed(count, seed=seed, classes=3) for seed, count in enumerate((150, 40, 60)))
    found = baseline(name).fit(train, validation).predict(test)
    assert found.shape == (60, 3)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    assert (found >= 0).all()
    share = (found.argmax(1) == test.labels).mean()
    assert share == (test.labels == np.bincount(train.labels).argmax()).mean() if name == "median" else share > 0.6


@pytest.mark.parametrize("shape", [(30, 5), (12, 20)])
def test_maps_are_ridge_regressions(shape: tuple[int, int]) -> None:
    chance = np.random.default_rng(3)
    rows, targets = chance.normal(size=shape) * (chance.random(shape) < 0.4), chance.normal(size=(shape[0], 2))
    rows[:, 0] = 1.5  # a constant column
    held_out = chance.normal(size=(7, shape[1]))
    deviations = np.where(rows.std(0) > 0, rows.std(0), 1)
    for ridge in (0.01, 10.0):
        (dense,), (thin,) = dense_maps(rows, targets, [ridge]), sparse_maps(sparse.csr_array(rows), targets, [ridge])
        expected = Reference(alpha=ridge).fit(rows / deviations, targets).predict(held_out / deviations)
        np.testing.assert_allclose(applied(dense, held_out), expected, rtol=1e-6, atol=1e-6)
        expected = Reference(alpha=ridge).fit(rows, targets).predict(held_out)
        np.testing.assert_allclose(applied(thin, sparse.csr_array(held_out)), expected, rtol=1e-9, atol=1e-9)


def test_the_penalty_of_least_validation_error_is_chosen() -> None:
    train, validation = observed(60, seed=0), observed(40, seed=1)
    fitted = baseline("word_vectors")
    assert isinstance(fitted, Ridge)
    fitted.fit(train, validation)
    rows = Steps("text").fit(train)
    errors = [
        np.abs(applied(fit, rows.rows(validation))[:, 0] - validation.labels).mean()
        for fit in dense_maps(rows.rows(train), train.targets(), RIDGES)
    ]
    assert fitted.chosen == RIDGES[largest_of_least(errors)]
    assert min(errors) >= 0.999 * errors[RIDGES.index(fitted.chosen)]


def test_of_near_ties_the_first_is_kept() -> None:
    assert largest_of_least([2.0, 1.0, 1.0 - 1e-9, 1.5]) == 1
    assert largest_of_least([1.0, 0.9, 0.5]) == 2


def test_steps_are_means_with_deviations() -> None:
    arrays = [np.array([[1.0, 2.0], [3.0, 6.0]]), np.array([[5.0, 0.0]])]
    rows = Steps("audio", deviations=True).fit(Observed({"audio": arrays})).rows(Observed({"audio": arrays}))
    np.testing.assert_allclose(rows, [[2, 4, 1, 2], [5, 0, 0, 0]])


def test_steps_that_do_not_vary_deviate_by_nothing_and_columns_of_a_small_unit_count() -> None:
    same = Observed({"audio": [np.full((3, 1), 0.1)]})
    assert np.full(3, 0.1).std() > 0  # the mean is rounded
    assert Steps("audio", deviations=True).rows(same)[0, 1] == 0
    rows, targets = np.array([[1.0], [2.0], [4.0], [3.0]]), np.array([[1.0], [3.0], [2.0], [5.0]])
    small = rows * 2.0**-60
    for one, other in zip(dense_maps(rows, targets, (0.1,)), dense_maps(small, targets, (0.1,)), strict=True):
        np.testing.assert_array_equal(applied(one, rows), applied(other, small))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "median"])
def test_samples_without_a_step_count_for_nothing_and_have_no_prediction(name: str) -> None:
    """Wherever they stand: with them the baseline is that of the others."""
    if "vader" in name:
        pytest.importorskip("vaderSentiment")
    classes = 3 if name in ("audio", "tfidf") else 0
    parts = [observed(count, seed=seed, classes=classes) for seed, count in enumerate((40, 20, 10))]
    expected = baseline(name).fit(*parts[:2])
    spoilt = [without_steps(part, [0, 7]) for part in parts]
    found = baseline(name).fit(*spoilt[:2])
    left = baseline(name).fit(*(part.pick(np.delete(np.arange(len(part)), [0, 7])) for part in parts[:2]))
    test, others = spoilt[2], np.delete(np.arange(10), [0, 7])
    kept = parts[2].pick(others)  # products over as many rows, whose last bits may hang on their number
    np.testing.assert_array_equal(found.predict(test)[others], left.predict(kept))
    assert np.isnan(found.predict(test)[[0, 7]]).all()
    np.testing.assert_array_equal(expected.predict(test)[others], expected.predict(kept))
    assert np.isnan(expected.predict(test.pick(np.array([0, 7])))).all()
    with pytest.raises(ValueError, match="no validation sample has a step of"):
        baseline(name).fit(parts[0], without_steps(parts[1], range(20)))


def without_steps(part: Observed, rows: Sequence[int]) -> Observed:
    """The samples, of which these have neither steps nor a word."""
    modalities = {
        name: [steps[:0] if row in rows else steps for row, steps in enumerate(own)]
        for name, own in part.modalities.items()
    }
    texts = ["…" if row in rows else text for row, text in enumerate(part.texts or ())]
    return replace(part, modalities=modalities, texts=texts)


def test_a_text_without_a_word_is_not_read() -> None:
    assert Observed({}, texts=["Good", "…", "", "5"]).readable(["text"]).tolist() == [0, 3]


def test_terms_are_words_and_pairs_without_regard_to_case() -> None:
    terms = Terms().fit(Observed({}, texts=["GOOD film", "it's good"]))
    assert sorted(terms.vectorizer.vocabulary_) == ["film", "good", "good film", "it's", "it's good"]
    np.testing.assert_allclose(
        (terms.rows(Observed({}, texts=["A GOOD one", "no word"])).toarray() ** 2).sum(1), [1, 0]
    )


def test_the_lexicon_knows_negation() -> None:
    pytest.importorskip("vaderSentiment")
    rows = Lexicon().rows(Observed({}, texts=["A GOOD FILM", "not a good film"]))
    assert rows.shape == (2, 4)
    assert rows[0, 3] > 0 > rows[1, 3]


def test_what_is_read_is_named() -> None:
    assert [reads(name) for name in ("median", "words_and_vader", "own_vectors", "audio")] == [
        (), ("text",), ("text",), ("audio",),
    ]  # fmt: skip


def test_refusals_say_what_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    train = observed(10, seed=0)
    with pytest.raises(ValueError, match="baseline 'mean' is not known: give median, tfidf"):
        baseline("mean")
    with pytest.raises(ValueError, match="reads modality video, and there are: audio"):
        baseline("video").fit(replace(train, modalities={"audio": train.modalities["audio"]}), train)
    with pytest.raises(ValueError, match="have no texts"):
        baseline("tfidf").fit(replace(train, texts=None), train)
    with pytest.raises(ValueError, match="no training text holds a word"):
        baseline("tfidf").fit(replace(train, texts=["…"] * 10), train)
    with pytest.raises(ValueError, match="no training sample has a step of audio"):
        baseline("audio").fit(replace(train, modalities={"audio": [np.zeros((0, 2))] * 10}), train)
    with pytest.raises(ValueError, match="need labels"):
        baseline("median").fit(replace(train, labels=None), train)
    with pytest.raises(ValueError, match="not fitted"):
        baseline("audio").predict(train)
    real = builtins.__import__
    monkeypatch.setattr(
        builtins, "__import__", lambda name, *a, **k: missing() if "vader" in name else real(name, *a, **k)
    )
    with pytest.raises(ValueError, match="have no texts"):  # which installing the lexicon would not mend
        baseline("words_and_vader").fit(replace(train, texts=None), train)
    with pytest.raises(ValueError, match=r"needs the lexicon of vaderSentiment: pip install -c \S+ -e '\.\[vader\]'$"):
        analyser()


def missing() -> None:
    raise ImportError
