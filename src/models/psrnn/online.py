"""Filtering one observation at a time: a trained PSRNN beside a live signal."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.forecasting.start_up import StartUp

OnlineState = tuple[Tensor, Tensor, Tensor]


class OnlineStep(nn.Module):
    """Takes one step of `filtering.filter_sequences` for a single sequence, in as few operations as it takes:

        z = W₍₁₎ (q_t ⊗ ω_t) + b,   q_{t+1} = ± z/‖z‖,   ô_{t+1} = M [q_{t+1}, o_{t+1−lags}, …, o_t] + c

    W₍₁₎ (s, s·w) is W as it lies in memory: one product that reads it once, along rows of s·w numbers. Forming
    A = W ×₃ ω first would read it along s² rows of w, which is slower, or want a transposed copy. Cosines are sines
    shifted by π/2. The features' factor 1/√m is left to the division by the norm, with b scaled in its place. Whitening
    is folded into the frequencies and the shift.

    The state is a belief q (s,), the last observations (n·d,), oldest first, followed by the number of rows seen
    where the model has a start-up (`models.forecasting.start_up`), and the prediction ô (d,) of the next. n is the
    number of lags, or of the observations that the delay wants beside the newest, whichever is more.

        belief, recent, prediction = step.initial()
        belief, recent, prediction = step(belief, recent, observation)

    Units are the model's standardised ones; `Forecaster.online` is the same in the data's own units. No gradient is
    recorded. W is shared with the model and the rest is copied: make a new step when the model has been trained on.

    model: a `models.psrnn.cell.PSRNN`, which imports this module.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        frequencies, projection = model.features.frequencies.detach(), model.features.projection
        self.dimension, self.lags = len(model.readout_bias), model.lags
        self.waves = 2 * len(frequencies)  # the features after them are the inputs themselves
        self.lagged, self.before = self.lags * self.dimension, model.before
        self.kept = max(self.lagged, self.before)  # numbers of the recent observations
        self.tiny = torch.finfo(model.bias.dtype).tiny
        # plain attributes: looking up a buffer costs as much as a small product
        self.frequencies, self.shift = phases_of(model.features)
        self.projection = None if projection is None else projection.T.contiguous()
        self.update = model.update_tensor.detach().flatten(1)
        self.bias = model.bias.detach() * len(frequencies) ** 0.5
        self.reference = model.reference.clone() if model.keep_sign else None
        self.readout = model.readout_bias.detach().clone(), model.readout_weight.detach().clone()
        self.first = model.initial_belief(1)[0][0].detach().clone()
        self.start_up = model.start_up
        if self.start_up is not None:
            self.orders = self.first.new_tensor(self.start_up.orders)
            self.lower = padded_weights(self.start_up, self.lags), self.start_up.bias.clone()

    def initial(self) -> OnlineState:
        """Returns the state before the first observation."""
        recent = self.first.new_zeros(self.kept + (self.start_up is not None))
        return self.first, recent, self._read(self.first, recent)

    def forward(self, belief: Tensor, recent: Tensor, observation: Tensor) -> OnlineState:
        """Returns the state after one more observation (d,).

        It has to be complete: put the last prediction where an entry is missing. Begin with the first that has a value.
        """
        held = recent[: self.kept]
        delayed = torch.cat([held[self.kept - self.before :], observation]) if self.before else observation
        features = torch.addmv(self.shift, self.frequencies, delayed)
        features[: self.waves].sin_()
        if self.projection is not None:
            features = torch.mv(self.projection, features)
        z = torch.addmv(self.bias, self.update, torch.outer(belief, features).view(-1))
        norm = torch.dot(z, z).sqrt_().clamp_min_(self.tiny)
        if self.reference is not None:
            norm.copysign_(torch.dot(z, self.reference))
        belief = z.div_(norm)
        if self.start_up is not None:
            seen = self.start_up.counted(recent[-1:].unsqueeze(0), 1)[0, 1:]
            recent = torch.cat([recent[self.dimension : -1], observation, seen])
        elif self.kept:
            recent = torch.cat([recent, observation])[self.dimension :]
        return belief, recent, self._read(belief, recent)

    def _read(self, belief: Tensor, recent: Tensor) -> Tensor:
        lagged = recent[self.kept - self.lagged : self.kept]
        if self.start_up is None:
            return torch.addmv(*self.readout, torch.cat([belief, lagged]) if self.lags else belief)
        seen = recent[-1:]
        prediction = torch.addmv(*self.readout, torch.cat([belief, lagged]))
        if not torch.compiler.is_compiling() and float(seen) >= self.start_up.history:
            return prediction
        place = (self.orders <= seen).sum(0, keepdim=True) - 1
        weight, bias = (part.index_select(0, place)[0] for part in self.lower)
        return torch.where(seen < self.start_up.history, torch.addmv(bias, weight, lagged), prediction)


def phases_of(features: RandomFeatureMap) -> tuple[Tensor, Tensor]:
    """Returns a matrix (feature, n) and a shift (feature,) of inputs (n,): phases, whose sines are √m times the first
    2m features, then √m times those that are inputs themselves. It has no gradient."""
    frequencies, metric = features.frequencies.detach(), features.metric
    matrix = torch.cat([frequencies, frequencies])
    shift = frequencies.new_tensor([math.pi / 2, 0.0]).repeat_interleave(len(frequencies))
    if metric is None:
        return matrix, shift
    if metric.linear is not None:
        beside = metric.linear * len(frequencies) ** 0.5 * torch.eye(matrix.shape[1]).to(matrix)
        matrix, shift = torch.cat([matrix, beside]), torch.cat([shift, shift.new_zeros(len(beside))])
    if metric.root is not None:
        matrix = matrix @ metric.root.T
    return matrix, shift - matrix @ metric.centre


def padded_weights(start_up: StartUp, lags: int) -> Tensor:
    """Returns weights (order, d, lags·d), which are 0 for the rows that an order does not read."""
    dimension = start_up.bias.shape[1]
    weights = start_up.bias.new_zeros(len(start_up.orders), dimension, lags * dimension)
    for weight, order in zip(weights, start_up.orders, strict=True):
        weight[:, (lags - order) * dimension :] = start_up.weight(order)
    return weights


def export_online_step(model: Any) -> torch.export.ExportedProgram:
    """Returns the step as a graph of `torch.export`, which runs where there is torch and not this package.

    `torch.export.save` writes it; `torch.export.load(path).module()` is called as an `OnlineStep` is.
    """
    step = OnlineStep(model).eval()
    belief, recent, prediction = step.initial()
    return torch.export.export(step, (belief, recent, torch.zeros_like(prediction)))
