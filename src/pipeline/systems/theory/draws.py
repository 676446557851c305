"""Many draws of feature maps for one kernel on one set of inputs: Δ and risks of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from models.features.bandwidth import bandwidth
from models.features.kernel_matrix import kernel_matrix, kernel_product
from models.features.kernels import Kernel
from models.features.maps import random_features
from models.features.samplers import Orthogonal, Sampler, draw_frequencies
from models.runtime.seeding import generator
from models.theory.bounds import rank_bound, theorem_1
from models.theory.dense import Approximation, KernelSpectrum, Risk, feature_risk
from models.theory.iterative import ShiftedKernel, iterative_approximation, iterative_risk
from pipeline.host.progress import Bar
from pipeline.systems.theory.config import TheorySettings
from pipeline.systems.theory.inputs import Inputs


@dataclass(frozen=True)
class Row:
    """Holds one draw: Δ and its two sides, the risk of ridge regression on the features, and theorem 1's bound on
    it."""

    count: int
    draw: int
    delta: float
    lowest: float
    highest: float
    risk: float
    bias: float
    variance: float
    theorem_1: float


DRAW_COLUMNS = [column.name for column in fields(Row)]


@dataclass(frozen=True)
class KernelOnInputs:
    """Holds a kernel on inputs. name is unique in a study; scale is the bandwidth."""

    inputs: Inputs
    kernel_name: str
    kernel: Kernel
    scale: float
    seed: int

    @property
    def name(self) -> str:
        return f"{self.inputs.name}_{self.kernel_name}"

    def features(self, sampler: Sampler, count: int, use: str) -> Tensor:
        """Returns random features of the points, (N, 2m), drawn by the generator of a named use. count: m."""
        frequencies = draw_frequencies(
            kernel=self.kernel, sampler=sampler, count=count, dimension=self.inputs.points.shape[1],
            bandwidth=self.scale, generator=generator(self.seed, f"theory/{self.name}/{use}"),
        )  # fmt: skip
        return random_features(self.inputs.points, frequencies.to(self.inputs.points))


def kernel_on_inputs(inputs: Inputs, kernel_name: str, kernel: Kernel, *, seed: int) -> KernelOnInputs:
    """Returns a kernel on inputs, whose bandwidth is the median distance between random pairs. Raises ValueError when
    no two points differ."""
    chance = generator(seed, f"theory/bandwidth/{inputs.name}")
    return KernelOnInputs(inputs, kernel_name, kernel, bandwidth(inputs.points, generator=chance), seed)


class ByDecomposition:
    """Measures a kernel on inputs exactly, by one decomposition of K."""

    def __init__(self, problem: KernelOnInputs, settings: TheorySettings) -> None:
        self.ridge, self.noise, self.inputs = settings.ridge, settings.noise, problem.inputs
        matrix = kernel_matrix(problem.kernel, problem.inputs.points, bandwidth=problem.scale)
        self.spectrum = KernelSpectrum(matrix)

    def risk(self) -> Risk:
        """Returns the risk of ridge regression with K itself."""
        return self.spectrum.risk(self.inputs.signal, ridge=self.ridge, noise=self.noise)

    def approximation(self, features: Tensor, chance: torch.Generator) -> Approximation:  # noqa: ARG002
        """Returns how close K̂ of features (N, 2m) comes to K. chance is not used."""
        return self.spectrum.approximation(features, ridge=self.ridge)


class ByProducts:
    """Measures a kernel on inputs as `ByDecomposition` does, but by products with K, preconditioned by orthogonal
    features."""

    def __init__(self, problem: KernelOnInputs, settings: TheorySettings) -> None:
        self.noise, self.inputs = settings.noise, problem.inputs
        self.shifted = ShiftedKernel(
            kernel_product(problem.kernel, problem.inputs.points, bandwidth=problem.scale),
            rows=len(problem.inputs.points), ridge=settings.ridge,
            features=problem.features(Orthogonal(), settings.preconditioner, "preconditioner"),
        )  # fmt: skip

    def risk(self) -> Risk:
        """Returns the risk of ridge regression with K itself."""
        return iterative_risk(self.shifted, self.inputs.signal, noise=self.noise)

    def approximation(self, features: Tensor, chance: torch.Generator) -> Approximation:
        """Returns how close K̂ of features (N, 2m) comes to K. chance: draws what the iteration begins with."""
        return iterative_approximation(self.shifted, features, generator=chance)


class Measured(NamedTuple):
    """Holds what was measured of a problem. exact: the risk with K itself. draws: a row per sampler, m and draw, the
    columns of `Row` and `sampler`."""

    exact: Risk
    draws: pd.DataFrame


def measure_draw(
    problem: KernelOnInputs, method: ByDecomposition | ByProducts, exact: Risk, sampler: Sampler,
    row: tuple[str, int, int], settings: TheorySettings,
) -> Row:  # fmt: skip
    """Makes one draw and returns what was measured of it. row: the name of the sampler, m, and the number of the draw.
    exact: the risk with K itself."""
    name, count, draw = row
    use, rows = f"{name}/{count}/{draw}", len(problem.inputs.points)
    features = problem.features(sampler, count, use)
    close = method.approximation(features, generator(problem.seed, f"theory/{problem.name}/{use}/start"))
    risk = feature_risk(features, problem.inputs.signal, ridge=settings.ridge, noise=settings.noise)
    rank = rank_bound(rows=rows, count=count)
    bound = theorem_1(exact, delta=close.delta, rank=rank, rows=rows, noise=settings.noise)
    return Row(count, draw, close.delta, close.lowest, close.highest, risk.total, risk.bias, risk.variance, bound)


def measure(problem: KernelOnInputs, samplers: Mapping[str, Sampler], settings: TheorySettings, bar: Bar) -> Measured:
    """Measures all draws of a problem, each with a generator of its own, so that no draw depends on which others are
    made. A problem of more than `dense_rows` rows is measured by products with K. bar: goes on by one a draw."""
    method = (ByDecomposition if len(problem.inputs.points) <= settings.dense_rows else ByProducts)(problem, settings)
    exact, parts = method.risk(), []
    for name, sampler in samplers.items():
        rows = []
        for count in settings.counts:
            for draw in range(settings.draws):
                rows.append(measure_draw(problem, method, exact, sampler, (name, count, draw), settings))
                bar.update()
        parts.append(pd.DataFrame(rows).assign(sampler=name))
    return Measured(exact, pd.concat(parts, ignore_index=True))
