"""MLflow servers on loopback for tests: started, killed and started again on the same store."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import requests

from warm_processes import Warm, mlflow

POSTGRES_USER = "nobody"  # initdb and postgres refuse to run as root


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class Server:
    """`mlflow server` of one worker on loopback; `kill` takes it away at once, `start` brings it back."""

    def __init__(self, folder: Path, backend: str) -> None:
        self.folder, self.backend, self.port = folder, backend, free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.process: Warm | None = None

    def start(self) -> None:
        options = [
            "server", "--backend-store-uri", self.backend, "--artifacts-destination", str(self.folder / "artifacts"),
            "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1",
        ]  # fmt: skip
        without_jobs = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        self.process = Warm(mlflow, *options, folder=self.folder, **without_jobs)

    def wait(self, seconds: float = 180) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with suppress(requests.RequestException):
                if requests.get(f"{self.uri}/health", timeout=5).ok:
                    return
            assert self.process is not None
            assert self.process.process.is_alive(), self.process.result()
            time.sleep(0.1)
        self.kill()
        raise AssertionError(f"{self.uri} did not answer in {seconds} s")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process = None


@contextmanager
def mlflow_server(folder: Path, backend: str | None = None) -> Iterator[Server]:
    server = Server(folder, backend or f"sqlite:///{folder / 'server.db'}")
    server.start()
    try:
        server.wait()
        yield server
    finally:
        server.kill()


def initdb() -> str | None:
    """The newest initdb of the system, from PATH or from Debian's folder."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return shutil.which("initdb") or (str(found[-1]) if found else None)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A new PostgreSQL cluster on loopback; yields its SQLAlchemy address."""
    program = initdb()
    assert program is not None
    binaries, cluster, port = Path(program).resolve().parent, folder / "cluster", free_port()
    cluster.mkdir()
    user = {"user": POSTGRES_USER} if os.getuid() == 0 else {}
    if user:
        shutil.chown(cluster, POSTGRES_USER)
        for parent in (cluster, *cluster.parents):
            with suppress(PermissionError):
                parent.chmod(parent.stat().st_mode | 0o011)
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run(
        [str(binaries / "initdb"), "-D", str(cluster), "-U", "mlflow", "--auth=trust", "--no-sync"],
        check=True, capture_output=True, env=environment, cwd="/", **user,
    )  # fmt: skip
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    control = [str(binaries / "pg_ctl"), "-D", str(cluster), "-w"]
    log = ["-l", str(cluster / "log")]
    subprocess.run([*control, *log, "-o", options, "start"], check=True, capture_output=True, cwd="/", **user)
    try:
        yield f"postgresql+psycopg://mlflow@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd="/", **user)
