"""The simulated walker: reproducible, and of the shape and size of a human walk."""

import numpy as np
import pytest
from scipy.signal import lfilter

from data.mocap.features import FEATURE_NAMES
from data.mocap.walker import (
    CHANNELS,
    SEGMENTS,
    draw_person,
    features_of,
    filtered_twice,
    joint_angles,
    slow_process,
    walk_tracks,
)


@pytest.fixture(scope="module")
def walks():
    arrays, names = walk_tracks(seed=0, steps=300)
    return np.stack(arrays), names


def column(values, name):
    return values[..., FEATURE_NAMES.index(name)]


def test_three_subjects_walk_sixteen_times(walks):
    values, names = walks
    assert values.shape == (48, 300, 22)
    assert list(names) == [f"walker{subject}_{walk:02d}" for subject in (1, 2, 3) for walk in range(1, 17)]


def test_walks_are_kept_for_the_next_job_and_cannot_be_written_to():
    first, again = (walk_tracks(seed=2, steps=5)[0] for _ in range(2))
    assert first[0] is again[0]
    with pytest.raises(ValueError, match="read-only"):
        first[0][:] = 0


def test_the_seed_decides_and_fewer_steps_are_a_beginning(walks):
    values, _ = walks
    again = np.stack(walk_tracks(seed=0, steps=50)[0])
    np.testing.assert_allclose(again, values[:, :50], rtol=0, atol=1e-12)
    other = np.stack(walk_tracks(seed=1, steps=50)[0])
    assert np.abs(other - again).max(axis=(1, 2)).min() > 0.01
    assert np.abs(values[:-1] - values[1:]).max(axis=(1, 2)).min() > 0.01


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("left_tibia_z", 0.5, 1.2), ("right_tibia_z", 0.5, 1.2), ("left_tibia_y", 0.1, 0.4), ("root_height", 0.02, 0.1)],
)
def test_ranges_are_those_of_a_walk(walks, name, low, high):
    ranges = np.ptp(column(walks[0], name), axis=1)
    assert low < ranges.min()
    assert ranges.max() < high


def test_one_stride_takes_about_a_second_and_the_legs_alternate(walks):
    values, _ = walks
    left, right = column(values, "left_tibia_z"), column(values, "right_tibia_z")
    spectrum = np.abs(np.fft.rfft(left - left.mean(1, keepdims=True), n=4096, axis=1))
    strides_per_second = spectrum.argmax(1) * 120 / 4096
    assert strides_per_second.min() > 0.7
    assert strides_per_second.max() < 1.3
    assert max(np.corrcoef(a, b)[0, 1] for a, b in zip(left, right, strict=True)) < -0.7


def test_left_is_left_and_the_head_is_on_top(walks):
    mean = walks[0].mean((0, 1))
    assert column(mean, "left_tibia_x") > 0 > column(mean, "right_tibia_x")
    assert column(mean, "left_clavicle_x") > 0 > column(mean, "right_clavicle_x")
    heights = [column(mean, f"{part}_y") for part in ("left_tibia", "upperback", "thorax", "head")]
    assert heights == sorted(heights)


def test_strides_differ_and_frames_are_noisy(walks):
    values, _ = walks
    curvature = np.diff(column(values, "head_y"), n=4, axis=1)
    assert 1e-4 < curvature.std() / np.sqrt(70) < 4e-4
    left = column(values, "left_tibia_z")
    peaks = [np.ptp(part, axis=1) for part in np.split(left[:, :280], 2, axis=1)]
    assert np.abs(peaks[0] - peaks[1]).mean() > 0.005


def test_bones_keep_their_lengths():
    person = draw_person(np.random.default_rng(5))
    generator = np.random.default_rng(6)
    shape = (40, len(CHANNELS))
    angles = joint_angles(person, np.linspace(0, 9, 40), generator.normal(1, 0.1, shape), generator.normal(0, 2, shape))
    features = features_of(person, angles, np.zeros((40, 3)))
    upperback, thorax, head = features[:, :3], features[:, 3:6], features[:, 6:9]
    vectors = dict(zip((segment.name for segment in SEGMENTS), person.vectors, strict=True))
    np.testing.assert_allclose(np.linalg.norm(thorax - upperback, axis=1), np.linalg.norm(vectors["thorax"]))
    reach = np.linalg.norm(vectors["neck"]) + np.linalg.norm(vectors["head"])
    distances = np.linalg.norm(head - thorax, axis=1)
    assert distances.max() < reach
    assert distances.min() > 0.9 * reach


def test_values_are_filtered_as_by_scipy():
    values = np.random.default_rng(0).normal(size=(500, 3))
    np.testing.assert_allclose(
        filtered_twice(values, 0.99), lfilter([1], [1, -1.98, 0.99**2], values, axis=0), rtol=1e-9, atol=1e-9
    )


def test_slow_processes_have_unit_variance_and_are_slow():
    values = slow_process(np.random.default_rng(0), steps=200, count=4000, seconds=0.5)
    np.testing.assert_allclose(values.std(axis=1), 1.0, atol=0.06)
    np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=0.08)
    assert np.diff(values, axis=0).std() < 0.03
