"""Random features, and drawing their directions: ours, written-out forms and scikit-learn's RBFSampler.

python benchmarks/feature_map.py --threads 1
"""

from __future__ import annotations

from importlib.util import find_spec

import torch
from side_by_side import Form, Machine, Row, Work, compare, run
from torch import Tensor

from models.features.maps import random_features
from models.features.samplers import Hadamard, Orthogonal

ROWS, DIMENSION = 12000, 44
FEATURES = ((200, torch.float32), (2000, torch.float32), (2000, torch.float64))
SQUARES = (1024, 8192)  # m = d of the samplers
FEW, MANY = 100, 8192  # m and d of a sampler that draws fewer directions than columns


def written_out(x: Tensor, frequencies: Tensor) -> Tensor:
    phases = x @ frequencies.T
    return torch.cat((phases.cos(), phases.sin()), -1) / len(frequencies) ** 0.5


def scikit_learn(x: Tensor, features: int) -> Form:
    """As many components as ours has sines and cosines; in the dtype of x, on the CPU."""
    from sklearn.kernel_approximation import RBFSampler  # pyright: ignore[reportMissingImports]

    array = x.cpu().numpy()
    sampler = RBFSampler(n_components=features, random_state=0).fit(array)
    return lambda: sampler.transform(array)


def maps(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for features, dtype in FEATURES:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(ROWS, DIMENSION, generator=generator).to(machine.device, dtype)
        w = torch.randn(features // 2, DIMENSION, generator=generator).to(machine.device, dtype)
        torch.testing.assert_close(random_features(x, w), written_out(x, w))
        forms: dict[str, Form] = {
            "ours": lambda x=x, w=w: random_features(x, w),
            "written out": lambda x=x, w=w: written_out(x, w),
        }
        if find_spec("sklearn"):
            forms["scikit-learn RBFSampler"] = scikit_learn(x, features)
        size = f"{ROWS} × {DIMENSION} → {features}, {str(dtype).removeprefix('torch.')}"
        work = Work(flops=2 * x.numel() * len(w), dtype=dtype)
        rows += compare("feature map", size, forms, machine=machine, budget=budget, work=work)
    return rows


def hadamard_by_butterflies(x: Tensor) -> Tensor:
    """log₂ p rounds of sums and differences, each over all of the memory."""
    size, half, result = x.shape[-1], 1, x
    while half < size:
        first, second = result.reshape(-1, size // (2 * half), 2, half).unbind(2)
        result = torch.stack((first + second, first - second), 2).reshape(x.shape)
        half *= 2
    return result / size**0.5


def directions_by_butterflies(count: int, generator: torch.Generator) -> Tensor:
    rows = torch.eye(count, dtype=torch.float64, device=generator.device)
    for _ in range(3):
        signs = 2 * torch.randint(2, (count,), generator=generator, device=generator.device) - 1
        rows = hadamard_by_butterflies(rows) * signs
    return rows / rows.norm(dim=1, keepdim=True)


def samplers(machine: Machine, budget: float) -> list[Row]:
    """Directions of m = d, beside the dense QR of `Orthogonal`; then those of m < d, beside a square Q."""
    generator = torch.Generator(machine.device).manual_seed(0)
    rows = []
    for size in SQUARES:
        forms: dict[str, Form] = {
            "ours, sampler=hadamard": lambda n=size: Hadamard().directions(n, n, generator=generator),
            "butterflies": lambda n=size: directions_by_butterflies(n, generator),
            "dense, sampler=orthogonal": lambda n=size: Orthogonal().directions(n, n, generator=generator),
        }
        rows += compare("Hadamard sampler", f"m = d = {size}", forms, machine=machine, budget=budget)
    normal = torch.randn(MANY, FEW, dtype=torch.float64, generator=generator, device=machine.device)
    forms = {
        "ours, sampler=orthogonal": lambda: Orthogonal().directions(FEW, MANY, generator=generator),
        "square Q, cut": lambda: torch.linalg.qr(normal, mode="complete")[0][:, :FEW].T,
    }
    return rows + compare("orthogonal sampler", f"m = {FEW}, d = {MANY}", forms, machine=machine, budget=budget)


def measure(machine: Machine, budget: float) -> list[Row]:
    return maps(machine, budget) + samplers(machine, budget)


if __name__ == "__main__":
    run("random features beside written-out forms and scikit-learn", measure)
