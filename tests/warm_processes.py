"""Processes that have the imports of a run when they start: they are forked from a server that makes them once."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import runpy
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from command_lines import Result

HERE = str(Path(__file__).parent)


def server() -> ForkServerContext:
    """The server, which begins with this module's folder among those that Python imports from."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["warm_imports"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", HERE, prepend=os.pathsep)
        forkserver.ensure_running()
    return context


def program(*arguments: str) -> None:
    """`python -m pipeline …`."""
    sys.argv = ["pipeline", *arguments]
    importlib.import_module("pipeline.__main__").main()


def script(path: str, *arguments: str) -> None:
    """`python PATH …`."""
    sys.argv = [path, *arguments]
    runpy.run_path(path, run_name="__main__")


def example(path: str, *arguments: str) -> None:
    """`python PATH …`, whose `python -m pipeline …` is forked from it."""
    run = subprocess.run

    def forked(command: list[str], **named: Any) -> subprocess.CompletedProcess[Any]:
        if command[1:3] != ["-m", "pipeline"]:
            return run(command, **named)
        process = multiprocessing.get_context("fork").Process(target=program, args=command[3:])
        process.start()
        process.join()
        return subprocess.CompletedProcess(command, process.exitcode or 0)

    subprocess.run = forked
    script(path, *arguments)


def code(text: str, *arguments: str) -> None:
    """`python -c TEXT …`."""
    sys.argv = ["-c", *arguments]
    exec(text, {"__name__": "__main__"})  # noqa: S102


def serving(*arguments: str) -> None:
    """`python -m pipeline.serving …`."""
    sys.argv = ["serving", *arguments]
    importlib.import_module("pipeline.serving").main()


def mlflow(*arguments: str) -> None:
    """`mlflow server …` and `mlflow models serve …`, whose uvicorn answers in this process instead of in one that
    imports all anew."""
    import uvicorn
    from mlflow import server
    from mlflow.cli import cli
    from mlflow.pyfunc import backend

    def answered_here(command: list[str], **named: Any) -> None:
        os.environ.update(named.get("extra_env") or named["env"])
        words = shlex.split(" ".join(command))
        uvicorn.main(words[words.index("uvicorn") + 1 :])

    server._exec_cmd = answered_here
    backend.subprocess = SimpleNamespace(Popen=answered_here)
    cli(arguments)


def kernel(*arguments: str) -> None:
    """`python -m ipykernel_launcher …`, in a process group of its own.

    Matplotlib is imported already: it is told of a notebook's backend here, a new kernel by its environment.
    """
    import matplotlib as mpl
    from ipykernel.kernelapp import launch_new_instance

    mpl.use("module://matplotlib_inline.backend_inline")
    os.setsid()
    launch_new_instance(argv=list(arguments))


def with_other_packages(work: Callable[..., None], *arguments: Any) -> None:
    """The work with the packages `pipeline`, `models` and `data` that stand first in PYTHONPATH, not with ours."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pipeline", "models", "data")]:
        del sys.modules[name]
    work(*arguments)


def two_ranks(*arguments: str) -> None:
    """`torchrun --nproc-per-node 2 -m pipeline …`: torchrun's agent, which forks the ranks."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, run_id=str(uuid.uuid4()), rdzv_backend="c10d",
        rdzv_endpoint="localhost:0", max_restarts=0, start_method="fork", monitor_interval=0.1,
    )  # fmt: skip
    try:
        elastic_launch(config, program)(*arguments)
    except ChildFailedError as failed:
        raise SystemExit(1) from failed


def begin(
    work: Callable[..., None], arguments: tuple[Any, ...], environment: dict[str, str], folder: Path, output: list[Path]
) -> None:
    """What the process does. output: the files of both streams; one file for both."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = [str(folder), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    for number, path in ((1, output[0]), (2, output[-1])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    work(*arguments)


class Warm:
    """Work in a process of its own, in a folder, with more in its environment than this process has."""

    def __init__(self, work: Callable[..., None], *arguments: Any, folder: Path, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}  # another's
        self.files = tempfile.TemporaryDirectory()
        self.streams = [Path(self.files.name) / "out", Path(self.files.name) / "err"]
        job = (work, arguments, inherited | environment, folder, self.streams)
        self.process = server().Process(target=begin, args=job)
        self.process.start()

    def wait_for(self, line: str) -> None:
        """Until its first line is printed, which must be this one; an error where there is none in a minute, or where
        the process ended before."""
        for _ in range(1200):
            alive = self.process.is_alive()
            first, end, _rest = self.printed().partition("\n")
            if end:
                assert first == line
                return
            assert alive, self.result()
            time.sleep(0.05)
        raise AssertionError(f"{line!r} was not printed in a minute")

    def printed(self) -> str:
        """What it has printed so far."""
        return self.streams[0].read_text(encoding="utf-8") if self.streams[0].exists() else ""

    def poll(self) -> int | None:
        return self.process.exitcode

    def kill(self) -> None:
        with self.files:
            self.process.kill()
            self.process.join()

    def result(self) -> Result:
        """How it ended; the files of its streams are gone then."""
        self.process.join(280)
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError("it did not end in 280 s")
        with self.files:
            return Result(self.process.exitcode, *(stream.read_text(encoding="utf-8") for stream in self.streams))


class WarmKernel:
    """A kernel of a notebook, with the methods of `subprocess.Popen` that jupyter_client calls."""

    stdin = stdout = stderr = None

    def __init__(self, command: list[str], *, env: dict[str, str], cwd: str, **_: Any) -> None:
        assert command[1:3] == ["-m", "ipykernel_launcher"], command
        self.warm = Warm(kernel, *command[3:], folder=Path(cwd), **env)
        self.pid = self.warm.process.pid
        assert self.pid is not None
        while os.getpgid(self.pid) != self.pid:  # a signal to the group of the server would end the tests
            time.sleep(0.01)

    def poll(self) -> int | None:
        return self.warm.poll()

    def wait(self) -> int:
        return self.warm.result().status

    def send_signal(self, number: int) -> None:
        assert self.pid is not None
        os.kill(self.pid, number)


def ended(work: Callable[..., None], *arguments: Any, folder: Path, **environment: str) -> Result:
    """How the work ended in a warm process."""
    return Warm(work, *arguments, folder=folder, **environment).result()
