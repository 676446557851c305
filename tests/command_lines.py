"""How a command line ended."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Result(NamedTuple):
    """How a command line ended: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one error line; fails when there is none, several, or a traceback."""
        assert self.status != 0, self.out + self.err
        assert "Traceback" not in self.out + self.err
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, self.err
        return lines[0]


def started(
    command: Sequence[str], *, folder: Path, environment: dict[str, str] | None = None, seconds: float | None = None
) -> Result:
    """How a command ended in a process that is started anew, in a folder. environment: this process's own, if None;
    seconds: after which it is an error that it has not ended."""
    options = {"cwd": folder, "env": environment, "timeout": seconds}
    done = subprocess.run(command, **options, capture_output=True, text=True, check=False)
    return Result(done.returncode, done.stdout, done.stderr)
