"""The predictive state recurrent network: bilinear state update of unit norm, and a readout of the next observation."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.filtering import State
from models.numerics.ridge import AffineMap


class BeliefState(NamedTuple):
    """belief q_t (batch, s), of unit norm; recent (batch, lags·d): o_{t−lags}, …, o_{t−1}, oldest first."""

    belief: Tensor
    recent: Tensor


def bilinear(update: Tensor, bias: Tensor, belief: Tensor, features: Tensor) -> Tensor:
    """z = W ×₂ q ×₃ ω + b (paper, section 3). update (s, s, w), bias (s,), belief (batch, s), features (batch, w)."""
    products = (belief.unsqueeze(2) * features.unsqueeze(1)).flatten(1)
    return torch.addmm(bias, products, update.flatten(1).T)


def normalise(z: Tensor, reference: Tensor | None) -> Tensor:
    """q = ± z/‖z‖₂. With a `reference` (s,) the sign is the one with ⟨q, reference⟩ ≥ 0, without it it is +."""
    unit = z / z.norm(dim=1, keepdim=True).clamp(min=torch.finfo(z.dtype).tiny)
    if reference is None:
        return unit
    return torch.where((z @ reference < 0).unsqueeze(1), -unit, unit)


class PSRNN(nn.Module):
    """q_{t+1} = ± z/‖z‖ with z = W ×₂ q_t ×₃ ω(o_t) + b;  ô_t = M [q_t, o_{t−lags}, …, o_{t−1}] + c  (paper, section 3)

    frequencies: of the observation features (w = 2·frequencies); dimension: d observed features; state: s.
    lags: recent observations that the readout sees beside the state (0 is the paper's linear readout); before the
    first observation they are 0, the training mean in standardised units.
    keep_sign: keep ⟨q, q_1⟩ ≥ 0, so that a state cannot lock on to its own negative (`update=bayes`).
    Trained: update, bias, initial, readout_weight, readout_bias. Fixed: frequencies, reference.
    """

    def __init__(self, *, frequencies: int, dimension: int, state: int, lags: int = 0, keep_sign: bool = True) -> None:
        super().__init__()
        if lags < 0:
            raise ValueError(f"readout.lags must be 0 or more, got {lags}")
        self.architecture = {
            "frequencies": frequencies, "dimension": dimension, "state": state, "lags": lags, "keep_sign": keep_sign,
        }  # fmt: skip
        self.features = RandomFeatureMap(torch.zeros(frequencies, dimension))
        self.update_tensor = nn.Parameter(torch.zeros(state, state, 2 * frequencies))
        self.bias = nn.Parameter(torch.zeros(state))
        self.initial = nn.Parameter(torch.zeros(state))
        self.readout_weight = nn.Parameter(torch.zeros(dimension, state + lags * dimension))
        self.readout_bias = nn.Parameter(torch.zeros(dimension))
        self.reference: Tensor
        self.register_buffer("reference", torch.zeros(state))

    @property
    def lags(self) -> int:
        return int(self.architecture["lags"])

    def set_update(self, update: Tensor, initial: Tensor) -> None:
        """Take W (s, s, w) and q_1 (s,), which is also the direction that fixes the sign; the bias becomes 0."""
        with torch.no_grad():
            self.update_tensor.copy_(update)
            self.initial.copy_(initial)
            self.reference.copy_(initial)
            self.bias.zero_()

    def set_readout(self, readout: AffineMap) -> None:
        with torch.no_grad():
            self.readout_weight.copy_(readout.weight)
            self.readout_bias.copy_(readout.bias)

    def initial_state(self, batch: int) -> BeliefState:
        belief = (self.initial / self.initial.norm()).expand(batch, -1)
        return BeliefState(belief, belief.new_zeros(batch, self.lags * self.readout_bias.shape[0]))

    def readout_inputs(self, state: State) -> Tensor:
        return torch.cat(state, -1)

    def predict(self, state: State) -> Tensor:
        return torch.nn.functional.linear(self.readout_inputs(state), self.readout_weight, self.readout_bias)

    def update(self, state: State, observation: Tensor) -> BeliefState:
        belief, recent = state
        z = bilinear(self.update_tensor, self.bias, belief, self.features(observation))
        belief = normalise(z, self.reference if self.architecture["keep_sign"] else None)
        if not self.lags:
            return BeliefState(belief, recent)
        return BeliefState(belief, torch.cat([recent, observation], 1)[:, observation.shape[1] :])
