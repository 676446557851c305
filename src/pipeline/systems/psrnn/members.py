"""Several models of one run, drawn and trained apart, whose forecasts are averaged: an ensemble is one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from models.forecasting.averaged import Averaged
from models.forecasting.filtering import MaskedSequences
from models.runtime.seeding import derived
from pipeline.job.clock import Clock
from pipeline.job.study import Study
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.first_model import errors_of
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.refine import Trained
from pipeline.tracking.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TrainedBy = Callable[[PsrnnConfig, Study], Trained]


@dataclass(frozen=True)
class MemberRun:
    """Writes what a member logs to the run of its ensemble, each name after that of the member."""

    run: Run
    member: str

    def metric(self, name: str, value: float, step: int = 0) -> None:
        self.run.metric(f"{self.member}/{name}", value, step)

    def tags(self, tags: Mapping[str, str]) -> None:
        self.run.tags({f"{self.member}/{name}": value for name, value in tags.items()})

    def table(self, frame: pd.DataFrame, path: str) -> None:
        self.run.table(frame, f"{self.member}/{path}")

    def figure(self, figure: Figure, path: str) -> None:
        self.run.figure(figure, f"{self.member}/{path}")


def settings_of_member(settings: PsrnnConfig, place: int) -> PsrnnConfig:
    """Returns the settings of one member, a run of its own: the first has the seed of the ensemble, the others have
    seeds that follow from it."""
    seed = derived(settings.seed, f"member/{place}") if place else settings.seed
    return replace(settings, seed=seed, members=1)


def study_of_member(study: Study, place: int) -> Study:
    """Returns a study with checkpoints, names and a clock of its own, and without figures."""
    name = f"member_{place}"
    folder = study.folder / name
    folder.mkdir(exist_ok=True)
    return Study(cast("Run", MemberRun(study.run, name)), folder, Clock(), f"{study.title}, {name}", full=False)


def train_members(settings: PsrnnConfig, parts: Parts, study: Study, train: TrainedBy) -> Trained:
    """Returns the average of `settings.members` models with its errors, all logged. Seconds of a stage are those of all
    members together."""
    trained: list[Trained] = []
    for place in range(settings.members):
        own = study_of_member(study, place)
        trained.append(train(settings_of_member(settings, place), own))
        study.clock.add(own.clock.seconds)
    study.clock.log()
    return averaged(parts, study, trained)


def averaged(parts: Parts, study: Study, trained: list[Trained]) -> Trained:
    """Returns the average of trained models; it is stable where its own errors are those of a model that is of use."""
    run, first = study.run, trained[0]
    model: Any = Averaged([each.model for each in trained]).to(parts.train.values)
    errors = errors_of(model, parts)
    run.metric("ensemble/train_mse", errors[0])
    run.metric("ensemble/validation_mse", errors[1])
    run.tags({"history": str(model.history)})
    run.tags({"stability": "stable" if first.first.stable(*errors) else "unstable"})
    line = f"mean of {len(trained)} models: {first.line}"
    return Trained(first.first, model, first.name, line, errors[1], before=None, again=partial(averaged_again, trained))


def averaged_again(trained: Sequence[Trained], rows: MaskedSequences) -> Averaged:
    """Returns the average of the trained models, each solved again along other sequences."""
    return Averaged([each.again(rows) for each in trained]).to(rows.values)
