"""What a run says at its end of simple models beside its network."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.systems.documents.report import behind
from pipeline.systems.documents.scores import Scored


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
