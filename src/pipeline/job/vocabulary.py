"""Vocabularies of training texts, learned once for all runs that want the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from models.sequence.vocabulary import BYTES, FIRST_TAG, Vocabulary, trained
from pipeline.host.errors import said_of
from pipeline.job.shared import made_once


def learned(
    texts: Iterable[str], pieces: int, *, key: str, tags: Sequence[str] = (), may_be_fewer: bool = False
) -> Vocabulary:
    """Returns the vocabulary of so many numbers, learned from the texts.

    key: the setting that says how many. may_be_fewer: as many as the texts allow are enough. Raises PipelineError for
    fewer than the bytes need, and for more than the texts allow.
    """
    if may_be_fewer and pieces >= BYTES + FIRST_TAG + len(tags):
        return Vocabulary(trained(texts, pieces - FIRST_TAG - len(tags)), tags)
    with said_of(f"{key}={pieces}"):
        return Vocabulary.train(texts, pieces=pieces, tags=tags)


def shared_vocabulary(follows_from: object, learn: Callable[[], Vocabulary], *, kept: bool) -> str:
    """Returns a vocabulary as JSON; with `kept` the one that a run learned before, where there is one.

    follows_from: all that it follows from, written out by `repr`.
    """
    if not kept:
        return learn().to_json()
    mark = hashlib.sha256(repr(follows_from).encode()).hexdigest()
    found = "vocabulary: found, learned before"
    return made_once("vocabulary", mark, "vocabulary.json", lambda: learn().to_json(), found=found)
