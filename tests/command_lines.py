"""How a command line ended."""

from __future__ import annotations

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
