"""The gradient loop of runs: steps, a learning curve, the best model kept, a step back, and a state to go on from.

Objectives are of `models.runtime.objective`: an `Objective`, or, where it has more to say between the epochs, a
`RefreshedObjective`, which is refreshed before the first step and at every row of the curve. Notebooks train by two
loops without files and log: `models.forecasting.training` and `models.runtime.early_stopping`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn
from tqdm import tqdm

from models.runtime.collectives import take_from_first_rank
from models.runtime.objective import (
    SMALLEST_STEP,
    Loss,
    Objective,
    Preconditioner,
    RefreshedObjective,
    Snapshot,
    snapshot,
)
from pipeline.host.progress import Bar, training_bar
from pipeline.job import checkpoint
from pipeline.job.curve import EpochRow, Measures, Progress, no_worse
from pipeline.job.feed import Feed
from pipeline.job.fit_files import FitFiles
from pipeline.job.fit_settings import FitSettings, check_settings
from pipeline.job.step import Stepper


class Fit:
    """Minimises an objective, and keeps the model of the best row of its curve; the model before training is a
    candidate where `FitSettings.from_start` says so.

    After an epoch (or `evaluate_every` steps) whose training error rose or is not finite the model goes back to where
    it was before, the optimiser forgets its moments, and the learning rate is halved. With a `path` the state is
    written there, and a `Fit` made anew with the same arguments goes on from it to the same numbers.

    Raises PipelineError for settings that do not go together, and where a state cannot be written or read.
    """

    def __init__(
        self,
        objective: Objective,
        settings: FitSettings,
        *,
        generator: torch.Generator,
        measures: Measures,
        preconditioner: Preconditioner | None = None,
        path: Path | None = None,
    ) -> None:
        check_settings(settings, objective, measures)
        self.objective, self.settings, self.measures = objective, settings, measures
        self.stepper = Stepper(objective, settings, preconditioner)
        self.feed = Feed(objective, generator, accumulate=settings.accumulate)
        self.files = FitFiles(path) if path else None
        self.refreshed = objective if isinstance(objective, RefreshedObjective) else None
        self.progress = Progress(settings.learning_rate)
        self.summed = torch.zeros(2, dtype=torch.float64, device=self.stepper.device)
        self.start: Snapshot = {}  # the model at the last row of the curve
        self.remembered: Any = None

    @property
    def model(self) -> nn.Module:
        return self.objective.model

    def run(self) -> Progress:
        """Trains, and returns the learning curve; the objective's model is left with the parameters that are kept,
        ready to predict."""
        self._begin()
        with self._bar() as bar:
            while not self._ended():
                self._epoch()
                self._show(bar)
        if self.settings.checkpoint_every is not None:
            self._save()
        self._say_why()
        if self.progress.best:
            self.model.load_state_dict(self.progress.best)
        self.model.eval()
        return self.progress

    def _begin(self) -> None:
        saved = checkpoint.find(self.files.path) if self.files else None
        if self.files and saved:
            self._restore(saved, self.files)
            return
        self.model.eval()
        train = self._refresh()
        self._record(train, accepted=True)

    def _ended(self) -> bool:
        return self._spent() or self._stuck() or self._waited_enough()

    def _spent(self) -> bool:
        steps = self.settings.steps
        return self.feed.epoch >= self.settings.epochs or (steps is not None and self.progress.steps >= steps)

    def _stuck(self) -> bool:
        return self.progress.learning_rate < self.settings.learning_rate * SMALLEST_STEP

    def _waited_enough(self) -> bool:
        waited = len(self.progress.rows) - 1 - max(self.progress.best_row, self.settings.rising)
        return self.settings.patience is not None and waited >= self.settings.patience

    def _epoch(self) -> None:
        """Takes the steps up to the next row of the curve, and records that row."""
        finite = self._descend()
        if self.progress.steps == self.progress.rows[-1].step:
            return
        self.model.eval()
        train = self._train_error() if finite else math.inf
        accepted = self._acceptable(train)
        if not accepted:
            self._step_back()
        self._record(train, accepted=accepted)
        if not math.isfinite(train):
            self._say_not_finite()

    def _acceptable(self, train: float) -> bool:
        return no_worse(train, self.progress.train if self.settings.accept == "no_worse" else math.inf)

    def _descend(self) -> bool:
        """Takes steps until a row is due; returns False as soon as a gradient is not finite."""
        self.model.train()
        by_epoch = self.settings.evaluate_every is None
        while not self._spent():
            batches = self.feed.take()
            if not batches:
                self.feed.close()
                if by_epoch:
                    return True
                continue
            if not self._step(batches):
                if by_epoch:
                    self.feed.close()
                return False
            if self._due(self.settings.evaluate_every):
                return True
            if self._due(self.settings.checkpoint_every):
                self._save()
        return True

    def _due(self, every: int | None) -> bool:
        return every is not None and self.progress.steps % every == 0

    def _step(self, batches: list[Any]) -> bool:
        """Takes one step; returns False where its gradient is not finite."""
        sums = self.stepper.take(batches, largest=self.progress.learning_rate, step=self.progress.steps)
        self.progress.steps += 1
        if sums is not None and self.refreshed is None:
            self.summed += torch.stack([torch.as_tensor(part).to(self.summed) for part in sums])
        return sums is not None

    def _refresh(self, *, solve: bool = True) -> float | None:
        """Returns the training error of the model as it stands, None where the objective does not give it."""
        if self.refreshed is None:
            return None
        train = self.refreshed.refresh(solve=solve)
        if math.isfinite(train):
            self.stepper.refresh()
        return train

    def _train_error(self) -> float:
        """Returns the training error of the model as it stands. Where the objective does not give it, it is the mean
        over the batches since the last row."""
        train = self._refresh()
        return float(Loss(*self.summed).mean) if train is None else train

    def _step_back(self) -> None:
        """Puts the model, and all that was found along the data, back to those of the last row; nothing is computed
        anew."""
        self.model.load_state_dict(self.start)
        if self.refreshed is not None:
            self.refreshed.recall(self.remembered)
        if math.isfinite(self.progress.train):
            self.stepper.refresh()
        self.stepper.optimizer.state.clear()
        self.progress.learning_rate /= 2

    def _say_not_finite(self) -> None:
        """Says what was taken back, and the learning rate with which training goes on, if it does."""
        halved = "" if self._ended() else f", learning rate halved to {self.progress.learning_rate:g}"
        tqdm.write(f"{self._place()}: loss or gradient is not finite; taken back{halved}")

    def _place(self) -> str:
        by_epoch = self.settings.evaluate_every is None
        return f"epoch {self.feed.epoch}" if by_epoch else f"step {self.progress.steps}"

    def _record(self, train: float | None, *, accepted: bool) -> None:
        """Adds a row to the curve; without a training error the row has what `evaluate` measures alone."""
        progress, decides = self.progress, self.measures.decides
        if self.refreshed is None:  # rounding may have given each rank a model of its own; a refresh takes the first's
            take_from_first_rank(self.model.state_dict().values())
        values = self._measured(train) if accepted else progress.rows[-1].values
        rate = self.stepper.rate(progress.learning_rate, progress.steps)
        row = EpochRow(self.feed.epoch, progress.steps, values, rate, accepted, decides)
        self.summed.zero_()
        if accepted:
            self._mark()
        if decides and (not progress.rows or (accepted and self._untrained()) or row.better_than(progress.kept)):
            progress.best_row, progress.best = len(progress.rows), self.start
        if accepted and train is not None:
            progress.train = train
        progress.rows.append(row)
        if self.settings.checkpoint_every is None or self._due(self.settings.checkpoint_every):
            self._save()
        self.measures.on_row(row)

    def _untrained(self) -> bool:
        """Returns whether the model that is kept so far is the one before training, and may not be."""
        return not self.settings.from_start and self.progress.best_row == 0

    @torch.no_grad()
    def _measured(self, train: float | None) -> dict[str, float]:
        """Returns the values of a row, those of the first rank on all: each may have rounded its own otherwise, and a
        rank that ended earlier would leave the others waiting."""
        values = {} if train is None else {self.measures.training: train}
        values |= dict(self.measures.evaluate())
        told = torch.tensor(list(values.values()), dtype=torch.float64, device=self.stepper.device)
        if values:
            take_from_first_rank([told])
        return dict(zip(values, told.tolist(), strict=True))

    def _mark(self) -> None:
        """Marks the place that the next step back leads to."""
        if self.refreshed is not None:
            self.remembered = self.refreshed.remembered()
        self.start = snapshot(self.model)

    def _save(self) -> None:
        if self.files is None:
            return
        between = self.progress.steps != self.progress.rows[-1].step
        self.progress.summed = tuple(self.summed.tolist())
        start = self.start if between else {}
        self.files.save(self.progress, self.feed, self.model, self.stepper.optimizer, start=start)

    def _restore(self, saved: checkpoint.Saved, files: FitFiles) -> None:
        best = files.best(saved, self.stepper.device)
        with checkpoint.fitting(files.path):
            self.progress, start = files.restore(saved, self.feed, self.model, self.stepper.optimizer)
        self.progress.best = best
        for row in self.progress.rows:
            self.measures.on_row(row)
        now = snapshot(self.model)
        self.model.load_state_dict(start or now)
        self.model.eval()
        self._refresh(solve=self.refreshed is not None and self.refreshed.repeats)
        self._mark()
        if start:
            self.model.load_state_dict(now)
        self.summed.copy_(torch.tensor(self.progress.summed, dtype=torch.float64))

    def _bar(self) -> Bar:
        by_epoch = self.settings.evaluate_every is None
        total, done = (
            (self.settings.epochs, self.feed.epoch) if by_epoch else (self.settings.steps, self.progress.steps)
        )
        return training_bar(total, self.settings.title, done=done, unit="epoch" if by_epoch else "step")

    def _show(self, bar: Bar) -> None:
        row = self.progress.rows[-1]
        shown = [self.measures.training, *([self.measures.decides.name] if self.measures.decides else [])]
        bar.set_postfix({name: f"{row.values[name]:.3g}" for name in shown if name in row.values})
        bar.update((row.epoch if self.settings.evaluate_every is None else row.step) - bar.n)

    def _say_why(self) -> None:
        """Says where training ended early, and why."""
        title, decides = self.settings.title or "training", self.measures.decides
        if self._stuck():
            tqdm.write(f"{title} ended at {self._place()}: {self._stuck_by()}")
        elif self._waited_enough() and not self._spent() and decides:
            tqdm.write(f"{title} ended at {self._place()}: no better {decides.name} for {self.settings.patience} rows")

    def _stuck_by(self) -> str:
        if self.settings.accept == "no_worse":
            return "smaller steps no longer lower the training error"
        taken_back = sum(not row.accepted for row in self.progress.rows)
        return f"loss or gradient was not finite {taken_back} times, and each time the learning rate was halved"
