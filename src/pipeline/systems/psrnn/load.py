"""Stage one: sequences, standardised by their training part."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from data.base import Dataset, Standardiser
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.forecaster import Forecaster
from models.forecasting.intervals import Intervals
from models.forecasting.readout import LagShares
from pipeline.host.errors import PipelineError


class Loaded(NamedTuple):
    """The data set in its own units, its standardisation, and the standardised parts on the run's device.

    lagged: what fits of readouts along these parts share, those of several jobs too.
    """

    dataset: Dataset
    standardiser: Standardiser
    train: MaskedSequences
    validation: MaskedSequences
    test: MaskedSequences
    lagged: LagShares


def warn_of_short_sequences(dataset: Dataset, *, steps: int) -> None:
    """Name the sequences that are too short to give a window or a scored step."""
    for part, sequences in dataset.parts.items():
        short = [n for n, length in zip(sequences.names, sequences.lengths.tolist(), strict=True) if length < steps]
        if short:
            named = ", ".join(short[:5]) + (" …" if len(short) > 5 else "")
            warnings.warn(
                f"{len(short)} {part} sequences have fewer than {steps} steps and count for nothing: {named}",
                stacklevel=2,
            )


def cut(dataset: Any, *, sequences: int | None, steps: int | None) -> Dataset:
    """Returns at most so many sequences of each part, and so many steps of each; None keeps all.

    Raises PipelineError for data that are no sequences.
    """
    if not isinstance(dataset, Dataset):
        raise PipelineError(f"data: {dataset.name} is a table of points, not sequences; it goes with another recipe")
    return dataset.shortened(sequences=sequences, steps=steps)


def load(dataset: Dataset, *, window: int, first_step: int, dtype: torch.dtype, device: torch.device) -> Loaded:
    """Returns the data standardised by the training part.

    window: observations of a window of features, 0 without; first_step: the first that is scored. Raises ValueError for
    data that cannot be used.
    """
    warn_of_short_sequences(dataset, steps=max(2 * window + 1, first_step + 1))
    standardiser = Standardiser.fit(dataset.train, dataset.feature_names, common_scale=dataset.common_scale)
    parts = []
    for name, part in dataset.parts.items():
        scaled = standardiser.apply(part).to(dtype=dtype, device=device)
        scored = scored_steps(scaled.mask, first_step=first_step)
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
    return Loaded(dataset, standardiser, *parts, lagged=LagShares())


def forecaster_of(model: Any, loaded: Loaded, intervals: Intervals | None = None) -> Forecaster:
    """The model between the data's own units and standardised ones."""
    standardiser = loaded.standardiser
    return Forecaster(
        model, mean=standardiser.mean, scale=standardiser.scale, feature_names=loaded.dataset.feature_names,
        intervals=intervals,
    )  # fmt: skip


_last: dict[str, Loaded] = {}


def load_once(key: str, work: Callable[[], Loaded]) -> Loaded:
    """Returns what `work` gives, kept for the next job of the same multirun while that asks by the same key."""
    if key not in _last:
        _last.clear()
        _last[key] = work()
    return _last[key]
