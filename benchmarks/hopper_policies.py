"""Finds linear policies with which MuJoCo's hopper hops, by augmented random search, for `src/data/hopper/policies.py`.

    python benchmarks/hopper_policies.py SEED…

Mania, Guy and Recht, "Simple random search of static linear policies is competitive for reinforcement learning", 2018,
version 2-t: policies on standardised observations, moved along the best of random directions. A search takes some
minutes, and where it ends hangs on the last digits of the simulator. So it is no part of the data set, which has the
policies that were found, rounded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from data.hopper.simulator import ACTIONS, OBSERVED, Hop, hopper_class, roll_out

DIRECTIONS, BEST, STEP, SPREAD = 8, 4, 0.05, 0.1
ITERATIONS, EVERY, EPISODES = 400, 10, 20
STEPS, NOISE = 1000, 0.1  # of an episode, which is 8 s; standard deviation on torques between −1 and 1
DIGITS = 3


class Moments:
    """Mean and standard deviation of all observations so far."""

    def __init__(self) -> None:
        self.count, self.sum, self.squares = 0, np.zeros(OBSERVED), np.zeros(OBSERVED)

    def add(self, observed: np.ndarray) -> None:
        self.count += len(observed)
        self.sum += observed.sum(0)
        self.squares += np.square(observed).sum(0)

    def on_raw(self, policy: np.ndarray) -> np.ndarray:
        """Returns the policy on observations in the simulator's units for one (3, 12) on standardised ones."""
        if not self.count:
            return policy
        mean = self.sum / self.count
        deviation = np.sqrt(np.maximum(self.squares / self.count - mean**2, 1e-6))
        gains = policy[:, :-1] / deviation
        return np.hstack([gains, (policy[:, -1] - gains @ mean)[:, None]])


def hop(environment, policy: np.ndarray, seed: int) -> Hop:
    noise = NOISE * np.random.default_rng(seed).standard_normal((STEPS - 1, ACTIONS))
    return roll_out(environment, policy, seed=seed, noise=noise)


def search(environment, seed: int) -> Iterator[np.ndarray]:
    """Yields the policy after every iteration."""
    generator = np.random.default_rng(seed)
    policy, moments = np.zeros((ACTIONS, OBSERVED + 1)), Moments()
    for iteration in range(ITERATIONS):
        directions = generator.standard_normal((DIRECTIONS, *policy.shape))
        tries = [moments.on_raw(policy + sign * SPREAD * d) for d in directions for sign in (1, -1)]
        hops = [hop(environment, candidate, iteration) for candidate in tries]
        far = np.array([way.distance for way in hops]).reshape(DIRECTIONS, 2)
        chosen = np.argsort(far.max(1), kind="stable")[-BEST:]
        slope = np.einsum("i,ijk->jk", far[chosen, 0] - far[chosen, 1], directions[chosen])
        policy = policy + STEP / (BEST * far[chosen].std() + 1e-9) * slope
        for way in hops:
            moments.add(way.observed)
        yield moments.on_raw(policy)


def main(seeds: list[int]) -> None:
    environment = hopper_class()()
    for seed in seeds:
        for iteration, policy in enumerate(search(environment, seed), start=1):
            if iteration % EVERY:
                continue
            rounded = policy.round(DIGITS)
            ways = [hop(environment, rounded, 10_000 + i) for i in range(EPISODES)]
            upright, far = np.mean([not way.fell for way in ways]), np.mean([way.distance for way in ways])
            length = np.mean([len(way.observed) for way in ways])
            print(f"seed {seed}, {iteration}: {upright:.0%} upright, {length:.0f} steps, {far:.2f} m", flush=True)
            if upright >= 0.9 and far > 4:
                print(rounded.tolist(), flush=True)
                break


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
