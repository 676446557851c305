"""What every cell with a bilinear update and a state of unit norm shares, however the update's tensor is held."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.forecasting.filtering import State
from models.forecasting.recurrent import Recurrent
from models.psrnn.fused import signed_norms
from models.psrnn.shape import CellShape


def normalise(z: Tensor, reference: Tensor | None) -> Tensor:
    """Returns q = ± z/‖z‖₂ for z (B, s).

    With a `reference` (s,) the sign is the one with ⟨q, reference⟩ ≥ 0, without it it is +.
    """
    return z / signed_norms(z, reference)


class BilinearCell(Recurrent):
    """q_{t+1} = ± z/‖z‖ with z = W ×₂ q_t ×₃ ω(o_t) + b;  ô_t = M [q_t, o_{t−lags}, …, o_{t−1}] + c  (paper, section 3)

    It is the base of every cell with a bilinear update and a state of unit norm. update: the shapes of the parameters
    that stand for W, by name.
    Trained: those, bias, initial, readout. Fixed: reference, projection, and the frequencies unless they are learned.
    """

    def __init__(self, shape: CellShape, *, update: dict[str, tuple[int, ...]]) -> None:
        super().__init__(dimension=shape.dimension, exposed=shape.state, lags=shape.lags)
        self.architecture = asdict(shape)
        self.keep_sign = shape.keep_sign
        projection = None if shape.projected is None else torch.zeros(2 * shape.frequencies, shape.projected)
        self.features = RandomFeatureMap(torch.zeros(shape.frequencies, shape.dimension), projection)
        self.features.frequencies.requires_grad_(shape.learn_frequencies)
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
        return ((self.initial / self.initial.norm()).expand(batch, -1),)

    def advance(self, belief: State, observation: Tensor) -> State:
        z = self.bilinear(belief[0], self.features(observation))
        return (normalise(z, self.sign_reference),)
