"""The predictive state recurrent network: bilinear state update of unit norm, and a readout of the next observation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.filtering import State
from models.psrnn.fused import (
    SCRATCH_BYTES,
    scratch_bytes,
    signed_norms,
    states_with_gradient,
    states_without_gradient,
)
from models.recurrent import Recurrent


def bilinear(update: Tensor, bias: Tensor, belief: Tensor, features: Tensor) -> Tensor:
    """z = W ×₂ q ×₃ ω + b (paper, section 3). update (s, s, w), bias (s,), belief (batch, s), features (batch, w)."""
    products = (belief.unsqueeze(2) * features.unsqueeze(1)).flatten(1)
    return torch.addmm(bias, products, update.flatten(1).T)


def normalise(z: Tensor, reference: Tensor | None) -> Tensor:
    """q = ± z/‖z‖₂. With a `reference` (s,) the sign is the one with ⟨q, reference⟩ ≥ 0, without it it is +."""
    return z / signed_norms(z, reference)


class PSRNN(Recurrent):
    """q_{t+1} = ± z/‖z‖ with z = W ×₂ q_t ×₃ ω(o_t) + b;  ô_t = M [q_t, o_{t−lags}, …, o_{t−1}] + c  (paper, section 3)

    frequencies: of the observation features; projected: their number after the projection, None without one (then
    w = 2·frequencies); dimension: d observed features; state: s. lags: see `Recurrent`.
    keep_sign: keep ⟨q, q_1⟩ ≥ 0, so that a state cannot lock on to its own negative (`update=bayes`).
    learn_frequencies: train the frequencies of the observation features by gradient as well.
    Trained: update, bias, initial, readout. Fixed: reference, projection, and the frequencies unless they are learned.
    """

    def __init__(
        self,
        *,
        frequencies: int,
        dimension: int,
        state: int,
        projected: int | None = None,
        lags: int = 0,
        keep_sign: bool = True,
        learn_frequencies: bool = False,
    ) -> None:
        super().__init__(dimension=dimension, exposed=state, lags=lags)
        self.architecture = {
            "frequencies": frequencies, "dimension": dimension, "state": state, "projected": projected, "lags": lags,
            "keep_sign": keep_sign, "learn_frequencies": learn_frequencies,
        }  # fmt: skip
        self.keep_sign = keep_sign
        projection = None if projected is None else torch.zeros(2 * frequencies, projected)
        self.features = RandomFeatureMap(torch.zeros(frequencies, dimension), projection)
        self.features.frequencies.requires_grad_(learn_frequencies)
        self.update_tensor = nn.Parameter(torch.zeros(state, state, self.features.size))
        self.bias = nn.Parameter(torch.zeros(state))
        self.initial = nn.Parameter(torch.zeros(state))
        self.reference: Tensor
        self.register_buffer("reference", torch.zeros(state))

    def set_update(self, update: Tensor, initial: Tensor) -> None:
        """Take W (s, s, w) and q_1 (s,), which is also the direction that fixes the sign; the bias becomes 0."""
        with torch.no_grad():
            self.update_tensor.copy_(update)
            self.initial.copy_(initial)
            self.reference.copy_(initial)
            self.bias.zero_()

    def initial_belief(self, batch: int) -> State:
        return ((self.initial / self.initial.norm()).expand(batch, -1),)

    def beliefs_along(self, belief: State, values: Tensor) -> State:
        """See `psrnn.fused`; step by step where the gradient would keep too many matrices."""
        features = self.features(values.transpose(0, 1))
        reference = self.reference if self.keep_sign else None
        parts = self.update_tensor, self.bias, belief[0], features, reference
        if not torch.is_grad_enabled():
            return (states_without_gradient(*parts).transpose(0, 1),)
        if scratch_bytes(self.update_tensor, features) > SCRATCH_BYTES:
            return super().beliefs_along(belief, values)
        return (states_with_gradient(*parts).transpose(0, 1),)

    def advance(self, belief: State, observation: Tensor) -> State:
        z = bilinear(self.update_tensor, self.bias, belief[0], self.features(observation))
        return (normalise(z, self.reference if self.keep_sign else None),)
