"""Setting up .venv, with a stand-in for Python that says much and, if told to, fails."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pipeline.host.paths import PACKAGE

ROOT = PACKAGE.parent.parent
PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  "-m pip") echo "Collecting $*"; echo "pip's complaint" >&2; exit "${PIP_STATUS:-0}" ;;
esac
"""


def make(folder: Path, target: str, *, status: int) -> subprocess.CompletedProcess[str]:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / name, folder / name)
    python = folder / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    command = ["make", "--no-print-directory", f"PYTHON={python}", target]
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "PIP_STATUS": str(status)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("target", [".venv/.installed", ".venv/.docs_installed"])
def test_pip_is_silent_where_it_succeeds(target: str, tmp_path: Path) -> None:
    result = make(tmp_path, target, status=0)
    assert result.returncode == 0, result.stderr
    assert "Collecting" not in result.stdout + result.stderr
    assert "setting up .venv, once" in result.stdout
    assert (tmp_path / target).is_file()
    assert "Collecting" in (tmp_path / ".venv" / "pip.log").read_text()


def test_pip_is_heard_where_it_fails(tmp_path: Path) -> None:
    result = make(tmp_path, ".venv/.installed", status=3)
    assert result.returncode != 0
    assert "Collecting -m pip install" in result.stderr
    assert "pip's complaint" in result.stderr
    assert not (tmp_path / ".venv" / ".installed").exists()
