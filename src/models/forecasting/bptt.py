"""Truncated back-propagation through time, as an objective for the gradient loop (paper, section 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import (
    Filtered,
    MaskedSequences,
    State,
    filter_by_all_ranks,
    filter_sequences,
    gapless,
    has_gaps,
    up_to_end,
    where_moved,
)
from models.forecasting.recurrent import Recurrent
from models.numerics.ridge import masked_mse
from models.runtime.collectives import rank, take_from_first_rank, world
from models.runtime.objective import Loss


class Chunks(NamedTuple):
    """Says where each chunk of at most `horizon` steps begins, its sequence and its first time step, and how many
    scored entries it has; (chunk,) each."""

    sequence: Tensor
    start: Tensor
    entries: Tensor


def cut_chunks(scored: Tensor, *, horizon: int) -> Chunks:
    """Returns consecutive chunks of `horizon` steps of every sequence; chunks without a scored entry are left out.

    scored (sequence, time, feature). Raises ValueError for a horizon below 1 and when nothing is scored.
    """
    if horizon < 1:
        raise ValueError(f"horizon must be at least 1, got {horizon}")
    starts = torch.arange(0, scored.shape[1], horizon, device=scored.device)
    entries = torch.stack([scored[:, int(s) : int(s) + horizon].sum((1, 2)) for s in starts], 1)
    sequence, index = entries.nonzero(as_tuple=True)
    if not len(sequence):
        raise ValueError(
            "no training step to refine on: every one is missing or not scored; score earlier ones, or give more data"
        )
    return Chunks(sequence, starts[index], entries[sequence, index])


def pad_time(part: Tensor, steps: int) -> Tensor:
    """Returns a part (sequence, time, …) with zeros (False) appended along time up to a multiple of `steps`."""
    missing = -part.shape[1] % steps
    return torch.cat([part, part.new_zeros(len(part), missing, *part.shape[2:])], 1)


class TruncatedBPTT:
    """Is the mean squared one-step error over chunks of `horizon` steps, each begun from the filtered state before it.

    The start states come from one filtering of the whole training part at the begin of every epoch (`refresh`) and
    carry no gradient, except for the first chunk of a sequence, which begins at the trained first state. So chunks are
    independent of one another, can be shuffled, and one long sequence makes as full a batch as many short ones. Several
    ranks share the sequences when they filter, and the chunks of every batch.

    A chunk is *whole* when nothing is missing up to its last observed row; nothing after that is scored. Whole chunks
    are filtered at once, the others of a batch mostly step by step (`filter_sequences`). Where the readout is solved,
    what it makes of the recent observations does not change in a whole chunk within an epoch; `refresh` computes it for
    all steps at once.

    repeats: whether `refresh` finds the same to the bit when it is called again. Not with gaps: the filter fills them
        by the readout that there was before it is solved.

    solve_readout: called with the model at every refresh, to solve the readout in closed form; then it has no gradient.
        Returns the training part as filtered with the new readout, None if it is to be filtered anew.
    """

    def __init__(
        self,
        model: Recurrent,
        train: MaskedSequences,
        *,
        horizon: int,
        batch_size: int,
        solve_readout: Callable[[Recurrent], Filtered | None] | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self.model, self.train, self.horizon, self.batch_size = model, train, horizon, batch_size
        self.solve_readout = solve_readout
        self.repeats = not has_gaps(train.mask)
        self.chunks = cut_chunks(train.scored, horizon=horizon)
        self.padded = MaskedSequences(*(pad_time(part, horizon) for part in train))
        of_all_chunks = gapless(self.padded.mask.unflatten(1, (-1, horizon)).flatten(0, 1)).view(len(train.mask), -1)
        self.whole = of_all_chunks[self.chunks.sequence, self.chunks.start // horizon]
        self.states: State
        self.filled: Tensor
        self.lag_share: Tensor | None = None
        self.read: Tensor  # where the readout is, and not the start-up

    def parameters(self) -> list[torch.nn.Parameter]:
        """Returns the parameters that the gradient trains: without those of a readout that is solved."""
        solved = {id(p) for p in self.model.readout_parameters} if self.solve_readout else set()
        return [p for p in self.model.parameters() if p.requires_grad and id(p) not in solved]

    def refresh(self, *, solve: bool = True) -> float:
        """Solves the readout (if it is solved at all), filters the training part and keeps the start states.

        Every rank goes on with the model of rank 0, so that what rounding makes different between unlike machines
        does not add up.
        Returns the training error, a mean square in standardised units. With solve=False the readout stays as it is: to
        go on from a checkpoint.
        """
        with torch.no_grad():
            take_from_first_rank(self.model.state_dict().values())
            filtered = self.solve_readout(self.model) if solve and self.solve_readout else None
            filtered = filtered or filter_by_all_ranks(self.model, self.train.values, up_to_end(self.train.mask))
            self.states, self.filled = filtered.states, filtered.filled
            if self.solve_readout and bool(self.whole.any()):
                share = self.model.state_share(self.model.exposed(self.model.belief(filtered.states)))
                read = self.model.is_read(filtered.states)
                self.lag_share = pad_time(filtered.predictions - torch.where(read, share, 0.0), self.horizon)
                self.read = pad_time(read, self.horizon)
            error = masked_mse(filtered.predictions, self.train.values, self.train.scored)
            take_from_first_rank([error])
            return float(error)

    def remembered(self) -> tuple[State, Tensor, Tensor | None]:
        """Returns what the last `refresh` found along the training part."""
        return self.states, self.filled, self.lag_share

    def recall(self, remembered: tuple[State, Tensor, Tensor | None]) -> None:
        """Makes the objective as it was after the `refresh` that found it; the model has to have the parameters of
        then.

        Every rank goes on with the model of rank 0, as after `refresh`: each has solved the readout by itself.
        """
        take_from_first_rank(self.model.state_dict().values())
        self.states, self.filled, self.lag_share = remembered

    def batches(self, generator: torch.Generator) -> Iterator[Tensor]:
        """Yields numbers of chunks (batch,), each chunk once, in random order."""
        order = torch.randperm(len(self.chunks.sequence), generator=generator)
        yield from order.to(self.chunks.sequence.device).split(self.batch_size)

    def places(self, batch: Tensor) -> tuple[Tensor, Tensor]:
        """Returns rows (batch, 1) and time steps (batch, horizon) of the chunks in `batch` (batch,).

        They are places in `train`, padded to whole chunks.
        """
        steps = self.chunks.start[batch].unsqueeze(1) + torch.arange(self.horizon, device=batch.device)
        return self.chunks.sequence[batch].unsqueeze(1), steps

    def chunk(self, batch: Tensor) -> MaskedSequences:
        """Returns the chunks in `batch` (batch,), as sequences (batch, horizon, feature)."""
        places = self.places(batch)
        return MaskedSequences(*(part[places] for part in self.padded))

    def start_state(self, batch: Tensor) -> State:
        """Returns the states that the chunks in `batch` (batch,) begin with, each tensor (batch, …)."""
        sequence, start = self.chunks.sequence[batch], self.chunks.start[batch]
        stored = tuple(part[sequence, start] for part in self.states)
        return where_moved(start == 0, self.model.initial_state(len(batch)), stored)

    def loss(self, batch: Tensor) -> Loss:
        """Returns the sum of squared errors over the scored entries of the chunks in `batch` (batch,), and how many
        entries these are.

        Of several ranks each gives those of its part of the chunks.
        """
        own = batch[rank() :: world()]
        if not len(own):  # a chunk of another rank, so that the gradient is there, and 0
            return Loss(0 * self._errors(batch[:1]).sum(), 0.0)
        return Loss(self._errors(own).sum(), self.chunks.entries[own].sum())

    def _errors(self, batch: Tensor) -> Tensor:
        """Returns squared errors (batch, horizon, feature) in any order of chunks, 0 where not scored."""
        whole = self.whole[batch]
        if self.lag_share is None or not bool(whole.any()):
            return self._squared(batch, None)
        if bool(whole.all()):
            return self._squared(batch, self.lag_share)
        return torch.cat([self._squared(batch[whole], self.lag_share), self._squared(batch[~whole], None)])

    def _squared(self, batch: Tensor, lag_share: Tensor | None) -> Tensor:
        """Returns squared errors (batch, horizon, feature) of the chunks in their order, 0 where not scored.

        lag_share (sequence, time, feature): that of `refresh`, for whole chunks; None for others.
        """
        values, mask, scored = self.chunk(batch)
        start = self.start_state(batch)
        if lag_share is None:
            predictions = filter_sequences(self.model, values, up_to_end(mask), start).predictions
        else:
            exposed = self.model.exposed_along(self.model.belief(start), values)
            places, share = self.places(batch), self.model.state_share(exposed)
            predictions = torch.where(self.read[places], share, 0.0) + lag_share[places]
        return torch.where(scored, (predictions - values).square(), 0.0)
