"""Kalman filter whose linear-Gaussian state-space model is found by subspace identification.

Stochastic subspace identification in its regression form (Van Overschee and De Moor 1996, Subspace identification for
linear systems, chapter 3), with Larimore's canonical-variate weighting (1990): the states are the directions of the
past that say most of the future, and the matrices follow from regressions on them. All of it comes from one moment
matrix, so the windows of several sequences simply add up.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from scipy.linalg import solve_discrete_are
from torch import Tensor, nn

from models.forecasting.filtering import MaskedSequences, State, one_step_error
from models.forecasting.fitting import Fitted, Problem
from models.numerics.signs import with_fixed_signs

LARGEST_WINDOW = 2000
CHUNK_BYTES = 64 * 2**20
LARGEST_RADIUS = 0.999
POWER_STEPS = 6
OVERSAMPLING = 16


class Kalman(nn.Module):
    """Innovation form with a constant gain: ô_t = C x_t + c, x_{t+1} = A x_t + K (o_t − ô_t).

    transition A (state, state), gain K (state, feature), readout C (feature, state), bias c (feature,),
    initial x_1 (state,). Raises ValueError for a state below 1.
    """

    def __init__(self, *, dimension: int, state: int) -> None:
        super().__init__()
        if state < 1:
            raise ValueError(f"a Kalman filter needs a state of at least 1 dimension, got {state}")
        self.architecture = {"dimension": dimension, "state": state}
        self.transition = nn.Parameter(torch.zeros(state, state))
        self.gain = nn.Parameter(torch.zeros(state, dimension))
        self.readout = nn.Parameter(torch.zeros(dimension, state))
        self.bias = nn.Parameter(torch.zeros(dimension))
        self.initial = nn.Parameter(torch.zeros(state))

    def initial_state(self, batch: int) -> State:
        return (self.initial.expand(batch, -1),)

    def predict(self, state: State) -> Tensor:
        return nn.functional.linear(state[0], self.readout, self.bias)

    def update(self, state: State, observation: Tensor) -> State:
        innovation = observation - self.predict(state)
        return (state[0] @ self.transition.T + innovation @ self.gain.T,)


class StateSpace(NamedTuple):
    """transition (n, n), gain (n, feature) and readout (feature, n), float64."""

    transition: Tensor
    gain: Tensor
    readout: Tensor


def complete_windows(mask: Tensor, length: int) -> Tensor:
    """(window, 2): sequence and first step of every window of `length` entirely observed steps."""
    if mask.shape[1] < length:
        return torch.zeros(0, 2, dtype=torch.int64, device=mask.device)
    return mask.all(2).unfold(1, length, 1).all(2).nonzero()


def window_rows(values: Tensor, windows: Tensor, length: int) -> Iterator[Tensor]:
    """[o_t, …, o_{t+length−1}] (window, length · feature) in float64, at most `CHUNK_BYTES` (or one row) at a time."""
    views = values.unfold(1, length, 1)
    for chunk in windows.split(max(1, CHUNK_BYTES // (8 * length * values.shape[2]))):
        yield views[chunk[:, 0], chunk[:, 1]].transpose(1, 2).flatten(1).double()


def window_moment(values: Tensor, windows: Tensor, length: int) -> Tensor:
    """Mean of w wᵀ over the windows w: (length · feature, length · feature)."""
    size = length * values.shape[2]
    total = torch.zeros(size, size, dtype=torch.float64, device=values.device)
    for rows in window_rows(values, windows, length):
        total.addmm_(rows.T, rows)
    return total / len(windows)


def principal_components(values: Tensor, mask: Tensor, count: int) -> Tensor:
    """(feature, at most count): leading eigenvectors of the second moment of the entirely observed steps, float64.

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
    """J (count, block · feature) with x_t = J [o_{t−block}, …, o_{t−1}]: the leading canonical variates of the past.

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
    """Second moment of (x_t, o_t, x_{t+1}), where x_{t+1} is read from the past that is one step later."""
    count, past = states.shape
    select = moment.new_zeros(2 * count + features, past + features)
    select[:count, :past] = states
    select[count : count + features, past:].fill_diagonal_(1.0)
    select[count + features :, features:] = states
    return select @ moment[: past + features, : past + features] @ select.T


def truncate(joint: Tensor, order: int, features: int) -> Tensor:
    """The moment of (x_t, o_t, x_{t+1}) with only the first `order` states."""
    count = (len(joint) - features) // 2
    kept = torch.arange(len(joint), device=joint.device)
    parts = kept[:order], kept[count : count + features], kept[count + features :][:order]
    chosen = torch.cat(parts)
    return joint[chosen][:, chosen]


def identify(joint: Tensor, features: int) -> StateSpace:
    """Regress o_t (C) and x_{t+1} (A) on x_t; the gain is the steady-state one of the residuals' covariance.

    joint: the second moment of (x_t, o_t, x_{t+1}) with E[x xᵀ] = I, which makes the coefficients cross moments.
    """
    order = (len(joint) - features) // 2
    coefficients = joint[order:, :order]
    residual = joint[order:, order:] - coefficients @ coefficients.T
    readout, transition = coefficients[:features], coefficients[features:]
    return stabilised(StateSpace(transition, steady_gain(transition, readout, residual), readout))


def identify_orders(moment: Tensor, block: int, orders: Sequence[int]) -> dict[int, StateSpace]:
    """One system per order from the moment of windows of 2 · block steps; the states of all are nested."""
    features = len(moment) // (2 * block)
    joint = state_moment(moment, canonical_states(moment, max(orders)), features)
    return {order: identify(truncate(joint, order, features), features) for order in orders}


def steady_gain(transition: Tensor, readout: Tensor, residual: Tensor) -> Tensor:
    """K = (A P Cᵀ + S) (C P Cᵀ + R)⁻¹, with P the stabilising solution of the Riccati equation.

    residual: covariance [[R, Sᵀ], [S, Q]] of observation and state noise. Where no solution is found, P = 0, which is
    the regression of x_{t+1} on the innovation, with a warning.
    """
    features = len(readout)
    r, s, q = residual[:features, :features], residual[features:, :features], residual[features:, features:]
    numeric = [part.cpu().numpy() for part in (transition.T, readout.T, (q + q.T) / 2, (r + r.T) / 2, s)]
    try:
        found = solve_discrete_are(*numeric[:4], s=numeric[4])
    except (np.linalg.LinAlgError, ValueError) as error:
        reason = str(error).splitlines()[0]
        warnings.warn(f"no Riccati solution for {len(q)} states ({reason}); the regressed gain is used", stacklevel=2)
        found = np.zeros(q.shape)
    spread = torch.from_numpy(found).to(q) @ readout.T
    return torch.linalg.solve(readout @ spread + r, (transition @ spread + s).T).T


def stabilised(system: StateSpace) -> StateSpace:
    """The system itself; where A − K C has an eigenvalue of modulus 1 or more, A and K scaled down, with a warning."""
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


def usable_orders(orders: Sequence[int], largest: int) -> list[int]:
    """The orders up to `largest`; warns of the others. Raises ValueError when none is left or one is below 1."""
    if not orders or min(orders) < 1:
        raise ValueError(f"a Kalman filter needs orders of at least 1 to choose from, got {list(orders)}")
    skipped = [order for order in orders if order > largest]
    if len(skipped) == len(orders):
        raise ValueError(
            f"every order of {list(orders)} is above {largest}, block · features; lower them or raise model.blocks"
        )
    if skipped:
        named = ", ".join(map(str, skipped))
        warnings.warn(f"orders above {largest}, block · features, are skipped: {named}", stacklevel=3)
    return [order for order in orders if order <= largest]


def build_kalman(system: StateSpace, bias: Tensor, basis: Tensor | None) -> Kalman:
    """A filter in the dtype and on the device of `bias`; with a basis, gain and readout are those of Vᵀ(o − c)."""
    gain, readout = system.gain, system.readout
    if basis is not None:
        gain, readout = gain @ basis.T, basis @ readout
    model = Kalman(dimension=len(bias), state=len(system.transition)).to(bias)
    with torch.no_grad():
        model.transition.copy_(system.transition)
        model.gain.copy_(gain)
        model.readout.copy_(readout)
        model.bias.copy_(bias)
    return model


def fit_kalman(
    train: tuple[Tensor, Tensor, Tensor],
    validation: tuple[Tensor, Tensor, Tensor],
    *,
    orders: Sequence[int],
    block: int,
    components: int = 64,
    ridge: float = 1e-6,
) -> tuple[Kalman, int]:
    """The order of `orders` with the least validation error. Each part is values, mask, scored, all (sequence, time,
    feature), standardised; the model has the dtype and device of the training values.

    block: steps of past, and of future, that the states are found from. Only windows of 2 · block steps that were
    observed entirely are used; orders above block · features are skipped with a warning.
    components: above block · features = 2000 the identification runs on the leading `components` principal components
    Vᵀ(o − c) of the observations, and orders go up to block · components; the filter still reads and predicts
    observations, with K Vᵀ for K and V C for C, so every prediction lies in c + span V.
    ridge: variance of white noise that the moments are given, as if every observation carried it.
    The initial state is 0, the stationary mean.

    Raises ValueError for a block, components or order below 1, a ridge that is not positive, no orders, no complete
    window, and when several orders meet an empty validation part.
    """
    if min(block, components) < 1 or ridge <= 0:
        raise ValueError(f"block ({block}) and components ({components}) must be at least 1, ridge ({ridge}) above 0")
    values, mask, _ = train
    windows = complete_windows(mask, 2 * block)
    if not len(windows):
        raise ValueError(
            f"no training sequence has {2 * block} entirely observed steps in a row; lower model.blocks ({block})"
        )
    bias = values.masked_fill(~mask, 0.0).sum((0, 1)) / mask.sum((0, 1)).clamp(min=1)
    centred, basis = values - bias, None
    if block * values.shape[2] > LARGEST_WINDOW:
        basis = principal_components(centred, mask, components)
        centred = centred @ basis.to(centred)
    usable = usable_orders(orders, block * centred.shape[2])
    if len(usable) > 1 and not bool(validation[2].any()):
        raise ValueError("several orders to choose from and no validation step to choose by; give one order")
    moment = window_moment(centred, windows, 2 * block)
    moment.diagonal().add_(ridge)
    models = {n: build_kalman(system, bias, basis) for n, system in identify_orders(moment, block, usable).items()}
    if len(models) == 1:
        return models[usable[0]], usable[0]
    order = min(models, key=lambda n: one_step_error(models[n], MaskedSequences(*validation)))
    return models[order], order


@dataclass(frozen=True, kw_only=True)
class KalmanFilter:
    """`model=kalman`: the block and the order with the least validation error.

    orders: those up to block · d are tried, and block · d itself (block · components for many features).
    Raises ValueError without blocks, and when several blocks meet an empty validation part.
    """

    name: ClassVar[str] = "kalman"
    trained: ClassVar[bool] = False
    blocks: list[int] = field(default_factory=lambda: [2, 4])
    orders: list[int] = field(default_factory=lambda: [2, 4, 8, 16, 32, 64])
    components: int = 64

    def __post_init__(self) -> None:
        if not self.blocks:
            raise ValueError("model.blocks needs at least one value")

    def fit(self, problem: Problem) -> Fitted:
        if len(self.blocks) > 1 and not bool(problem.validation.scored.any()):
            raise ValueError("several model.blocks to choose from and no validation step to choose by; give one block")
        fits: list[tuple[float, Kalman, dict[str, int]]] = []
        for block in self.blocks:
            dimension = problem.dimension
            largest = block * (dimension if block * dimension <= LARGEST_WINDOW else self.components)
            orders = [*(order for order in self.orders if order < largest), largest]
            model, order = fit_kalman(
                problem.train, problem.validation, orders=orders, block=block, components=self.components
            )
            fits.append((one_step_error(model, problem.validation), model, {"block": block, "order": order}))
        _, model, chosen = min(fits, key=lambda fit: fit[0])
        return Fitted(model, chosen)
