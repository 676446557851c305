"""Signals end a process wherever they come."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SIGNALLED_WHERE_ERRORS_ARE_DROPPED = """
import signal, sys, time, weakref
from pipeline.host.signals import raised_again

class Kept: pass

number = int(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background begins without
with raised_again():
    try:
        kept = Kept()
        reference = weakref.ref(kept, lambda _: signal.raise_signal(number))
        del kept
        time.sleep(20)
        print("went on")
    finally:
        print("closed")
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)])
def test_a_signal_inside_a_callback_of_a_weak_reference_still_ends_the_process(number: int, status: int) -> None:
    command = [sys.executable, "-c", SIGNALLED_WHERE_ERRORS_ARE_DROPPED, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (status, "closed\n"), ended.stderr
    assert "ignored" not in ended.stderr


def test_other_errors_that_are_dropped_are_still_told() -> None:
    code = "import weakref\nfrom pipeline.host.signals import raised_again\nclass Kept: pass\n"
    code += (
        "with raised_again():\n    kept = Kept()\n    reference = weakref.ref(kept, lambda _: 1 / 0)\n    del kept\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "ZeroDivisionError" in ended.stderr
