"""What every sequence model offers, and recursive filtering and forecasting for all of them alike.

A model keeps a *state* (a tuple of tensors, batch first). `predict` reads the next observation off the state
before that observation is seen; `update` moves the state on by one observation. Where an entry was not observed
the model's own prediction takes its place: a gap and a forecast are the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.functional import pad

from models.numerics.ridge import infinite_where_nan, masked_mse
from models.runtime.collectives import own_rows, rows_of_all_ranks, world
from models.runtime.progress import advanced

State = tuple[Tensor, ...]
SHORTEST_STRETCH = 8  # steps in a row that are worth filtering at once


class SequenceModel(Protocol):
    """Is what every sequence model offers: a state, the next observation read off it, and a step to the next state.

    A state is a tuple of tensors, batch first. Observations are (batch, feature), in standardised units.
    """

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first observation."""
        ...

    def predict(self, state: State) -> Tensor:
        """Returns the expected next observation, (batch, feature)."""
        ...

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more observation (batch, feature)."""
        ...


class MaskedSequences(NamedTuple):
    """Holds values and mask (sequence, time, feature), standardised; scored, of the same shape: the entries that
    errors and readouts use."""

    values: Tensor
    mask: Tensor
    scored: Tensor


class Filtered(NamedTuple):
    """Holds what filtering found, each of the first two (sequence, time, feature).

    predictions: of o_t from o_{<t}. filled: o_t, with predictions in the gaps.
    states: the state *before* o_t, each tensor (sequence, time, …).
    """

    predictions: Tensor
    filled: Tensor
    states: State


@runtime_checkable
class FiltersObserved(Protocol):
    """Is a model that filters sequences without gaps, values (sequence, time, feature), faster than step by step."""

    def filter_observed(self, start: State, values: Tensor) -> Filtered: ...


@runtime_checkable
class FiltersMasked(Protocol):
    """Is a model that filters sequences with gaps, too, in a way of its own that is worth it.

    values and mask are (sequence, time, feature).
    """

    def filter_masked(self, start: State, values: Tensor, mask: Tensor) -> Filtered: ...


def before_end(mask: Tensor) -> Tensor:
    """Returns which rows (sequence, time) of a mask (sequence, time, feature) stand before the end: all up to the last
    that has an observation."""
    return mask.any(2).flip(1).cumsum(1).flip(1) > 0


def up_to_end(mask: Tensor) -> Tensor:
    """Returns the mask (sequence, time, feature) with everything after each sequence's last observed row set: for
    callers that read nothing there.

    What is filtered with it has the same numbers up to that row, since a row depends on those before it alone; after it
    `values` count as observed (0 where they are padding), and predictions and states are finite and mean nothing.
    """
    return mask | ~before_end(mask).unsqueeze(2)


def with_padding_observed(mask: Tensor, lengths: Tensor) -> Tensor:
    """Returns the mask (sequence, time, feature) with everything after each sequence's own length set: what pads the
    end is no gap there.

    lengths (sequence,): rows of each sequence, observed or not. As with `up_to_end` no row before that depends on it.
    """
    steps = torch.arange(mask.shape[1], device=mask.device)
    return mask | (steps >= lengths.to(steps).unsqueeze(1)).unsqueeze(2)


def gapless(mask: Tensor) -> Tensor:
    """Returns which sequences (sequence,) of a mask (sequence, time, feature) lack nothing up to their last observed
    row."""
    return (mask.all(2) | ~before_end(mask)).all(1)


def has_gaps(mask: Tensor) -> bool:
    """Says whether an entry is missing before the last observed step of its sequence. mask
    (sequence, time, feature)."""
    return not bool(gapless(mask).all())


def has_begun(model: Any, state: State) -> Tensor:
    """Returns bools (batch,): whether a row was seen before the state; all true for a model that counts no rows."""
    own: Any = getattr(model, "has_begun", None)
    return torch.ones(len(state[0]), dtype=torch.bool, device=state[0].device) if own is None else own(state)


def begun_along(mask: Tensor) -> Tensor:
    """Returns which rows (sequence, time) of a mask (sequence, time, feature) have begun: all from the first of which
    anything was observed."""
    return mask.any(2).cumsum(1) > 0


def rows_before(mask: Tensor) -> Tensor:
    """Returns how many rows come before each row of a mask (sequence, time, feature), as (sequence, time). They are
    counted from the first of which anything was observed."""
    begun = begun_along(mask)
    return begun.cumsum(1) - begun.long()


def moved_by(model: Any, state: State, observation: Tensor, begun: Tensor) -> State:
    """Returns the state after one more row (batch, d).

    begun (batch,): whether anything was observed up to that row, see `begun_along`. Where it was not, the state of a
    model that counts rows stays as it was. A model of several has its own `moved_by`, of each of them.
    """
    own: Any = getattr(model, "moved_by", None)
    if own is not None:
        return own(state, observation, begun)
    after = model.update(state, observation)
    return where_moved(begun | has_begun(model, state), after, state)


def where_moved(moves: Tensor, after: State, before: State) -> State:
    """Returns the state after for those of the batch that `moves` (batch,) names, and that before for the others."""
    if bool(moves.all()):
        return after
    pairs = zip(after, before, strict=True)
    return tuple(torch.where(moves.view(-1, *(1,) * (new.dim() - 1)), new, old) for new, old in pairs)


def filter_sequences(model: SequenceModel, values: Tensor, mask: Tensor, start: State | None = None) -> Filtered:
    """Filters sequences recursively (paper, section 6.1). values and mask (sequence, time, feature).

    Rows before the first of which anything was observed change nothing for a model that counts rows, see `moved_by`.
    What is missing after a sequence's last observed row is forecast; where that is not wanted, `up_to_end` saves it.
    Sequences without gaps are filtered at once, the others by themselves: at once along the stretches in which all of
    them were observed, step by step in between.
    """
    state = model.initial_state(len(values)) if start is None else start
    if isinstance(model, FiltersMasked):
        return model.filter_masked(state, values, mask)
    whole = mask.flatten(1).all(1)
    if not isinstance(model, FiltersObserved):
        return step_by_step(model, values, mask, begun_along(mask), state)[0]
    if bool(whole.all()):
        return model.filter_observed(state, values)
    if not bool(whole.any()):
        return _along_stretches(model, values, mask, state)
    apart, rest = whole.nonzero()[:, 0], (~whole).nonzero()[:, 0]
    groups = [
        model.filter_observed(tuple(part[apart] for part in state), values[apart]),
        _along_stretches(model, values[rest], mask[rest], tuple(part[rest] for part in state)),
    ]
    order = torch.cat([apart, rest]).argsort()
    return _joined(groups, lambda parts: torch.cat(parts)[order])


def _along_stretches(model: Any, values: Tensor, mask: Tensor, state: State) -> Filtered:
    """Filters sequences in stretches. They are cut in time where all sequences begin or cease to be observed."""
    complete, counts = torch.unique_consecutive(mask.all(2).all(0), return_counts=True)
    parts = (part.split(counts.tolist(), 1) for part in (values, mask, begun_along(mask)))
    pieces = []
    for seen, observed, begun, whole in zip(*parts, complete.tolist(), strict=True):
        if whole and seen.shape[1] >= SHORTEST_STRETCH:
            pieces.append(model.filter_observed(state, seen))
            state = model.update(tuple(part[:, -1] for part in pieces[-1].states), seen[:, -1])
        else:
            piece, state = step_by_step(model, seen, observed, begun, state)
            pieces.append(piece)
    return _joined(pieces, lambda parts: torch.cat(parts, 1))


def step_by_step(
    model: SequenceModel, values: Tensor, mask: Tensor, begun: Tensor, state: State
) -> tuple[Filtered, State]:
    """Filters sequences step by step, and returns the state after the last step too. begun: `begun_along` the whole
    mask."""
    steps = []
    for value, observed, moves in zip(values.unbind(1), mask.unbind(1), begun.unbind(1), strict=True):
        prediction = model.predict(state)
        observation = torch.where(observed, value, prediction)
        steps.append(Filtered(prediction, observation, state))
        state = moved_by(model, state, observation, moves)
        advanced(len(value))
    return _joined(steps, lambda parts: torch.stack(parts, 1)), state


def _joined(pieces: Sequence[Filtered], join: Callable[[list[Tensor]], Tensor]) -> Filtered:
    predictions, filled = (join([getattr(part, name) for part in pieces]) for name in ("predictions", "filled"))
    states = zip(*(part.states for part in pieces), strict=True)
    return Filtered(predictions, filled, tuple(join(list(parts)) for parts in states))


def recent_along(recent: Tensor, values: Tensor) -> Tensor:
    """Returns (batch, time, lags·d): the rows before each of the observations `values` (batch, time, d), oldest first.

    recent (batch, lags·d): the rows before the first of them.
    """
    lags = recent.shape[1] // values.shape[2]
    if not lags:
        return values[..., :0]
    rows = torch.cat([recent.unflatten(1, (lags, values.shape[2])), values], 1)[:, :-1]
    return rows.unfold(1, lags, 1).transpose(2, 3).flatten(2)


@torch.no_grad()
def filter_by_all_ranks(model: SequenceModel, values: Tensor, mask: Tensor) -> Filtered:
    """Returns what `filter_sequences` does, each rank filtering its share of the sequences (all of them where there are
    fewer than ranks).

    Every rank gets all of the result. There is no gradient.
    """
    if not 1 < world() <= len(values):
        return filter_sequences(model, values, mask)
    own = own_rows(len(values))
    share = filter_sequences(model, values[own], mask[own])
    predictions, *states = (rows_of_all_ranks(part, len(values)) for part in (share.predictions, *share.states))
    return Filtered(predictions, torch.where(mask, values, predictions), tuple(states))


@torch.no_grad()
def one_step_error(model: SequenceModel, part: MaskedSequences) -> float:
    """Returns the mean squared one-step error of scored entries, standardised; infinite where the filter diverged."""
    predictions = filter_sequences(model, part.values, up_to_end(part.mask)).predictions
    return float(infinite_where_nan(masked_mse(predictions, part.values, part.scored)))


def batches(rows: Sequence[int], whole: Sequence[bool], most: int) -> list[list[int]]:
    """Returns the places of sequences to filter together: of like numbers of `rows`, those without gaps (`whole`) by
    themselves.

    Padded to its longest sequence a batch has at most `most` rows, or is a single sequence.
    """
    groups: list[list[int]] = []
    for i in sorted(range(len(rows)), key=lambda i: (whole[i], rows[i])):
        last = groups[-1] if groups else []
        if not last or whole[i] != whole[last[0]] or (len(last) + 1) * rows[i] > most:
            groups.append([])
        groups[-1].append(i)
    return groups


def filter_unequal(model: SequenceModel, values: Sequence[Tensor], masks: Sequence[Tensor]) -> tuple[Tensor, State]:
    """Filters sequences of unequal length in one pass. values and masks: (time, feature) each.

    Returns the predictions (sequence, longest + 1, feature), which mean something up to one row after a sequence's own
    end, and the state after each sequence's last row. A row depends on those before it alone, so what pads the end (0,
    as if observed) changes nothing.
    """
    ends = torch.tensor([len(series) for series in values], device=values[0].device)
    extra = int(ends.max()) + 1
    padded = torch.stack([pad(series, (0, 0, 0, extra - len(series))) for series in values])
    mask = torch.stack([pad(observed, (0, 0, 0, extra - len(observed)), value=True) for observed in masks])
    filtered = filter_sequences(model, padded, mask)
    rows = torch.arange(len(values), device=ends.device)
    return filtered.predictions, tuple(part[rows, ends] for part in filtered.states)


def scored_steps(mask: Tensor, *, first_step: int) -> Tensor:
    """Returns the entries of a mask (sequence, time, feature) that count in every error of every model: observed, and
    behind at least `first_step` rows of their sequence, see `rows_before`."""
    return mask & (rows_before(mask) >= first_step).unsqueeze(2)


def scored_features(scored: Tensor) -> Tensor:
    """Returns which features (feature,) have an entry in scored (sequence, time, feature)."""
    return scored.any(0).any(0)
