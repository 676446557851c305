"""Which groups each part takes: by how many samples they have, and what is left over is for training."""

from __future__ import annotations

import numpy as np
import pytest

from data.drawn_parts import drawn, fitting


@pytest.mark.parametrize(
    ("sizes", "wanted", "taken"),
    [
        ([1, 1, 1, 1], 2, [0, 1]),
        ([1, 9, 1, 1], 2, [0, 2]),
        ([2, 2, 1], 3, [0, 2]),
        ([5, 4, 4], 3, [1]),
        ([], 3, []),
    ],
)
def test_a_part_takes_groups_that_fit_in_order_or_the_smallest(sizes: list[int], wanted: int, taken: list[int]) -> None:
    assert np.flatnonzero(fitting(np.array(sizes, int), wanted)).tolist() == taken


@pytest.mark.parametrize("seed", range(5))
def test_a_large_group_is_trained_on_and_each_sample_is_in_one_part(seed: int) -> None:
    codes = np.array([0] * 40 + list(range(1, 61)))
    rows = drawn(codes, np.bincount(codes), {"train": 70, "validation": 10, "test": 20}, seed)
    assert [len(own) for own in rows.values()] == [70, 10, 20]
    assert set(range(40)) <= set(rows["train"].tolist())
    assert sorted(np.concatenate([*rows.values()]).tolist()) == list(range(100))
