"""CTC against the sum over all paths, and its decoders against all texts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from models.sequence.ctc import alignment, best_paths, ctc_losses, frames_needed, joined, prefix_beam


def random_log_p(frames: int, symbols: int, seed: int) -> torch.Tensor:
    """Logarithms of probabilities, float64 (frame, symbol)."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(frames, symbols, dtype=torch.float64, generator=chance).log_softmax(1)


def paths_by_text(log_p: torch.Tensor) -> dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]:
    """Every path with its ln p, by the text that it says."""
    found = dict[tuple[int, ...], list[tuple[float, tuple[int, ...]]]]()
    for path in product(range(log_p.shape[1]), repeat=len(log_p)):
        found.setdefault(joined(path), []).append((float(log_p[range(len(path)), path].sum()), path))
    return found


@pytest.mark.parametrize("text", [(1,), (1, 2), (2, 2), (1, 1, 2)])
def test_a_loss_is_the_sum_over_all_paths(text: tuple[int, ...]) -> None:
    log_p = random_log_p(5, 3, seed=0)
    total = np.logaddexp.reduce([value for value, _ in paths_by_text(log_p)[text]])
    padded = torch.cat([log_p, random_log_p(2, 3, seed=1)])[None]
    assert float(ctc_losses(padded, torch.tensor([5]), [text])[0]) == pytest.approx(-total, abs=1e-12)


def test_its_gradient_is_that_of_differences() -> None:
    logits = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2), requires_grad=True)
    frames, texts = torch.tensor([4, 3]), [(1, 1), (2,)]
    assert torch.autograd.gradcheck(lambda own: ctc_losses(own.log_softmax(2), frames, texts), (logits,))


def test_a_text_that_no_path_gives_is_refused_by_its_number() -> None:
    log_p = torch.zeros(2, 3, 4, dtype=torch.float64).log_softmax(2)
    assert frames_needed((1, 1, 2)) == 4
    with pytest.raises(ValueError, match=r"^text 1 has 3 symbols and needs 4 frames, its image gives 3; .* 1.33 times"):
        ctc_losses(log_p, torch.tensor([3, 3]), [(1,), (1, 1, 2)])
    with pytest.raises(ValueError, match=r"^text 0 is empty"):
        ctc_losses(log_p, torch.tensor([3, 3]), [(), (1,)])


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_all_prefixes_finds_the_most_probable_text(seed: int) -> None:
    log_p = random_log_p(4, 3, seed)
    totals = {text: np.logaddexp.reduce([value for value, _ in own]) for text, own in paths_by_text(log_p).items()}
    best = max(totals, key=lambda text: totals[text])
    said = prefix_beam(log_p.numpy(), size=10_000)
    assert said.symbols == best
    assert said.log_p == pytest.approx(totals[best], abs=1e-12)
    assert prefix_beam(log_p.numpy(), size=1).log_p <= said.log_p + 1e-12
    with pytest.raises(ValueError, match="at least 1, got 0"):
        prefix_beam(log_p.numpy(), size=0)


@pytest.mark.parametrize("text", [(1,), (1, 2), (2, 2)])
def test_an_alignment_is_the_best_of_all_paths(text: tuple[int, ...]) -> None:
    log_p = random_log_p(5, 3, seed=7)
    best, path = max(paths_by_text(log_p)[text])
    found = alignment(log_p.numpy(), text)
    said = [0 if place < 0 else text[place] for place in found]
    assert tuple(said) == path
    assert float(log_p[range(5), said].sum()) == pytest.approx(best, abs=1e-12)


def test_the_best_symbols_of_own_frames_are_said() -> None:
    log_p = torch.full((2, 4, 3), -5.0)
    for frame, symbol in enumerate((1, 1, 0, 1)):
        log_p[:, frame, symbol] = -0.5
    whole, short = best_paths(log_p, torch.tensor([4, 2]))
    assert (whole.symbols, short.symbols) == ((1, 1), (1,))
    assert (whole.log_p, short.log_p) == (-2.0, -1.0)
