"""MLflow's model server, started on a free port of the loopback, waited for, and stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pipeline.tracking.store import tracking_uri

START_SECONDS, ANSWER_SECONDS, STOP_SECONDS = 120, 60, 20


def serve_command(uri: str, *, port: int) -> list[str]:
    """MLflow's own server for a logged model, in this environment and for this machine alone."""
    return ["mlflow", "models", "serve", "-m", uri, "--env-manager", "local", "--host", "127.0.0.1", "-p", str(port)]


def ask(address: str, body: str | None = None) -> str:
    """GET, or POST of JSON, past any proxy; the answer's text. Raises OSError when nobody answers, or says no."""
    request = urllib.request.Request(  # noqa: S310
        address, None if body is None else body.encode(), {"Content-Type": "application/json"}
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=ANSWER_SECONDS) as answer:
        return answer.read().decode()


def wait_until_up(address: str, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Raises ValueError with the server's last words when it ends or is silent for too long."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            ask(f"{address}/ping")
            return
        time.sleep(0.5)
    log.seek(0)
    words = log.read().decode(errors="replace").strip().splitlines() or ["nothing"]
    raise ValueError(f"the model server did not come up at {address}; it said last: {words[-1]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and the workers that it started, all of one process group."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, ending)
            process.wait(STOP_SECONDS)


@contextmanager
def served(uri: str) -> Iterator[str]:
    """A model server on a free port of this machine alone; yields its address and stops it in the end."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    scripts = Path(sys.executable).parent
    surroundings = os.environ | {
        "MLFLOW_TRACKING_URI": tracking_uri(None),
        "PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    command = [sys.executable, "-m", *serve_command(uri, port=port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, env=surroundings, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            wait_until_up(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)
