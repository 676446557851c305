"""What every process of a run begins with."""

from __future__ import annotations

import os
import subprocess
import sys

SAYS_AND_IS_KILLED = """
import os, signal
from pipeline.host.process import prepare_environment
prepare_environment()
print("load …")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_line_on_standard_output_is_in_the_log_as_soon_as_it_is_said() -> None:
    """Python keeps 8 KB of a file or pipe back, so that lines of stages would come after those on standard error."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    found = subprocess.run([sys.executable, "-c", SAYS_AND_IS_KILLED], env=environment, stdout=subprocess.PIPE)
    assert found.stdout.decode() == "load …\n"
