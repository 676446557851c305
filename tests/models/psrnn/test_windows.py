"""Windows against a loop over steps."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from models.psrnn.windows import extract_windows


@settings(deadline=None, max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 14), min_size=1, max_size=4),
    gaps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 13), st.integers(0, 1)), max_size=6),
    length=st.integers(1, 3),
)
def test_windows_are_those_of_the_loop(lengths: list[int], gaps: list[tuple[int, int, int]], length: int) -> None:
    values = torch.arange(len(lengths) * 14 * 2, dtype=torch.float64).view(len(lengths), 14, 2)
    mask = (torch.arange(14) < torch.tensor(lengths)[:, None])[:, :, None].repeat(1, 1, 2)
    for s, t, d in gaps:
        mask[s % len(lengths), t, d] = False
    expected = oracles.windows_by_loop(values, mask, length)
    if not expected:
        with pytest.raises(ValueError, match="observed steps in a row"):
            extract_windows(values, mask, length=length)
        return
    found = extract_windows(values, mask, length=length)
    assert list(zip(found.sequence.tolist(), found.time.tolist(), strict=True)) == [(s, t) for s, t, _ in expected]
    rows = torch.stack([row for _, _, row in expected])
    assert torch.equal(found.history, rows[:, :length].flatten(1))
    assert torch.equal(found.observation, rows[:, length])
    assert torch.equal(found.future, rows[:, length : 2 * length].flatten(1))
    assert torch.equal(found.shifted_future, rows[:, length + 1 :].flatten(1))
    follows = [a[0] == b[0] and a[1] + 1 == b[1] for a, b in itertools.pairwise(expected)]
    assert found.adjacent.tolist() == follows


def test_errors() -> None:
    values, mask = torch.zeros(1, 4, 1), torch.ones(1, 4, 1, dtype=torch.bool)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        extract_windows(values, mask, length=0)
    with pytest.raises(ValueError, match="has 4 steps; a window of length 2 needs 5"):
        extract_windows(values, mask, length=2)
