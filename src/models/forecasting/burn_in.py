"""How many rows a state has to have seen before the readout that joins it with recent observations is read."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from models.forecasting.filtering import MaskedSequences
from models.forecasting.recurrent import Recurrent
from models.numerics.evenly_spaced import evenly_spaced
from models.numerics.ties import NEAR_TIE
from models.runtime.collectives import take_from_first_rank

RESTARTS, STEPS = 64, 32  # places at which the filter begins anew; rows after the lags that it is watched for


class BurnIn(NamedTuple):
    """Holds rows: how many have to be seen before the readout is read; still_worse: whether it was worse than the
    last value after the last number of rows that was watched too, so that `rows` is no more than where the watch
    ended."""

    rows: int
    still_worse: bool


def restarts(part: MaskedSequences, *, steps: int) -> Tensor:
    """Returns (restart, steps, feature): stretches without gaps from all over the sequences, at most `RESTARTS` of
    them."""
    if part.values.shape[1] < steps:
        return part.values[:0, :steps]
    complete = part.mask.all(2).unfold(1, steps, 1).all(2)
    sequence, start = evenly_spaced(complete.nonzero(), RESTARTS).unbind(1)
    return part.values[sequence.unsqueeze(1), start.unsqueeze(1) + torch.arange(steps, device=start.device)]


@torch.no_grad()
def rows_until_read(model: Recurrent, train: MaskedSequences) -> BurnIn:
    """Returns the least number of rows, at least `model.lags`, from which on the readout is no worse than the last
    value: its error is at most `NEAR_TIE` times as large.

    The filter begins anew at many places of the training part, which a state at its beginning does not fit as it fits
    the beginnings that it was trained on; after each number of rows the mean squared errors are compared, over all
    restarts and features. Where no stretch without gaps is long enough, it is `model.lags`.
    """
    longest = int(train.mask.any(2).sum(1).max())
    steps = min(model.lags + STEPS, max(model.lags + 2, longest // 2)) + 1
    values = restarts(train, steps=steps)
    if not len(values):
        return BurnIn(model.lags, still_worse=False)
    states = model.states_observed(model.initial_state(len(values)), values)
    ours = (model.read(states) - values).square()[:, model.lags :].mean((0, 2))
    last = values.diff(dim=1).square()[:, model.lags - 1 :].mean((0, 2))
    worse = ~(ours <= NEAR_TIE * last)
    places = worse.nonzero()
    return BurnIn(model.lags + (int(places[-1]) + 1 if len(places) else 0), still_worse=bool(worse[-1]))


def settle_start_up(model: Recurrent, train: MaskedSequences) -> bool:
    """Lets the start-up stand in for as long as `rows_until_read` says.

    Returns whether the readout is still worse then. Of several ranks the first one's answer counts.
    """
    if model.start_up is None:
        return False
    burn_in = torch.tensor([float(part) for part in rows_until_read(model, train)], device=train.values.device)
    take_from_first_rank([burn_in])
    rows, still_worse = burn_in.tolist()
    model.start_up = model.start_up.until(int(rows))
    return bool(still_worse)
