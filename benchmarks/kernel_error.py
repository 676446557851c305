"""The mean-squared error of random-feature kernel estimates, for each sampler, relative to orthogonal features.

Gaussian kernel at the median distance of standard-normal points, the same number of features (2m) for every row. Prints
a Markdown table: mean over draws of the error, divided by that of `orthogonal`, ± its standard error.

    python benchmarks/kernel_error.py --draws 100
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from models.features.bandwidth import bandwidth
from models.features.kernels import Gaussian
from models.features.maps import random_features
from models.features.samplers import Hadamard, Iid, Orthogonal, Sampler, draw_frequencies
from models.features.variance_reduction import NearOrthogonal, Sobol, Stratified

REFERENCE = "orthogonal"
SAMPLERS: dict[str, Sampler] = {
    "iid": Iid(),
    "hadamard": Hadamard(),
    REFERENCE: Orthogonal(),
    "stratified": Stratified(),
    "near_orthogonal + stratified": NearOrthogonal(),
    "near_orthogonal + stratified, fourth powers alone": NearOrthogonal(square_weight=0.0),
    "sobol": Sobol(),
}


@dataclass(frozen=True)
class KernelProblem:
    """Points (n, d), the kernel's bandwidth, and the exact kernel at the pairs i < j."""

    points: Tensor
    length: float
    exact: Tensor


@dataclass(frozen=True)
class Mean:
    """A mean over draws and its standard error."""

    value: float
    error: float

    def __truediv__(self, other: Mean) -> Mean:
        """The ratio of two independent means, its standard error to first order."""
        ratio = self.value / other.value
        return Mean(ratio, ratio * math.hypot(self.error / self.value, other.error / other.value))


Features = Callable[[KernelProblem, int, torch.Generator], Tensor]


def problem_of(*, dimension: int, points: int, generator: torch.Generator) -> KernelProblem:
    x = torch.randn(points, dimension, dtype=torch.float64, generator=generator)
    length = bandwidth(x, generator=generator)
    return KernelProblem(x, length, Gaussian().value(torch.pdist(x) / length))


def sampler_features(sampler: Sampler) -> Features:
    def features(problem: KernelProblem, count: int, generator: torch.Generator) -> Tensor:
        frequencies = draw_frequencies(
            kernel=Gaussian(),
            sampler=sampler,
            count=count,
            dimension=problem.points.shape[1],
            bandwidth=problem.length,
            generator=generator,
        )
        return random_features(problem.points, frequencies)

    return features


def scikit_learn_features(problem: KernelProblem, count: int, generator: torch.Generator) -> Tensor:
    """cos(wᵀx + b) with independent phases b: 2m components, as many features as sines and cosines of m frequencies."""
    from sklearn.kernel_approximation import RBFSampler  # pyright: ignore[reportMissingImports]

    seed = int(torch.randint(2**31, (), generator=generator))
    sampler = RBFSampler(gamma=0.5 / problem.length**2, n_components=2 * count, random_state=seed)
    return torch.as_tensor(sampler.fit_transform(problem.points.numpy()))


def squared_error(features: Tensor, exact: Tensor) -> float:
    """Mean over the pairs i < j."""
    first, second = torch.triu_indices(len(features), len(features), 1)
    return float(((features @ features.T)[first, second] - exact).square().mean())


def mean_error(features: Features, problem: KernelProblem, *, count: int, draws: int, seed: int) -> Mean:
    generator = torch.Generator().manual_seed(seed)
    errors = [squared_error(features(problem, count, generator), problem.exact) for _ in range(draws)]
    spread = torch.tensor(errors, dtype=torch.float64)
    return Mean(float(spread.mean()), float(spread.std()) / draws**0.5)


def rows_to_measure() -> dict[str, Features]:
    rows = {name: sampler_features(sampler) for name, sampler in SAMPLERS.items()}
    return {"scikit-learn RBFSampler": scikit_learn_features} | rows if find_spec("sklearn") else rows


def measure(*, dimension: int, count: int, draws: int, points: int, seed: int) -> dict[str, Mean]:
    """The error of each row, each with random numbers of its own, on the same points."""
    problem = problem_of(dimension=dimension, points=points, generator=torch.Generator().manual_seed(seed))
    return {
        name: mean_error(features, problem, count=count, draws=draws, seed=seed + 1 + i)
        for i, (name, features) in enumerate(rows_to_measure().items())
    }


def table(columns: dict[int, dict[str, Mean]]) -> str:
    lines = ["| sampler | " + " | ".join(f"d = {dimension}" for dimension in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for name in rows_to_measure():
        lines.append(f"| {name} | " + " | ".join(cell(errors, name) for errors in columns.values()) + " |")
    return "\n".join(lines)


def cell(errors: dict[str, Mean], name: str) -> str:
    if name == REFERENCE:
        return f"1 ({errors[name].value:.2e})"
    ratio = errors[name] / errors[REFERENCE]
    return f"{ratio.value:.2f} ± {ratio.error:.2f}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="kernel error of each sampler relative to orthogonal features")
    parser.add_argument("--draws", type=int, default=100, help="draws of the frequencies, at least 2")
    parser.add_argument("--frequencies", type=int, default=128, help="m; every row has 2m features")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[5, 10, 44], help="columns of the input")
    parser.add_argument("--points", type=int, default=200, help="standard-normal points, at least 2")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.draws, options.points) < 2:
        parser.error("--draws and --points must be at least 2")
    return options


def main() -> None:
    options = arguments()
    print(
        f"{options.frequencies} frequencies, {options.draws} draws, mean-squared error relative to {REFERENCE} ± s.e.\n"
    )
    columns = {
        dimension: measure(
            dimension=dimension,
            count=options.frequencies,
            draws=options.draws,
            points=options.points,
            seed=options.seed,
        )
        for dimension in options.dimensions
    }
    print(table(columns))
    if not find_spec("sklearn"):
        print("\nNo scikit-learn row: scikit-learn is not installed.")


if __name__ == "__main__":
    main()
