"""Every path over a few frames, by the text that it says: the slow oracle of CTC."""

from __future__ import annotations

from itertools import product

import torch

from models.sequence.ctc import joined

Text = tuple[int, ...]


def random_log_p(frames: int, symbols: int, seed: int) -> torch.Tensor:
    """Logarithms of probabilities, float64 (frame, symbol)."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(frames, symbols, dtype=torch.float64, generator=chance).log_softmax(1)


def paths_by_text(log_p: torch.Tensor) -> dict[Text, list[tuple[float, Text]]]:
    """Every path with its ln p, by the text that it says."""
    found = dict[Text, list[tuple[float, Text]]]()
    for path in product(range(log_p.shape[1]), repeat=len(log_p)):
        found.setdefault(joined(path), []).append((float(log_p[range(len(path)), path].sum()), path))
    return found
