"""How many recent observations a readout sees beside the state: the same model with others, and the best of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor, nn

from models.forecasting.filtering import MaskedSequences, rows_before, scored_features
from models.forecasting.readout import FittedReadout, ReadoutFit, unread
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.forecasting.season import find_season
from models.numerics.held_out import least_error
from models.numerics.ridge import (
    AffineMap,
    CentredMoments,
    RegressionData,
    affine_from_moments,
    centred_moments,
    least_validation_error,
    validation_error,
)
from models.numerics.ties import first_of_least

CHOSEN_LAGS = "readout.lags"  # what the choice is kept under
ABOVE_BELIEF = ("readout_weight", "readout_bias", "start_up.")  # names of tensors that go with the lags begin so
MOST_INPUTS = 1000  # numbers of recent observations, so that a choice stays a matter of seconds


class LagsTried(NamedTuple):
    """Holds lags, the fewest whose error is nearly the least or is rounding (`first_of_least`), and errors: one-step
    validation error by lags."""

    lags: int
    errors: dict[int, float]


class Settled(NamedTuple):
    """Holds a model with the lags that it keeps, its readout, and the numbers of lags that were tried (None: no
    choice)."""

    model: Any
    readout: FittedReadout
    tried: LagsTried | None


def takes_lags(model: object) -> TypeGuard[Recurrent]:
    """Says whether the model has a readout beside which lags can be put: one of a person's own may have none."""
    return isinstance(model, Recurrent) and "lags" in getattr(model, "architecture", {})


def with_lags(model: Recurrent, lags: int) -> Recurrent:
    """Returns a new model that moves its belief as `model` does and whose readout sees `lags` recent observations.

    The readout is 0 until it is solved. The class of the model is called with its `architecture`, as on loading.
    Raises ValueError for a class whose `__init__` does not make the other parameters and buffers of the model.
    """
    joined = type(model)(**{**model.architecture, "lags": lags}).to(model.readout_bias)
    kept = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(ABOVE_BELIEF)}
    missing, unexpected = joined.load_state_dict(kept, strict=False)
    if unlike := [*unexpected, *(name for name in missing if not name.startswith(ABOVE_BELIEF))]:
        raise ValueError(
            f"{type(model).__name__} built again with other lags has not the same parameters and buffers: "
            f"{', '.join(unlike)}; make them in __init__ by what architecture holds"
        )
    return joined


