"""One iteration of training a sparse-spectrum Gaussian process: ours beside GPyTorch's RFFKernel.

python benchmarks/ssgp.py --threads 1
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any

import torch
from side_by_side import Form, Machine, Row, Work, compare, run
from torch import Tensor

from models.ssgp.model import SSGP
from models.ssgp.moments import in_blocks

ROWS, DIMENSION, COUNT = 30_000, 9, 64
RATE = 0.05


def rows_of(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(ROWS, DIMENSION, generator=generator, dtype=torch.float64)
    targets = inputs.sin().sum(1) + 0.3 * torch.randn(ROWS, generator=generator, dtype=torch.float64)
    return inputs.to(device, dtype), targets.to(device, dtype)


def ours(inputs: Tensor, targets: Tensor) -> Form:
    frequencies = torch.randn(COUNT, DIMENSION, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model, stream = SSGP(frequencies, scale=3.0).to(inputs.device), in_blocks(inputs, targets)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=RATE)

    def step() -> None:
        optimizer.zero_grad()
        model.loss(stream).backward()
        optimizer.step()

    return step


def of_autograd(inputs: Tensor, targets: Tensor) -> Form:
    """The same loss with all features in memory, differentiated by torch."""
    from models.features.maps import random_features
    from models.ssgp.model import negative_log_likelihood
    from models.ssgp.moments import FeatureMoments

    frequencies = torch.randn(COUNT, DIMENSION, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    model = SSGP(frequencies, scale=3.0).to(inputs.device)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=RATE)
    square = targets.double().square().sum()

    def step() -> None:
        optimizer.zero_grad()
        features = random_features(inputs, model.scaled_frequencies.to(inputs.dtype))
        moments = FeatureMoments(
            (features.T @ features).double(), (features.T @ targets).double(), square, len(targets)
        )
        (negative_log_likelihood(moments, model.signal, model.noise) / len(targets)).backward()
        optimizer.step()

    return step


def gpytorch_form(inputs: Tensor, targets: Tensor) -> Form:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit.script, at import
        import gpytorch

    kernel = gpytorch.kernels.RFFKernel(num_samples=COUNT, num_dims=DIMENSION, ard_num_dims=DIMENSION)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(inputs, targets, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.ScaleKernel(kernel)

        def forward(self, x: Tensor) -> Any:
            mean: Any = self.mean_module(x)
            return gpytorch.distributions.MultivariateNormal(mean, self.covar_module(x))  # pyright: ignore[reportArgumentType]

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(inputs)
    model: Any = Model(likelihood).to(inputs)
    model.covar_module.base_kernel.lengthscale = 3.0
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    objective: Any = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def step() -> None:
        optimizer.zero_grad()
        (-objective(model(inputs), targets)).backward()
        optimizer.step()

    return step


def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for dtype in (torch.float32, torch.float64):
        inputs, targets = rows_of(dtype, machine.device)
        forms = {"ours": ours(inputs, targets), "one piece, autograd": of_autograd(inputs, targets)}
        if find_spec("gpytorch") is not None:
            forms["GPyTorch, RFFKernel"] = gpytorch_form(inputs, targets)
        size = f"N = {ROWS}, p = {COUNT}, {str(dtype).removeprefix('torch.')}"
        products = 2 * 2.0 * ROWS * (2 * COUNT) ** 2  # ΦᵀΦ, and Φ times its gradient
        rows += compare(
            "ssgp iteration", size, forms, machine=machine, budget=budget, work=Work(flops=products, dtype=dtype)
        )
    return rows


if __name__ == "__main__":
    run("one training iteration of a sparse-spectrum Gaussian process", measure)
