"""The swimmer data set: the optimiser on known optima, the simulated trajectories, their split and their cache."""

import inspect
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from data.base import DataError
from data.swimmer import load as swimmer
from data.swimmer.cross_entropy import cross_entropy_maximise
from data.swimmer.load import Settings, Swimmer, cache_paths, features, read_cache, write_cache
from pipeline.settings.composition import register_resolvers

TARGET = "data.swimmer.load.Swimmer"
SMALL = {"trajectories": 6, "test": 2, "validation": 1, "steps": 20, "iterations": 1, "policies": 3, "elite": 2}
needs_simulators = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("gymnasium", "mujoco")),
    reason="gymnasium and mujoco are not installed",
)


@pytest.fixture(autouse=True)
def own_caches(tmp_path, monkeypatch):
    """A data root and a user's cache of this test's own."""
    monkeypatch.setenv("PIPELINE_DATA_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def simulated(monkeypatch):
    """Stands in for simulators and simulation; the list of settings that were simulated."""
    calls = []

    def simulate(settings):
        calls.append(settings)
        generator = np.random.default_rng(settings.seed)
        return generator.standard_normal((settings.trajectories, settings.steps, 5))

    monkeypatch.setattr(swimmer, "simulator_versions", lambda: {"gymnasium": "1", "mujoco": "2", "numpy": "3"})
    monkeypatch.setattr(swimmer, "simulate", simulate)
    return calls


def small(**changes):
    return Swimmer(**{**SMALL, **changes}).load()


def files_below(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.name != ".lock")


def maximise(function, *, iterations=40, seed=0, **changes):
    arguments = {"spread": np.ones(3), "draws": 40, "elite": 8, "generator": np.random.default_rng(seed), **changes}
    return cross_entropy_maximise(function, iterations=iterations, **arguments)


OPTIMUM = np.array([2.0, -1.0, 0.5])


def quadratic(point):
    return -float(np.sum((point - OPTIMUM) ** 2))


@pytest.mark.parametrize("seed", range(5))
def test_the_optimiser_finds_the_top_of_a_quadratic(seed):
    found = maximise(quadratic, seed=seed)
    np.testing.assert_allclose(found, OPTIMUM, atol=0.1)
    start, early = quadratic(np.zeros(3)), quadratic(maximise(quadratic, seed=seed, iterations=2))
    assert start < early < quadratic(found)


def test_one_iteration_of_the_optimiser_is_the_mean_of_its_best_draws():
    points = 2.0 * np.random.default_rng(7).standard_normal((40, 3))
    best = sorted(points, key=quadratic)[-8:]
    found = maximise(quadratic, iterations=1, seed=7, spread=np.full(3, 2.0))
    np.testing.assert_allclose(found, np.mean(best, axis=0), rtol=1e-12)


def test_a_value_that_is_not_a_number_is_never_among_the_best():
    found = maximise(lambda point: float("nan") if point[0] > 0 else float(point[0]), iterations=10)
    assert -0.5 < found[0] <= 0


def test_the_optimiser_goes_on_searching_when_all_of_the_elite_are_one_point():
    found = maximise(quadratic, elite=1, iterations=60)
    np.testing.assert_allclose(found, OPTIMUM, atol=0.1)


@needs_simulators
def test_trajectories_have_the_shapes_names_and_units_of_the_paper():
    dataset = small()
    assert [part.values.shape for part in dataset.parts.values()] == [(3, 20, 5), (1, 20, 5), (2, 20, 5)]
    assert all(bool(part.mask.all()) for part in dataset.parts.values())
    assert dataset.feature_names == ("nose_angle", "joint_1_sin", "joint_1_cos", "joint_2_sin", "joint_2_cos")
    assert dataset.units == ("rad", "", "", "", "")
    assert (dataset.name, dataset.stand_in) == ("swimmer", False)
    assert dataset.source.startswith("simulated: gymnasium 1.")
    assert ", mujoco " in dataset.source
    for part in dataset.parts.values():
        for joint in (1, 3):
            norms = part.values[..., joint : joint + 2].square().sum(-1)
            torch.testing.assert_close(norms, torch.ones_like(norms), rtol=1e-12, atol=0)


@needs_simulators
def test_every_trajectory_begins_elsewhere_and_moves_without_jumps():
    dataset = small()
    values = torch.cat([part.values for part in dataset.parts.values()])
    assert len(torch.unique(values[:, 0], dim=0)) == 6
    assert values[:, 0, 0].abs().max() <= 0.1
    assert 0 < values.diff(dim=1).abs().max() < 1


@needs_simulators
def test_the_same_seed_gives_the_same_data_and_another_seed_other_data(tmp_path):
    first, again, other = (
        small(root=str(tmp_path / name), seed=seed).checksum for name, seed in (("a", 3), ("b", 3), ("c", 4))
    )
    assert first == again != other


@needs_simulators
def test_fewer_and_shorter_trajectories_are_the_begin_of_more_and_longer_ones():
    settings = Settings(seed=1, trajectories=3, steps=12, iterations=1, policies=2, elite=1, action_noise=0.4)
    less, more = swimmer.simulate(settings), swimmer.simulate(settings._replace(trajectories=5, steps=15))
    np.testing.assert_array_equal(less, more[:3, :12])


@needs_simulators
def test_action_noise_changes_the_motion_but_not_the_initial_state():
    settings = Settings(seed=1, trajectories=2, steps=20, iterations=1, policies=2, elite=1, action_noise=0.0)
    quiet, noisy = swimmer.simulate(settings), swimmer.simulate(settings._replace(action_noise=0.4))
    np.testing.assert_array_equal(quiet[:, 0], noisy[:, 0])
    assert (np.abs(quiet - noisy)[:, -1] > 1e-6).all()


class Recorder:
    """An environment whose state is the number of steps taken; it keeps seed and actions."""

    def reset(self, *, seed):
        self.seed, self.actions = seed, []
        return np.zeros(8), {}

    def step(self, action):
        self.actions.append(action)
        return np.full(8, float(len(self.actions))), 2.0, False, False, {}


def test_actions_are_gains_times_state_plus_offset_plus_noise_within_the_range_of_the_torques():
    environment = Recorder()
    policy = np.hstack([np.full((2, 8), 0.01), [[0.1], [-0.2]]])
    noise = np.array([[0.3, 0.0], [0.0, -0.4], [5.0, -5.0]])
    observed, total = swimmer.roll_out(environment, policy, seed=9, noise=noise)
    np.testing.assert_allclose(environment.actions, [[0.4, -0.2], [0.18, -0.52], [1.0, -1.0]])
    np.testing.assert_array_equal(observed, np.repeat([[0.0], [1.0], [2.0], [3.0]], 8, axis=1))
    assert (environment.seed, total) == (9, 6.0)


@needs_simulators
def test_training_makes_the_swimmer_swim_farther():
    settings = Settings(seed=0, trajectories=1, steps=1, iterations=3, policies=10, elite=2, action_noise=0.0)
    environment = swimmer.swimmer_class()()
    policy = swimmer.train_policy(environment, settings)
    quiet = np.zeros((299, 2))
    _, before = swimmer.roll_out(environment, np.zeros_like(policy), seed=5, noise=quiet)
    _, after = swimmer.roll_out(environment, policy, seed=5, noise=quiet)
    environment.close()
    assert policy.shape == (2, 9)
    assert abs(before) < 10
    assert after > before + 10


@needs_simulators
def test_a_roll_out_is_seeded_and_its_return_is_forward_distance_less_the_cost_of_torque():
    environment = swimmer.swimmer_class()()
    constant = np.hstack([np.zeros((2, 8)), [[0.5], [-0.25]]])
    observed, total = swimmer.roll_out(environment, constant, seed=5, noise=np.zeros((9, 2)))
    forward = environment.data.qpos[0]
    environment.reset(seed=5)
    begin = environment.data.qpos[0]
    environment.close()
    assert observed.shape == (10, 8)
    assert total == pytest.approx((forward - begin) / 0.04 - 9 * 1e-4 * (0.5**2 + 0.25**2), rel=1e-6)


def test_features_are_the_nose_angle_beyond_pi_and_sine_and_cosine_of_the_joints():
    observed = np.array([[4.0, 0.5, -1.0, 9, 9, 9, 9, 9]])
    np.testing.assert_array_equal(features(observed), [[4.0, np.sin(0.5), np.cos(0.5), np.sin(-1.0), np.cos(-1.0)]])


@pytest.mark.usefixtures("simulated")
def test_which_swims_are_held_out_stays_as_it_is():
    held_out = [small(seed=seed).validation.names for seed in range(4)]
    assert held_out == [("swim_02",), ("swim_01",), ("swim_03",), ("swim_01",)]


def test_the_second_call_reads_the_cache(simulated, tmp_path, monkeypatch):
    first = small()
    (kept,) = files_below(tmp_path)
    assert kept.parent == tmp_path / "root" / "swimmer"

    def simulate(settings):
        raise AssertionError(f"simulated again: {settings}")

    monkeypatch.setattr(swimmer, "simulate", simulate)
    assert small().checksum == first.checksum
    assert small(validation=2).test.names == first.test.names
    assert len(simulated) == 1


@pytest.mark.parametrize(
    "change",
    [{name: value + 1} for name, value in SMALL.items() if name not in ("test", "validation")]
    + [{"seed": 1}, {"action_noise": 0.1}],
    ids=str,
)
def test_every_parameter_that_the_trajectories_depend_on_is_in_the_key(simulated, tmp_path, change):
    small()
    small(**change)
    assert len(simulated) == len(files_below(tmp_path)) == 2


def test_loader_and_versions_are_in_the_key(simulated, tmp_path, monkeypatch):
    small()
    monkeypatch.setattr(swimmer, "LOADER_VERSION", swimmer.LOADER_VERSION + 1)
    small()
    for name in ("gymnasium", "mujoco", "numpy"):
        versions = {"gymnasium": "1", "mujoco": "2", "numpy": "3", name: "other"}
        monkeypatch.setattr(swimmer, "simulator_versions", lambda versions=versions: versions)
        small()
    assert len(simulated) == len(files_below(tmp_path)) == 5


def test_a_data_root_that_cannot_be_written_is_replaced_by_the_users_cache(simulated, tmp_path):
    (tmp_path / "root").write_text("a file where the folder should be")
    first = small()
    assert small().checksum == first.checksum
    assert len(simulated) == 1
    assert [path.parent for path in files_below(tmp_path / "cache")] == [
        tmp_path / "cache" / "orthogonal-psrnn" / "data" / "swimmer"
    ]


def test_a_data_root_that_refuses_access_is_replaced_by_the_users_cache(simulated, tmp_path, monkeypatch):
    def refusing(method):
        def call(path, *arguments, **options):
            if tmp_path / "root" in path.parents:
                raise PermissionError(13, "Permission denied", str(path))
            return method(path, *arguments, **options)

        return call

    monkeypatch.setattr(Path, "mkdir", refusing(Path.mkdir))
    monkeypatch.setattr(Path, "unlink", refusing(Path.unlink))
    monkeypatch.setattr(Path, "open", refusing(Path.open))
    assert small().checksum == small().checksum
    assert len(simulated) == len(files_below(tmp_path / "cache")) == 1


def test_two_jobs_that_want_the_same_trajectories_simulate_them_once(simulated, monkeypatch):
    both_begun, simulate_now = threading.Barrier(2), swimmer.simulate

    def slowly(settings):
        time.sleep(0.3)
        return simulate_now(settings)

    def job():
        both_begun.wait(10)
        return small().checksum

    monkeypatch.setattr(swimmer, "simulate", slowly)
    with ThreadPoolExecutor(2) as pool:
        first, second = [pool.submit(job), pool.submit(job)]
        assert first.result(timeout=20) == second.result(timeout=20)
    assert len(simulated) == 1


def test_nowhere_to_write_is_a_warning(simulated, tmp_path):
    for name in ("root", "cache"):
        (tmp_path / name).write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match=r"swimmer: not kept, so made again next time: cannot write to .*root/swimmer"):
        dataset = small()
    assert len(dataset.train) == 3
    assert len(simulated) == 1


