"""What a run says at its end of simple models beside its network, and the scores and curves that it logs."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mlflow.exceptions import MlflowException
from mlflow.utils.validation import _validate_metric_name

from data.documents.generator import SyntheticDocuments
from data.pages import Documents, tags_of_kinds
from pipeline.compare.bootstrap import drawn_weights
from pipeline.host.errors import PipelineError
from pipeline.job.curve import EpochRow, Progress
from pipeline.job.curve_report import curve_figure, curve_table
from pipeline.systems.documents.baselines import TAGGERS
from pipeline.systems.documents.comparison import columns
from pipeline.systems.documents.drawn import with_interval
from pipeline.systems.documents.report import LABELS, behind, marked, metrics_of, refuse_taken_kinds
from pipeline.systems.documents.scores import Scored, entity_scores, guessing_accuracy, scores_by_length

NO_WORDS = pd.DataFrame({"tag": [], "named": []})


def scored(error: float) -> Scored:
    return Scored(error, pd.DataFrame(), {}, pd.DataFrame())


def test_the_best_simple_model_that_is_ahead_is_named_with_both_errors() -> None:
    said = behind(scored(0.5), {"majority": scored(0.9), "TF-IDF": scored(0.375), "clause rule": scored(0.45)})
    assert said == [
        "The network is behind a simple model, TF-IDF: test error 0.5 and 0.375, 0.125 more (one seed)"
    ]  # fmt: skip


@pytest.mark.parametrize("others", [{}, {"majority": scored(0.5)}, {"majority": scored(0.6)}])
def test_a_network_that_no_simple_model_is_ahead_of_is_told_nothing(others: dict[str, Scored]) -> None:
    assert behind(scored(0.5), others) == []


def with_kinds(*kinds: str) -> Documents:
    made = SyntheticDocuments(train=2, validation=1, test=1, words=60, questions=6, values=3).load()
    return replace(made, tags=(*made.tags, *tags_of_kinds(kinds)[1:]))


def asked(task: str = "entities", *, baselines: bool = True) -> Any:
    return SimpleNamespace(documents=SimpleNamespace(task=task, baselines=baselines))


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("window_tagger", "of the simple model 'window tagger'"),
        ("window_tagger_layout", "of the simple model 'window tagger, layout'"),
        ("party_window_tagger", "of the simple model 'window tagger'"),
        ("interval_low_window_tagger", "of the simple model 'window tagger'"),
        ("words_0_511", "F1 of documents of that length"),
        ("words_2048_more", "F1 of documents of that length"),
        ("interval_low", "an end of the interval of test_entity_f1"),
    ],
)
def test_a_kind_of_entities_that_is_called_as_another_metric_is_refused(kind: str, what: str) -> None:
    data = with_kinds("party", kind)
    said = rf"the metric evaluate/test_entity_f1_{kind}, which is .*{what}; give the kind"
    with pytest.raises(PipelineError, match=said):
        refuse_taken_kinds(asked(), data)
    refuse_taken_kinds(asked("classes"), data)
    if kind.endswith(("tagger", "layout")):
        refuse_taken_kinds(asked(baselines=False), data)


@pytest.mark.parametrize("kind", ["Prix (€)", "A&B", "due//date", "due/"])
def test_a_kind_of_entities_that_mlflow_takes_for_no_metric_is_refused_before_training(kind: str) -> None:
    data = with_kinds("party", kind)
    with pytest.raises(PipelineError, match=r"MLflow does not take; give the kind another name of letters, digits"):
        refuse_taken_kinds(asked(), data)
    with pytest.raises(MlflowException):
        _validate_metric_name(f"evaluate/test_entity_f1_{kind}")


@pytest.mark.parametrize("kind", ["Prix: 1.5", "größe", "due/date", "a-b"])
def test_a_kind_of_entities_that_mlflow_takes_for_a_metric_is_taken(kind: str) -> None:
    refuse_taken_kinds(asked(), with_kinds("party", kind))
    _validate_metric_name(f"evaluate/test_entity_f1_{kind}")


@pytest.mark.parametrize(
    "kind", ["Interval_Low", "Window tagger layout", "a_window_tagger", "words_5_10", "majority", "interval"]
)
def test_a_kind_whose_metric_is_its_own_is_taken_and_logged_apart(kind: str) -> None:
    """The names are those that `log_fitted` gives the network's scores and those of simple models."""
    data = with_kinds("party", kind)
    refuse_taken_kinds(asked(), data)
    rows = pd.DataFrame({"true": [1, 2], "named": [1, 1], "right": [1, 1], "words": [4, 600]})
    rows = rows.assign(**{f"{side}_{own}": 1 for own in ("party", kind) for side in ("true", "named", "right")})
    tested = with_interval("entities", Scored(0.5, rows, entity_scores(rows, NO_WORDS), pd.DataFrame()))
    own = [*metrics_of(tested), *(f"test_{name}" for name in scores_by_length("entities", rows))]
    simple = [f"{name}_{marked(model)}" for model in TAGGERS for name in metrics_of(tested)]
    assert len(set(own + simple)) == len(own) + len(simple) == 20


