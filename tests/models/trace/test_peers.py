"""Our estimators and those of PyLops: equal laws on the same matrix, by mean, spread and failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pylops
import pytest
import torch
from pylops.utils.estimators import trace_hutchinson, trace_hutchpp, trace_nahutchpp
from scipy.stats import ks_2samp

from models.trace.estimators import independent_estimates
from models.trace.oracles import Diagonal

SIZE, QUERIES, TRIALS = 80, 24, 400
VALUES = 1 / np.arange(1, SIZE + 1) ** 2
PEERS = {
    "hutchinson": trace_hutchinson,
    "hutch_pp": trace_hutchpp,
    "na_hutch_pp": lambda *args, **settings: trace_nahutchpp(*args, c1=0.25, c2=0.5, **settings),
}


@contextmanager
def numpy_seed(seed: int) -> Iterator[None]:
    """PyLops draws from numpy's global generator."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


@pytest.mark.parametrize("distribution", ["gaussian", "rademacher"])
@pytest.mark.parametrize("method", PEERS)
def test_the_estimates_have_the_law_of_the_peer(method: str, distribution: str) -> None:
    operator = pylops.Diagonal(VALUES)
    with numpy_seed(0):
        peer = [PEERS[method](operator, neval=QUERIES, sampler=distribution) for _ in range(TRIALS)]
    ours = independent_estimates(
        Diagonal(torch.from_numpy(VALUES)), method=method, queries=QUERIES, size=SIZE, trials=TRIALS,
        distribution=distribution, generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    if method == "hutchinson" and distribution == "rademacher":  # exact on a diagonal matrix, by both
        np.testing.assert_allclose([ours.min(), ours.max(), *peer], VALUES.sum(), rtol=1e-12)
        return
    assert ks_2samp(ours.numpy(), np.array(peer)).pvalue > 0.001
