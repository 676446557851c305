"""What attention costs in the longest chunk that a network learns from, and what plans keep in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from data.documents.generator import SyntheticDocuments
from models.documents.chunks import Reading
from models.sequence.kept_bytes import saved_bytes
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Distance, Full, SlidingWindow
from models.sequence.vocabulary import Vocabulary
from pipeline.systems.documents.cost import bytes_of, costs_of, plans_table
from pipeline.systems.documents.load import Loaded, Piece


def loaded_by(*patterns: Any, longest: int = 90) -> Loaded:
    """Two training documents and one of each other part, read in chunks by these patterns, one a layer."""
    data = SyntheticDocuments(train=2, validation=1, test=1, words=120, questions=3, values=2).load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    reading = Reading(vocabulary, patterns, len(patterns), longest, stride=20)
    parts = {part: [Piece(place, chunk) for place, own in enumerate(documents) for chunk in reading.chunks(own)]
             for part, documents in data.parts.items()}  # fmt: skip
    return Loaded(data, reading, parts, parts, data, torch.device("cpu"))


def test_costs_are_of_the_longest_chunk_and_bytes_the_mean_over_layers() -> None:
    pair, window = DistanceKeysWindowValues(8), SlidingWindow(8)
    of_pair, of_window, both = (
        costs_of(loaded_by(*patterns), heads=2, width=4, dtype=torch.float64)
        for patterns in ((pair,), (window,), (pair, window, window))
    )
    longest = max(len(own.chunk.document.tokens.ids) for own in loaded_by(window).parts["train"])
    assert {own["longest_chunk"] for own in (of_pair, of_window, both)} == {longest}
    assert of_pair["saved_bytes"] > of_window["saved_bytes"] > 0
    assert both["saved_bytes"] == pytest.approx((of_pair["saved_bytes"] + 2 * of_window["saved_bytes"]) / 3)
    assert all(own["plan_seconds"] > 0 for own in (of_pair, of_window, both))


def test_measuring_costs_draws_nothing_from_the_global_generator() -> None:
    before, loaded = torch.get_rng_state(), loaded_by(Distance(8))
    costs_of(loaded, heads=2, width=4, dtype=torch.float32)
    assert torch.equal(torch.get_rng_state(), before)


def test_bytes_that_are_kept_are_those_of_storages_that_are_no_parts() -> None:
    """A product keeps both factors, and an exponential its result."""
    query, key, value = (torch.ones(6, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    assert saved_bytes(lambda *_: query * key, (query, key, value)) == 0
    assert saved_bytes(lambda *_: query.exp() * value, (query, key, value)) == 6 * 2 * 4 * 8


@pytest.mark.parametrize("patterns", [
    (SlidingWindow(8), SlidingWindow(8)), (DistanceKeysWindowValues(8), Full()),
])  # fmt: skip
def test_tokens_and_plans_of_parts_are_counted(patterns: Any) -> None:
    loaded = loaded_by(*patterns)
    table = plans_table(loaded).set_index("part")
    assert table.loc["train", "documents"] == 2
    assert (table["chunks"] > table["documents"]).all()
    for part, pieces in loaded.parts.items():
        lengths = [len(own.chunk.document.tokens.ids) for own in pieces]
        assert table.loc[part, ["chunks", "tokens", "longest_chunk"]].tolist() == [
            len(pieces), sum(lengths), max(lengths)
        ]  # fmt: skip
        once = {id(plan): plan for own in pieces for plan in own.chunk.document.plans}
        assert table.loc[part, "plan_bytes"] == sum(map(bytes_of, once.values()))


def test_bytes_of_a_plan_are_those_of_its_arrays() -> None:
    (plan,) = loaded_by(SlidingWindow(8)).parts["test"][0].chunk.document.plans
    arrays: Any = plan
    counted = sum(own.nbytes for own in arrays.allowed)
    counted += sum(4 * len(own) for own in (arrays.queries, arrays.keys, arrays.places))
    assert bytes_of(plan) == counted
    assert bytes_of((np.zeros(3), (torch.zeros(2, dtype=torch.int16), 7))) == 24 + 4
