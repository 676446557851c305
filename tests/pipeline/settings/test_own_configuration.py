"""A command that is suggested names the folder of configuration that the run was given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hydra.core.hydra_config import HydraConfig

from pipeline.settings import job


def test_it_is_that_of_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert job.own_configuration() == []
    sources = [
        SimpleNamespace(provider="main", path="/elsewhere/conf"),
        SimpleNamespace(provider="command-line", path=str(tmp_path)),
    ]
    known = SimpleNamespace(runtime=SimpleNamespace(config_sources=sources))
    monkeypatch.setattr(HydraConfig, "initialized", lambda: True)
    monkeypatch.setattr(HydraConfig, "get", lambda: known)
    assert job.own_configuration() == [f"--config-dir={tmp_path}"]
