"""The linear tagger beside a network: its penalty is chosen after few passes, and it is fitted with all of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from data.documents.generator import SyntheticDocuments
from data.documents.values import normalised
from data.pages import Document
from models.documents.window_tagger import WindowTagger
from models.sequence.entities import entity_f1
from pipeline.systems.documents import baselines
from pipeline.systems.documents.baselines import TRIED, best_penalty, best_tagger, classified_by_all

ALPHAS = (1.0, 1e-2, 1e-4)


def test_the_penalty_is_the_best_on_the_validation_part_after_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    data = SyntheticDocuments(train=20, validation=6, test=1, words=60, questions=6, values=3, cue="textual").load()
    learned, held = ([(own, own.tags) for own in data.parts[part]] for part in ("train", "validation"))
    documents, tags = zip(*learned, strict=True)

    def score(alpha: float) -> float:
        found = WindowTagger(alpha=alpha, passes=TRIED).fit(documents, tags).tags([own for own, _ in held])
        return entity_f1([own for _, own in held], found) or 0.0

    scores = [score(alpha) for alpha in ALPHAS]
    assert len(set(scores)) > 1
    monkeypatch.setattr(baselines, "ALPHAS", ALPHAS)
    chosen = best_tagger(data, layout=False)
    assert chosen.alpha == ALPHAS[int(np.argmax(scores))]
    whole = WindowTagger(alpha=chosen.alpha).fit(documents, tags)
    assert chosen.passes == whole.passes > TRIED
    assert np.array_equal(chosen.linear.coef_, whole.linear.coef_)


@pytest.mark.parametrize(
    ("scores", "best", "tried"),
    [
        ({1.0: 0.1, 10.0: 0.3, 100.0: 0.2}, 10.0, 3),
        ({1.0: 0.1, 10.0: 0.3, 100.0: 0.3}, 10.0, 3),  # of equals the first
        ({1.0: 0.1, 10.0: 0.2, 100.0: 0.3, 1e3: 0.3}, 100.0, 4),
        ({1.0: 0.1, 10.0: 0.2, 100.0: 0.3, 1e3: 0.4, 1e4: 0.5, 1e5: 0.2, 1e6: 0.9}, 1e4, 6),
        ({1.0: 0.3, 10.0: 0.2, 100.0: 0.1, 0.1: 0.4, 0.01: 0.1}, 0.1, 5),
    ],
)
def test_penalties_beyond_the_end_are_tried_while_the_score_rises(
    scores: dict[float, float], best: float, tried: int
) -> None:
    seen = list[float]()

    def score(penalty: float) -> float:
        seen.append(penalty)
        return next(value for own, value in scores.items() if own == pytest.approx(penalty))

    assert best_penalty((1.0, 10.0, 100.0), score, called="x") == pytest.approx(best)
    assert len(seen) == tried


def test_a_single_penalty_is_taken_as_it_is() -> None:
    assert best_penalty((1.0,), lambda penalty: penalty, called="x") == 1.0


def test_the_rule_of_clauses_names_states_of_several_words_as_the_classes_are_written() -> None:
    made = SyntheticDocuments(train=4, validation=2, test=2, words=60, questions=6, values=3, cue="textual").load()
    states = ("New York", "Delaware")

    def governed(document: Document, state: str) -> Document:
        said = f"This is governed by the laws of the State of {state.upper()} and no other".split()
        words = (*said, *document.words[len(said) :])
        return document._replace(
            words=words, label=state, values=(("jurisdiction", normalised("jurisdiction", state)),)
        )

    parts = {part: tuple(map(governed, own, cycle(states))) for part, own in made.parts.items()}
    answers = classified_by_all(replace(made, parts=parts, classes=(*sorted(states), "other")))
    assert answers["clause rule"] == list(states)
