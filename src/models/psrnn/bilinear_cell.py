"""What every cell with a bilinear update and a state of unit norm shares, however the update's tensor is held."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.features.metric import empty_metric
from models.forecasting.filtering import State, recent_along
from models.forecasting.recurrent import Recurrent
from models.psrnn.fused import signed_norms
from models.psrnn.shape import CellShape


def normalise(z: Tensor, reference: Tensor | None) -> Tensor:
    """Returns q = ± z/‖z‖₂ for z (B, s).

    With a `reference` (s,) the sign is the one with ⟨q, reference⟩ ≥ 0, without it it is +.
    """
    return z / signed_norms(z, reference)


def feature_map(shape: CellShape) -> RandomFeatureMap:
    """Returns the map of observations of a cell of that shape, whose numbers are still to be loaded."""
    projection = None if shape.projected is None else torch.zeros(shape.unprojected, shape.projected)
    metric = empty_metric(shape.inputs, whitened=shape.whitened, linear=shape.linear)
    features = RandomFeatureMap(torch.zeros(shape.frequencies, shape.inputs), projection, metric)
    features.frequencies.requires_grad_(shape.learn_frequencies)
    return features


class BilinearCell(Recurrent):
    """Moves its state by q_{t+1} = ± z/‖z‖ with z = W ×₂ q_t ×₃ ω(u_t) + b (paper, section 3).

    It predicts ô_t = M [q_t, o_{t−lags}, …, o_{t−1}] + c. It is the base of every cell with a bilinear update and a
    state of unit norm. u_t = (o_{t−j+1}, …, o_t) is the delayed observation, o_t alone where the delay j is 1. The
    belief is q_t, and with a delay the last j − 1 observations, oldest first, which are 0 before the first. update: the
    shapes of the parameters that stand for W, by name.

    Trained: those, bias, initial, readout. Fixed: reference, projection, metric, and the frequencies unless they are
    learned.
    """

    def __init__(self, shape: CellShape, *, update: dict[str, tuple[int, ...]]) -> None:
        super().__init__(dimension=shape.dimension, exposed=shape.state, lags=shape.lags)
        self.architecture = asdict(shape)
        self.keep_sign = shape.keep_sign
        self.before = (shape.delay - 1) * shape.dimension  # numbers of the observations that the belief holds
        self.features = feature_map(shape)
        for name, sizes in update.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(sizes)))
        self.bias = nn.Parameter(torch.zeros(shape.state))
        self.initial = nn.Parameter(torch.zeros(shape.state))
        self.reference: Tensor
        self.register_buffer("reference", torch.zeros(shape.state))

    @abstractmethod
    def bilinear(self, belief: Tensor, features: Tensor) -> Tensor:
        """Returns z (batch, s) for q (batch, s) and ω (batch, w)."""
        ...

    @abstractmethod
    def curvature(self, belief: Tensor, features: Tensor, metric: Tensor) -> dict[str, tuple[Tensor, ...]]:
        """Returns Kronecker factors of the Gauss–Newton matrix: for each parameter of the update one matrix per axis.

        belief (row, s) and features (row, w): the inputs along the training sequences; metric (s, s): of errors of q.
        """
        ...

    def set_initial(self, initial: Tensor) -> None:
        """Takes q_1 (s,), which is also the direction that fixes the sign; the bias becomes 0."""
        with torch.no_grad():
            self.initial.copy_(initial)
            self.reference.copy_(initial)
            self.bias.zero_()

    @property
    def sign_reference(self) -> Tensor | None:
        """Returns the direction (s,) that fixes the sign of a state, or None where every sign is +."""
        return self.reference if self.keep_sign else None

    def initial_belief(self, batch: int) -> State:
        first = (self.initial / self.initial.norm()).expand(batch, -1)
        return (first, first.new_zeros(batch, self.before)) if self.before else (first,)

    def advance(self, belief: State, observation: Tensor) -> State:
        delayed = torch.cat([*belief[1:], observation], 1) if self.before else observation
        state = normalise(self.bilinear(belief[0], self.features(delayed)), self.sign_reference)
        return (state, delayed[:, observation.shape[1] :]) if self.before else (state,)

    def delayed(self, values: Tensor, before: State = ()) -> tuple[Tensor, State]:
        """Returns u_t for each of the observations (batch, time, d), (batch, time, j·d), and the observations *before*
        each that a belief holds, a tuple of none or one tensor (batch, time, (j − 1)·d).

        before: the observations before the first, as a belief holds them; 0 where they are left out.
        """
        if not self.before:
            return values, ()
        start = before[0] if before else values.new_zeros(len(values), self.before)
        along = recent_along(start, values)
        return torch.cat([along, values], 2), (along,)
