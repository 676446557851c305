"""The search for policies of the hopper: its units, and that some iterations make it come farther."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from data.hopper.simulator import ACTIONS, OBSERVED


@pytest.fixture
def policies(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return importlib.import_module("hopper_policies")


def test_a_policy_on_standardised_observations_does_the_same_on_raw_ones(policies):
    generator = np.random.default_rng(0)
    observed = 3 + 2 * generator.standard_normal((500, OBSERVED))
    policy = generator.standard_normal((ACTIONS, OBSERVED + 1))
    moments = policies.Moments()
    moments.add(observed[:200])
    moments.add(observed[200:])
    raw = moments.on_raw(policy)
    standardised = (observed - observed.mean(0)) / observed.std(0)
    expected = standardised @ policy[:, :-1].T + policy[:, -1]
    np.testing.assert_allclose(observed @ raw[:, :-1].T + raw[:, -1], expected, rtol=1e-9, atol=1e-9)


def test_the_search_makes_the_hopper_come_farther(policies):
    pytest.importorskip("mujoco")
    environment = policies.hopper_class()()
    *_, found = (policy for policy, _ in zip(policies.search(environment, 0), range(12), strict=False))
    still = np.zeros((ACTIONS, OBSERVED + 1))
    before, after = (
        np.mean([policies.hop(environment, policy, 500 + i).distance for i in range(4)]) for policy in (still, found)
    )
    environment.close()
    assert after > before + 0.1
