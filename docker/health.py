"""Health of a container: exit status 0, or 1 with one line that says what is wrong. Standard library alone.

A trainer is healthy while it can write to its store (and reach its MLflow server, if it has one), a server while it
answers HEALTH_URL.
"""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Iterator

SECONDS = 5


def addresses() -> Iterator[str]:
    """What must answer: HEALTH_URL, and /health of the server that MLFLOW_TRACKING_URI names."""
    if "HEALTH_URL" in os.environ:
        yield os.environ["HEALTH_URL"]
    server = os.environ.get("MLFLOW_TRACKING_URI", "")
    if server.startswith(("http://", "https://")):
        yield f"{server.rstrip('/')}/health"


def faults() -> Iterator[str]:
    """One line for everything that is wrong."""
    folder = os.environ.get("PIPELINE_MLRUNS")
    if folder is not None and not os.access(folder, os.W_OK | os.X_OK):
        yield f"cannot write to {folder}"
    for address in addresses():
        try:
            with urllib.request.urlopen(address, timeout=SECONDS):  # noqa: S310 - the address is the operator's
                pass
        except OSError as error:
            yield f"{address} does not answer: {error}"


if __name__ == "__main__":
    found = list(faults())
    sys.exit("; ".join(found) or 0)
