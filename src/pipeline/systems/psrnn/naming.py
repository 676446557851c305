"""What a run of `recipe=psrnn` is called, and where it is kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict

import torch

from data.base import Dataset
from pipeline.compare.arms import arm_of
from pipeline.job.study import Named, run_request
from pipeline.settings.job import Job
from pipeline.systems.psrnn.comparison import FORECASTS
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.tracking.run_request import RunRequest

LONGEST_WORD = 40
SAID_ALREADY = ("recipe", "data", "data.path", "model", "sampler", "kernel", "features.count", "seed")
SAYS_NOTHING = ("experiment", "run_name", "resume", "threads", "device", "extensions", "tracking", "compare", "hydra")


def short_word(word: str) -> str:
    """Without brackets and quotes; what is long or has other marks is cut and ends in four digits of its hash."""
    plain = re.sub(r"""[\[\]{}'" ]""", "", word)
    if re.fullmatch(rf"[\w.,:=+-]{{1,{LONGEST_WORD}}}", plain):
        return plain
    return re.sub(r"[^\w.,:=+-]", "", plain)[:LONGEST_WORD] + "~" + hashlib.sha256(word.encode()).hexdigest()[:4]


def words_typed(overrides: Sequence[str]) -> list[str]:
    """The settings that were typed and that the rest of a run's name does not say, each by the end of its key; of one
    that was typed twice the last."""
    words: dict[str, str] = {}
    for override in overrides:
        key, _, value = override.lstrip("+~").partition("=")
        if key not in SAID_ALREADY and key.split(".")[0].split("/")[0] not in SAYS_NOTHING:
            words[key] = short_word(".".join(key.split(".")[-2:]) + f"={value}")
    return list(words.values())


def request_of(
    settings: PsrnnConfig, job: Job, dataset: Dataset, device: torch.device, *, psrnn: bool, trained: bool
) -> RunRequest:
    """Runs of one table are kept together, under the name of the file; jobs of a multirun under that of their parent.

    A run by itself is also named after the settings that were typed, so that runs which differ have different names.
    Of a model that is not `trained` by gradient the section `refine` changes nothing.
    """
    choices = {name: str(value).rpartition("/")[2] for name, value in job.choices.items() if value}
    arm = arm_of(settings.compare.arm, job.choices, asdict(settings), FORECASTS)
    kernel, sampler = (choices.get(name, "") if psrnn else "" for name in ("kernel", "sampler"))
    data = dataset.name if choices.get("data") == "table" else choices.get("data")
    typed = [] if job.multirun else words_typed(job.overrides)
    named = Named(
        experiment=choices.get("experiment") or dataset.name,
        group=choices.get("experiment") or data or "",
        words=[arm, kernel, f"m{settings.features.count}" if psrnn else "", *typed],
        tags={
            "model": choices.get("model", ""),
            "arm": arm,
            "sampler": sampler,
            "kernel": kernel,
            "readout": choices.get("readout", ""),
        },
        passed_over=() if trained else ("refine",),
    )
    return run_request(settings, job, dataset, device, named)
