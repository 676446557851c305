"""What every cell with a bilinear update and a state of unit norm shares, however the update's tensor is held."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn

from models.features.maps import RandomFeatureMap
from models.forecasting.filtering import State
from models.forecasting.recurrent import Recurrent
from models.psrnn.fused import signed_norms


def normalise(z: Tensor, reference: Tensor | None) -> Tensor:
    """q = ± z/‖z‖₂. With a `reference` (s,) the sign is the one with ⟨q, reference⟩ ≥ 0, without it it is +."""
    return z / signed_norms(z, reference)


def feature_count(frequencies: int, projected: int | None) -> int:
    """w: the observation features that a cell sees."""
    return 2 * frequencies if projected is None else projected


class BilinearCell(Recurrent):
    """q_{t+1} = ± z/‖z‖ with z = W ×₂ q_t ×₃ ω(o_t) + b;  ô_t = M [q_t, o_{t−lags}, …, o_{t−1}] + c  (paper, section 3)

    frequencies: of the observation features; projected: their number after the projection, None without one (then
    w = 2·frequencies); dimension: d observed features; state: s. lags: see `Recurrent`.
    keep_sign: keep ⟨q, q_1⟩ ≥ 0, so that a state cannot lock on to its own negative (`update=bayes`).
    learn_frequencies: train the frequencies of the observation features by gradient as well.
    update: the shapes of the parameters that stand for W, by name.
    Trained: those, bias, initial, readout. Fixed: reference, projection, and the frequencies unless they are learned.
    """

    def __init__(
        self,
        *,
        frequencies: int,
        dimension: int,
        state: int,
        projected: int | None,
        lags: int,
        keep_sign: bool,
        learn_frequencies: bool,
        update: dict[str, tuple[int, ...]],
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
        for name, shape in update.items():
            self.register_parameter(name, nn.Parameter(torch.zeros(shape)))
        self.bias = nn.Parameter(torch.zeros(state))
        self.initial = nn.Parameter(torch.zeros(state))
        self.reference: Tensor
        self.register_buffer("reference", torch.zeros(state))

    @abstractmethod
    def bilinear(self, belief: Tensor, features: Tensor) -> Tensor:
        """z (batch, s) from q (batch, s) and ω (batch, w)."""
        ...

    @abstractmethod
    def curvature(self, belief: Tensor, features: Tensor, metric: Tensor) -> dict[str, tuple[Tensor, ...]]:
        """Kronecker factors of the Gauss–Newton matrix: for each parameter of the update one matrix per axis.

        belief (row, s) and features (row, w): the inputs along the training sequences; metric (s, s): of errors of q.
        """
        ...

    def set_initial(self, initial: Tensor) -> None:
        """Take q_1 (s,), which is also the direction that fixes the sign; the bias becomes 0."""
        with torch.no_grad():
            self.initial.copy_(initial)
            self.reference.copy_(initial)
            self.bias.zero_()

    @property
    def sign_reference(self) -> Tensor | None:
        return self.reference if self.keep_sign else None

    def initial_belief(self, batch: int) -> State:
        return ((self.initial / self.initial.norm()).expand(batch, -1),)

    def advance(self, belief: State, observation: Tensor) -> State:
        z = self.bilinear(belief[0], self.features(observation))
        return (normalise(z, self.sign_reference),)
