"""A model beneath a readout of its own: the state, lags, traces and random features, a map for each horizon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from models.forecasting.filtering import Filtered, State, filter_sequences, recent_along
from models.forecasting.readouts.differences import Differences
from models.forecasting.readouts.inputs import HistoryFeatures
from models.forecasting.recurrent import Recurrent
from models.forecasting.rolling import iterated
from models.forecasting.traces import decays, next_traces, traces_along
from models.numerics.ridge import AffineMap
from models.runtime.progress import advanced


def exposed_by(model: nn.Module, state: State) -> Tensor | None:
    """Returns what a readout may see of a model's state, (…, size), without recent rows; None where it exposes
    nothing.

    A model other than a `Recurrent` exposes what its method `exposed` makes of the state.
    """
    if isinstance(model, Recurrent):
        return model.exposed(model.belief(state))
    exposed: Any = getattr(model, "exposed", None)
    return None if exposed is None else exposed(state)


class GroupedReadout(nn.Module):
    """Predicts ô_{t+h−1} = M_h [s_t, l_t, e_t, Φ(l_t, e_t)] + c_h from the rows before t, one map for each horizon h.

    s_t: the state that `base` exposes, none for a model without one; l_t: the last `lags` rows, oldest first; e_t:
    exponential traces of the rows, of the time constants `traces`; Φ: random features, of `count` frequencies. The
    first map predicts the next row. It filters, and iterated it forecasts further; the horizons whose entry of `direct`
    is set are forecast by their own map. Until `history` rows were seen the base predicts in its place.

    base: moves its state on, and is left as it is. dimension: d; horizons: how many maps there are. The state is that
    of the base, then l_t (batch, lags · d), e_t (batch, traces · d), and the rows seen (batch, 1), at most `history`.
    Raises ValueError for a time constant that is not positive and finite.
    """

    direct: Tensor
    decay: Tensor

    def __init__(
        self, base: nn.Module, *, dimension: int, lags: int, traces: Sequence[float], count: int, horizons: int
    ) -> None:
        super().__init__()
        self.architecture = {
            "dimension": dimension, "lags": int(lags), "traces": list(map(float, traces)), "count": int(count),
            "horizons": horizons,
        }  # fmt: skip
        self.base, self.lags, self.traces = base, lags, tuple(traces)
        self.features = HistoryFeatures(size=(lags + len(traces)) * dimension, count=count)
        inputs = self.state_size + (lags + len(traces)) * dimension + 2 * count
        self.weight = nn.Parameter(torch.zeros(horizons, dimension, inputs), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(horizons, dimension), requires_grad=False)
        self.register_buffer("direct", torch.zeros(horizons, dtype=torch.bool))
        self.register_buffer("decay", torch.from_numpy(decays(self.traces)).unsqueeze(1), persistent=False)

    @property
    def history(self) -> int:
        """Returns how many rows the model wants to have seen before the first that it predicts."""
        return max(self.lags, int(getattr(self.base, "history", 0)))

    @property
    def state_size(self) -> int:
        """Returns how many numbers of its state the base exposes."""
        model: Any = self.base
        exposed = exposed_by(model, model.initial_state(1))
        return 0 if exposed is None else exposed.shape[-1]

    @property
    def group_sizes(self) -> tuple[int, int, int, int]:
        """Returns how many inputs are of the state, the lags, the traces and the random features, in this order."""
        dimension = self.bias.shape[1]
        features = 2 * len(self.features.frequencies)
        return self.state_size, self.lags * dimension, len(self.traces) * dimension, features

    @property
    def differences(self) -> Differences:
        """Returns what takes the last row from its inputs."""
        dimension = self.bias.shape[1]
        return Differences(self.state_size, self.lags, self.lags + len(self.traces), dimension)

    def history_of(self, state: State) -> Tensor:
        """Returns h_t = [l_t, e_t], (…, (lags + traces) · d)."""
        return torch.cat(state[-3:-1], -1)

    def inputs(self, state: State) -> Tensor:
        """Returns what the maps are applied to, (…, input): s_t, l_t, e_t and Φ."""
        history = self.history_of(state)
        exposed = exposed_by(self.base, state[:-3])
        seen = [history, self.features(history)]
        return torch.cat(seen if exposed is None else [exposed, *seen], -1)

    def set_map(self, horizon: int, fit: AffineMap) -> None:
        """Sets M_h and c_h to those of the map."""
        with torch.no_grad():
            self.weight[horizon - 1].copy_(fit.weight)
            self.bias[horizon - 1].copy_(fit.bias)

    def initial_state(self, batch: int) -> State:
        """Returns the state of `batch` sequences before their first row."""
        model: Any = self.base
        dimension = self.bias.shape[1]
        columns = self.lags * dimension, len(self.traces) * dimension, 1
        return (*model.initial_state(batch), *(self.bias.new_zeros(batch, size) for size in columns))

    def is_read(self, state: State) -> Tensor:
        """Returns bools (…, 1): whether the maps are applied there, and not the base."""
        return state[-1] >= self.history

    def has_begun(self, state: State) -> Tensor:
        """Returns bools (batch,): whether a row was seen; true where no row is wanted."""
        return state[-1][:, 0] >= min(1, self.history)

    def predict(self, state: State) -> Tensor:
        """Returns the expected next row (…, d)."""
        prediction = nn.functional.linear(self.inputs(state), self.weight[0], self.bias[0])
        unread = ~self.is_read(state)[..., 0]
        if bool(unread.any()):
            model: Any = self.base
            prediction[unread] = model.predict(tuple(part[unread] for part in state[:-3]))
        return prediction

    def update(self, state: State, observation: Tensor) -> State:
        """Returns the state after one more row (batch, d)."""
        model: Any = self.base
        *base, recent, traces, seen = state
        if self.lags:
            recent = torch.cat([recent, observation], 1)[:, observation.shape[1] :]
        if self.traces:
            traces = next_traces(traces, observation, self.decay)
        return (*model.update(tuple(base), observation), recent, traces, (seen + 1).clamp(max=self.history))

    def fed_back(self, state: State, prediction: Tensor) -> State:
        """Returns the state after a prediction (batch, d) that stands for a row. It is no row seen: where the maps are
        not applied yet the counts stand still, so that the base, by its start-up where it has one, gives all horizons.

        The maps are chosen by forecasts from rows where they are applied. Fed back from earlier rows, the first of them
        or the readout of the base could grow without end, which nothing would have measured.
        """
        moved, read = self.update(state, prediction), self.is_read(state)
        counts = {-1} if getattr(self.base, "start_up", None) is None else {-1, -4}  # of rows; the base's is its last
        return tuple(
            torch.where(read, new, old) if place - len(state) in counts else new
            for place, (new, old) in enumerate(zip(moved, state, strict=True))
        )

    def states_observed(self, start: State, values: Tensor) -> State:
        """Returns the states *before* each of the rows (batch, time, d), all of which are there."""
        model: Any = self.base
        *base, recent, traces, seen = start
        filtered = filter_sequences(model, values, torch.ones_like(values, dtype=torch.bool), tuple(base))
        steps = torch.arange(values.shape[1], device=seen.device, dtype=seen.dtype)
        counts = (seen + steps).clamp(max=self.history).unsqueeze(2)
        along = traces_along(values, self.traces, traces)
        return (*filtered.states, recent_along(recent, values), along, counts)

    def filter_observed(self, start: State, values: Tensor) -> Filtered:
        """Returns what `filter_sequences` does where every entry was observed."""
        states = self.states_observed(start, values)
        return Filtered(self.predict(states), values, states)

    def forecast_ahead(self, state: State, horizons: Sequence[int]) -> Tensor:
        """Returns (batch, len(horizons), d): each horizon by its own map where `direct` says so, the others iterated;
        those of sequences that are not read yet are wholly the base's, see `fed_back`.

        horizons: 1 or more and ascending.
        """
        begun = self.is_read(state)[:, 0]
        if bool(begun.all()):
            return self._forecast_read(state, horizons)
        forecasts = self.bias.new_empty(len(begun), len(horizons), self.bias.shape[1])
        forecasts[~begun] = iterated(self, tuple(part[~begun] for part in state), horizons)
        if bool(begun.any()):
            forecasts[begun] = self._forecast_read(tuple(part[begun] for part in state), horizons)
        return forecasts

    def _forecast_read(self, state: State, horizons: Sequence[int]) -> Tensor:
        """Returns `forecast_ahead` of sequences that are read."""
        own = [h <= len(self.direct) and bool(self.direct[h - 1]) for h in horizons]
        fed_back = [h for h, direct in zip(horizons, own, strict=True) if not direct]
        rolled = dict(zip(fed_back, iterated(self, state, fed_back).unbind(1), strict=True)) if fed_back else {}
        advanced(len(state[0]) * (max(horizons) - max(fed_back, default=0)))
        inputs = self.inputs(state)
        forecasts = [
            rolled[h] if h in rolled else nn.functional.linear(inputs, self.weight[h - 1], self.bias[h - 1])
            for h in horizons
        ]
        return torch.stack(forecasts, 1)
