"""MuJoCo's hopper under a linear policy: one leg of three joints with a foot, driven by three torques."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from data.base import DataError

OBSERVED, ACTIONS = 11, 3


class Hop(NamedTuple):
    """Holds what the simulator shows from the initial state on (step, 11), one row every 8 ms, up to the fall if it
    fell, and how far it came (m)."""

    observed: np.ndarray
    fell: bool
    distance: float


def hopper_class() -> Any:
    """Returns the environment behind gymnasium's Hopper-v5, without the wrappers that check, count and warn."""
    return import_module("gymnasium.envs.mujoco.hopper_v5").HopperEnv


def simulator_versions() -> dict[str, str]:
    """Returns the versions of the simulators. Raises DataError where they are not installed."""
    try:
        modules = {name: import_module(name) for name in ("gymnasium", "mujoco")}
        hopper_class()
    except ImportError as error:
        raise DataError(
            "hopper: gymnasium and mujoco are needed; install them: pip install -c constraints.txt -e '.[swimmer]'"
        ) from error
    return {name: str(module.__version__) for name, module in modules.items()}


def roll_out(environment: Any, policy: np.ndarray, *, seed: int, noise: np.ndarray) -> Hop:
    """Returns the way of a hopper until it falls or the `noise` (step, 3) on its torques has been used up.

    policy: gains on the 11 observed values, and an offset, (3, 12); torques are cut at −1 and 1. Their sums are rounded
    once, so that no processor adds them up otherwise.
    """
    observation, _ = environment.reset(seed=seed)
    begin, observed, fell = float(environment.data.qpos[0]), [observation], False
    for disturbance in noise:
        sums = [
            math.fsum((*products, offset))
            for products, offset in zip(policy[:, :-1] * observation, policy[:, -1], strict=True)
        ]
        observation, _, fell, *_ = environment.step(np.clip(np.array(sums) + disturbance, -1.0, 1.0))
        observed.append(observation)
        if fell:
            break
    return Hop(np.array(observed), bool(fell), float(environment.data.qpos[0]) - begin)
