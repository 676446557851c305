"""Texts from frames, by connectionist temporal classification (Graves et al. 2006).

Each frame says a symbol or blank; B joins repeats and drops blanks, so that p(y|x) = Σ_{π ∈ B⁻¹(y)} Π_t p_t(π_t).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

BLANK = 0


class DecodedSymbols(NamedTuple):
    """Holds the symbols that were read, and log p of them."""

    symbols: tuple[int, ...]
    log_p: float


def frames_needed(symbols: Sequence[int]) -> int:
    """Returns how many frames a text needs: its symbols, and a blank between each two neighbours that are equal."""
    return len(symbols) + sum(one == other for one, other in pairwise(symbols))


def refuse_too_few_frames(texts: Sequence[Sequence[int]], frames: Sequence[int]) -> None:
    """Raises ValueError, naming the first, for a text without a symbol and for one that has too few frames, as no
    path gives it: its loss would be infinite."""
    for number, (symbols, there) in enumerate(zip(texts, frames, strict=True)):
        needed = frames_needed(symbols)
        if not symbols:
            raise ValueError(f"text {number} is empty; leave it out")
        if needed > there:
            raise ValueError(
                f"text {number} has {len(symbols)} symbols and needs {needed} frames, its image gives {there}; take "
                f"images at least {needed / max(there, 1):.2f} times as wide, or frames that are closer"
            )


def ctc_losses(log_p: Tensor, frames: Tensor, texts: Sequence[Sequence[int]]) -> Tensor:
    """Returns −ln p(y|x) of each text, (sequence,).

    log_p: (sequence, frame, symbol), blank is symbol 0. frames: int64 (sequence,), how many frames each has. Raises
    ValueError as `refuse_too_few_frames`: an impossible text is never dropped in silence.
    """
    refuse_too_few_frames(texts, frames.tolist())
    lengths = torch.tensor([len(own) for own in texts])
    flat = torch.tensor([symbol for own in texts for symbol in own])
    return torch.nn.functional.ctc_loss(
        log_p.transpose(0, 1), flat.to(log_p.device), frames.cpu(), lengths, blank=BLANK, reduction="none"
    )


def text_log_p(log_p: Tensor, frames: Tensor, texts: Sequence[Sequence[int]]) -> Tensor:
    """Returns ln p(y|x) of each text, float64 (sequence,): of all paths that say it. The empty text is said by the path
    of blanks alone. Shapes as of `ctc_losses`; raises ValueError, as it does, for a text that has too few frames."""
    log_p, found = log_p.detach().double(), torch.zeros(len(texts), dtype=torch.float64)
    written = [place for place, own in enumerate(texts) if own]
    for place, own in enumerate(texts):
        if not own:
            found[place] = log_p[place, : int(frames[place]), BLANK].sum().cpu()
    if written:
        found[written] = -ctc_losses(log_p[written], frames[written], [texts[place] for place in written]).cpu()
    return found


def joined(path: Sequence[int]) -> tuple[int, ...]:
    """Returns B(π): repeats joined, blanks dropped."""
    changes = [own for place, own in enumerate(path) if not place or own != path[place - 1]]
    return tuple(own for own in changes if own != BLANK)


def best_paths(log_p: Tensor, frames: Tensor) -> list[DecodedSymbols]:
    """Returns what the most probable symbol of each frame says, and log p of that one path. Shapes as of
    `ctc_losses`."""
    best, symbols = log_p.detach().double().max(2)
    rows = zip(best.cpu(), symbols.cpu(), frames.tolist(), strict=True)
    return [DecodedSymbols(joined(path[:count].tolist()), float(values[:count].sum())) for values, path, count in rows]


def alignment(log_p: np.ndarray, symbols: Sequence[int]) -> np.ndarray:
    """Returns the most probable path of a text, int64 (frame,): the place of the symbol that each frame says, −1 for
    blank (Viterbi 1967). Of equals the path that goes on later.

    log_p: float64 (frame, symbol). Raises ValueError as `refuse_too_few_frames`.
    """
    refuse_too_few_frames([symbols], [len(log_p)])
    states = np.array([BLANK, *(part for own in symbols for part in (own, BLANK))])
    skips = np.array([place > 1 and own not in (BLANK, states[place - 2]) for place, own in enumerate(states)])
    score = np.full(len(states), -np.inf)
    score[:2] = log_p[0, states[:2]]
    steps = np.zeros((len(log_p), len(states)), np.int64)
    for frame in range(1, len(log_p)):
        one = np.concatenate([[-np.inf], score[:-1]])
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], score[:-2]]), -np.inf)
        choices = np.stack([score, one, two])
        steps[frame] = choices.argmax(0)
        score = choices.max(0) + log_p[frame, states]
    place = len(states) - 1 if score[-1] >= score[-2] else len(states) - 2
    path = [place]
    for frame in range(len(log_p) - 1, 0, -1):
        path.append(path[-1] - int(steps[frame, path[-1]]))
    found = np.array(path[::-1])
    return np.where(found % 2, found // 2, -1)
