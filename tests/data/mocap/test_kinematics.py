"""Rotations against scipy's, and what forward kinematics must keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from data.mocap.kinematics import bone_ends, euler_rotations

ORDERS = ["X", "Y", "Z", "ZY", "XZ", "XYZ", "ZYX", "YZX"]


@pytest.mark.parametrize("order", ORDERS)
def test_euler_rotations_are_intrinsic_rotations_in_the_order_given(order):
    degrees = np.random.default_rng(0).uniform(-180, 180, size=(20, len(order)))
    expected = Rotation.from_euler(order, degrees, degrees=True).as_matrix()
    np.testing.assert_allclose(euler_rotations(order, degrees), expected, atol=1e-12)


def test_no_axis_gives_identities():
    np.testing.assert_array_equal(euler_rotations("", np.zeros((2, 0))), np.stack([np.eye(3)] * 2))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), bones=st.integers(1, 8))
def test_bones_keep_their_lengths_and_turn_with_their_parents(seed, bones):
    generator = np.random.default_rng(seed)
    parents = [-1, *(int(generator.integers(0, i)) for i in range(1, bones))]
    vectors = list(generator.normal(size=(bones, 3)))
    local = [Rotation.random(4, rng=generator).as_matrix() for _ in range(bones)]
    root = generator.normal(size=(4, 3))
    ends = bone_ends(parents, vectors, local, root)
    for bone, parent in enumerate(parents):
        start = root if parent < 0 else ends[parent]
        chain = [bone]
        while parents[chain[0]] >= 0:
            chain.insert(0, parents[chain[0]])
        for frame in range(4):
            turned = np.linalg.multi_dot([np.eye(3), *(local[i][frame] for i in chain)])
            np.testing.assert_allclose(ends[bone][frame] - start[frame], turned @ vectors[bone], atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(ends[bone] - start, axis=1), np.linalg.norm(vectors[bone]))
