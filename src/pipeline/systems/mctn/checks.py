"""What `recipe=mctn` refuses before anything is loaded."""

from __future__ import annotations

from models.mctn.arms import ARMS, MODALITIES, plan_of
from models.mctn.baselines import NAMES
from pipeline.host.errors import PipelineError
from pipeline.systems.mctn.config import MctnConfig


def check(settings: MctnConfig) -> None:
    """Raises PipelineError for an arm or a baseline that does not exist, and for settings that mean nothing to it."""
    own = settings.mctn
    if own.bar is not None and own.bar not in NAMES:
        raise PipelineError(f"mctn.bar={own.bar} is unknown; choose one of {', '.join(NAMES)}, or null")
    if own.arm in NAMES:
        return
    if own.arm not in ARMS:
        raise PipelineError(f"mctn.arm={own.arm}: {unknown(own.arm)}, or a baseline: {', '.join(NAMES)}")
    check_missing(own.arm, own.missing)


def unknown(arm: str) -> str:
    """Returns what is said of an arm that does not exist."""
    try:
        plan_of(arm)
    except ValueError as error:
        return str(error)
    raise AssertionError(arm)


def check_missing(arm: str, missing: str | None) -> None:
    """Raises PipelineError for letters of no modality, one that stands twice, and where nothing is left to read."""
    if missing is None:
        return
    letters = ", ".join(f"{letter} {name}" for letter, name in MODALITIES.items())
    if not missing or not set(missing) <= set(MODALITIES) or len(set(missing)) < len(missing):
        raise PipelineError(f"mctn.missing={missing} must be letters, each once: {letters}; as va")
    if set(plan_of(arm).read) <= set(missing):
        raise PipelineError(
            f"mctn.missing={missing} leaves mctn.arm={arm} nothing to read; leave out one of its letters"
        )
