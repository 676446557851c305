"""Errors for people: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

GOES_ON = "resume=true goes on from here"  # the note of an interrupt that left something to go on with


class PipelineError(ValueError):
    """Says that a setting, a store or a model cannot be used. The message is one line."""


class FinishedBefore(Exception):
    """Says that what was to go on has finished already, and there is nothing to do. The message is a sentence that
    says so."""


class Pruned(Exception):
    """Ends a trial of a search that is not worth going on with. The message says when that was seen."""


@contextmanager
def said_of(what: str) -> Iterator[None]:
    """Raises the ValueError of the block as PipelineError, with the setting that it is about in front.

    It is for checks of numbers of a setting. Where data are read or a class of a section is built, which may advise
    arguments to give, `pipeline.settings.messages.of_section` tells these as settings.
    """
    try:
        yield
    except ValueError as error:
        raise PipelineError(f"{what}: {error}") from error
