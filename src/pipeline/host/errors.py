"""Errors for people: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

GOES_ON = "resume=true goes on from here"  # the note of an interrupt that left something to go on with


class PipelineError(ValueError):
    """A setting, a store or a model that cannot be used. The message is one line."""


class FinishedBefore(Exception):
    """What was to go on has finished already; there is nothing to do. The message is a sentence that says so."""


class Pruned(Exception):
    """A trial of a search that is not worth going on with. The message says when that was seen."""
