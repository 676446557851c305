"""What a recipe is told about the job beside its settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import OmegaConf


@dataclass(frozen=True)
class Job:
    """choices: the option of each config group; overrides: as typed; number: 0, or the place in a multirun;
    label: ends the run's name.

    requeued: Slurm took the job's node away and has started it once more, so that it goes on with what it left.
    """

    choices: dict[str, Any]
    overrides: list[str]
    number: int
    multirun: bool
    requeued: bool = False
    label: str = ""

    @classmethod
    def current(cls) -> Job:
        hydra: Any = HydraConfig.get()
        number = OmegaConf.select(hydra, "job.num")
        return cls(
            choices=dict(hydra.runtime.choices),
            overrides=list(hydra.overrides.task),
            number=int(number or 0),
            multirun=hydra.mode == RunMode.MULTIRUN,
            requeued=int(os.environ.get("SLURM_RESTART_COUNT", "0")) > 0,
        )
