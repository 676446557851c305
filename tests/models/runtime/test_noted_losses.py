"""Parts of a loss are averaged over cases, and begun anew when they are taken."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import rank_work
from models.runtime.noted_losses import NotedLosses
from rank_work import on_ranks


def test_means_are_over_cases_since_they_were_taken() -> None:
    noted = NotedLosses()
    assert noted.taken() == {}
    noted.note({"box_loss": torch.tensor(float("nan"))}, 1)
    noted.forget()
    noted.note({"box_loss": torch.tensor(1.0, requires_grad=True), "class_loss": torch.tensor(4.0)}, 1)
    noted.note({"box_loss": torch.tensor(3.0), "class_loss": torch.tensor(0.0)}, 3)
    assert noted.taken() == pytest.approx({"box_loss": 2.5, "class_loss": 1.0})
    assert noted.taken() == {}


@pytest.mark.parametrize("few", [False, True])
def test_two_processes_have_the_means_of_one(few: bool, tmp_path: Path) -> None:
    """Where there are few cases the second has none, and knows no name."""
    expected = rank_work.noted(few=few)
    assert expected == pytest.approx({"box_loss": 2.5, "class_loss": 1.0})
    for found in on_ranks(rank_work.noted, tmp_path, few=few):
        assert found == pytest.approx(expected)
