"""Linear-Gaussian state-space models by subspace identification.

Stochastic subspace identification in its regression form (Van Overschee and De Moor 1996, Subspace identification for
linear systems, chapter 3), with Larimore's canonical-variate weighting (1990): the states are the directions of the
past that say most of the future, and the matrices follow from regressions on them. All of it comes from one moment
matrix, so the windows of several sequences simply add up.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import solve_discrete_are
from torch import Tensor

from models.numerics.signs import with_fixed_signs

CHUNK_BYTES = 64 * 2**20
LARGEST_RADIUS = 0.999
POWER_STEPS = 6
OVERSAMPLING = 16


class StateSpace(NamedTuple):
    """Holds transition (n, n), gain (n, feature) and readout (feature, n), float64."""

    transition: Tensor
    gain: Tensor
    readout: Tensor


def complete_windows(mask: Tensor, length: int) -> Tensor:
    """Returns (window, 2): sequence and first step of every window of `length` entirely observed steps."""
    if mask.shape[1] < length:
        return torch.zeros(0, 2, dtype=torch.int64, device=mask.device)
    return mask.all(2).unfold(1, length, 1).all(2).nonzero()


def window_rows(values: Tensor, windows: Tensor, length: int) -> Iterator[Tensor]:
    """Yields [o_t, …, o_{t+length−1}] (window, length · feature) in float64, at most `CHUNK_BYTES` (or one row) at
    a time."""
    views = values.unfold(1, length, 1)
    for chunk in windows.split(max(1, CHUNK_BYTES // (8 * length * values.shape[2]))):
        yield views[chunk[:, 0], chunk[:, 1]].transpose(1, 2).flatten(1).double()


def window_moment(values: Tensor, windows: Tensor, length: int) -> Tensor:
    """Returns the mean of w wᵀ over the windows w: (length · feature, length · feature)."""
    size = length * values.shape[2]
    total = torch.zeros(size, size, dtype=torch.float64, device=values.device)
    for rows in window_rows(values, windows, length):
        total.addmm_(rows.T, rows)
    return total / len(windows)


def principal_components(values: Tensor, mask: Tensor, count: int) -> Tensor:
    """Returns (feature, at most count): the leading eigenvectors of the second moment of the entirely observed
    steps, float64.

    Subspace iteration (Halko, Martinsson and Tropp 2011, algorithm 4.4) that starts from observations spread evenly
    over the data, so that there is no chance in it; no feature × feature matrix is ever formed.
    """
    steps = complete_windows(mask, 1)
    width = min(count + OVERSAMPLING, len(steps), values.shape[2])
    spread = torch.linspace(0, len(steps) - 1, width, device=steps.device).round().long()
    image = torch.cat(list(window_rows(values, steps[spread], 1))).T
    basis = image
    for _ in range(POWER_STEPS):
        basis = torch.linalg.qr(image)[0]
        image = torch.zeros_like(basis)
        for rows in window_rows(values, steps, 1):
            image.addmm_(rows.T, rows @ basis)
    vectors = torch.linalg.eigh(basis.T @ image)[1].flip(1)
    return with_fixed_signs(basis @ vectors[:, :count])


def canonical_states(moment: Tensor, count: int) -> Tensor:
    """Returns J (count, block · feature) with x_t = J [o_{t−block}, …, o_{t−1}]: the leading canonical variates of the
    past.

    moment: of windows of 2 · block steps, positive definite, past first. With Cholesky factors L of the moments of
    past and future, the left singular vectors U of L_p⁻¹ Σ_pf L_f⁻ᵀ give J = Uᵀ L_p⁻¹, so that E[x xᵀ] = I.
    """
    half = len(moment) // 2
    past, future = torch.linalg.cholesky(moment[:half, :half]), torch.linalg.cholesky(moment[half:, half:])
    whitened = torch.linalg.solve_triangular(future, moment[half:, :half], upper=False)
    whitened = torch.linalg.solve_triangular(past, whitened.T, upper=False)
    directions = with_fixed_signs(torch.linalg.svd(whitened, full_matrices=False)[0][:, :count])
    return torch.linalg.solve_triangular(past.T, directions, upper=True).T


def state_moment(moment: Tensor, states: Tensor, features: int) -> Tensor:
    """Returns the second moment of (x_t, o_t, x_{t+1}), where x_{t+1} is read from the past that is one step later."""
    count, past = states.shape
    select = moment.new_zeros(2 * count + features, past + features)
    select[:count, :past] = states
    select[count : count + features, past:].fill_diagonal_(1.0)
    select[count + features :, features:] = states
    return select @ moment[: past + features, : past + features] @ select.T


def truncate(joint: Tensor, order: int, features: int) -> Tensor:
    """Returns the moment of (x_t, o_t, x_{t+1}) with only the first `order` states."""
    count = (len(joint) - features) // 2
    places = torch.arange(len(joint), device=joint.device)
    parts = places[:order], places[count : count + features], places[count + features :][:order]
    chosen = torch.cat(parts)
    return joint[chosen][:, chosen]


def identify(joint: Tensor, features: int) -> StateSpace:
    """Regresses o_t (C) and x_{t+1} (A) on x_t; the gain is the steady-state one of the residuals' covariance.

    joint: the second moment of (x_t, o_t, x_{t+1}) with E[x xᵀ] = I, which makes the coefficients cross moments.
    """
    order = (len(joint) - features) // 2
    coefficients = joint[order:, :order]
    residual = joint[order:, order:] - coefficients @ coefficients.T
    readout, transition = coefficients[:features], coefficients[features:]
    return stabilised(StateSpace(transition, steady_gain(transition, readout, residual), readout))


def identify_orders(moment: Tensor, block: int, orders: Sequence[int]) -> dict[int, StateSpace]:
    """Returns one system per order from the moment of windows of 2 · block steps; the states of all are nested."""
    features = len(moment) // (2 * block)
    joint = state_moment(moment, canonical_states(moment, max(orders)), features)
    return {order: identify(truncate(joint, order, features), features) for order in orders}


def steady_gain(transition: Tensor, readout: Tensor, residual: Tensor) -> Tensor:
    """Returns K = (A P Cᵀ + S) (C P Cᵀ + R)⁻¹ (state, feature), with P the stabilising solution of the Riccati
    equation.

    residual: covariance [[R, Sᵀ], [S, Q]] of observation and state noise. Where no solution is found, P = 0, which is
    the regression of x_{t+1} on the innovation, with a warning.
    """
    features = len(readout)
    r, s, q = residual[:features, :features], residual[features:, :features], residual[features:, features:]
    numeric = [part.cpu().numpy() for part in (transition.T, readout.T, (q + q.T) / 2, (r + r.T) / 2, s)]
    try:
        covariance = solve_discrete_are(*numeric[:4], s=numeric[4])
    except (np.linalg.LinAlgError, ValueError) as error:
        reason = str(error).splitlines()[0]
        warnings.warn(f"no Riccati solution for {len(q)} states ({reason}); the regressed gain is used", stacklevel=2)
        covariance = np.zeros(q.shape)
    spread = torch.from_numpy(covariance).to(q) @ readout.T
    return torch.linalg.solve(readout @ spread + r, (transition @ spread + s).T).T


def stabilised(system: StateSpace) -> StateSpace:
    """Returns the system itself; where A − K C has an eigenvalue of modulus 1 or more, A and K scaled down,
    with a warning."""
    closed = system.transition - system.gain @ system.readout
    radius = float(torch.linalg.eigvals(closed).abs().max())
    if radius < 1:
        return system
    warnings.warn(
        f"the filter with {len(closed)} states is unstable (spectral radius {radius:.4g}); A and K are scaled "
        f"down to a radius of {LARGEST_RADIUS}",
        stacklevel=2,
    )
    shrink = LARGEST_RADIUS / radius
    return StateSpace(shrink * system.transition, shrink * system.gain, system.readout)
