"""Simulated trajectories in three parts: which are tested, which are drawn for validation, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.base import DataError
from data.split import check_trajectories, split_trajectories


def parts_of(trajectories, *, validation, test, seed):
    arrays = [np.full((2, 5), i) for i in range(trajectories)]
    generator = np.random.default_rng(seed)
    return split_trajectories(arrays, word="swim", validation=validation, test=test, generator=generator)


@given(data=st.data(), trajectories=st.integers(3, 40), seed=st.integers(0, 2**40))
def test_the_last_are_the_test_part_and_the_rest_is_divided(data, trajectories, seed):
    test = data.draw(st.integers(1, trajectories - 2))
    validation = data.draw(st.integers(1, trajectories - test - 1))
    parts = parts_of(trajectories, validation=validation, test=test, seed=seed)
    fitted, held_out, tested = (list(part.names) for part in parts)
    every = [f"swim_{i:02d}" for i in range(trajectories)]
    assert tested == every[-test:]
    assert len(held_out) == validation
    assert sorted(fitted + held_out) == every[:-test]
    for sequences in parts:
        assert [f"swim_{int(v):02d}" for v in sequences.values[:, 0, 0]] == list(sequences.names)


def test_the_validation_part_is_drawn_by_the_generator():
    assert len({parts_of(25, validation=4, test=5, seed=seed)[1].names for seed in range(5)}) == 5


def test_trajectories_that_leave_a_part_empty_are_refused():
    check_trajectories("hopper", trajectories=3, validation=1, test=1)
    with pytest.raises(DataError, match=r"^hopper: validation must be a whole number of at least 1, got 0"):
        check_trajectories("hopper", trajectories=3, validation=0, test=1)
    with pytest.raises(DataError, match=r"^hopper: 3 trajectories cannot give 2 for test, 1 for validation and at"):
        check_trajectories("hopper", trajectories=3, validation=1, test=2)
