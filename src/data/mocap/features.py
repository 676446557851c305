"""The 22 features of a walk: where seven bones end relative to the root (21 numbers), and the root's height.

After Downey et al. (2017), section 6, "3D positions of the skeletal parts (e.g., upper back, thorax, clavicle)"; which
parts the paper took is not published, so this list is a reconstruction. y points up, walks go along +z, x to the left.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

BODY_PARTS = ("upperback", "thorax", "head", "left_clavicle", "right_clavicle", "left_tibia", "right_tibia")
FEATURE_NAMES = (*(f"{part}_{axis}" for part in BODY_PARTS for axis in "xyz"), "root_height")
UNITS = ("m",) * len(FEATURE_NAMES)


def stack_features(root: np.ndarray, ends: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns the features (frame, 22) from the root's positions and the ends of all PARTS, (frame, 3) each; units
    are kept."""
    return np.concatenate([*(ends[part] - root for part in BODY_PARTS), root[:, 1:2]], axis=1)
