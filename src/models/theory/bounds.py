"""Right-hand sides of the paper's theorems 1 and 2, and of the lemmas that they rest on, with every constant.

The paper counts m real features where its own map (equation 3) has 2m, and leaves the constant of theorem 2 open.
"""

from __future__ import annotations

import math

from models.runtime.parameters import number
from models.theory.dense import Risk


def rank_bound(*, rows: int, count: int) -> int:
    """Returns the largest rank that K̂ = ΦΦᵀ of m frequencies can have: Φ is (N, 2m). rows: N; count: m."""
    return min(rows, 2 * count)


def theorem_1(exact: Risk, *, delta: float, rank: int, rows: int, noise: float) -> float:
    """Returns R̄_K(f)/(1 − Δ) + Δ/(1 + Δ) · rank(K̂)/N · σ² (inequality 6): at least the risk with K̂; infinite for
    Δ ≥ 1.

    exact: the risk with K, of which R̄_K(f) is the bound; delta: Δ; rank: of K̂; rows: N; noise: σ.
    Why: K̂ + λN·I ⪰ (1 − Δ)B bounds the bias by λ fᵀB⁻¹f/(1 − Δ); its eigenvalues are at most 1 + Δ times those of B,
    so s_λ(K̂) = Σ_{i ≤ rank} (1 − λN/(κ̂_i + λN)) ≤ s_λ(K)/(1 + Δ) + Δ/(1 + Δ) · rank(K̂).
    """
    if delta >= 1:
        return math.inf
    return exact.bound / (1 - delta) + delta / (1 + delta) * rank / rows * noise**2


def theorem_2(threshold: float, *, count: int, rows: int, ridge: float) -> float:
    """Returns N² exp(−C m x²) with x = a σ_min/N and C = ½, at most 1, which bounds P(Δ > a) for m independent
    frequencies.

    a is the threshold; σ_min = λN, as K may be singular; m is `count`, N is `rows`, λ is `ridge`.
    C: each term of K̂_ij − K_ij, the mean of m independent cosines, spans an interval of length 2/m, so that
    P(|K̂_ij − K_ij| > x) ≤ 2 exp(−m x²/2) (Hoeffding 1963); the diagonal is exact, and N(N − 1)/2 pairs are left, which
    makes N(N − 1) exp(−m x²/2).
    Raises ValueError unless threshold and ridge are positive.
    """
    number("threshold", threshold)
    number("ridge", ridge)
    x = threshold * ridge
    return min(1.0, rows**2 * math.exp(-0.5 * count * (x * x)))


def count_for_theorem_2(threshold: float, probability: float, *, rows: int, ridge: float) -> float:
    """Returns the least m at which `theorem_2` promises P(Δ > a) ≤ probability, for a singular K; it may be infinite.

    threshold: a; rows: N; ridge: λ. Raises ValueError unless threshold and ridge are positive.
    """
    number("threshold", threshold)
    number("ridge", ridge)
    x = threshold * ridge
    if x * x == 0:
        return math.inf
    needed = 2 * math.log(rows**2 / probability) / (x * x)
    return max(1, math.ceil(needed)) if math.isfinite(needed) else math.inf