@pytest.mark.parametrize(
    ("task", "score", "sums"),
    [
        ("entities", "entity_f1", {"true": [4, 2, 3, 0], "named": [3, 2, 5, 0], "right": [2, 2, 1, 0]}),
        ("classes", "accuracy", {"documents": [1, 1, 1, 1], "right": [1, 0, 1, 1]}),
        ("mlm", "mlm_loss", {"tokens": [5, 9, 2, 4], "nats": [10.0, 12.0, 1.0, 20.0]}),
    ],
)
def test_the_score_of_a_run_has_an_interval_over_documents(task: str, score: str, sums: dict[str, list[float]]) -> None:
    """As by one loop over bootstrap samples, each of documents that are drawn one by one as often as they count."""
    rows = pd.DataFrame(sums)
    own = with_interval(task, Scored(0.5, rows, {"log_loss": 1.0}, pd.DataFrame()))
    found = []
    for weights in next(drawn_weights(len(rows))):
        drawn = rows.loc[[place for place, times in enumerate(weights) for _ in range(int(times))]].sum()
        first, *others = drawn
        if task == "entities":
            found.append(2 * others[1] / (first + others[0]) if first + others[0] else np.nan)
        else:
            found.append(others[0] / first)
    low, high = np.nanquantile(found, [0.025, 0.975])
    assert own.scores == pytest.approx({"log_loss": 1.0, f"{score}_interval_low": low, f"{score}_interval_high": high})
    assert low < high


def test_one_document_and_documents_without_an_entity_have_no_interval() -> None:
    for rows in ({"true": [2], "named": [1], "right": [1]}, {"true": [0, 0], "named": [0, 0], "right": [0, 0]}):
        one = Scored(0.5, pd.DataFrame(rows), {}, pd.DataFrame())
        assert with_interval("entities", one) is one


def test_documents_of_each_length_are_scored_apart() -> None:
    words = [10, 511, 512, 1023, 3000]
    classes = pd.DataFrame({"words": words, "documents": 1, "right": [1, 0, 1, 1, 0]})
    assert scores_by_length("classes", classes) == {
        "accuracy_words_0_511": 0.5, "accuracy_words_512_1023": 1.0, "accuracy_words_2048_more": 0.0
    }  # fmt: skip
    guesses = pd.DataFrame({"words": words, "tokens": [1, 3, 2, 2, 5], "nats": [4.0, 4, 6, 2, 5], "right": 1})
    assert scores_by_length("mlm", guesses) == {
        "mlm_loss_words_0_511": 2.0, "mlm_loss_words_512_1023": 2.0, "mlm_loss_words_2048_more": 1.0
    }  # fmt: skip
    assert guessing_accuracy(guesses) == 5 / 13
    tags = pd.DataFrame({"words": words, "true": [2, 1, 0, 0, 4], "named": [1, 2, 0, 0, 4], "right": [1, 1, 0, 0, 3]})
    assert scores_by_length("entities", tags) == pytest.approx({
        "entity_f1_words_0_511": 2 / 3, "entity_f1_words_2048_more": 3 / 4
    })  # fmt: skip


def test_documents_of_one_length_are_not_scored_again() -> None:
    rows = pd.DataFrame({"words": [600, 700], "documents": 1, "right": [1, 0]})
    assert scores_by_length("classes", rows) == {}


def test_a_table_of_jobs_has_the_scores_of_the_network_and_the_errors_of_simple_models() -> None:
    scores = {
        "test_error": 0.5,
        "test_entity_f1": 0.5,
        "test_entity_f1_party": 0.4,
        "test_entity_f1_words_0_511": 0.6,
        "test_entity_f1_a_window_tagger": 0.3,
        "test_entity_f1_b_window_tagger": 0.2,
    }  # of kinds that are called so
    simple = {"test_error_window_tagger": 0.3, "test_entity_f1_window_tagger": 0.7,
              "test_entity_f1_party_window_tagger": 0.6, "test_error_window_tagger_layout": 0.2,
              "test_entity_f1_a_window_tagger_window_tagger": 0.9,
              "test_entity_f1_window_tagger_layout": 0.8}  # fmt: skip
    metrics = {f"evaluate/{name}": value for name, value in (scores | simple).items()}
    metrics |= {"model/parameters": 8.0, "attention/saved_bytes": 64.0}
    run: Any = SimpleNamespace(data=SimpleNamespace(tags={"arm": "a", "task": "entities", "cue": ""}, metrics=metrics))
    own = {name: value for name, value in columns(run).items() if name.startswith(("test_", "saved_"))}
    assert own == {
        "test_entity_f1": 0.5, "test_entity_f1_party": 0.4, "test_entity_f1_words_0_511": 0.6, "saved_bytes": 64.0,
        "test_entity_f1_a_window_tagger": 0.3, "test_entity_f1_b_window_tagger": 0.2,
        "test_error_window_tagger": 0.3, "test_error_window_tagger_layout": 0.2,
    }  # fmt: skip


@pytest.mark.parametrize(("new", "panels"), [(1, 3), (0, 2)], ids=["went on", "before"])
def test_the_curve_of_a_run_that_was_begun_before_is_drawn(new: int, panels: int) -> None:
    """Its first rows have no accuracy of hidden tokens and no tokens a second."""
    old = {"train_loss": 2.0, "validation_loss": 3.0}
    more = {"validation_accuracy": 0.5, "tokens_per_second": 100.0}
    rows = [EpochRow(0, step, old | (more if step > 1 and new else {}), 0.1) for step in range(3)]
    table = curve_table(Progress(0.1, rows=rows))
    assert table["validation_loss"].tolist() == [3, 3, 3]
    assert (table["validation_accuracy"].isna().tolist() == [True, True, False]) if new else len(table.columns) == 5
    assert len(curve_figure(table, 0, LABELS["pretrain"], "title").axes) == panels
