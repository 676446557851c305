"""Small models run on one thread, whatever the machine has; large ones on as many as before."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from models.runtime.threads import SMALL_MODEL, threads_for


@pytest.fixture(autouse=True)
def _three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("numbers", "threads"), [(1, 1), (SMALL_MODEL - 1, 1), (SMALL_MODEL, 3), (SMALL_MODEL + 1, 3)])
def test_threads_by_the_numbers_of_a_model_fixed_ones_too(numbers: int, threads: int) -> None:
    model = nn.Module()
    model.register_buffer("fixed", torch.zeros(numbers))
    with threads_for(model):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 3


def test_an_error_leaves_the_threads_as_they_were() -> None:
    with pytest.raises(ValueError, match="within"), threads_for(nn.Linear(2, 2)):
        raise ValueError("within")
    assert torch.get_num_threads() == 3
