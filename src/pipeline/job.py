"""What a recipe is told about the job beside its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hydra.core.hydra_config import HydraConfig


@dataclass(frozen=True)
class Job:
    """choices: the option of each config group; overrides: as typed; number: 0, or the place in a multirun."""

    choices: dict[str, Any]
    overrides: list[str]
    number: int

    @classmethod
    def current(cls) -> Job:
        hydra = HydraConfig.get()
        number = hydra.job.get("num")
        return cls(dict(hydra.runtime.choices), list(hydra.overrides.task), int(number or 0))
