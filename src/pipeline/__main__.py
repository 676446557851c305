"""`python -m pipeline`: from the command line to a recipe."""

from __future__ import annotations

import os
import platform
import signal
import sys
import traceback
from importlib.metadata import version
from typing import Any

from pipeline.host.process import TRACEBACK, prepare_environment
from pipeline.host.signals import OF_SIGNALS
from pipeline.host.torchrun import joined_ranks, launched
from pipeline.settings.messages import expected_errors, line_of_run, quoted

PROJECT = "orthogonal-psrnn"
NOTHING_KEPT = "no run is kept that could be resumed"
ASKS_ONLY = {"--help", "-h", "--cfg", "-c", "--info", "-i", "--hydra-help"}
MULTIRUN = {"-m", "--multirun"}
VERSIONS_OF = ("hydra-core", "mlflow", "torch", "numpy")  # beside our own: what a report of a fault should name


def version_line() -> str:
    """Returns name and version of this project, of Python and of the libraries that decide what a run does."""
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in VERSIONS_OF)]
    return f"{PROJECT} {version(PROJECT)} ({', '.join(versions)})"


def with_shorthands(arguments: list[str]) -> list[str]:
    """Returns the arguments with settings by their own keys: `model=URI` names a model to `recipe=predict`, elsewhere
    `model` is a config group."""
    from pipeline.systems.registry import SYSTEMS, system

    for recipe in SYSTEMS:
        for typed, meant in system(recipe).shorthands if f"recipe={recipe}" in arguments else ():
            whole = f"{typed}="
            arguments = [f"{meant}={quoted(a.removeprefix(whole))}" if a.startswith(whole) else a for a in arguments]
    return arguments


def with_multirun_first(arguments: list[str]) -> list[str]:
    """Returns the arguments with `-m` in front of all settings, since Hydra takes none after it where others stand
    before it."""
    return sorted(arguments, key=lambda argument: argument not in MULTIRUN)


def stop(error: Exception) -> None:
    """Leaves with exit status 1 and one line. With HYDRA_FULL_ERROR=1 the error is raised, so that its traceback is
    shown."""
    if os.environ.get(TRACEBACK) == "1":
        raise error
    sys.exit(f"error: {line_of_run(error)}")


def run(settings: Any, current: Any) -> Any:
    """Runs the recipe of settings that were checked; torch is imported here at the earliest. Raises PipelineError where
    a contender was chosen for other data."""
    from pipeline.host.out_of_memory import said_in_one_line
    from pipeline.settings.job import refuse_other_data
    from pipeline.systems.registry import function, system

    refuse_other_data(current)
    with said_in_one_line():
        return function(system(settings.recipe).entry)(settings, current)


def job(config: Any) -> Any:
    """Runs one job: checks its settings and runs its recipe.

    An error in a multirun is said at once, marked in the store and passed on to Hydra, which goes on with the others.
    """
    from pipeline.host.errors import FinishedBefore
    from pipeline.settings.job import Job
    from pipeline.systems.registry import checked

    current = Job.current()
    try:
        current = current.with_limits(config)
        return run(checked(config), current)
    except FinishedBefore as end:
        print(end)
        return None
    except Exception as error:
        if current.multirun:
            raise failure(config, current, error) from None
        if isinstance(error, expected_errors()):
            stop(error)
        raise


def failure(config: Any, current: Any, error: Exception) -> Exception:
    """Returns the error that a job of a multirun ends with. It is built so that it travels from any worker process."""
    from pipeline.host.errors import PipelineError
    from pipeline.tracking.failures import record_failure

    if not isinstance(error, expected_errors()) or os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    print(f"job {current.number} failed: {line_of_run(error)}", file=sys.stderr, flush=True)
    record_failure(config, current, error)
    return PipelineError(f"job {current.number} failed: {line_of_run(error)}")


def launch() -> None:
    import hydra

    from pipeline.host.paths import conf_folder, ensure_writable, store_folder
    from pipeline.host.signals import raised_again
    from pipeline.multirun.callback import parents_closed
    from pipeline.settings.swept import with_swept_settings
    from pipeline.systems.registry import prepare_composition

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that open runs are closed, also between jobs
    prepare_composition()
    sys.argv[1:] = with_swept_settings(with_shorthands(with_multirun_first(sys.argv[1:])))
    if not ASKS_ONLY & set(sys.argv[1:]):
        ensure_writable(store_folder())
    with raised_again(), parents_closed():
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")(job)()


def stop_interrupted(interrupt: KeyboardInterrupt) -> None:
    """Leaves after Ctrl-C with one line that says how to go on, and with the exit status that shells give SIGINT. Of
    several ranks `joined_ranks` says the line once, and torchrun has an exit status of its own."""
    said = f"stopped; {getattr(interrupt, '__notes__', [NOTHING_KEPT])[0]}"
    if launched():
        sys.exit(said)
    print(said, file=sys.stderr, flush=True)
    sys.exit(OF_SIGNALS + signal.SIGINT)


def say_how_to_go_on(end: SystemExit) -> None:
    """Says on standard error how to go on after a signal such as SIGTERM, where there is something to go on with. Of
    several ranks none does: torchrun ends so the others when one has failed."""
    notes = getattr(end, "__notes__", [])
    if notes and not launched():
        print(f"stopped; {notes[0]}", file=sys.stderr, flush=True)


def main() -> None:
    """Runs the program. Its exit status is 0, or 1 with one line on standard error. It is 2 for an option that there is
    not, which the parser of options says, and that of a signal: 130 after Ctrl-C and 143 after SIGTERM."""
    from pipeline.host.paths import refuse_shadowing

    if "--version" in sys.argv[1:]:
        print(version_line())
        return
    prepare_environment()
    with joined_ranks():
        try:
            refuse_shadowing()
            launch()
        except KeyboardInterrupt as interrupt:
            stop_interrupted(interrupt)
        except SystemExit as end:
            say_how_to_go_on(end)
            raise
        except expected_errors() as error:
            stop(error)


if __name__ == "__main__":
    main()
