"""What a run's attention sees, counted a pair of tokens at a time; the first token sees all, and all see it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from data.documents.generator import SyntheticDocuments
from models.documents.chunks import Reading
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import Distance, Full, SlidingWindow
from models.sequence.vocabulary import Vocabulary
from pipeline.systems.documents.load import Loaded, Piece
from pipeline.systems.documents.sight import sight_of


@pytest.mark.parametrize("longest", [600, 90], ids=["whole", "chunks"])
@pytest.mark.parametrize("pattern", [SlidingWindow(16), Distance(8), DistanceKeysWindowValues(8)])
def test_the_class_of_a_document_is_read_where_all_words_are_seen(pattern: Any, longest: int) -> None:
    asked: Any = {"words": 80, "values": 4, "cue": "late", "late_after": 60}
    data = SyntheticDocuments(train=2, validation=1, test=3, **asked).load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    reading = Reading(vocabulary, (pattern,), 1, longest, stride=20)
    pieces = [Piece(i, chunk) for i, own in enumerate(data.parts["test"]) for chunk in reading.chunks(own)]
    found = sight_of(Loaded(data, reading, {"test": pieces}, {}, data, torch.device("cpu")))
    assert (found["reach"], found["ceiling"]) == (1, 1)
    told = {place: own.cues[0, 1] for place, own in enumerate(data.parts["test"])}
    cut = [own for own in pieces if told[own.document] >= own.chunk.stretch.end]  # no chunk with the word that tells
    assert bool(cut) is (longest == 90)
    if cut:
        assert sight_of(Loaded(data, reading, {"test": cut}, {}, data, torch.device("cpu")))["reach"] == 0


def test_of_a_pattern_each_layer_keys_are_a_mean_and_one_layer_that_sees_a_word_is_enough() -> None:
    data = SyntheticDocuments(train=2, validation=1, test=3, words=80, questions=6, values=3, cue="textual").load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    found = {}
    for patterns in ((SlidingWindow(16),), (Distance(8),), (SlidingWindow(16), Distance(8))):
        reading = Reading(vocabulary, patterns, len(patterns), 600, stride=20)
        pieces = [Piece(i, chunk) for i, own in enumerate(data.parts["test"]) for chunk in reading.chunks(own)]
        found[patterns] = sight_of(Loaded(data, reading, {"test": pieces}, {}, data, torch.device("cpu")))
    window, near, both = found.values()
    for name in ("keys_per_query", "share_of_pairs"):
        assert both[name] == pytest.approx((window[name] + near[name]) / 2)
    assert max(window["reach"], near["reach"]) <= both["reach"] <= window["reach"] + near["reach"]
    assert both["reach"] > near["reach"]


@pytest.mark.parametrize("longest", [600, 90], ids=["whole", "chunks"])
@pytest.mark.parametrize(("pattern", "reach"), [(SlidingWindow(16), 8), (Full(), 10**6)], ids=["window", "full"])
def test_reach_is_the_share_of_cues_whose_word_is_a_key(pattern: Any, reach: int, longest: int) -> None:
    data = SyntheticDocuments(train=2, validation=1, test=3, words=80, questions=6, values=3, cue="textual").load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    reading = Reading(vocabulary, (pattern,), 1, longest, stride=20)
    pieces = [Piece(i, chunk) for i, own in enumerate(data.parts["test"]) for chunk in reading.chunks(own)]
    found = sight_of(Loaded(data, reading, {"test": pieces}, {}, data, torch.device("cpu")))
    keys = pairs = tokens = 0
    seen = list[bool]()
    for place, (stretch, own) in pieces:
        words = own.tokens.words.tolist()
        near = [[j for j in range(len(words)) if abs(i - j) <= reach or 0 in (i, j)] for i in range(len(words))]
        keys, pairs, tokens = keys + sum(map(len, near)), pairs + len(words) ** 2, tokens + len(words)
        for asked, told in data.parts["test"][place].cues - stretch.first:
            if asked in words[1:]:
                seen.append(told >= 0 and told in [words[j] for j in near[words.index(asked)]])
    assert (len(pieces) > 3) is (longest == 90)
    assert sum(seen) > 0
    assert found["reach"] == sum(seen) / len(seen)
    assert (found["reach"] == 1) is (reach > longest and longest == 600)
    assert (found["keys_per_query"], found["share_of_pairs"]) == (keys / tokens, keys / pairs)
    assert found["ceiling"] == found["reach"] + (1 - found["reach"]) / 3


def test_answers_whose_question_is_not_read_are_within_no_reach() -> None:
    """They counted for nothing, so that cutting pages after their first question had a reach of 1."""
    data = SyntheticDocuments(train=2, validation=1, test=3, words=80, questions=6, values=3, cue="textual").load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    reading = Reading(vocabulary, (Full(),), 1, 90, stride=20, whole=False)
    pieces = [Piece(i, chunk) for i, own in enumerate(data.parts["test"]) for chunk in reading.chunks(own)]
    cues = [(cue, pieces[i].chunk.stretch.end) for i, own in enumerate(data.parts["test"]) for cue in own.cues.max(1)]
    found = sight_of(Loaded(data, reading, {"test": pieces}, {}, data, torch.device("cpu")))
    assert found["reach"] == pytest.approx(sum(last < end for last, end in cues) / len(cues))
    assert 0 < found["reach"] < 1


def test_answers_that_nothing_tells_are_within_no_reach() -> None:
    data = SyntheticDocuments(train=2, validation=1, test=3, words=80, questions=6, values=4, cue="none").load()
    vocabulary = Vocabulary.train([" ".join(own.words) for own in data.parts["train"]], pieces=300)
    reading = Reading(vocabulary, (Full(),), 1, 600, stride=20)
    pieces = [Piece(i, chunk) for i, own in enumerate(data.parts["test"]) for chunk in reading.chunks(own)]
    found = sight_of(Loaded(data, reading, {"test": pieces}, {}, data, torch.device("cpu")))
    assert (found["reach"], found["ceiling"]) == (0, 0.25)
