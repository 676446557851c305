"""Stage one: sequences, standardised by their training part."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from data.base import Dataset, Standardiser
from data.files.download import data_root
from data.tables.sequences import SOURCE as TABLE
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.forecaster import Forecaster
from models.forecasting.intervals import Intervals
from models.forecasting.lag_shares import LagShares
from models.forecasting.readout import ReadoutFit
from models.forecasting.readout_settings import ReadoutSettings
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.job.load_once import load_once
from pipeline.settings.build import build
from pipeline.systems.psrnn.config import EvaluateConfig, PsrnnConfig
from pipeline.tracking.run import Run


class Parts(NamedTuple):
    """Holds what models are fitted to, chosen by and tested on: standardised, on the run's device.

    lagged: what fits of readouts along these parts share, those of several jobs too.
    """

    train: MaskedSequences
    validation: MaskedSequences
    test: MaskedSequences
    lagged: LagShares

    def readout_fit(self, settings: ReadoutSettings) -> ReadoutFit:
        """Returns what solves readouts on the training part and chooses among them by the validation part."""
        return ReadoutFit(self.train, self.validation, settings, self.lagged)


class OwnUnits(NamedTuple):
    """Holds names and units of the features, and how they were standardised: mean and scale (feature,), in these
    units."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    mean: Tensor
    scale: Tensor

    def values(self, standardised: Tensor) -> np.ndarray:
        """Returns standardised values (…, feature) in their own units."""
        return (standardised.double().cpu() * self.scale + self.mean).numpy()

    def deviations(self, squared: Tensor) -> np.ndarray:
        """Returns the roots of squared errors (…, feature) of standardised values, in their own units."""
        return (squared.double().cpu().sqrt() * self.scale).numpy()


class Loaded(NamedTuple):
    """Holds the data of a run: the data set as it was read, its units, and its standardised parts."""

    dataset: Dataset
    own: OwnUnits
    parts: Parts

    def all_rows(self, *, first_step: int) -> MaskedSequences:
        """Returns the rows of all parts, see `data.base.Dataset.rows`, in the units and on the device of the parts.
        first_step: the first of each sequence that is scored."""
        like, rows = self.parts.train.values, self.dataset.rows
        units = Standardiser(self.own.mean, self.own.scale, torch.zeros_like(self.own.mean, dtype=torch.bool))
        scaled = units.apply(rows).to(dtype=like.dtype, device=like.device)
        return MaskedSequences(scaled.values, scaled.mask, scored_steps(scaled.mask, first_step=first_step))


def warn_of_short_sequences(dataset: Dataset, *, steps: int) -> None:
    """Warns of the sequences, by name, that are too short to give a window or a scored step."""
    for part, sequences in dataset.parts.items():
        short = [n for n, length in zip(sequences.names, sequences.lengths.tolist(), strict=True) if length < steps]
        if short:
            named = ", ".join(short[:5]) + (" …" if len(short) > 5 else "")
            several = f"sequences have fewer than {steps} steps and count"
            words = several if len(short) > 1 else f"sequence has fewer than {steps} steps and counts"
            warnings.warn(
                f"{len(short)} {part} {words} for nothing: {named}",
                stacklevel=2,
            )


def cut(dataset: Any, *, sequences: int | None, steps: int | None) -> Dataset:
    """Returns at most so many sequences of each part, and so many steps of each; None keeps all. What is left out is
    printed.

    Raises PipelineError for data that are no sequences.
    """
    if not isinstance(dataset, Dataset):
        raise PipelineError(f"data: {dataset.name} is a table of points, not sequences; it goes with another recipe")
    kept = dataset.shortened(sequences=sequences, steps=steps)
    say_cut(dataset, kept, {"size.sequences": sequences, "size.steps": steps})
    return kept


def say_cut(whole: Dataset, kept: Dataset, limits: Mapping[str, int | None]) -> None:
    """Prints how many rows of the whole data limits of `size` leave out; nothing where they leave out none. limits: of
    a part, by setting."""
    there, rows = (sum(int(part.lengths.sum()) for part in data.parts.values()) for data in (whole, kept))
    if rows < there:
        asked = " ".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None)
        tqdm.write(f"{whole.name}: {there - rows} of {there} rows are left out by {asked}")