def most_lags(part: MaskedSequences) -> int:
    """Returns the largest number of lags that leaves half of the part's steps to score, and of every feature that is
    scored at all a scored step with so many rows before it, see `rows_before`."""
    before = torch.where(part.scored, rows_before(part.mask).unsqueeze(2), 0).amax((0, 1))
    return min([part.values.shape[1] // 2, *before[scored_features(part.scored)].tolist()])


def reachable_lags(candidates: Sequence[int], part: MaskedSequences, *, inputs: int) -> list[int]:
    """Returns the candidates, in order, that have at most `inputs` numbers and are at most `most_lags`."""
    most = min(most_lags(part), inputs // part.values.shape[2])
    return sorted({lags for lags in candidates if lags <= most})


def recent_observations(filled: Tensor, lags: int) -> Tensor:
    """Returns (sequence, time, lags · d): the rows before each row of `filled` (sequence, time, d), oldest first.

    Before the first row they are 0.
    """
    before = torch.cat([filled.new_zeros(len(filled), lags, filled.shape[2]), filled[:, :-1]], 1)
    return before.unfold(1, lags, 1).transpose(2, 3).flatten(2) if lags else filled[..., :0]


def rows_beside_lags(model: Recurrent, part: MaskedSequences, lags: int) -> RegressionData:
    """Returns state and `lags` recent observations along the part, at the scored steps that have so many rows before
    them."""
    states, filled = unread(model, part)
    scored = part.scored & (rows_before(part.mask) >= lags).unsqueeze(2)
    used = scored.any(2)
    inputs = torch.cat([model.exposed(model.belief(states))[used], recent_observations(filled, lags)[used]], -1)
    return RegressionData(inputs, part.values[used], scored[used])


def inputs_with_lags(lags: int, *, most: int, size: int, dimension: int) -> Tensor:
    """Returns the places of the state's `size` inputs and those of the last `lags` of `most` observations (d,)."""
    end = size + most * dimension
    return torch.tensor([*range(size), *range(end - lags * dimension, end)], dtype=torch.int64)


@torch.no_grad()
def choose_lags(
    model: Recurrent,
    train: MaskedSequences,
    validation: MaskedSequences,
    settings: ReadoutSettings,
    candidates: Sequence[int],
) -> LagsTried:
    """Solves a readout for each number of lags, its ridges chosen on the validation part, and returns the best number.

    model: its readout sees no lags and is solved, since it fills gaps. All numbers of lags are fitted to the same
    steps and scored on the same steps, those that the most lags leave. Raises ValueError without candidates.
    """
    if not candidates:
        raise ValueError("choices is empty; give at least one number of lags")
    most, dimension = max(candidates), train.values.shape[2]
    moments = centred_moments(rows_beside_lags(model, train, most))  # those of fewer lags are blocks of them
    held_out = rows_beside_lags(model, validation, most)
    size = held_out.inputs.shape[1] - most * dimension
    errors = {}
    for lags in sorted(candidates):
        seen = inputs_with_lags(lags, most=most, size=size, dimension=dimension).to(train.values.device)
        other = held_out._replace(inputs=held_out.inputs[:, seen])
        own = [part.of(seen) for part in moments]
        best, _ = least_validation_error(solutions(own, settings._replace(lags=lags), size), other)
        errors[lags] = validation_error(best, other)
    place = first_of_least(list(errors.values()), least_error(held_out.targets, held_out.mask))
    return LagsTried(list(errors)[place], errors)


def solutions(moments: Sequence[CentredMoments], settings: ReadoutSettings, size: int) -> Iterator[AffineMap]:
    """Yields a map for each candidate of the settings; the first `size` inputs are the state's."""
    for candidate in settings.candidates():
        ridge = torch.full_like(moments[0].input_mean, candidate["readout.ridge"])
        ridge[:size] = candidate.get("readout.state_ridge", candidate["readout.ridge"])
        yield affine_from_moments(moments, ridge, scale=settings.scale)


def candidates_of(fit: ReadoutFit, choices: Sequence[int]) -> list[int]:
    """Returns the choices and the season of the training part, as far as both parts are long enough; else 0."""
    season = find_season(fit.train)
    wanted = {*choices, *([season[0]] if season else [])}
    parts = fit.train, fit.validation
    reached = [lags for lags in sorted(wanted) if all(reachable_lags([lags], p, inputs=MOST_INPUTS) for p in parts)]
    return reached or [0]


def settle_lags(model: nn.Module, fitted: FittedReadout, fit: ReadoutFit) -> Settled:
    """Returns the model with the number of lags that validation prefers, or as it is where there is nothing to choose.

    fitted: the readout of the model without lags, as `fit` solved it; with lags it is solved anew along the same
    sequences. A model of a person's own may have no such readout, and stays as it is.
    """
    choices = fit.settings.choices
    if choices is None or not takes_lags(model):
        return Settled(model, fitted, None)
    tried = choose_lags(model, fit.train, fit.validation, fit.settings, candidates_of(fit, choices))
    chosen = {**fitted.chosen, CHOSEN_LAGS: tried.lags}
    if not tried.lags:
        return Settled(model, fitted._replace(chosen=chosen), tried)
    joined = with_lags(model, tried.lags)
    refitted = ReadoutFit(fit.train, fit.validation, fit.settings.with_lags(tried.lags), fit.lagged)(joined)
    return Settled(joined, refitted._replace(chosen=chosen | refitted.chosen), tried)
