"""What every process needs, the one that a person starts and those that launchers start for its jobs."""

from __future__ import annotations

import getpass
import io
import os
import shlex
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from pipeline.host.passwords import masked

TRACEBACK = "PIPELINE_TRACEBACK"


def as_one_line(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    name = "warning" if issubclass(category, UserWarning) else category.__name__
    return masked(f"{name}: {message}\n")


def command_line() -> str:
    """Returns what this process was started with, as one would type it."""
    return shlex.join(["python", "-m", "pipeline", *sys.argv[1:]])


def ensure_user() -> None:
    """Names the user "uid N" and makes a temporary HOME where a user id of a container has neither name nor HOME:
    MLflow and torch need both."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid {os.getuid()}"
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = tempfile.mkdtemp(prefix="pipeline-home-")


def prepare_environment() -> None:
    """Makes libraries quiet, puts warnings in one line, has Hydra hand errors to us instead of printing them itself,
    and writes each line on standard output at once, so that it stands in a log when it is said."""
    ensure_user()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    warnings.formatwarning = as_one_line
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault(TRACEBACK, os.environ.get("HYDRA_FULL_ERROR", "0"))
    os.environ["HYDRA_FULL_ERROR"] = "1"
