"""Where a run comes from: who started it, from which commit."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess

from pipeline.host.paths import checkout


def git_commit() -> str:
    """Returns the checkout's commit, with "-dirty" when files differ from it; "unknown" without git.

    Without a checkout it is what PIPELINE_COMMIT says, as in a container.
    """
    root = checkout()
    if root is None:
        return os.environ.get("PIPELINE_COMMIT") or "unknown"
    if shutil.which("git") is None:
        return "unknown"

    def git(*arguments: str) -> str:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
        return result.stdout.strip()

    commit = git("rev-parse", "HEAD") or "unknown"
    return f"{commit}-dirty" if git("status", "--porcelain", "--untracked-files=no") else commit


def user_name() -> str:
    """Returns the login name; in a container a user id may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def origin_tags() -> dict[str, str]:
    """Returns who started the run from which code: the columns "created by" and "source" of the UI."""
    commit = git_commit()
    return {
        "git.commit": commit,
        "mlflow.user": user_name(),
        "mlflow.source.name": "python -m pipeline",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": commit,
    }
