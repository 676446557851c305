"""What `update=bayes|sign|whitened|paper` means for a PSRNN."""

from __future__ import annotations

from dataclasses import dataclass

from models.choices import UPDATES


@dataclass(frozen=True)
class Update:
    """Says how the state takes a step, made of the tensor W that two-stage regression gives.

        z = V ×₂ q_t ×₃ ω_t + b,   q_{t+1} = σ z/‖z‖

    With `divide_by_observations` V = W ×₃ (E[ω ωᵀ] + κI)⁻¹, the division of kernel Bayes' rule with the ridge κ of the
    setting `initialise.whitening` (Fukumizu et al. 2013), and V = W without it. With `keep_sign` σ is the sign that
    gives ⟨q_{t+1}, q_1⟩ ≥ 0, and σ = 1 without it.
    """

    divide_by_observations: bool
    keep_sign: bool


MEANINGS = {
    "bayes": Update(divide_by_observations=True, keep_sign=True),
    "sign": Update(divide_by_observations=False, keep_sign=True),
    "whitened": Update(divide_by_observations=True, keep_sign=False),
    "paper": Update(divide_by_observations=False, keep_sign=False),
}


def update_named(name: str) -> Update:
    """Returns what the name stands for. Raises ValueError for any other than those of `models.choices.UPDATES`."""
    if name not in MEANINGS:
        raise ValueError(f"update must be one of {', '.join(UPDATES)}, got {name!r}")
    return MEANINGS[name]
