"""The data set hopper: what is seen of the hopping, noise, falls, determinism, the split, and what is refused."""

import inspect
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from data.base import DataError
from data.hopper import load as hopper
from data.hopper import simulator
from data.hopper.load import ATTEMPTS, Hopper, hop
from data.hopper.policies import POLICIES
from data.hopper.simulator import ACTIONS, OBSERVED, Hop, roll_out

SMALL = {"trajectories": 6, "test": 2, "validation": 1, "steps": 12}
needs_simulators = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("gymnasium", "mujoco")),
    reason="gymnasium and mujoco are not installed",
)


@pytest.fixture
def environment():
    made = simulator.hopper_class()()
    yield made
    made.close()


def small(**changes):
    return Hopper(**{**SMALL, **changes}).load()


@needs_simulators
def test_trajectories_have_the_documented_shapes_names_and_units():
    dataset = small()
    assert [part.values.shape for part in dataset.parts.values()] == [(3, 12, 5), (1, 12, 5), (2, 12, 5)]
    assert all(bool(part.mask.all()) for part in dataset.parts.values())
    assert dataset.feature_names == ("height", "torso_angle", "thigh_angle", "leg_angle", "foot_angle")
    assert dataset.units == ("m", "rad", "rad", "rad", "rad")
    assert (dataset.name, dataset.stand_in) == ("hopper", False)
    assert dataset.source.startswith("simulated: gymnasium 1.")
    assert ", mujoco " in dataset.source


@needs_simulators
def test_the_same_seed_gives_the_same_data_and_another_seed_another_gait():
    assert small(seed=3).checksum == small(seed=3).checksum
    one, other = small(seed=0, noise=0.0).test.values, small(seed=1, noise=0.0).test.values
    assert (one - other).abs().max() > 0.05


@needs_simulators
def test_seeds_with_the_same_policy_differ_in_states_and_noise():
    one, other = small(seed=0).test.values, small(seed=len(POLICIES)).test.values
    assert ((one - other).abs() > 0).all()


@needs_simulators
def test_fewer_trajectories_are_the_begin_of_more():
    less, more = small(), small(trajectories=9, test=5)
    every = {name: part.values[i] for part in more.parts.values() for i, name in enumerate(part.names)}
    for part in less.parts.values():
        for name, values in zip(part.names, part.values, strict=True):
            torch.testing.assert_close(values, every[name], rtol=0, atol=0)


@needs_simulators
def test_a_row_is_every_so_many_steps_of_the_simulator():
    fine, coarse = small(every=1, steps=45, noise=0.0), small(noise=0.0)
    torch.testing.assert_close(fine.test.values[:, ::4], coarse.test.values, rtol=0, atol=0)


@needs_simulators
def test_the_last_are_the_test_part_and_validation_is_drawn():
    assert small().test.names == ("hop_04", "hop_05")
    assert len({small(seed=seed, steps=2).validation.names for seed in range(8)}) > 1


@needs_simulators
def test_the_noise_is_of_the_stated_size_and_changes_nothing_else():
    added = small(noise=0.1, steps=50).train.values - small(noise=0.0, steps=50).train.values
    assert added.std().item() == pytest.approx(0.1, rel=0.1)


@needs_simulators
def test_noise_on_the_torques_changes_the_motion_but_not_the_initial_state():
    still, moved = small(noise=0.0, action_noise=0.0).test.values, small(noise=0.0, action_noise=0.3).test.values
    torch.testing.assert_close(still[:, 0], moved[:, 0], rtol=0, atol=0)
    assert (still[:, -1] - moved[:, -1]).abs().max() > 1e-3


@needs_simulators
@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_each_policy_hops_forwards_for_a_default_trajectory(environment, number):
    ways = [
        roll_out(
            environment, POLICIES[number], seed=seed, noise=0.1 * np.random.default_rng(seed).normal(size=(796, 3))
        )
        for seed in range(3)
    ]
    upright = [way for way in ways if not way.fell]
    assert len(upright) >= 2
    for way in upright:
        assert way.observed.shape == (797, OBSERVED)
        assert way.distance > 4
        heights = way.observed[100:, 0]
        assert np.ptp(heights) > 0.1  # it hops, and does not glide


