"""The swimmer data set: a simulated three-link swimmer under a linear policy, 5 features, one row every 40 ms.

Choromanski, Downey and Boots (2018), section 6.1: the swimmer of OpenAI's gym, trained to swim forward by the
cross-entropy method with a linear policy; 25 trajectories, 20 for training and 5 for testing. Here it is gymnasium's
Swimmer-v5 with MuJoCo. It needs no files, so it is no stand-in: it can be made anywhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from data.base import DataError, Dataset, check_numbers, check_whole_numbers
from data.files.download import data_root, preparing
from data.ranges import Count, Deviation
from data.swimmer.cross_entropy import cross_entropy_maximise
from data.trajectories import Trajectories

# To be raised whenever the same parameters give other trajectories than before.
LOADER_VERSION = 2
FOLDER = "swimmer"
FEATURE_NAMES = ("nose_angle", "joint_1_sin", "joint_1_cos", "joint_2_sin", "joint_2_cos")
UNITS = ("rad", "", "", "", "")
OBSERVED, ACTIONS, TRAINING_STEPS = 8, 2, 300
SPLIT = 3  # what the generator of the split is told apart from those of other draws by


class Settings(NamedTuple):
    """Holds all that the trajectories depend on, the versions of the simulators apart."""

    seed: int
    trajectories: int
    steps: int
    iterations: int
    policies: int
    elite: int
    action_noise: float


@dataclass(frozen=True, kw_only=True)
class Swimmer(Trajectories):
    """Is the section `data=swimmer`: `trajectories` roll-outs of `steps` steps from different initial states; the last
    `test` are the test part.

    Features: the nose's angle (rad) as the simulator gives it, a hinge's angle that is counted on beyond ±π and so
    never jumps: it is not wrapped and needs no unwrapping; and sine and cosine of both joints' angles.
    root: folder that holds the cache `swimmer/`; None: $PIPELINE_DATA_ROOT, else a cache of the user's own.
    seed: draws policy, initial states, action noise and, among all but the test part, the `validation` trajectories.
    iterations, policies, elite: of the cross-entropy method (see `data.swimmer.cross_entropy`), whose roll-outs are
        always 300 steps long and without noise.
    action_noise: standard deviation of the Gaussian noise added to both actions, which are torques between −1 and 1,
        in every step. Without it the trajectories differ in their initial states only, which a good policy may forget
        so fast that a test trajectory nearly repeats a training one. 0.4 costs about 5 % of the return at most.

    The first call trains the policy (about 25 s). The trajectories are then kept in `swimmer/` below the data root, or
    where that cannot be written in the user's cache, under a hash of parameters and of the simulators' versions.

    Raises DataError for parameters out of range and when gymnasium or MuJoCo is not installed.
    """

    root: str | None = None
    iterations: Count = 15
    policies: Count = 30
    elite: Count = 6
    action_noise: Deviation = 0.0

    def load(self) -> Dataset:
        """Returns the data. Raises DataError as the class says."""
        settings = Settings(
            self.seed, self.trajectories, self.steps, self.iterations, self.policies, self.elite, self.action_noise
        )
        self.check("swimmer")
        check_training(settings)
        versions = simulator_versions()
        paths = cache_paths({"loader": LOADER_VERSION, **settings._asdict(), **versions}, root=self.root)
        shape = (self.trajectories, self.steps, len(FEATURE_NAMES))
        swims = cached_trajectories(paths, shape)
        if swims is None:
            with one_at_a_time(paths):
                swims = cached_trajectories(paths, shape)
                if swims is None:
                    swims = simulate(settings)
                    keep(paths, swims)
        parts = self.split(list(swims), word="swim", use=SPLIT)
        source = f"simulated: gymnasium {versions['gymnasium']}, mujoco {versions['mujoco']}"
        return Dataset("swimmer", *parts, FEATURE_NAMES, UNITS, source)


def check_training(settings: Settings) -> None:
    """Raises DataError, naming the parameter, for one of the policy's search or of the noise out of range."""
    check_whole_numbers("swimmer", {name: getattr(settings, name) for name in ("iterations", "policies", "elite")})
    check_numbers("swimmer", {"action_noise": settings.action_noise})
    if settings.elite > settings.policies:
        raise DataError(f"swimmer: elite={settings.elite} is more than policies={settings.policies}; lower it")


def swimmer_class() -> Any:
    """Returns the environment behind gymnasium's Swimmer-v5, without the wrappers that check, count and warn."""
    return import_module("gymnasium.envs.mujoco.swimmer_v5").SwimmerEnv


def simulator_versions() -> dict[str, str]:
    """Returns the versions of all that the numbers come from. Raises DataError where the simulators are not
    installed."""
    try:
        modules = {name: import_module(name) for name in ("gymnasium", "mujoco", "numpy")}
        swimmer_class()
    except ImportError as error:
        raise DataError(
            "swimmer: gymnasium and mujoco are needed; install them: pip install -c constraints.txt -e '.[swimmer]'"
        ) from error
    return {name: str(module.__version__) for name, module in modules.items()}