def standardised(dataset: Dataset) -> tuple[Standardiser, Tensor]:
    """Returns the standardiser of the training part, and which columns (feature,) test errors leave out: those of a
    person's own table that are constant, since each would make the mean error smaller."""
    own = dataset.source.startswith(TABLE)
    standardiser = Standardiser.fit(
        dataset.train,
        dataset.feature_names,
        common_scale=dataset.common_scale,
        of_constant="forecast, but not scored on the test part" if own else "kept unscaled",
    )
    return standardiser, standardiser.constant if own else torch.zeros_like(standardiser.constant)


def load(dataset: Dataset, *, span: int, first_step: int, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Returns the data standardised by the training part.

    span: rows that the windows of features need, 1 without; first_step: the first that is scored. The columns of a
    person's own table that are constant in the training part are not scored on the test part. Raises ValueError for
    data that cannot be used.
    """
    warn_of_short_sequences(dataset, steps=max(span, first_step + 1))
    standardiser, left_out = standardised(dataset)
    parts = []
    for name, part in dataset.parts.items():
        scaled = standardiser.apply(part).to(dtype=dtype, device=device)
        scored = scored_steps(scaled.mask, first_step=first_step)
        if name == "test":
            scored = scored & ~left_out.to(device)
        if not len(part):
            raise ValueError(
                f"the {name} part is empty, and models are chosen by it; give data.{name} a share of the data"
            )
        if not bool(scored.any()):
            raise ValueError(
                f"the {name} part has no observed step from step {first_step} on; "
                "lower evaluate.first_step or readout.lags, or give more data"
            )
        parts.append(MaskedSequences(scaled.values, scaled.mask, scored))
    own = OwnUnits(dataset.feature_names, dataset.units, standardiser.mean, standardiser.scale)
    return Loaded(dataset, own, Parts(*parts, lagged=LagShares()))


def first_scored(settings: PsrnnConfig) -> int:
    """Returns the step from which on every model of the run is scored: none before the readout has the lags asked for.

    Where the lags are still to be chosen, the steps that have fewer than were chosen are those of the start-up.
    """
    return max(settings.evaluate.first_step, settings.readout.lags or 0)


def scored_settings(settings: PsrnnConfig) -> EvaluateConfig:
    """Returns the settings `evaluate` with the first step from which on every model is scored."""
    return replace(settings.evaluate, first_step=first_scored(settings))


def say_if_moved(settings: PsrnnConfig) -> None:
    """Says from which step on models are scored, where that is not the step asked for."""
    first = first_scored(settings)
    if first > settings.evaluate.first_step:
        tqdm.write(
            f"scored from step {first} on, for every model: readout.lags={settings.readout.lags} "
            f"(evaluate.first_step={settings.evaluate.first_step})"
        )


def refuse_cut_before_scored(settings: PsrnnConfig) -> None:
    """Raises PipelineError where sequences are cut before the first step that is scored."""
    steps = settings.size.steps
    if steps is not None and steps <= settings.evaluate.first_step:
        raise PipelineError(
            f"size.steps={steps} leaves no step from evaluate.first_step={settings.evaluate.first_step} on; give "
            "size.steps=null, which keeps sequences whole, or a lower evaluate.first_step"
        )


def load_stage(settings: PsrnnConfig, device: torch.device, *, span: int, shared: bool) -> Loaded:
    """Returns the data of the run; with `shared` those of the job before, where they are the same."""
    first, dtype = first_scored(settings), DTYPES[settings.dtype]

    def work() -> Loaded:
        dataset = build("data", settings.data, settings.extensions)
        dataset = cut(dataset, sequences=settings.size.sequences, steps=settings.size.steps)
        return load(dataset, span=span, first_step=first, dtype=dtype, device=device)

    refuse_cut_before_scored(settings)
    say_if_moved(settings)
    if not shared:
        return work()
    asked = [settings.data, asdict(settings.size), span, first, dtype, device, data_root(None)]
    return load_once(asked, work)


def log_dataset(run: Run, dataset: Dataset) -> None:
    """Logs the first training sequence, which stands for the data set in MLflow, with the digest of all of the data
    set."""
    from pipeline.systems.psrnn.servable import example_frame

    frame = example_frame(dataset.train.to_arrays(1)[0], dataset.feature_names)
    run.dataset(frame, name=dataset.name, source=dataset.source, digest=dataset.checksum, context="training")


def forecaster_of(model: Any, own: OwnUnits, intervals: Intervals | None) -> Forecaster:
    """Returns the model between the data's own units and standardised ones."""
    return Forecaster(model, mean=own.mean, scale=own.scale, feature_names=own.names, intervals=intervals)