@needs_simulators
def test_rounding_does_not_grow(environment):
    noise = 0.1 * np.random.default_rng(0).standard_normal((200, ACTIONS))
    one = roll_out(environment, POLICIES[0], seed=1, noise=noise).observed
    other = roll_out(environment, POLICIES[0], seed=1, noise=noise * (1 + 1e-13)).observed
    assert 0 < np.abs(one - other).max() < 1e-8


@needs_simulators
def test_without_torques_the_hopper_falls_and_the_way_ends(environment):
    way = roll_out(environment, np.zeros((ACTIONS, OBSERVED + 1)), seed=0, noise=np.zeros((500, ACTIONS)))
    assert way.fell
    assert 10 < len(way.observed) < 400


@needs_simulators
def test_too_much_noise_is_one_line_that_says_what_to_lower():
    with pytest.raises(
        DataError,
        match=r"^hopper: it fell in each of 10 attempts to hop for 796 .*; lower steps, every or action_noise$",
    ):
        small(steps=200, action_noise=20.0)


class Recorder:
    """An environment whose observation is the number of steps taken; it falls after `limit` of them."""

    def __init__(self, limit):
        self.limit, self.seeds, self.data = limit, [], self
        self.qpos = [0.0]

    def reset(self, *, seed):
        self.seeds.append(seed)
        self.actions = []
        return np.zeros(OBSERVED), {}

    def step(self, action):
        self.actions.append(action)
        self.qpos[0] += 0.5
        return np.full(OBSERVED, float(len(self.actions))), 1.0, len(self.actions) >= self.limit, False, {}


def test_torques_are_gains_times_observation_plus_offset_plus_noise_within_their_range():
    environment = Recorder(limit=9)
    policy = np.hstack([np.full((ACTIONS, OBSERVED), 0.01), [[0.1], [-0.2], [0.0]]])
    noise = np.array([[0.3, 0.0, 0.0], [0.0, -0.4, 0.0], [5.0, -5.0, 0.5]])
    way = roll_out(environment, policy, seed=9, noise=noise)
    np.testing.assert_allclose(environment.actions, [[0.4, -0.2, 0.0], [0.21, -0.49, 0.11], [1.0, -1.0, 0.72]])
    np.testing.assert_array_equal(way.observed, np.repeat([[0.0], [1.0], [2.0], [3.0]], OBSERVED, axis=1))
    assert (environment.seeds, way.fell, way.distance) == ([9], False, 1.5)


def test_after_a_fall_another_beginning_is_drawn():
    environment = Recorder(limit=5)
    with pytest.raises(DataError, match="in each of 10 attempts to hop for 7 of"):
        hop(environment, (0, 1), length=7, action_noise=0.1)
    assert len(set(environment.seeds)) == ATTEMPTS


def test_the_first_way_without_a_fall_is_taken(monkeypatch):
    ways = [Hop(np.full((4, OBSERVED), float(i)), fell=i < 2, distance=1.0) for i in range(4)]
    remaining = iter(ways)
    monkeypatch.setattr(hopper, "roll_out", lambda *_, **__: next(remaining))
    np.testing.assert_array_equal(hop(None, (0, 0), length=3, action_noise=0.1).observed, ways[2].observed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, r"seed must be a whole number of at least 0, got -1"),
        ({"steps": 0}, r"steps must be a whole number of at least 1, got 0"),
        ({"every": 0}, r"every must be a whole number of at least 1, got 0"),
        ({"test": True}, r"test must be a whole number of at least 1, got True"),
        ({"validation": 4}, r"6 trajectories cannot give 2 for test, 4 for validation and at least one for training"),
        ({"action_noise": -0.1}, r"action_noise must be a number of at least 0, got -0\.1"),
        ({"noise": float("nan")}, r"noise must be a number of at least 0, got nan"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(change, message):
    with pytest.raises(DataError, match=f"^hopper: {message}"):
        small(**change)


@pytest.mark.parametrize("module", ["gymnasium", "mujoco"])
def test_missing_simulators_are_one_line_that_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=r"^hopper: gymnasium and mujoco are needed; install them: pip .*swimmer\]'$"):
        small()


def test_the_configuration_names_every_parameter_with_its_default():
    conf = OmegaConf.load(Path(__file__).parents[3] / "conf" / "data" / "hopper.yaml")
    defaults = {name: p.default for name, p in inspect.signature(Hopper).parameters.items()}
    assert dict(conf) == {"_target_": "data.hopper.load.Hopper", **defaults}
