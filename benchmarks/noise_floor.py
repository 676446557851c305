"""The least error that forecasts of `data=ecg` and `data=hopper` can have: that of one who knows the hidden state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from data.ecg.load import Ecg
from data.hopper.load import FEATURE_NAMES, Hopper
from data.hopper.policies import POLICIES
from data.hopper.simulator import ACTIONS, hopper_class

SEEN = len(FEATURE_NAMES)
FIRST, BETWEEN, BRANCHES = 32, 6, 8  # the first row that branches begin at, rows between such rows, ways from each


def noise_share(source: Ecg | Hopper, scale: np.ndarray) -> float:
    """Returns the variance of the noise on observations in standardised units, the mean over features.

    scale (feature,): standard deviations of the training part. No forecast has less error. The electrocardiogram has no
    other noise, so that who knows heart and angle has this error at every horizon.
    """
    return float(np.mean((source.noise / scale) ** 2))


def advance(environment: Any, policy: np.ndarray, observation: np.ndarray, disturbance: np.ndarray) -> np.ndarray:
    """Returns what the simulator shows one of its steps later, under the policy as `roll_out` applies it."""
    torques = policy[:, :-1] @ observation + policy[:, -1] + disturbance
    return environment.step(np.clip(torques, -1.0, 1.0))[0]


def states_along(environment: Any, source: Hopper, number: int) -> list[tuple[np.ndarray, ...]]:
    """Returns position, velocity and observation of the simulator at every `BETWEEN`-th row of a trajectory.

    Raises ValueError where the steps that `advance` makes are not those of the way that the data set is made of.
    """
    policy, way = POLICIES[source.seed % len(POLICIES)], source.way(environment, number)
    observation, _ = environment.reset(seed=way.start)
    kept = []
    for step, disturbance in enumerate(way.noise):
        row, between = divmod(step, source.every)
        if not between and row >= FIRST and not (row - FIRST) % BETWEEN:
            kept.append((environment.data.qpos.copy(), environment.data.qvel.copy(), observation))
        observation = advance(environment, policy, observation, disturbance)
        if not np.allclose(observation, way.observed[step + 1], atol=1e-5):
            raise ValueError(
                f"trajectory {number} of hopper: step {step + 1} is not that of the data set; "
                "make advance in benchmarks/noise_floor.py apply the policy as roll_out does"
            )
    return kept


def branches(
    environment: Any, source: Hopper, state: Sequence[np.ndarray], rows: int, generator: np.random.Generator
) -> np.ndarray:
    """Returns the features without noise in `BRANCHES` ways from a state under torques drawn anew, (way, row, 5)."""
    policy, ways = POLICIES[source.seed % len(POLICIES)], []
    for _ in range(BRANCHES):
        environment.set_state(*state[:2])
        observation, way = state[2], []
        for disturbance in source.action_noise * generator.standard_normal((rows * source.every, ACTIONS)):
            observation = advance(environment, policy, observation, disturbance)
            way.append(observation[:SEEN])
        ways.append(way[source.every - 1 :: source.every])
    return np.array(ways)


def floors(
    source: Ecg | Hopper, numbers: Sequence[int], scale: np.ndarray, horizons: Sequence[int]
) -> Mapping[int, float]:
    """Returns for each horizon the mean squared error of a forecast that knows the hidden state, in standardised units.

    numbers: of the trajectories. On hopper it is the variance over branches, about their own mean and without bias, and
    that of the noise; the state of the simulator is known there, which no past tells exactly.
    """
    noise = noise_share(source, scale)
    if isinstance(source, Ecg):
        return dict.fromkeys(horizons, noise)
    generator, found = np.random.default_rng(0), []
    with closing(hopper_class()()) as environment:
        for number in numbers:
            for state in states_along(environment, source, number):
                ways = branches(environment, source, state, max(horizons), generator)
                found.append((ways.var(0, ddof=1) / scale**2).mean(1))
    spread = np.mean(found, 0)
    return {horizon: noise + float(spread[horizon - 1]) for horizon in horizons}
