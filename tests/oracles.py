"""Slow twins of the fast code: written out term by term, for comparison in tests only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy import integrate, linalg, special
from torch import Tensor

from models.forecasting.filtering import begun_along, moved_by
from models.runtime.objective import descend
from models.ssgp.autoencoder import MixtureAutoencoder
from models.ssgp.autoencoder_fit import EvidenceBound, Training, batch_generator, new_autoencoder
from models.ssgp.fit import MarginalLikelihood
from models.ssgp.model import SSGP
from models.ssgp.moments import RowStream
from models.theory.dense import Approximation

# --- random features: Hadamard matrices, kernels, radial laws ---------------------------------------------------------


def hadamard_matrix(size: int) -> Tensor:
    """The orthonormal Hadamard matrix in Sylvester's order, entry by entry: (−1)^popcount(i & j) / √size."""
    signs = [[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(size)]
    return torch.tensor(signs, dtype=torch.float64) / math.sqrt(size)


def walsh_hadamard_by_butterflies(x: Tensor) -> Tensor:
    """The transform along the last axis by log₂ p rounds of sums and differences."""
    size, half, result = x.shape[-1], 1, x
    while half < size:
        first, second = result.reshape(-1, size // (2 * half), 2, half).unbind(2)
        result = torch.stack((first + second, first - second), dim=2).reshape(x.shape)
        half *= 2
    return result / math.sqrt(size)


def random_features_by_rows(x: Tensor, frequencies: Tensor) -> Tensor:
    """Equation 3 of the paper for one row (dimension,) of x after the other."""
    phases = [frequencies @ row for row in x]
    return torch.stack([torch.cat([p.cos(), p.sin()]) for p in phases]) / math.sqrt(len(frequencies))


def matern_half_integer(distance: Tensor, smoothness: float) -> Tensor:
    """Closed forms of the Matérn kernel (Rasmussen and Williams 2006, equation 4.17) at 1/2, 3/2 and 5/2."""
    u = math.sqrt(2 * smoothness) * distance
    polynomial = {0.5: torch.ones_like(u), 1.5: 1 + u, 2.5: 1 + u + u**2 / 3}[smoothness]
    return polynomial * torch.exp(-u)


def kernel_by_radial_law(radii: Tensor, distance: float, dimension: int) -> float:
    """Mean of cos(r z u_1) over radii and uniform u: Schoenberg's Γ(d/2) (2/t)^(d/2−1) J_(d/2−1)(t) at t = r z."""
    t = distance * radii.numpy()
    order = dimension / 2 - 1
    return float(np.mean(special.gamma(dimension / 2) * (2 / t) ** order * special.jv(order, t)))


def rational_quadratic_radius_probability(radius: float, shape: float, dimension: int) -> float:
    """P(√τ χ_d ≤ r), τ ~ Gamma(shape, rate shape), by adaptive quadrature over log τ."""

    def integrand(t: float) -> float:
        log_density = shape * (t - math.exp(t) + math.log(shape)) - math.lgamma(shape)
        return math.exp(log_density) * special.gammainc(dimension / 2, radius**2 * math.exp(-t) / 2)

    return integrate.quad(integrand, -40 / shape - 5, 6, limit=500, epsabs=0, epsrel=1e-10, points=[-3, -1, 0, 1])[0]


def spectral_approximation(exact: Tensor, approximate: Tensor, *, ridge: float) -> Approximation:
    """The eigenvalues of L⁻¹(K̂ − K)L⁻ᵀ, LLᵀ = K + λN·I, by Cholesky: exact K, approximate K̂ (N, N), ridge λ."""
    shifted = exact + ridge * len(exact) * torch.eye(len(exact), dtype=exact.dtype)
    factor = torch.linalg.cholesky(shifted)
    left = torch.linalg.solve_triangular(factor, approximate - exact, upper=False)
    values = torch.linalg.eigvalsh(torch.linalg.solve_triangular(factor, left.T, upper=False))
    return Approximation(float(values[0]), float(values[-1]))


# --- two-stage regression, windows, cell ------------------------------------------------------------------------------


def two_stage_written_out(eta: Tensor, phi: Tensor, psi: Tensor, omega: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Section 3.1 literally, columns are time steps, moments are sums: W (s, s, w), q_1 (s,)."""
    x_eta, x_phi = eta.T, phi.T
    x_pair = torch.stack([torch.outer(p, o).flatten() for p, o in zip(psi, omega, strict=True)], 1)
    inverse = torch.linalg.inv(x_eta @ x_eta.T + ridge * torch.eye(len(x_eta), dtype=eta.dtype))
    first = x_phi @ x_eta.T @ inverse
    state, pair = first @ x_eta, x_pair @ x_eta.T @ inverse @ x_eta
    inverse = torch.linalg.inv(state @ state.T + ridge * torch.eye(len(state), dtype=eta.dtype))
    w = (pair @ state.T @ inverse).view(phi.shape[1], omega.shape[1], phi.shape[1]).transpose(1, 2)
    initial = state.sum(1)
    return w, initial / initial.norm()


def metric_written_out(points: Tensor, whiten: float, linear: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, S^(−g/2) by a matrix power and a/√E‖x̃‖² of points (row, n), S their covariance + 1e-6 λ_max I."""
    x = points.double().numpy()
    mean = x.sum(0) / len(x)
    covariance = np.zeros((x.shape[1], x.shape[1]))
    for row in x:
        covariance += np.outer(row - mean, row - mean) / len(x)
    moved = covariance + 1e-6 * np.linalg.eigvalsh(covariance).max() * np.eye(len(covariance))
    root = np.real(linalg.fractional_matrix_power(moved, -whiten / 2))
    squares = [float(np.sum((root @ (row - mean)) ** 2)) for row in x]
    return mean, root, linear / math.sqrt(sum(squares) / len(squares))


def joint_features_written_out(
    x: np.ndarray, frequencies: np.ndarray, metric: tuple[np.ndarray, np.ndarray, float]
) -> np.ndarray:
    """[Φ(x̃); a x̃/√E‖x̃‖²] of rows x (row, n), one after the other; without the second part where a = 0."""
    mean, root, weight = metric
    rows = []
    for row in x:
        moved = root @ (row - mean)
        waves = [math.cos(w @ moved) for w in frequencies] + [math.sin(w @ moved) for w in frequencies]
        rows.append([*(wave / math.sqrt(len(frequencies)) for wave in waves), *(weight * moved if weight else [])])
    return np.array(rows)


def delayed_windows_by_loop(
    values: Tensor, mask: Tensor, *, history: int, future: int, delay: int
) -> list[tuple[int, int, Tensor, Tensor]]:
    """(sequence, time, o_{t−history} … o_{t+future}, o_{t−delay+1} … o_t) of every usable step, found one at a time."""
    found = []
    for s in range(len(values)):
        for t in range(history, values.shape[1] - future):
            delayed = range(t + 1 - delay, t + 1)
            needed = {*range(t - history, t + future + 1), *(i for i in delayed if i >= 0)}
            if all(bool(mask[s, i].all()) for i in needed):
                rows = [values[s, i] if i >= 0 else torch.zeros_like(values[s, 0]) for i in delayed]
                found.append((s, t, values[s, t - history : t + future + 1], torch.stack(rows)))
    return found


def windows_by_loop(values: Tensor, mask: Tensor, length: int) -> list[tuple[int, int, Tensor]]:
    """(sequence, time, o_{t−k} … o_{t+k}) of every usable step, found one at a time."""
    found = []
    for s in range(len(values)):
        for t in range(length, values.shape[1] - length):
            if bool(mask[s, t - length : t + length + 1].all()):
                found.append((s, t, values[s, t - length : t + length + 1]))
    return found


def filter_by_loop(model: Any, values: Tensor, mask: Tensor) -> Tensor:
    """One-step predictions of a PSRNN, one sequence and one step at a time, by einsum."""
    w, lags, delay, projection = model.update_tensor, model.lags, model.architecture["delay"], model.features.projection
    out = torch.zeros_like(values)
    for s in range(len(values)):
        q = model.initial / model.initial.norm()
        seen = [torch.zeros(values.shape[2], dtype=values.dtype)] * (lags + delay)
        for t in range(values.shape[1]):
            inputs = torch.cat([q, *seen[len(seen) - lags :]])
            out[s, t] = model.readout_weight @ inputs + model.readout_bias
            observation = torch.where(mask[s, t], values[s, t], out[s, t])
            seen.append(observation)
            omega = observation_features(model.features, torch.cat(seen[-delay:]))
            omega = omega if projection is None else projection.T @ omega
            z = torch.einsum("abc,b,c->a", w, q, omega) + model.bias
            q = z / z.norm()
            if model.architecture["keep_sign"] and float(q @ model.reference) < 0:
                q = -q
    return out


def observation_features(features: Any, x: Tensor) -> Tensor:
    """Cosines and sines of one delayed observation (n,), and it itself where the map keeps it."""
    moved = x if features.centre is None else x - features.centre
    moved = moved if features.root is None else features.root.T @ moved
    phase = features.frequencies @ moved
    beside = [] if features.linear is None else [features.linear * moved]
    return torch.cat([phase.cos() / len(phase) ** 0.5, phase.sin() / len(phase) ** 0.5, *beside])


def recursion_by_entries(
    matrices: Tensor, bias: Tensor, initial: Tensor, reference: Tensor | None
) -> tuple[Tensor, Tensor]:
    """q_{t+1} = σ z/‖z‖ with z = A_t q_t + b of one sequence, a Python number at a time: states and σ‖z‖.

    matrices (time, s, s), bias, initial and reference (s,); σ is the sign with ⟨σz, reference⟩ ≥ 0.
    """
    states, norms = [initial.tolist()], []
    for matrix in matrices.tolist():
        z = [
            sum(a * q for a, q in zip(row, states[-1], strict=True)) + b
            for row, b in zip(matrix, bias.tolist(), strict=True)
        ]
        towards = 0.0 if reference is None else sum(a * b for a, b in zip(z, reference.tolist(), strict=True))
        norms.append(math.copysign(math.sqrt(sum(a * a for a in z)), -1.0 if towards < 0 else 1.0))
        states.append([a / norms[-1] for a in z])
    return torch.tensor(states, dtype=torch.float64), torch.tensor(norms, dtype=torch.float64)


def forecasts_one_by_one(model: Any, states: tuple[Tensor, ...], horizon: int) -> Tensor:
    """(sequence, time, feature): the forecast `horizon` steps ahead, of one sequence and one origin at a time."""
    sequences, steps = states[0].shape[:2]
    rows = []
    for i in range(sequences):
        for t in range(steps):
            state = tuple(part[i : i + 1, t] for part in states)
            for _ in range(horizon - 1):
                state = model.update(state, model.predict(state))
            rows.append(model.predict(state)[0])
    return torch.stack(rows).unflatten(0, (sequences, steps))


def final_state(model: Any, values: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """The state after the last step of values and mask (sequence, time, feature), one step after another."""
    state = model.initial_state(len(values))
    for value, observed, begun in zip(values.unbind(1), mask.unbind(1), begun_along(mask).unbind(1), strict=True):
        state = moved_by(model, state, torch.where(observed, value, model.predict(state)), begun)
    return state


# --- sparse-spectrum processes: training without checkpoints and without a choice of the step -------------------------


def train(model: SSGP, stream: RowStream, *, iterations: int, learning_rate: float) -> list[float]:
    """−log p(y)/N over all rows, in nats, before each of `iterations` steps of Adam on it, and at the end."""
    objective = MarginalLikelihood(model, stream, iterations=iterations)
    optimizer = torch.optim.Adam(objective.parameters(), lr=learning_rate)
    losses = descend(objective, optimizer, generator=torch.Generator())
    return [*(float(loss.mean) for loss in losses), objective.condition(iterations)[1]]


def train_autoencoder(
    inputs: Tensor, *, latent: int, components: int, training: Training, seed: int
) -> MixtureAutoencoder:
    """A trained autoencoder of standardised inputs (row, input), in evaluation mode."""
    model = new_autoencoder(inputs, latent=latent, components=components, seed=seed).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    descend(EvidenceBound(model, inputs, training), optimizer, generator=batch_generator(seed))
    return model.eval()
