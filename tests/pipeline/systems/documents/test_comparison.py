"""Multiruns of `recipe=documents`: which arms their documents belong to."""

from __future__ import annotations

import pandas as pd
import pytest

from pipeline.systems.documents.multirun import with_arms


@pytest.mark.parametrize("written", ["majority", "majority jitter 2.0 shuffled"])
def test_simple_models_of_older_jobs_are_called_by_how_they_read(written: str) -> None:
    """A multirun that goes on has both: older jobs wrote the name alone."""
    jobs = pd.DataFrame({"run_id": ["a", "b"], "arm": ["distance no pretraining", "distance jitter 2.0 shuffled @48"]})
    documents = pd.DataFrame({"run_id": ["a", "a", "b", "b"], "baseline": ["", "majority", "", written]})
    found = with_arms(jobs, documents)
    assert found["arm"].tolist() == [*jobs["arm"], "majority", "majority jitter 2.0 shuffled"]
