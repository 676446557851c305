"""Two-stage regression: ours, the written-out equations, and three ridge regressions by scikit-learn.

What counts is the share of the product peak that ours reaches, with all threads and with one: multiples of the others'
times differ threefold between processors. The features are given. The written-out forms hold the row by row products
ψ ⊗ ω: at m = 200 those are 2 GB, and the form that solves with them is run there and scikit-learn's is not.

    python benchmarks/two_stage.py --threads 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import torch
from side_by_side import Form, Machine, Row, Work, compare, product_peak, run
from torch import Tensor

from models.psrnn.two_stage import FeatureBatch, FeatureStream, two_stage_regression

STEPS, CHUNK, RIDGE = 12000, 4096, 1e-2  # CHUNK as initialise.chunk
FEATURES = (50, 100, 200)
LARGEST_RIDGE = 100  # features up to which scikit-learn takes part


def features_of_a_walk(features: int, device: torch.device) -> FeatureBatch:
    """Random features of windows that overlap, so that past and future tell of one another."""
    generator = torch.Generator().manual_seed(0)
    walk = torch.randn(STEPS + 2, 8, generator=generator).cumsum(0) / 8

    def features_at(shift: int) -> Tensor:
        phases = walk[shift : shift + STEPS] @ torch.randn(8, features // 2, generator=generator)
        return (torch.cat([phases.cos(), phases.sin()], 1) / (features / 2) ** 0.5).to(device)

    return FeatureBatch(*(features_at(shift) for shift in (0, 1, 2, 1)))


def in_chunks(batch: FeatureBatch) -> FeatureStream:
    def stream() -> Iterator[FeatureBatch]:
        yield from (FeatureBatch(*parts) for parts in zip(*(part.split(CHUNK) for part in batch), strict=True))

    return stream


def row_products(batch: FeatureBatch) -> Tensor:
    """ψ_t ⊗ ω_t of every step, (step, s·w)."""
    return (batch.shifted_future.unsqueeze(2) * batch.observation.unsqueeze(1)).flatten(1)


def written_out(batch: FeatureBatch) -> Tensor:
    """Section 3.1 of the paper, with means: W (s, s, w)."""
    eta, steps = batch.history, len(batch.history)

    def regression(inputs: Tensor, targets: Tensor) -> Tensor:
        gram = inputs.T @ inputs / steps + RIDGE * torch.eye(inputs.shape[1], dtype=inputs.dtype, device=inputs.device)
        return torch.linalg.solve(gram, inputs.T @ targets / steps)

    state = eta @ regression(eta, batch.future)
    pairs = row_products(batch)
    estimates = eta @ regression(eta, pairs)
    return regression(state, estimates).T.reshape(batch.future.shape[1], -1, state.shape[1]).transpose(1, 2)


def three_ridge_regressions(batch: FeatureBatch) -> Form:
    """The same by scikit-learn, every target in one call; penalties of sums are those of means times the steps."""
    from sklearn.linear_model import Ridge  # pyright: ignore[reportMissingImports]

    eta, phi, pairs = (x.cpu().numpy() for x in (batch.history, batch.future, row_products(batch)))

    def fit() -> object:
        first, second, third = (Ridge(alpha=RIDGE * STEPS, fit_intercept=False, solver="cholesky") for _ in range(3))
        state = first.fit(eta, phi).predict(eta)
        estimates = second.fit(eta, pairs).predict(eta)
        return third.fit(state, estimates).coef_

    return fit


def forms_of(batch: FeatureBatch) -> dict[str, Form]:
    stream = in_chunks(batch)
    forms: dict[str, Form] = {
        "ours": lambda: two_stage_regression(stream, ridge=RIDGE, scale="samples"),
        "written out": lambda: written_out(batch),
    }
    if find_spec("sklearn") and batch.history.shape[1] <= LARGEST_RIDGE:
        forms["three scikit-learn Ridge"] = three_ridge_regressions(batch)
    return forms


def check(batch: FeatureBatch) -> None:
    """Ours and the written-out equations in double precision give the same W."""
    exact = FeatureBatch(*(part[:1000].double() for part in batch))
    found = two_stage_regression(in_chunks(exact), ridge=RIDGE, scale="samples").update
    torch.testing.assert_close(found, written_out(exact), rtol=1e-6, atol=1e-8)


def with_one_thread(machine: Machine, size: str, ours: Form, budget: float, work: Work) -> list[Row]:
    """Our form again, and the product peak that it is a share of; nothing where there is one thread anyway."""
    threads = torch.get_num_threads()
    if threads == 1 or machine.device.type != "cpu":
        return []
    torch.set_num_threads(1)
    try:
        alone = replace(machine, product={work.dtype: product_peak(work.dtype, machine.device)})
        return compare(
            "two-stage regression, one thread", size, {"ours": ours}, machine=alone, budget=budget, work=work
        )
    finally:
        torch.set_num_threads(threads)


@torch.no_grad()
def measure(machine: Machine, budget: float) -> list[Row]:
    rows = []
    for features in FEATURES:
        batch = features_of_a_walk(features, machine.device)
        if features == FEATURES[0]:
            check(batch)
        work = Work(flops=2 * STEPS * features**3)
        size = f"m = {features}, {STEPS} steps"
        forms = forms_of(batch)
        rows += compare("two-stage regression", size, forms, machine=machine, budget=budget, work=work)
        rows += with_one_thread(machine, size, forms["ours"], budget, work)
    return rows


if __name__ == "__main__":
    run("two-stage regression beside the written-out equations and scikit-learn", measure)