def simulate(settings: Settings) -> np.ndarray:
    """Trains the policy, then rolls it out with noise: (trajectory, step, feature)."""
    starts = np.random.SeedSequence([settings.seed, 1]).generate_state(settings.trajectories)
    with closing(swimmer_class()()) as environment:
        policy = train_policy(environment, settings)
        runs = []
        for i, start in enumerate(starts.tolist()):
            noise = np.random.default_rng([settings.seed, 4, i]).standard_normal((settings.steps - 1, ACTIONS))
            runs.append(roll_out(environment, policy, seed=start, noise=settings.action_noise * noise)[0])
    return np.stack([features(run) for run in runs])


def train_policy(environment: Any, settings: Settings) -> np.ndarray:
    """Returns gains on the 8 observed values, and an offset, (2, 9), that maximise the return from one initial
    state."""
    start = int(np.random.SeedSequence([settings.seed, 0]).generate_state(1)[0])
    quiet = np.zeros((TRAINING_STEPS - 1, ACTIONS))

    def swum(parameters: np.ndarray) -> float:
        return roll_out(environment, parameters.reshape(ACTIONS, -1), seed=start, noise=quiet)[1]

    best = cross_entropy_maximise(
        swum,
        spread=np.ones(ACTIONS * (OBSERVED + 1)),
        iterations=settings.iterations,
        draws=settings.policies,
        elite=settings.elite,
        generator=np.random.default_rng([settings.seed, 2]),
    )
    return best.reshape(ACTIONS, -1)


def roll_out(environment: Any, policy: np.ndarray, *, seed: int, noise: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns observations (steps, 8), the first one the initial state, and the return (forward distance / 0.04 m,
    less a small cost of torque), for `noise` of shape (steps − 1, 2) on the actions."""
    observation, _ = environment.reset(seed=seed)
    observed, total = [observation], 0.0
    for disturbance in noise:
        action = np.clip(policy[:, :-1] @ observation + policy[:, -1] + disturbance, -1.0, 1.0)
        observation, reward, *_ = environment.step(action)
        observed.append(observation)
        total += float(reward)
    return np.array(observed), total


def features(observed: np.ndarray) -> np.ndarray:
    """Returns the features (step, 5) of the simulator's (step, 8): angles of nose and both joints come first."""
    nose, first, second = observed[:, :3].T
    return np.stack([nose, np.sin(first), np.cos(first), np.sin(second), np.cos(second)], axis=1)


def cache_paths(key: Mapping[str, Any], *, root: str | None) -> list[Path]:
    """Returns where trajectories may be kept: below the data root, and, where that cannot be written, in the user's
    cache."""
    digest = hashlib.sha256(json.dumps(dict(key), sort_keys=True).encode()).hexdigest()[:16]
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orthogonal-psrnn" / "data"
    folders = dict.fromkeys((data_root(root), own))
    return [folder / FOLDER / f"swimmer-{digest}.npz" for folder in folders]


@contextmanager
def one_at_a_time(paths: Sequence[Path]) -> Iterator[None]:
    """Makes other processes that want the same trajectories wait; there is no lock where nothing can be kept anyway."""
    with ExitStack() as stack:
        for path in paths:
            with suppress(DataError):
                stack.enter_context(preparing(path.parent))
                break
        yield


def cached_trajectories(paths: Sequence[Path], shape: tuple[int, ...]) -> np.ndarray | None:
    """Returns the trajectories of the first path that has them."""
    return next((array for path in paths if (array := read_cache(path, shape)) is not None), None)


def read_cache(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """Returns the trajectories kept at `path`; None where there are none, and, with a warning, where the file is
    damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            trajectories = archive["trajectories"]
        if trajectories.shape != shape or trajectories.dtype != np.float64:
            raise ValueError(f"{trajectories.dtype} {trajectories.shape} instead of float64 {shape}")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except Exception as error:  # Damage can make numpy and zipfile raise nearly anything.
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(f"{path}: damaged ({reason}); the trajectories are made again", stacklevel=3)
        return None
    return trajectories


def keep(paths: Sequence[Path], array: np.ndarray) -> None:
    """Writes the trajectories to the first path that can be written; it warns where none can."""
    if not any(write_cache(path, array) for path in paths):
        folders = ", ".join(str(path.parent) for path in paths)
        warnings.warn(f"swimmer: not kept, so made again next time: cannot write to {folders}", stacklevel=3)


def write_cache(path: Path, array: np.ndarray) -> bool:
    """Writes through a temporary name beside the file; returns False where nothing can be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for leftover in path.parent.glob(
            f".{path.name}.*.partial"
        ):  # of a process that was killed: this one has the lock
            leftover.unlink(missing_ok=True)
        with temporary.open("wb") as stream:
            np.savez(stream, allow_pickle=False, trajectories=array)
        temporary.replace(path)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            temporary.unlink()
    return True
