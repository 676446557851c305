"""Forward kinematics on a tree of nodes, vectorised over frames: rotation products down the tree, then sums of steps.

Right-handed axes, column vectors, angles in degrees. A tree is given by `parents`: the index of each node's parent,
always smaller than the node's own index; −1 for the root.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

AXES = "XYZ"


def axis_rotations(axis: str, degrees: np.ndarray) -> np.ndarray:
    """Returns rotations about one coordinate axis: (frame,) angles to (frame, 3, 3) matrices."""
    i, j = ((1, 2), (2, 0), (0, 1))[AXES.index(axis)]
    radians = np.deg2rad(degrees)
    matrices = np.zeros((len(radians), 3, 3))
    matrices[:] = np.eye(3)
    matrices[:, i, i] = matrices[:, j, j] = np.cos(radians)
    matrices[:, j, i] = np.sin(radians)
    matrices[:, i, j] = -matrices[:, j, i]
    return matrices


def euler_rotations(order: str, degrees: np.ndarray) -> np.ndarray:
    """Returns R = R_{order[0]}(degrees[:, 0]) · R_{order[1]}(degrees[:, 1]) · …, (frame, len(order)) to (frame, 3, 3).

    The rightmost factor acts first. An empty order gives identities.
    """
    product = np.broadcast_to(np.eye(3), (len(degrees), 3, 3))
    for column, axis in enumerate(order):
        product = product @ axis_rotations(axis, degrees[:, column])
    return product


def global_rotations(parents: Sequence[int], local: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns G_i = G_parent(i) · L_i for local rotations L_i of shape (frame, 3, 3)."""
    turned: list[np.ndarray] = []
    for parent, rotation in zip(parents, local, strict=True):
        turned.append(rotation if parent < 0 else turned[parent] @ rotation)
    return turned


def path_sums(parents: Sequence[int], steps: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns p_i = p_parent(i) + s_i for steps s_i of shape (frame, 3)."""
    reached: list[np.ndarray] = []
    for parent, step in zip(parents, steps, strict=True):
        reached.append(step if parent < 0 else reached[parent] + step)
    return reached


def bone_ends(
    parents: Sequence[int], vectors: Sequence[np.ndarray], local: Sequence[np.ndarray], root: np.ndarray
) -> list[np.ndarray]:
    """Returns the ends of bones that each turn about their own start: e_i = e_parent(i) + G_i v_i, with e_root =
    `root` + G_0 v_0.

    vectors: (3,) per bone; local: (frame, 3, 3) per bone; root: (frame, 3). Returns (frame, 3) per bone.
    """
    turned = global_rotations(parents, local)
    steps = [rotation @ vector for rotation, vector in zip(turned, vectors, strict=True)]
    return path_sums(parents, [root + steps[0], *steps[1:]])
