"""The linear tagger beside a network: its penalty is chosen after few passes, and it is fitted with all of them."""

from __future__ import annotations

import numpy as np

from data.documents.generator import SyntheticDocuments
from models.documents.window_tagger import WindowTagger
from models.sequence.entities import entity_f1
from pipeline.systems.documents.baselines import TRIED, best_tagger

ALPHAS = (1.0, 1e-2, 1e-4)


def test_the_penalty_is_the_best_on_the_validation_part_after_few_passes() -> None:
    data = SyntheticDocuments(train=20, validation=6, test=1, words=60, questions=6, values=3, cue="textual").load()
    learned, held = ([(own, own.tags) for own in data.parts[part]] for part in ("train", "validation"))
    documents, tags = zip(*learned, strict=True)

    def score(alpha: float) -> float:
        found = WindowTagger(alpha=alpha, passes=TRIED).fit(documents, tags).tags([own for own, _ in held])
        return entity_f1([own for _, own in held], found) or 0.0

    scores = [score(alpha) for alpha in ALPHAS]
    assert len(set(scores)) > 1
    chosen = best_tagger(data, layout=False, alphas=ALPHAS)
    assert chosen.alpha == ALPHAS[int(np.argmax(scores))]
    whole = WindowTagger(alpha=chosen.alpha).fit(documents, tags)
    assert chosen.passes == whole.passes > TRIED
    assert np.array_equal(chosen.linear.coef_, whole.linear.coef_)
