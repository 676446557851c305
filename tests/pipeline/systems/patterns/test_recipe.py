"""`recipe=patterns`, tiny, from the command line to the store: lengths, masks and cost, and what they count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from data.documents.generator import SyntheticDocuments
from logged import artifacts, only_run, table
from models.documents.words import centres_of
from models.sequence.kept_bytes import saved_bytes
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Distance, SlidingWindow
from pipeline.host.errors import PipelineError
from pipeline.systems.patterns.cost import DENSE, dense, parts_of, planned, ratios_of
from pipeline.systems.patterns.figures import slope_words
from pipeline.systems.patterns.inputs import Collection, documents_of, strewn
from pipeline.systems.patterns.lengths import LEAST, summary_of
from pipeline.systems.patterns.mask import BOTH, KEY, VALUE
from pipeline.systems.patterns.masks import chosen, counts_of, masks_of, middle_word

STAND_INS = ("size=tiny", "threads=1", "datasets.kleister_nda.source=stand_in")
FUNSD = "datasets.funsd.source=stand_in"


@pytest.fixture(scope="module")
def documents() -> Collection:
    return Collection({"made": SyntheticDocuments(train=2, validation=1, test=1, words=150).load()})


def test_lengths_are_counted_in_words_and_tokens(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=documents_lengths", *STAND_INS, FUNSD)
    assert result.status == 0, result.err
    run = only_run(client)
    lengths, summary = table(run, "lengths/lengths.csv"), table(run, "lengths/summary.csv")
    assert set(lengths["data"]) == {"kleister_nda", "funsd", "synthetic_documents"}
    assert (lengths["tokens"] > lengths["words"]).all()
    assert summary["documents"].sum() == 2 * len(lengths)
    assert "lengths/lengths.svg" in artifacts(client, run, "lengths")
    assert "(data not real)" in result.out


def test_shares_are_of_documents_with_at_least_so_many() -> None:
    lengths = pd.DataFrame({"data": "a", "words": [511, 512, 5000], "tokens": [512, 2047, 9000]})
    words, tokens = summary_of(lengths).to_dict("records")
    assert [words[f"≥ {least}"] for least in LEAST] == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3, 0])
    assert [tokens[f"≥ {least}"] for least in LEAST] == pytest.approx([1, 2 / 3, 1 / 3, 1 / 3, 1 / 3])


def test_masks_are_drawn_and_counted(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=documents_masks", *STAND_INS, FUNSD)
    assert result.status == 0, result.err
    run = only_run(client)
    counts = table(run, "masks/counts.csv")
    assert len(counts) == 2 * 9
    assert {"masks/kleister_nda.svg", "masks/funsd.svg"} <= artifacts(client, run, "masks")
    assert run.data.metrics["masks/funsd/distance/keys_per_query"] == pytest.approx(
        counts.set_index(["data", "attention"]).loc[("funsd", "distance"), "keys_per_query"]
    )


def test_a_mask_says_whose_keys_and_whose_values_a_token_reads(documents: Collection) -> None:
    document = chosen(documents.sets["made"], 60)
    window, literal = masks_of(document, {"window": SlidingWindow(4), "literal": DistanceKeysWindowValues(5)}, 0)
    own = np.arange(1, 61)
    assert (window.seen[1:, 1:] == BOTH * (abs(own[:, None] - own) <= 2)).all()
    assert (window.seen[0] == BOTH).all()
    assert {KEY, VALUE} <= set(literal.seen[1:].ravel().tolist())
    assert (literal.keys[1:] == 6).all()  # the first token, and five
    counted = counts_of("made", [window, literal])
    assert counted["share_of_pairs"].tolist() == pytest.approx(counted["keys_per_query"] / 61)
    assert counted["mutual"][0] == 1


def test_the_word_whose_neighbours_are_drawn_is_nearest_to_the_middle(documents: Collection) -> None:
    document = chosen(documents.sets["made"], 150)
    centres, middle = centres_of(document), np.array(document.sizes[0]) / 2
    distances = np.where(document.pages == 0, ((centres - middle) ** 2).sum(1), np.inf)
    assert distances[middle_word(document)] == pytest.approx(distances.min(), rel=1e-6)


def test_cost_is_measured_beside_dense_attention(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=documents_cost", *STAND_INS, "patterns.tokens=[40,90]", "patterns.dense=40")
    assert result.status == 0, result.err
    run = only_run(client)
    costs = table(run, "cost/cost.csv")
    assert len(costs) == 5 + 1 + 5
    assert (costs[["seconds", "saved_bytes"]] > 0).all(axis=None)
    assert costs.loc[costs["tokens"] == 90, "dense_seconds_ratio"].isna().all()
    assert (costs.loc[costs["attention"] == DENSE, "dense_seconds_ratio"] == 1).all()
    assert "cost/cost.svg" in artifacts(client, run, "cost")


def test_bytes_kept_by_a_plan_grow_with_the_tokens_and_those_of_a_mask_with_their_square(documents: Collection) -> None:
    own = type("Own", (), {"heads": 2, "width": 8})

    def kept(count: int) -> tuple[int, int]:
        layout, parts = strewn(list(documents_of(documents.sets["made"])), count), parts_of(own, count)  # pyright: ignore
        near = planned("near", Distance(8), layout, 0)
        assert near.attention(*parts).shape == dense(layout).attention(*parts).shape
        return saved_bytes(near.attention, parts), saved_bytes(dense(layout).attention, parts)

    (near, masked), (near_twice, masked_twice) = kept(200), kept(400)
    assert near_twice / near < 2.2 < 3 < masked_twice / masked


def test_dense_attention_is_that_of_its_mask() -> None:
    layout = type("Layout", (), {"count": 150})
    parts = [torch.randn(150, 1, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(k)) for k in range(3)]
    scores = torch.einsum("qhw,khw->hqk", parts[0], parts[1]) / 2
    own = torch.arange(150)
    weights = scores.masked_fill((own[:, None] - own).abs() > 64, -torch.inf).softmax(2)
    expected = torch.einsum("hqk,khw->qhw", weights, parts[2])
    torch.testing.assert_close(dense(layout).attention(*parts), expected)  # pyright: ignore[reportArgumentType]


def test_ratios_and_slopes() -> None:
    costs = ratios_of(pd.DataFrame({
        "attention": ["a", DENSE, "a"], "tokens": [8, 8, 16], "seconds": [2.0, 6.0, 4.0], "saved_bytes": [1, 5, 2],
    }))  # fmt: skip
    assert costs["dense_seconds_ratio"].tolist()[:2] == [3, 1]
    assert costs["dense_saved_bytes_ratio"].tolist()[:2] == [5, 1]
    assert costs.iloc[2, 4:].isna().all()
    assert slope_words([8, 16], np.array([1.0, 4.0])) == " (slope 2.00)"
    assert slope_words([8], np.array([1.0])) == ""


def test_documents_stand_one_below_the_other_until_there_are_enough(documents: Collection) -> None:
    every = list(documents_of(documents.sets["made"]))
    layout = strewn(every, 301)
    assert layout.count == 301
    assert layout.everywhere.tolist() == [True] + [False] * 300
    assert layout.centres[151:, 1].min() > layout.centres[1:151, 1].max()
    with pytest.raises(PipelineError, match="all documents have 600 words; lower it"):
        strewn(every, 602)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("patterns.show=all",), "patterns.show=all is unknown"),
        (("attentions.distance.neighbours=0",), "attentions.distance.neighbours=0 must be 1 or greater"),
        (("patterns.tokens=[64,64]",), "patterns.tokens=[64, 64] names one twice"),
        (("attentions=null",), "attentions"),
        (
            ("patterns.tokens=[1000000]", "patterns.show=cost"),
            "patterns.tokens asks for 1000000 tokens, and all documents",
        ),
        (
            ("+attention@attentions.each=layers", "attentions.each.per_layer=[full,distance]"),
            "attentions.each: recipe=patterns shows one attention a name",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(changed: tuple[str, ...], said: str, run_pipeline: Callable) -> None:
    result = run_pipeline(
        "recipe=patterns", "threads=1", "tracking=off", "datasets.kleister_nda.source=stand_in", *changed
    )
    assert said in result.error
