"""The data set lorenz96: a chaotic ring of variables of which every other one is observed, with noise.

Lorenz, "Predictability: a problem partly solved", ECMWF Seminar on Predictability, 1996: a model of the weather along a
circle of latitude. It is simulated here and needs no files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from data.base import DataError, Dataset, check_numbers, check_whole_numbers
from data.ranges import Count, Deviation, Range
from data.trajectories import Trajectories

LEAST_VARIABLES = 4  # x_{k−2}, x_{k−1}, x_k and x_{k+1} are four
LONGEST_STEP = 0.01  # of the integration, in the model's time
LONGEST_INTERVAL = 10.0  # between rows, in which the motion has long forgotten where it was
SPIN_UP = 20.0  # the model's time that passes before the first row
# What the generators of different draws under one seed are told apart by.
STARTS, NOISE, SPLIT = range(3)

Variables = Annotated[int, Range(at_least=LEAST_VARIABLES)]
Interval = Annotated[float, Range(above=0, at_most=LONGEST_INTERVAL)]


@dataclass(frozen=True, kw_only=True)
class Lorenz96(Trajectories):
    """Is the section `data=lorenz96`: `trajectories` trajectories of `steps` rows from different initial states; the
    last `test` are the test part.

    dx_k/dt = (x_{k+1} − x_{k−2}) x_{k−1} − x_k + F, indices modulo `variables`, F = `forcing`. The features are
    `observed` of the variables, as evenly spread over the ring as they can be, plus noise; the others are hidden.
    Nothing here has a unit.
    seed: draws initial states, noise and, among all but the test part, the `validation` trajectories.
    interval: the model's time between two rows; Lorenz takes 0.05 for six hours of weather.
    noise: standard deviation of the Gaussian noise added to each observed value; with the defaults a variable's own
        standard deviation is about 3.7.

    The states are found by the classical Runge-Kutta method in equal steps of at most 0.01. The motion is chaotic:
    errors grow e-fold in about a unit of time, those of rounding too. The states are nevertheless the same on every
    processor: initial states are uniform around F, and of them only sums, differences, products and quotients of
    float64 are taken, one by one, which IEEE 754 defines to the last digit. The noise, added at the end, may differ in
    its last digit with the C library.

    Raises DataError for parameters out of range, and when a state grows beyond all bounds.
    """

    variables: Variables = 8
    observed: Count = 4
    forcing: Deviation = 8.0
    interval: Interval = 0.1
    noise: Deviation = 0.2

    def load(self) -> Dataset:
        """Returns the data. Raises DataError as the class says."""
        self.check("lorenz96")
        check_numbers("lorenz96", {"forcing": self.forcing, "noise": self.noise})
        check_interval(self.interval)
        check_ring(self.variables, self.observed)
        starts = initial_states(self.seed, self.trajectories, variables=self.variables, forcing=self.forcing)
        states = simulate(starts, forcing=self.forcing, interval=self.interval, steps=self.steps)
        shown = np.arange(self.observed) * self.variables // self.observed
        arrays = [
            states[:, i, shown]
            + self.noise * np.random.default_rng([self.seed, NOISE, i]).standard_normal((self.steps, self.observed))
            for i in range(self.trajectories)
        ]
        parts = self.split(arrays, word="trajectory", use=SPLIT)
        return Dataset("lorenz96", *parts, tuple(f"x_{k}" for k in shown), ("",) * self.observed, "simulated")


def check_interval(interval: float) -> None:
    check_numbers("lorenz96", {"interval": interval}, positive=True)
    if interval > LONGEST_INTERVAL:
        raise DataError(f"lorenz96: interval={interval} is above {LONGEST_INTERVAL:g}; lower it")


def check_ring(variables: int, observed: int) -> None:
    check_whole_numbers("lorenz96", {"variables": variables}, least=LEAST_VARIABLES)
    check_whole_numbers("lorenz96", {"observed": observed})
    if observed > variables:
        raise DataError(f"lorenz96: observed={observed} is more than variables={variables}; lower it")


def initial_states(seed: int, trajectories: int, *, variables: int, forcing: float) -> np.ndarray:
    """Returns (trajectory, variable), uniform within 1 of the forcing, at which the ring would rest."""
    draws = [np.random.default_rng([seed, STARTS, i]).random(variables) for i in range(trajectories)]
    return forcing + (2.0 * np.stack(draws) - 1.0)


def simulate(states: np.ndarray, *, forcing: float, interval: float, steps: int) -> np.ndarray:
    """Returns (step, trajectory, variable), a row each `interval`, the first one 20 units of time after `states`.

    Raises DataError when a state is not finite.
    """
    pieces = math.ceil(interval / LONGEST_STEP)
    rows = np.empty((steps, *states.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(round(SPIN_UP / LONGEST_STEP)):
            states = runge_kutta(states, forcing, LONGEST_STEP)
        for i in range(steps):
            rows[i] = states
            for _ in range(pieces):
                states = runge_kutta(states, forcing, interval / pieces)
    if not np.isfinite(rows).all():
        raise DataError(f"lorenz96: the states grow beyond all bounds with forcing={forcing}; lower it")
    return rows


def runge_kutta(x: np.ndarray, forcing: float, step: float) -> np.ndarray:
    """Returns the states (…, variable) one step later, by the classical method of order four."""
    first = tendency(x, forcing)
    second = tendency(x + 0.5 * step * first, forcing)
    third = tendency(x + 0.5 * step * second, forcing)
    fourth = tendency(x + step * third, forcing)
    return x + step / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)


def tendency(x: np.ndarray, forcing: float) -> np.ndarray:
    """Returns dx/dt of states (…, variable)."""
    round_the_ring = np.concatenate([x[..., -2:], x, x[..., :1]], axis=-1)
    return (round_the_ring[..., 3:] - round_the_ring[..., :-3]) * round_the_ring[..., 1:-2] - x + forcing
