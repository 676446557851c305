"""Latency and throughput of a served model, over HTTP on this machine.

Starts the server itself, and prints a Markdown table: median and 99th percentile of the latency of single requests, one
after the other, then requests per second with several clients.

    python benchmarks/serving.py models:/walking@best
    python benchmarks/serving.py runs:/RUN_ID/model --strict        pipeline.serving in place of mlflow models serve
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import mlflow
import numpy as np
import requests
from mlflow.models import get_model_info

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from model_server import serve_command, stop, wait_until_up  # pyright: ignore[reportMissingImports]
from pipeline.tracking.store import tracking_uri


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Latency and throughput of a served model.")
    parser.add_argument("model", help="its URI")
    parser.add_argument("--strict", action="store_true", help="python -m pipeline.serving, not mlflow models serve")
    parser.add_argument("--requests", type=int, default=300, help="per row of the table")
    parser.add_argument("--steps", type=int, default=50, help="rows of history in a request")
    parser.add_argument("--clients", type=int, default=4, help="that ask at once")
    return parser.parse_args()


@contextmanager
def server(command: list[str], port: int) -> Iterator[str]:
    """The server's address once it answers; it is stopped in the end."""
    address = f"http://127.0.0.1:{port}"
    surroundings = {**os.environ, "MLFLOW_TRACKING_URI": tracking_uri(None)}
    surroundings["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], env=surroundings, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_until_up(address, process, log)
            yield address
        finally:
            stop(process)


def body(columns: int, steps: int, batch: int, horizon: int) -> str:
    """`batch` sequences of zeros; the model does the same work for any values."""
    values = np.zeros((batch, steps, columns)).tolist()
    return json.dumps({"inputs": values, "params": {"horizon": horizon}})


def seconds(address: str, text: str, count: int) -> np.ndarray:
    """Latency of each of `count` requests over one connection. Raises HTTPError for a refusal."""
    found = []
    with requests.Session() as session:
        for _ in range(count):
            start = time.perf_counter()
            answer = session.post(f"{address}/invocations", text, headers={"Content-Type": "application/json"})
            found.append(time.perf_counter() - start)
            answer.raise_for_status()
    return np.array(found)


def row(address: str, text: str, name: str, *, count: int, clients: int) -> str:
    """One line of the table."""
    single = 1000 * seconds(address, text, count)
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda _: seconds(address, text, count // clients), range(clients)))
    rate = clients * (count // clients) / (time.perf_counter() - start)
    return f"| {name} | {np.median(single):.1f} | {np.percentile(single, 99):.1f} | {rate:.0f} |"


def main() -> None:
    chosen = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the server is stopped
    mlflow.set_tracking_uri(tracking_uri(None))
    model = get_model_info(chosen.model)
    columns = len((model.metadata or {})["columns"])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    strict = ["pipeline.serving", chosen.model, "--port", str(port)]
    with server(strict if chosen.strict else serve_command(chosen.model, port=port), port) as address:
        seconds(address, body(columns, chosen.steps, 1, 0), 20)
        print(f"{' '.join(strict[:1] if chosen.strict else ['mlflow models serve'])}, {columns} columns")
        print(f"| request | median ms | 99 % ms | requests/s with {chosen.clients} clients |\n|---|---|---|---|")
        for batch, horizon in ((1, 0), (1, 20), (32, 0)):
            name = f"{batch} × {chosen.steps} rows, horizon {horizon}"
            text = body(columns, chosen.steps, batch, horizon)
            print(row(address, text, name, count=chosen.requests, clients=chosen.clients), flush=True)


if __name__ == "__main__":
    main()
