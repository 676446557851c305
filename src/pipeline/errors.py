"""Errors for people: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

import re


class PipelineError(ValueError):
    """A setting, a store or a model that cannot be used. The message is one line."""


def one_line(error: BaseException) -> str:
    """The message of an error, of Hydra's composition errors too, folded into a single line."""
    text = str(error) or type(error).__name__
    choice = re.search(
        r"Could not find '([^']+)/([^'/]+)'.*?Available options in '[^']+':\s*(.*?)\n(?:Config search|$)", text, re.S
    )
    if choice:
        group, name, options = choice.groups()
        return f"{group}={name} is unknown; choose one of {', '.join(options.split())}"
    text = re.sub(r"\n\s*(full_key|object_type|reference_type)[:=][^\n]*", "", text)
    return re.sub(r"\s*\n\s*", " · ", text.strip())
