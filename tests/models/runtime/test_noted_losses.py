"""Parts of a loss are averaged over cases, and begun anew when they are taken."""

from __future__ import annotations

import pytest
import torch

from models.runtime.noted_losses import NotedLosses


def test_means_are_over_cases_since_they_were_taken() -> None:
    noted = NotedLosses()
    assert noted.taken() == {}
    noted.note({"box_loss": torch.tensor(1.0, requires_grad=True), "class_loss": torch.tensor(4.0)}, 1)
    noted.note({"box_loss": torch.tensor(3.0), "class_loss": torch.tensor(0.0)}, 3)
    assert noted.taken() == pytest.approx({"box_loss": 2.5, "class_loss": 1.0})
    assert noted.taken() == {}