def overwritten(content):
    return lambda path: path.write_bytes(content)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-300])


def with_one_bit_flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def holding(save, **options):
    def damage(path):
        with path.open("wb") as stream:
            save(stream, **options)

    return damage


DAMAGES = {
    "empty": overwritten(b""),
    "text": overwritten(b"not an archive"),
    "truncated": truncated,
    "flipped": with_one_bit_flipped,
    "shape": holding(np.savez, trajectories=np.zeros((6, 19, 5))),
    "dtype": holding(np.savez, trajectories=np.zeros((6, 20, 5), dtype=np.float32)),
    "pickle": holding(np.savez, trajectories=np.array([{}], dtype=object)),
    "name": holding(np.savez, other=np.zeros((6, 20, 5))),
    "npy": holding(lambda stream: np.save(stream, np.zeros((6, 20, 5)))),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_cache_is_named_and_made_again(simulated, tmp_path, damage):
    first = small()
    (kept,) = files_below(tmp_path)
    damage(kept)
    with pytest.warns(
        UserWarning, match=r"swimmer-[0-9a-f]{16}\.npz: damaged \(\w+: .*the trajectories are made again"
    ):
        again = small()
    assert first.checksum == again.checksum == small().checksum
    assert len(simulated) == 2
    assert files_below(tmp_path) == [kept]


def test_a_write_that_breaks_off_leaves_nothing_behind(tmp_path, monkeypatch):
    def savez(stream, **arrays):
        stream.write(b"half")
        raise OSError(28, f"no space left for {list(arrays)}")

    monkeypatch.setattr(np, "savez", savez)
    assert not write_cache(tmp_path / "folder" / "a.npz", np.zeros((1, 2, 5)))
    assert files_below(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_write(tmp_path):
    (tmp_path / ".a.npz.12.partial").write_bytes(b"the beginning")
    assert write_cache(tmp_path / "a.npz", np.zeros((1, 2, 5)))
    assert [path.name for path in files_below(tmp_path)] == ["a.npz"]


def test_what_is_kept_is_read_back_exactly(tmp_path):
    array = np.random.default_rng(0).standard_normal((2, 3, 5))
    path = tmp_path / "folder" / "a.npz"
    assert read_cache(path, array.shape) is None
    assert write_cache(path, array)
    np.testing.assert_array_equal(read_cache(path, array.shape), array)


def test_the_cache_lies_below_the_root_that_is_given(tmp_path):
    given_root, own = cache_paths({"seed": 0}, root=str(tmp_path / "given"))
    assert given_root.parent == tmp_path / "given" / "swimmer"
    assert own.parent == tmp_path / "cache" / "orthogonal-psrnn" / "data" / "swimmer"
    assert given_root.name == own.name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, r"steps must be a whole number of at least 1, got 0"),
        ({"steps": 2.5}, r"steps must be a whole number of at least 1, got 2\.5"),
        ({"steps": True}, r"steps must be a whole number of at least 1, got True"),
        ({"seed": -1}, r"seed must be a whole number of at least 0, got -1"),
        ({"trajectories": None}, r"trajectories must be a whole number of at least 1, got None"),
        ({"test": 0}, r"test must be a whole number of at least 1, got 0"),
        ({"validation": -1}, r"validation must be a whole number of at least 1, got -1"),
        ({"iterations": 0}, r"iterations must be a whole number of at least 1, got 0"),
        ({"policies": "3"}, r"policies must be a whole number of at least 1, got '3'"),
        ({"elite": 0}, r"elite must be a whole number of at least 1, got 0"),
        ({"elite": 4}, r"elite=4 is more than policies=3; lower it"),
        ({"validation": 4}, r"6 trajectories cannot give 2 for test, 4 for validation and at least one for training"),
        ({"action_noise": -0.1}, r"action_noise must be a number of at least 0, got -0\.1"),
        ({"action_noise": float("nan")}, r"action_noise must be a number of at least 0, got nan"),
        ({"action_noise": float("inf")}, r"action_noise must be a number of at least 0, got inf"),
        ({"action_noise": "much"}, r"action_noise must be a number of at least 0, got 'much'"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_before_anything_is_simulated(simulated, change, message):
    with pytest.raises(DataError, match=f"^swimmer: {message}"):
        small(**change)
    assert simulated == []


@pytest.mark.parametrize("module", ["gymnasium", "mujoco"])
def test_missing_simulators_are_one_line_that_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=r"^swimmer: gymnasium and mujoco are needed; install them: ") as caught:
        small()
    assert str(caught.value) == (
        "swimmer: gymnasium and mujoco are needed; install them: pip install -c constraints.txt -e '.[swimmer]'"
    )


def test_the_configuration_names_every_parameter_with_its_default():
    register_resolvers()
    folder = Path(__file__).parents[3] / "conf"
    conf, full, tiny = (OmegaConf.load(folder / f"{name}.yaml") for name in ("data/swimmer", "size/full", "size/tiny"))
    defaults = {name: p.default for name, p in inspect.signature(Swimmer).parameters.items()}
    assert dict(OmegaConf.create({"size": full, "data": conf}).data) == {"_target_": TARGET, **defaults}
    fewer = {**defaults, "iterations": 2}
    assert dict(OmegaConf.create({"size": tiny, "data": conf}).data) == {"_target_": TARGET, **fewer}
