"""`python -m pipeline`: from the command line to a recipe."""

from __future__ import annotations

import getpass
import importlib
import os
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECIPES = {"psrnn": "pipeline.recipes.psrnn:train", "predict": "pipeline.recipes.predict:predict"}
ASKS_ONLY = {"--help", "-h", "--cfg", "-c", "--info", "-i", "--hydra-help", "--version"}
TRACEBACK = "PIPELINE_TRACEBACK"


def as_one_line(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> str:
    name = "warning" if issubclass(category, UserWarning) else category.__name__
    return f"{name}: {message}\n"


def with_model_uri(arguments: list[str]) -> list[str]:
    """`model=URI` names a model only to `recipe=predict`; elsewhere `model` is a config group."""
    if "recipe=predict" not in arguments:
        return arguments
    return [f"model.uri='{a.removeprefix('model=')}'" if a.startswith("model=") else a for a in arguments]


def at_most(value: int, limit: int | None) -> int:
    """`${at_most:20,${size.seeds}}`: a value of an experiment's sweep, lowered to the limit of `size`."""
    return value if limit is None else min(value, limit)


def up_to(values: list[int], limit: int | None) -> str:
    """`${up_to:[5,10,20],${size.count}}`: the values of a sweep up to the limit of `size`, comma separated."""
    return ",".join(str(value) for value in values if limit is None or value <= limit)


def contenders(data: list[str]) -> str:
    """`${contenders:[mocap,swimmer]}`: every file of conf/contender/DATA/, as the choices of a sweep."""
    from pipeline.paths import conf_folder

    folder = conf_folder() / "contender"
    return ",".join(f"{name}/{path.stem}" for name in data for path in sorted((folder / name).glob("*.yaml")))


def recipe(name: str) -> Callable[[Any, Any], Any]:
    """The function that runs a recipe; only its module is imported."""
    module, function = RECIPES[name].split(":")
    return getattr(importlib.import_module(module), function)


def expected_errors() -> tuple[type[Exception], ...]:
    """Errors that a person can mend, told in one line; anything else is a fault of ours and shows its traceback."""
    from hydra.errors import HydraException
    from mlflow.exceptions import MlflowException
    from omegaconf.errors import OmegaConfBaseException

    return (ValueError, OSError, HydraException, OmegaConfBaseException, MlflowException)


def stop(error: Exception) -> None:
    """Leave with exit status 1 and one line; with HYDRA_FULL_ERROR=1 the traceback is shown instead."""
    from pipeline.messages import one_line

    if os.environ.get(TRACEBACK) == "1":
        raise error
    sys.exit(f"error: {one_line(error)}")


def job(config: Any) -> Any:
    """One job: settings checked, its recipe run. An error in a multirun is said at once, then passed on to Hydra."""
    from pipeline.build import settings_of
    from pipeline.job import Job
    from pipeline.messages import one_line

    current = Job.current()
    try:
        settings = settings_of(config)
        return recipe(settings.recipe)(settings, current)
    except expected_errors() as error:
        if not current.multirun:
            stop(error)
        print(f"job {current.number} failed: {one_line(error)}", file=sys.stderr)
        raise


def launch() -> None:
    import hydra
    from omegaconf import OmegaConf

    from pipeline.config import register_schemas
    from pipeline.paths import conf_folder, ensure_writable, store_folder
    from pipeline.tracking.multirun import close_open_parents

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that open runs are closed, also between jobs
    register_schemas()
    OmegaConf.register_new_resolver("pipeline_store", lambda: str(store_folder()), replace=True)
    for resolver in (at_most, up_to, contenders):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)
    sys.argv[1:] = with_model_uri(sys.argv[1:])
    if not ASKS_ONLY & set(sys.argv[1:]):
        ensure_writable(store_folder())
    try:
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")(job)()
    finally:
        close_open_parents()


def ensure_user() -> None:
    """A user id of a container may have neither name nor HOME, and MLflow and torch need both: "uid N", and a temporary
    folder."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["USER"] = f"uid {os.getuid()}"
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = tempfile.mkdtemp(prefix="pipeline-home-")


def prepare_environment() -> None:
    """Quiet libraries, warnings in one line, and errors that Hydra hands to us instead of printing them itself."""
    ensure_user()
    warnings.formatwarning = as_one_line
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault(TRACEBACK, os.environ.get("HYDRA_FULL_ERROR", "0"))
    os.environ["HYDRA_FULL_ERROR"] = "1"


def main() -> None:
    """Exit status 0, or 1 with one line on standard error."""
    from pipeline.paths import refuse_shadowing

    prepare_environment()
    try:
        refuse_shadowing()
        launch()
    except KeyboardInterrupt:
        sys.exit("stopped; resume=true goes on from here")
    except expected_errors() as error:
        stop(error)


if __name__ == "__main__":
    main()
