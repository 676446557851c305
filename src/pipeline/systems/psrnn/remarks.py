"""What a run says beneath its table of errors: the model before refinement, the season, and what to try next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.compare.arms import words_of
from pipeline.host.passwords import masked
from pipeline.settings.job import own_configuration
from pipeline.systems.psrnn.baselines import Season
from pipeline.systems.psrnn.evaluation import Evaluation
from pipeline.systems.psrnn.joined import JOINED
from pipeline.systems.psrnn.labels import GROUPED, label

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

AHEAD = 0.99  # of the model's error: what a baseline has to stay below to be called ahead
MODELS = {"persistence": "last_value", "seasonal_naive": "seasonal_naive", "ar": "var"}
NOT_REPEATED = ("resume", "run_name")
OF_A_MULTIRUN = ("tracking.parent", "tracking.experiment", "tracking.varied")  # what a multirun says to its jobs

READING = ("data.group", "data.time", "data.delimiter", "data.decimal")


def reading(typed: Sequence[str]) -> list[str]:
    """Returns the overrides that say how the run's table is read; a new file of the same kind wants them too."""
    return [each for each in typed if each.partition("=")[0] in READING] if "data=table" in typed else []


def how_to_predict_with(job: MlflowRun) -> str:
    """Returns the command that predicts a new file with the model that a job logged."""
    from pipeline.tracking.model import how_to_predict

    return how_to_predict(f"runs:/{job.info.run_id}/model", reading(words_of(job.data.tags["hydra.overrides"])))


def remarks(evaluation: Evaluation, *, before: float | None, season: Season | None) -> list[str]:
    """Returns lines about the error before refinement and about the season, where there are these.

    before: the one-step test error before refinement, None where there was none.
    """
    said = []
    if before is not None:
        said.append(f"{label(evaluation.main)} before refinement, horizon 1: {before:.3g}")
    if season is not None:
        said.append(f"seasonal naive: {season}")
    return said


def rivals(evaluation: Evaluation) -> dict[int, str]:
    """Returns the best of the other models by horizon, where it is ahead of the run's own."""
    others = [name for name in evaluation.squared if name != evaluation.main]
    ahead = {}
    for horizon in evaluation.squared[evaluation.main]:
        best = min(others, key=lambda name: evaluation.mse(name, horizon), default=evaluation.main)
        if evaluation.mse(best, horizon) < AHEAD * evaluation.mse(horizon=horizon):
            ahead[horizon] = best
    return ahead


def behind(ahead: Mapping[int, str]) -> str:
    """Returns words about the models of `rivals`, each with the horizons at which it is the best."""
    places = {name: [str(horizon) for horizon, best in ahead.items() if best == name] for name in ahead.values()}
    return "behind " + " and ".join(
        f"at horizon{'s' * (len(horizons) > 1)} {', '.join(horizons)} ({label(name)} is ahead)"
        for name, horizons in places.items()
    )


def change(rival: str, main: str, *, lags: int | None, chosen: bool) -> list[str]:
    """Returns the settings to try: the chosen readout for a recurrent model that has not had it, else the rival's
    model. Returns none where the run had both.

    lags: of the run's readout, None without one. chosen: whether the lags were chosen by validation, or stand beneath a
    readout in groups.
    """
    if rival.startswith(JOINED) or (lags is not None and not chosen):
        return ["readout=auto"]
    model = MODELS["ar" if rival.startswith("ar") else rival]
    return [] if model == main.removesuffix(f"_{GROUPED}") else [f"model={model}"]


def advice(evaluation: Evaluation, typed: Sequence[str], *, lags: int | None, chosen: bool) -> list[str]:
    """Returns one line with a command that may do better, where another model is ahead at one step or at most horizons;
    else none.

    typed: the overrides of the run. The command is that of the run with the change, and without what it replaces; the
    change is towards the model that is the best at most of the horizons, of equals that of the shortest.
    """
    ahead = rivals(evaluation)
    horizons = list(evaluation.squared[evaluation.main])
    if 1 not in ahead and 2 * len(ahead) <= len(horizons):
        return []
    rival = Counter(ahead.values()).most_common(1)[0][0]
    changed = change(rival, evaluation.main, lags=lags, chosen=chosen)
    words = f"{label(evaluation.main)} is {behind(ahead)}"
    if not changed:
        return [words]
    replaced = tuple(setting.partition("=")[0] for setting in changed)
    named = [(each.lstrip("+").partition("=")[0], each) for each in typed]
    dropped = OF_A_MULTIRUN if any(key == "tracking.parent" for key, _ in named) else ()
    repeated = [
        each for key, each in named if key.split(".")[0] not in (*replaced, *NOT_REPEATED) and key not in dropped
    ]
    command = ["python", "-m", "pipeline", *own_configuration(), *repeated, *changed]
    return [masked(f"{words}; to try: {shlex.join(command)}")]
