"""The mark by which a multirun that was stopped is found again: its command line and settings."""

from __future__ import annotations

import hashlib
from typing import Any

from omegaconf import DictConfig, OmegaConf

NOT_IN_MARK = ("resume", "run_name", "tracking")


def sweep_mark(config: DictConfig) -> str:
    """Returns a mark of command line, swept values and composed settings, without what does not change the jobs. Equal
    marks are the same sweep."""
    typed = [o for o in config.hydra.overrides.task if not o.lstrip("+").startswith(NOT_IN_MARK)]
    plain: Any = OmegaConf.to_container(config, resolve=False)
    swept = str(plain.pop("hydra")["sweeper"].get("params"))
    kept = {key: value for key, value in plain.items() if key not in NOT_IN_MARK}
    return hashlib.sha256(repr((sorted(typed), swept, sorted(kept.items()))).encode()).hexdigest()
