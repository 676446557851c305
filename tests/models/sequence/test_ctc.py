"""CTC against the sum over all paths, and its decoders against all texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ctc_paths import paths_by_text, random_log_p
from models.sequence.ctc import alignment, best_paths, ctc_losses, frames_needed, text_log_p


@pytest.mark.parametrize("text", [(1,), (1, 2), (2, 2), (1, 1, 2)])
def test_a_loss_is_the_sum_over_all_paths(text: tuple[int, ...]) -> None:
    log_p = random_log_p(5, 3, seed=0)
    total = np.logaddexp.reduce([value for value, _ in paths_by_text(log_p)[text]])
    padded = torch.cat([log_p, random_log_p(2, 3, seed=1)])[None]
    assert float(ctc_losses(padded, torch.tensor([5]), [text])[0]) == pytest.approx(-total, abs=1e-12)


@pytest.mark.parametrize("frames", [1, 3, 5])
def test_the_probability_of_every_text_is_the_sum_over_all_its_paths(frames: int) -> None:
    """The empty text among them; together they have probability 1."""
    log_p = random_log_p(frames, 3, seed=3)
    totals = {text: np.logaddexp.reduce([value for value, _ in paths]) for text, paths in paths_by_text(log_p).items()}
    padded = torch.cat([log_p, random_log_p(2, 3, seed=1)])[None].expand(len(totals), -1, -1)
    found = text_log_p(padded, torch.full((len(totals),), frames), list(totals))
    assert () in totals
    np.testing.assert_allclose(found.numpy(), list(totals.values()), atol=1e-12)
    assert float(found.exp().sum()) == pytest.approx(1.0)


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
