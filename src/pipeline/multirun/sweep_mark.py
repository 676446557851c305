"""The mark by which a multirun that was stopped is found again: its command line, settings and tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from data.files.download import sha256_of
from pipeline.multirun.checks import planned

NOT_IN_MARK = ("resume", "run_name", "tracking")
FILES = ("data.path", "matrix.path")  # settings that name a file of a person's own


def contents(config: DictConfig) -> list[str]:
    """Returns the SHA-256 of each file that the jobs of a multirun are told to read. A folder has none, nor has what is
    not there."""
    values = planned(config)
    named = {str(path) for key in FILES for path in values.get(key) or [OmegaConf.select(config, key)]}
    files = [Path(path).expanduser() for path in sorted(named)]
    return [sha256_of(file) for file in files if file.is_file()]


def sweep_mark(config: DictConfig) -> str:
    """Returns a mark of command line, swept values, composed settings and the content of tables, without what does not
    change the jobs. Equal marks are the same sweep."""
    typed = [o for o in config.hydra.overrides.task if not o.lstrip("+").startswith(NOT_IN_MARK)]
    plain: Any = OmegaConf.to_container(config, resolve=False)
    swept = str(plain.pop("hydra")["sweeper"].get("params"))
    kept = {key: value for key, value in plain.items() if key not in NOT_IN_MARK}
    follows_from = (sorted(typed), swept, sorted(kept.items()), *contents(config))
    return hashlib.sha256(repr(follows_from).encode()).hexdigest()
