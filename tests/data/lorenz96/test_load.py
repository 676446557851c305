"""Lorenz-96: the equations on cases that are known, the integration, the observed part, determinism, the split."""

import hashlib
import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from data.base import DataError
from data.lorenz96.load import Lorenz96, initial_states, runge_kutta, simulate, tendency

SMALL = {"trajectories": 6, "test": 2, "validation": 1, "steps": 20}
# SHA-256 of the states of two trajectories, 50 rows each, under seed 0, that is after 25 units of time.
STATES = "1142b95452d76cf8ee929d1498b509f620f57e22a464ba7ab1deaec0e35fb20b"


def small(**changes):
    return Lorenz96(**{**SMALL, **changes}).load()


def test_the_tendency_is_that_of_the_equations():
    generator = np.random.default_rng(0)
    x = generator.standard_normal(7)
    expected = [(x[(k + 1) % 7] - x[k - 2]) * x[k - 1] - x[k] + 3.0 for k in range(7)]
    np.testing.assert_allclose(tendency(x, 3.0), expected, rtol=1e-14)


def test_without_forcing_and_friction_the_energy_stays():
    x = np.random.default_rng(1).standard_normal((3, 8))
    np.testing.assert_allclose((x * (tendency(x, 0.0) + x)).sum(-1), 0, atol=1e-13)


def test_a_ring_at_rest_stays_at_rest():
    np.testing.assert_array_equal(runge_kutta(np.full(8, 5.0), 5.0, 0.01), np.full(8, 5.0))


def test_the_integration_is_of_order_four():
    start = 8.0 + np.random.default_rng(2).standard_normal(8)

    def after(pieces):
        x = start
        for _ in range(pieces):
            x = runge_kutta(x, 8.0, 0.4 / pieces)
        return x

    exact = after(1280)
    coarse, fine = (np.abs(after(pieces) - exact).max() for pieces in (40, 80))
    assert 10 < coarse / fine < 24


def test_states_are_the_same_to_the_last_digit_wherever_they_are_made():
    starts = initial_states(0, 2, variables=8, forcing=8.0)
    states = simulate(starts, forcing=8.0, interval=0.1, steps=50)
    assert hashlib.sha256(states.tobytes()).hexdigest() == STATES


def test_states_vary_as_the_documentation_says():
    starts = initial_states(3, 25, variables=8, forcing=8.0)
    states = simulate(starts, forcing=8.0, interval=0.1, steps=100)
    assert states.std() == pytest.approx(3.7, abs=0.15)


def test_trajectories_have_the_documented_shapes_and_names():
    dataset = small()
    assert [part.values.shape for part in dataset.parts.values()] == [(3, 20, 4), (1, 20, 4), (2, 20, 4)]
    assert all(bool(part.mask.all()) for part in dataset.parts.values())
    assert dataset.feature_names == ("x_0", "x_2", "x_4", "x_6")
    assert (dataset.name, dataset.units, dataset.source) == ("lorenz96", ("",) * 4, "simulated")
    assert not dataset.stand_in


def test_the_same_seed_gives_the_same_data_and_another_seed_other_states():
    assert small(seed=3).checksum == small(seed=3).checksum
    one, other = small(seed=3, noise=0.0).test.values, small(seed=4, noise=0.0).test.values
    assert (one - other).abs().max() > 1


def test_fewer_and_shorter_trajectories_are_the_begin_of_more_and_longer_ones():
    less, more = small(), small(trajectories=9, test=5, steps=30)
    every = {name: part.values[i] for part in more.parts.values() for i, name in enumerate(part.names)}
    for part in less.parts.values():
        for name, values in zip(part.names, part.values, strict=True):
            torch.testing.assert_close(values, every[name][:20], rtol=0, atol=0)


def test_the_last_trajectories_are_the_test_part_and_validation_is_drawn():
    assert small().test.names == ("trajectory_04", "trajectory_05")
    assert len({small(seed=seed).validation.names for seed in range(8)}) > 1


def test_the_noise_is_of_the_stated_size_and_changes_nothing_else():
    loud, still = small(steps=500, noise=0.5), small(steps=500, noise=0.0)
    added = loud.train.values - still.train.values
    assert added.std().item() == pytest.approx(0.5, rel=0.05)
    assert abs(added.mean().item()) < 0.03


def test_a_longer_interval_leaves_out_rows():
    fine, coarse = small(interval=0.05, steps=39, noise=0.0), small(interval=0.1, noise=0.0)
    torch.testing.assert_close(fine.test.values[:, :10:2], coarse.test.values[:, :5], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, r"seed must be a whole number of at least 0, got -1"),
        ({"steps": 0}, r"steps must be a whole number of at least 1, got 0"),
        ({"steps": 2.5}, r"steps must be a whole number of at least 1, got 2\.5"),
        ({"trajectories": True}, r"trajectories must be a whole number of at least 1, got True"),
        ({"validation": 4}, r"6 trajectories cannot give 2 for test, 4 for validation and at least one for training"),
        ({"variables": 3}, r"variables must be a whole number of at least 4, got 3"),
        ({"observed": 0}, r"observed must be a whole number of at least 1, got 0"),
        ({"observed": 9}, r"observed=9 is more than variables=8; lower it"),
        ({"interval": 0.0}, r"interval must be a number above 0, got 0\.0"),
        ({"interval": 1e9}, r"interval=1000000000\.0 is above 10; lower it"),
        ({"noise": -0.1}, r"noise must be a number of at least 0, got -0\.1"),
        ({"forcing": float("nan")}, r"forcing must be a number of at least 0, got nan"),
        ({"forcing": 1e4}, r"the states grow beyond all bounds with forcing=10000\.0; lower it"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(change, message):
    with pytest.raises(DataError, match=f"^lorenz96: {message}"):
        small(**change)


def test_the_configuration_names_every_parameter_with_its_default():
    conf = OmegaConf.load(Path(__file__).parents[3] / "conf" / "data" / "lorenz96.yaml")
    defaults = {name: p.default for name, p in inspect.signature(Lorenz96).parameters.items()}
    assert dict(conf) == {"_target_": "data.lorenz96.load.Lorenz96", **defaults}
