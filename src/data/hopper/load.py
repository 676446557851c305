"""The data set hopper: a simulated leg that hops under a linear policy, five features with noise, a row every 32 ms.

Hopper-v5 of gymnasium with MuJoCo (Erez, Tassa and Todorov, "Infinite-horizon model predictive control for periodic
tasks with contacts", 2011). It needs no files.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from data.base import DataError, Dataset, check_numbers, check_whole_numbers
from data.hopper.policies import POLICIES
from data.hopper.simulator import ACTIONS, hopper_class, roll_out, simulator_versions
from data.ranges import Count, Deviation
from data.trajectories import Trajectories

FEATURE_NAMES = ("height", "torso_angle", "thigh_angle", "leg_angle", "foot_angle")
UNITS = ("m", "rad", "rad", "rad", "rad")
ATTEMPTS = 10  # to stay upright for a whole trajectory
# What the generators of different draws under one seed are told apart by.
STARTS, TORQUES, NOISE, SPLIT = range(4)


class Way(NamedTuple):
    """Holds the seed of the initial state, the noise on torques (step, 3), and what the simulator shows from that state
    on (step + 1, 11)."""

    start: int
    noise: np.ndarray
    observed: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Hopper(Trajectories):
    """Is the section `data=hopper`: `trajectories` ways of `steps` rows from different initial states; the last `test`
    are the test part.

    Features: height of the torso (m), angle of the torso and of the three joints (rad), with noise. Speeds, torques and
    where it is are hidden.
    seed: chooses one of the policies in `data.hopper.policies`, in turn, and draws initial states, noise and, among all
        but the test part, the `validation` trajectories.
    every: how many of the simulator's steps of 8 ms go by from row to row.
    action_noise: standard deviation of the Gaussian noise added to the torques, which are between −1 and 1, in every
        step of the simulator.
    noise: standard deviation (m and rad) of the Gaussian noise added to each feature.

    A trajectory is hopping without a fall. Where the hopper falls before its last row, begin and torques are drawn
    again.

    The motion forgets small disturbances. Rounding that differs between processors, and a relative change of 1e-13 of
    the noise on torques, change the default trajectories by less than 1e-7. Another version of MuJoCo may change more;
    the source of the data set names the versions.

    Raises DataError for parameters out of range, when gymnasium or MuJoCo is not installed, and when the hopper falls
    every time.
    """

    steps: Count = 200
    every: Count = 4
    action_noise: Deviation = 0.1
    noise: Deviation = 0.005

    def load(self) -> Dataset:
        """Returns the data. Raises DataError as the class says."""
        self.check("hopper")
        check_whole_numbers("hopper", {"every": self.every})
        check_numbers("hopper", {"action_noise": self.action_noise, "noise": self.noise})
        versions = simulator_versions()
        shape, arrays = (self.steps, len(FEATURE_NAMES)), []
        with closing(hopper_class()()) as environment:
            for i in range(self.trajectories):
                seen = self.way(environment, i).observed
                added = np.random.default_rng([self.seed, NOISE, i]).standard_normal(shape)
                arrays.append(seen[:: self.every, : len(FEATURE_NAMES)] + self.noise * added)
        parts = self.split(arrays, word="hop", use=SPLIT)
        source = f"simulated: gymnasium {versions['gymnasium']}, mujoco {versions['mujoco']}"
        return Dataset("hopper", *parts, FEATURE_NAMES, UNITS, source)

    def way(self, environment: Any, number: int) -> Way:
        """Returns the way of a trajectory: all steps of the simulator, without noise on features.

        Raises DataError where the hopper falls every time.
        """
        length = (self.steps - 1) * self.every
        return hop(environment, (self.seed, number), length=length, action_noise=self.action_noise)


def hop(environment: Any, draw: tuple[int, int], *, length: int, action_noise: float) -> Way:
    """Returns the first of `ATTEMPTS` ways of `length` steps without a fall.

    draw: seed, and number of the trajectory. Raises DataError where there is a fall in each of them.
    """
    seed, number = draw
    policy = POLICIES[seed % len(POLICIES)]
    for attempt in range(ATTEMPTS):
        start = int(np.random.SeedSequence([seed, STARTS, number, attempt]).generate_state(1)[0])
        drawn = np.random.default_rng([seed, TORQUES, number, attempt]).standard_normal((length, ACTIONS))
        noise = action_noise * drawn
        found = roll_out(environment, policy, seed=start, noise=noise)
        if not found.fell:
            return Way(start, noise, found.observed)
    raise DataError(
        f"hopper: it fell in each of {ATTEMPTS} attempts to hop for {length} of the simulator's steps; lower "
        "steps, every or action_noise"
    )
