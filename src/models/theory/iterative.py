"""What `dense` computes, from products with K alone: nothing of size N × N is decomposed, inverted or even stored.

Systems with B = K + λN·I are solved by conjugate gradients, preconditioned by a feature map: (ΦΦᵀ + λN·I)⁻¹ costs
O(N m) by Woodbury's identity, and where it is a Δ-spectral approximation of B⁻¹ the condition number is at most
(1 + Δ)/(1 − Δ), whatever λ is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from models.numerics.conjugate_gradients import IndefiniteDirection, NotConverged, Product, conjugate_gradients
from models.numerics.ridge import factor_ridge
from models.runtime.parameters import number
from models.theory.dense import Approximation, Risk, check_features, check_signal

TOLERANCE = 1e-9
RESIDUAL = 1e-6  # of the extreme eigenvalues of an approximation
BLOCK = 256  # columns that are solved for at once


def _checked(values: Tensor) -> Tensor:
    if not bool(values.isfinite().all()):
        raise ValueError("a matrix–vector product is not finite; look at the inputs of the kernel")
    return values


def woodbury(features: Tensor, shift: float) -> Product:
    """Returns the product v ↦ (ΦΦᵀ + shift·I)⁻¹ v = (v − Φ(ΦᵀΦ + shift·I)⁻¹Φᵀv)/shift.

    features: Φ (N, p); v and its product: (N, k). Raises ValueError for a shift that is not positive and finite.
    """
    number("shift", shift)
    factor = factor_ridge(features.T @ features, shift)

    def product(v: Tensor) -> Tensor:
        return (v - features @ torch.cholesky_solve(features.T @ v, factor)) / shift

    return product


class ShiftedKernel:
    """Gives products with B = K + λN·I, and with its inverse by preconditioned conjugate gradients.

    kernel: v ↦ K v, both (N, k). rows: N. ridge: λ. tolerance: of the residual of a solve, relative to the right side.
    features: Φ (N, p) of the preconditioner, None for none.
    Raises ValueError for a ridge that is not positive and features that do not fit.
    """

    def __init__(
        self, kernel: Product, *, rows: int, ridge: float, features: Tensor | None = None, tolerance: float = TOLERANCE
    ) -> None:
        number("ridge", ridge)
        if features is not None:
            check_features(features, rows)
        self.kernel, self.rows, self.ridge, self.shift, self.tolerance = kernel, rows, ridge, ridge * rows, tolerance
        self.precondition = None if features is None else woodbury(features.double(), self.shift)

    def product(self, v: Tensor) -> Tensor:
        """Returns B v, (N, k) as v is."""
        return self.kernel(v) + self.shift * v

    def solve(self, right: Tensor) -> Tensor:
        """Returns B⁻¹ b for b (N, k), of the same shape. Raises ValueError where a product is not finite, and like
        `conjugate_gradients`."""
        try:
            solution = conjugate_gradients(
                lambda v: _checked(self.product(v)), right, tolerance=self.tolerance, most=10 * self.rows + 10,
                precondition=self.precondition,
            )  # fmt: skip
        except IndefiniteDirection as error:
            raise ValueError(f"{error}; raise the ridge") from error
        except NotConverged as error:
            raise ValueError(f"{error}; raise the ridge, or precondition by more features") from error
        return solution.values


class Lanczos(NamedTuple):
    """Holds the two extreme Ritz values. steps: products with the matrix.

    Within `residual` of each there is an eigenvalue, of which only the random start makes it likely that it is the
    extreme one: a Ritz value never lies beyond that, and may have settled on one further inside.
    """

    lowest: float
    highest: float
    residual: float
    steps: int


def _ritz(diagonal: list[float], beside: list[float]) -> tuple[Tensor, Tensor]:
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    off = torch.tensor(beside[: len(diagonal) - 1], dtype=torch.float64)
    matrix += torch.diag(off, 1) + torch.diag(off, -1)
    return torch.linalg.eigh(matrix)


def _without(v: Tensor, image: Tensor, basis: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
    """v less its part in the span of the rows of the basis, in the inner product of B, twice for the digits; image is
    B v, and the rows of images are the products of B with those of the basis."""
    for _ in range(2):
        parts = basis @ image
        v, image = v - basis.T @ parts, image - images.T @ parts
    return v, image


def generalised_lanczos(
    difference: Product, shifted: ShiftedKernel, start: Tensor, *, tolerance: float, most: int
) -> Lanczos:
    """Returns the extreme eigenvalues of E x = θ B x, E symmetric, by the Lanczos process in the inner product of B,
    fully orthogonalised.

    difference: v ↦ E v, both (N, k); shifted: B.
    With w = B⁻¹E v the vector B w is E v itself, so a step costs one product with E and one solve with B. It stops when
    the residuals of both ends are at most `tolerance`: each is then so near to some eigenvalue, see `Lanczos`, which is
    no bound on the distance to the extreme one. start: random, (N, 1), with a part along every eigenvector.
    Memory is that of 2 `most` vectors, of which the CPU takes what the steps fill.
    Raises ValueError when `most` steps do not suffice, and like `conjugate_gradients`.
    """
    rows, v, image = shifted.rows, start, shifted.product(start)
    length, residual = float((v * image).sum().sqrt()), math.inf
    basis, images = v.new_empty(min(most, rows), rows), image.new_empty(min(most, rows), rows)
    diagonal: list[float] = []
    beside: list[float] = []
    for step in range(1, len(basis) + 1):
        basis[step - 1], images[step - 1] = v[:, 0] / length, image[:, 0] / length
        last = basis[step - 1 : step].T
        applied = _checked(difference(last))
        diagonal.append(float((last * applied).sum()))
        v, image = _without(shifted.solve(applied), applied, basis[:step], images[:step])
        length = math.sqrt(max(float((v * image).sum()), 0.0))
        beside.append(length)
        values, vectors = _ritz(diagonal, beside)
        errors = length * vectors[-1, [0, -1]].abs()
        residual = float(errors.max())
        if bool((errors <= tolerance).all()) or length < tolerance * 1e-3 or step == rows:
            return Lanczos(float(values[0]), float(values[-1]), residual, step)
    raise ValueError(
        f"Lanczos: residual {residual:.1e} after {most} steps, wanted {tolerance:.0e}; allow more steps or raise the "
        "tolerance"
    )


def iterative_approximation(
    shifted: ShiftedKernel,
    features: Tensor,
    *,
    generator: torch.Generator,
    most: int = 300,
) -> Approximation:
    """Returns what `KernelSpectrum.approximation` does, from products alone. features: Φ (N, 2m).

    Both ends are within `RESIDUAL` of an eigenvalue; see `generalised_lanczos` for which. generator: of the random
    start. Raises ValueError like `generalised_lanczos` and for features that do not fit.
    """
    check_features(features, shifted.rows)
    phi = features.double()
    start = torch.randn(len(phi), 1, dtype=torch.float64, generator=generator, device=generator.device).to(phi)
    ends = generalised_lanczos(
        lambda v: phi @ (phi.T @ v) - shifted.kernel(v), shifted, start, tolerance=RESIDUAL, most=most
    )
    return Approximation(ends.lowest, ends.highest)


def iterative_risk(shifted: ShiftedKernel, signal: Tensor, *, noise: float) -> Risk:
    """Returns what `KernelSpectrum.risk` does, from products alone: B⁻¹ of the signal and of every unit vector, `BLOCK`
    columns at a time.

    K B⁻¹e_i = e_i − λN B⁻¹e_i, hence s_λ = Σ(1 − λN X_ii) and Tr(K²B⁻²) = Σ‖e_i − λN X_i‖² with X = B⁻¹, of which only
    a block of columns exists at a time. It takes N solves and memory O(N · BLOCK). signal: f (N,); noise: σ ≥ 0.
    Raises ValueError like `KernelSpectrum.risk` and `conjugate_gradients`.
    """
    rows, shift = shifted.rows, shifted.shift
    check_signal(signal, rows, noise)
    lost = shift * shifted.solve(signal.double()[:, None])[:, 0]
    dimension = squares = 0.0
    for columns in torch.arange(rows, device=signal.device).split(BLOCK):
        units = torch.zeros(rows, len(columns), dtype=torch.float64, device=signal.device)
        units[columns, torch.arange(len(columns))] = 1.0
        smoothed = units - shift * shifted.solve(units)
        dimension += float(smoothed[columns].diagonal().sum())
        squares += float(smoothed.square().sum())
    scale = noise**2 / rows
    return Risk(
        bias=float(lost.square().sum()) / rows,
        variance=scale * squares,
        bias_bound=float(lost @ signal.double()) / rows,
        variance_bound=scale * dimension,
        dimension=dimension,
    )
