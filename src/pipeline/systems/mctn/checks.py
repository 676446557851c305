"""What `recipe=mctn` refuses before anything is loaded."""

from __future__ import annotations

from models.mctn.arms import ARMS, MODALITIES, plan_of
from models.mctn.baselines import NAMES
from pipeline.host.errors import PipelineError
from pipeline.systems.mctn.config import MctnConfig


def check(settings: MctnConfig) -> None:
    """Raises PipelineError for an arm or a baseline that does not exist, and for settings that mean nothing to it."""
    own = settings.mctn
    if settings.device == "cuda":
        raise PipelineError("device=cuda: recipe=mctn computes on the CPU, as its networks are small; leave device out")
    if own.bar is not None and own.bar not in NAMES:
        raise PipelineError(f"mctn.bar={own.bar} is unknown; choose one of {', '.join(NAMES)}, or null")
    check_letters(own.missing)
    if own.arm in NAMES:
        check_kept(settings)
        return
    if own.arm not in ARMS:
        raise PipelineError(f"mctn.arm={own.arm}: {unknown(own.arm)}, or a baseline: {', '.join(NAMES)}")
    if own.missing is not None and set(plan_of(own.arm).read) <= set(own.missing):
        raise PipelineError(
            f"mctn.missing={own.missing} leaves mctn.arm={own.arm} nothing to read; leave out one of its letters"
        )


def check_kept(settings: MctnConfig) -> None:
    """Raises PipelineError where a simple baseline alone is to be kept: it is there for comparison."""
    tracking = settings.tracking
    if tracking.parent is None and (tracking.register or str(tracking.log_model).lower() == "true"):
        raise PipelineError(
            f"mctn.arm={settings.mctn.arm} is a simple baseline, which is not kept; leave out tracking.register and "
            "tracking.log_model=true, or take another arm"
        )


def unknown(arm: str) -> str:
    """Returns what is said of an arm that does not exist."""
    try:
        plan_of(arm)
    except ValueError as error:
        return str(error)
    raise AssertionError(arm)


def check_letters(missing: str | None) -> None:
    """Raises PipelineError for letters of no modality, and for one that stands twice."""
    if missing is None:
        return
    letters = ", ".join(f"{letter} {name}" for letter, name in MODALITIES.items())
    if not missing or not set(missing) <= set(MODALITIES) or len(set(missing)) < len(missing):
        raise PipelineError(f"mctn.missing={missing} must be letters, each once: {letters}; as va")
