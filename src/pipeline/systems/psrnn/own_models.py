"""Models of one's own, tried before the first stage: what could not be kept is refused before anything is computed."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import torch

from models.forecasting.extensions import TRAVELS, top
from models.forecasting.filtering import MaskedSequences, scored_steps
from models.forecasting.fitting import Fitted, Problem
from models.forecasting.forecaster import Forecaster, load_forecaster, save_forecaster
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.runtime.seeding import generator
from pipeline.host.errors import PipelineError
from pipeline.tracking.run import scratch_folder

OFFERS = ("initial_state", "predict", "update")
SEQUENCES, STEPS, FEATURES, PERIOD = 3, 120, 2, 24.0  # of the made-up data
ROWS = 8  # that a model is asked about before and after it is saved
TOLERANCE = 1e-4


def is_own(method: Any) -> bool:
    return top(type(method).__module__) != TRAVELS


def described(method: Any) -> str:
    return f"model._target_={type(method).__module__}.{type(method).__qualname__}"


def made_up_part(dtype: torch.dtype, name: str) -> MaskedSequences:
    """Returns noisy waves of period 24, (sequence, time, feature); the same ones for the same `name`."""
    chance = generator(0, f"made-up {name}")
    phase = 2 * torch.pi / PERIOD * torch.arange(STEPS).view(1, STEPS, 1) + torch.rand(
        SEQUENCES, 1, FEATURES, generator=chance, dtype=torch.float64
    )
    values = phase.sin() + 0.1 * torch.randn(SEQUENCES, STEPS, FEATURES, generator=chance, dtype=torch.float64)
    mask = torch.ones_like(values, dtype=torch.bool)
    return MaskedSequences(values.to(dtype), mask, scored_steps(mask, first_step=2))


def check_method(method: Any) -> None:
    """Raises PipelineError for a class of one's own that is no `models.forecasting.fitting.Method`."""
    if not is_own(method):
        return
    if not callable(getattr(method, "fit", None)):
        raise PipelineError(
            f"{described(method)} has no fit; it takes a Problem and returns a Fitted (models.forecasting.fitting)"
        )
    if not isinstance(getattr(method, "trained", None), bool):
        raise PipelineError(
            f"{described(method)} does not say whether it is trained by gradient; write "
            "trained: ClassVar[bool] = False (or True) into the class"
        )


def rehearse(method: Any, readout: ReadoutSettings, *, dtype: torch.dtype, kept: bool) -> None:
    """Fits a method of one's own to made-up data. Raises PipelineError where its model could not be used or kept.

    What the method itself says of that data is passed over: it may ask for more of it. Its own stage fits it again.
    """
    if not is_own(method):
        return
    train, validation = (made_up_part(dtype, part) for part in ("train", "validation"))
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=()):
            warnings.simplefilter("ignore")
            fitted = method.fit(Problem(train, validation, readout, generator(0, "made-up weights")))
    except Exception:  # the stage `fit` will tell, and its model is checked then
        return
    check_fitted(method, fitted, kept=kept)


def check_fitted(method: Any, fitted: Any, *, kept: bool) -> None:
    """Raises PipelineError where what `fit` returned lacks something. A model that is to be `kept` is saved, loaded and
    asked again."""
    if not is_own(method):
        return
    if not isinstance(fitted, Fitted):
        kind = type(fitted).__name__
        raise PipelineError(
            f"{described(method)}: fit returned a {kind}, not a models.forecasting.fitting.Fitted(model, chosen)"
        )
    model: Any = fitted.model
    lacking = [name for name in OFFERS if not inspect.ismethod(getattr(model, name, None))]
    if lacking or not isinstance(model, torch.nn.Module):
        what = (
            "is no torch.nn.Module"
            if not lacking
            else f"has no {', '.join(lacking)} (models.forecasting.filtering.SequenceModel)"
        )
        raise PipelineError(f"{described(method)}: its model, a {type(model).__name__}, {what}")
    if method.trained and not isinstance(model, Recurrent):
        raise PipelineError(
            f"{described(method)} is trained, but its model, a {type(model).__name__}, is no "
            "models.forecasting.recurrent.Recurrent, whose readout the training solves; set trained = False, or "
            "subclass it"
        )
    if kept:
        check_kept(method, model)


def check_kept(method: Any, model: Any) -> None:
    """Raises PipelineError where a model cannot be saved and loaded, or predicts otherwise afterwards."""
    names = tuple(f"column_{i}" for i in range(model.predict(model.initial_state(1)).shape[1]))
    ones = torch.ones(len(names), dtype=torch.float64)
    first = Forecaster(model, mean=0 * ones, scale=ones, feature_names=names)
    series = np.random.default_rng(0).normal(size=(ROWS, len(names)))
    try:
        with scratch_folder() as folder, torch.random.fork_rng(devices=()):
            torch.manual_seed(1)  # what a class drew for itself as it was built is not drawn again
            save_forecaster(first, folder)
            second = load_forecaster(folder, extensions=[top(type(model).__module__)])
    except (ValueError, RuntimeError) as error:
        raise PipelineError(f"{described(method)}: its model could not be kept: {error}") from error
    if not np.allclose(first.predict(series), second.predict(series), rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        raise PipelineError(
            f"{described(method)}: its model, a {type(model).__name__}, predicts otherwise once it was saved "
            "and loaded; what it computes with must be a parameter, a buffer (register_buffer) or part of architecture"
        )
