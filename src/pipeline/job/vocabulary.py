"""Vocabularies of training texts, learned once for all runs that want the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from models.runtime.collectives import rank
from models.sequence.vocabulary import BYTES, FIRST_TAG, Vocabulary
from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError, said_of
from pipeline.job.shared import made_once

VERSION = 1  # of how vocabularies are learned, raised where the same texts give another one


def learned(
    texts: Iterable[str], pieces: int, *, key: str, tags: Sequence[str] = (), prefix_space: bool = False,
    may_be_fewer: bool = False,
) -> Vocabulary:  # fmt: skip
    """Returns the vocabulary of `pieces` numbers, learned from the texts.

    key: the setting that says how many. may_be_fewer: as many as the texts allow are enough. Raises PipelineError for
    fewer than the bytes need, and for more than the texts allow.
    """
    if may_be_fewer and pieces >= BYTES + FIRST_TAG + len(tags):
        return Vocabulary.of_at_most(texts, pieces=pieces, tags=tags, prefix_space=prefix_space)
    with said_of(f"{key}={pieces}"):
        return Vocabulary.train(texts, pieces=pieces, tags=tags, prefix_space=prefix_space)


def shared_vocabulary(follows_from: object, learn: Callable[[], Vocabulary], *, kept: bool) -> str:
    """Returns a vocabulary as JSON; with `kept` it is the one that a run learned before, where there is one.

    follows_from: all that the vocabulary follows from, written out by `repr`.
    """
    mark = hashlib.sha256(repr(follows_from).encode()).hexdigest()
    return made_once("vocabulary", mark, "vocabulary.json", lambda: learn().to_json(), version=VERSION, kept=kept)


def refuse_another(vocabulary: Vocabulary, folder: Path) -> None:
    """Keeps the vocabulary that a run begins with in its folder of checkpoints; a run that goes on must have the same
    vocabulary.

    Of several ranks rank 0 alone does this. Raises PipelineError, naming both, where the vocabulary is another one: the
    numbers of its pieces would mean other texts to the weights in the checkpoints.
    """
    path = folder / "vocabulary.json"
    if rank() > 0:
        return
    if not path.exists():
        with written_whole(path) as temporary:
            temporary.write_text(vocabulary.to_json(), encoding="utf-8")
        return
    begun = Vocabulary.from_json(path.read_text(encoding="utf-8"))
    if begun.digest != vocabulary.digest:
        raise PipelineError(
            f"this run began with the vocabulary {called(begun)}, which is kept in {path}, and would go on with "
            f"{called(vocabulary)}; put the first in the place of the second, or start anew without resume"
        )


def called(vocabulary: Vocabulary) -> str:
    """Returns what a message calls a vocabulary."""
    return f"{vocabulary.digest[:12]}… of {vocabulary.size} pieces"
