"""What a recipe is told about the job beside its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


@dataclass(frozen=True)
class Job:
    """choices: the option of each config group; overrides: as typed; number: 0, or the place in a multirun."""

    choices: dict[str, Any]
    overrides: list[str]
    number: int
    multirun: bool

    @classmethod
    def current(cls) -> Job:
        hydra: Any = HydraConfig.get()
        number = OmegaConf.select(hydra, "job.num")
        return cls(
            dict(hydra.runtime.choices), list(hydra.overrides.task), int(number or 0), hydra.mode == RunMode.MULTIRUN
        )
