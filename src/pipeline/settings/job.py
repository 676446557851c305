"""What a recipe is told about the job beside its settings."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.settings.choices import data_of_contender
from pipeline.settings.fields import lowered_in_words

STARTED_ONCE_MORE = ("SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT")


@dataclass(frozen=True)
class Job:
    """Holds what a recipe is told about its job. choices: the option of each config group. overrides: as typed. number:
    0, or the place in a multirun. label: ends the run's name.

    requeued: Slurm took the job's node away and has started the job once more, or torchrun has after a process failed,
    so that the job goes on with what it left. lowered: the settings that `size` lowers, in words.
    """

    choices: dict[str, Any]
    overrides: list[str]
    number: int
    multirun: bool
    requeued: bool = False
    label: str = ""
    lowered: tuple[str, ...] = ()

    @classmethod
    def current(cls) -> Job:
        hydra: Any = HydraConfig.get()
        number = OmegaConf.select(hydra, "job.num")
        return cls(
            choices=dict(hydra.runtime.choices),
            overrides=list(hydra.overrides.task),
            number=int(number or 0),
            multirun=hydra.mode == RunMode.MULTIRUN,
            requeued=any(int(os.environ.get(name, "0")) > 0 for name in STARTED_ONCE_MORE),
        )

    def with_limits(self, config: DictConfig) -> Job:
        """Returns the job with what `size` lowers in its configuration. This is asked before the settings are checked,
        since the check lowers them."""
        return replace(self, lowered=lowered_in_words(config))

    def lowered_but(self, passed_over: Iterable[str]) -> tuple[str, ...]:
        """Returns what `size` lowers, in words, less what a run does not read. passed_over: the settings and sections
        that it does not read, by dotted keys."""
        unread = tuple(f"{key}." for key in passed_over)
        return tuple(words for words in self.lowered if not f"{words.partition(' ')[0]}.".startswith(unread))


def own_configuration() -> list[str]:
    """Returns the option that names a person's own folder of configuration, for a command that is suggested; none where
    no such folder was given."""
    if not HydraConfig.initialized():
        return []
    return own_folders(HydraConfig.get().runtime.config_sources)


def own_folders(sources: Iterable[Any]) -> list[str]:
    """Returns the option of `own_configuration`. sources: those of the configuration, as Hydra lists them."""
    return [f"--config-dir={source.path}" for source in sources if source.provider == "command-line"]


def refuse_other_data(job: Job) -> None:
    """Raises PipelineError when a contender chosen for one data set is to run on another. A `data=` that is typed wins
    over the contender's."""
    contender, data = job.choices.get("contender"), job.choices.get("data")
    own = data_of_contender(contender) if contender else None
    if own not in (None, data):
        raise PipelineError(
            f"contender={contender} was chosen for data={own}, not for data={data}; leave data= out, or choose one of "
            f"conf/contender/{data}"
        )
