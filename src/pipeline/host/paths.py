"""Where configuration and store lie: in the checkout, else in the installed package and the working directory."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

from pipeline.host.errors import PipelineError

PACKAGE = Path(__file__).resolve().parent.parent


def checkout() -> Path | None:
    """Returns the checkout that this package runs from, None when it is installed as a wheel."""
    root = PACKAGE.parent.parent
    return root if (root / "conf" / "config.yaml").is_file() and (root / "pyproject.toml").is_file() else None


def conf_folder() -> Path:
    root = checkout()
    return root / "conf" if root else PACKAGE / "conf"


def store_folder() -> Path:
    """Returns $PIPELINE_MLRUNS, else mlruns/ of the checkout, or of the working directory for a wheel; absolute."""
    named = os.environ.get("PIPELINE_MLRUNS")
    return Path(named).resolve() if named else (checkout() or Path.cwd()).resolve() / "mlruns"


def ensure_writable(folder: Path) -> None:
    """Makes the folder of the local store. Raises PipelineError when nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # it has no name, so that a killed process leaves none
            pass
    except OSError as error:
        raise PipelineError(
            f"cannot write to {folder} ({error.strerror}); set PIPELINE_MLRUNS to a folder of yours"
        ) from error


def refuse_shadowing() -> None:
    """Raises PipelineError when a file of the working directory hides one of our packages."""
    for package in ("data", "models"):
        spec = importlib.util.find_spec(package)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None:
            raise PipelineError(f"the package {package!r} is not installed; install this project with pip")
        if origin.parent != PACKAGE.parent / package:
            raise PipelineError(
                f"{origin} hides this project's package {package!r}; rename it or start from another folder"
            )
