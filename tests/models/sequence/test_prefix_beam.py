"""A beam of prefixes against all texts, with and without a language model, and the language model against its
definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ctc_paths import paths_by_text, random_log_p
from models.sequence.ngrams import BEFORE, END, NGrams
from models.sequence.prefix_beam import grown_by, prefix_beam

TEXTS = [(1, 2, 1), (2, 2), (1, 2)]


def totals_of(log_p: torch.Tensor) -> dict[tuple[int, ...], float]:
    return {text: np.logaddexp.reduce([value for value, _ in own]) for text, own in paths_by_text(log_p).items()}


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_all_prefixes_finds_the_most_probable_text(seed: int) -> None:
    log_p = random_log_p(4, 3, seed)
    totals = totals_of(log_p)
    best = max(totals, key=lambda text: totals[text])
    said = prefix_beam(log_p.numpy(), size=10_000)
    assert said.symbols == best
    assert said.log_p == pytest.approx(totals[best], abs=1e-12)
    assert prefix_beam(log_p.numpy(), size=1).log_p <= said.log_p + 1e-12
    with pytest.raises(ValueError, match="at least 1, got 0"):
        prefix_beam(log_p.numpy(), size=0)


@pytest.mark.parametrize("seed", range(6))
def test_with_rates_it_finds_the_text_of_largest_sum(seed: int) -> None:
    log_p, model = random_log_p(4, 3, seed), NGrams(TEXTS, symbols=3, order=3)

    def rates(prefix: tuple[int, ...]) -> list[float]:
        return (2.0 * model.log_p(prefix) + 0.3).tolist()

    def worth(text: tuple[int, ...]) -> float:
        return totals[text] + sum(rates(text[:place])[own] for place, own in enumerate((*text, END)))

    totals = totals_of(log_p)
    best = max(totals, key=worth)
    said = prefix_beam(log_p.numpy(), size=10_000, rates=rates)
    assert said.symbols == best
    assert said.log_p == pytest.approx(totals[best], abs=1e-12)
    assert {prefix_beam(random_log_p(4, 3, own).numpy(), size=10_000).symbols for own in range(6)} != {
        prefix_beam(random_log_p(4, 3, own).numpy(), size=10_000, rates=rates).symbols for own in range(6)
    }


def test_symbols_out_of_reach_are_left_out() -> None:
    """Of the paths of (1, 2), 1_2 and 112 stay, a repeat being no new symbol; 122, 12_ and _12 are not followed."""
    log_p = np.log([[0.05, 0.9, 0.05], [0.9, 0.05, 0.05], [0.05, 0.05, 0.9]])
    near, whole = prefix_beam(log_p, size=20, reach=1.0), prefix_beam(log_p, size=20)
    assert near.symbols == whole.symbols == (1, 2)
    assert np.exp(near.log_p) == pytest.approx(0.9**3 + 0.9 * 0.05 * 0.9)
    assert np.exp(whole.log_p) == pytest.approx(0.9**3 + 2 * 0.9 * 0.05 * 0.9 + 2 * 0.9 * 0.05 * 0.05)


def test_a_frame_offers_the_most_probable_symbols() -> None:
    row = np.log([0.6, 0.1, 0.2, 0.1])
    assert [grown_by(row, most, np.inf) for most in (1, 2, 9)] == [[2], [2, 1], [2, 1, 3]]
    assert grown_by(row, 9, 1.2) == [2]  # ln(0.6 / 0.2) = 1.10
    assert prefix_beam(np.log([[0.1, 0.5, 0.4]]), size=1).symbols == (1,)


def by_definition(history: tuple[int, ...], symbol: int) -> float:
    """p of a symbol after a history, over texts with what stands before and after them."""
    whole = [(BEFORE, BEFORE, *text, END) for text in TEXTS]
    follow = [text[end] for text in whole for end in range(2, len(text))
              if text[end - len(history) : end] == history]  # fmt: skip
    shorter = by_definition(history[1:], symbol) if history else 1 / 3
    kinds = len(set(follow))
    return (follow.count(symbol) + kinds * shorter) / (len(follow) + kinds) if follow else shorter


@pytest.mark.parametrize("text", [(), (1,), (2,), (1, 2), (2, 2, 1), (1, 1, 1, 2)])
def test_a_language_model_is_what_it_says(text: tuple[int, ...]) -> None:
    found = np.exp(NGrams(TEXTS, symbols=3, order=3).log_p(text))
    history = (BEFORE, BEFORE, *text)[-2:]
    np.testing.assert_allclose(found, [by_definition(history, symbol) for symbol in range(3)], rtol=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_of_order_one_it_counts_symbols() -> None:
    model = NGrams(TEXTS, symbols=3, order=1)
    for text in ((), (1, 2)):
        np.testing.assert_allclose(np.exp(model.log_p(text)), (np.array([3, 3, 4]) + 1) / 13, rtol=1e-12)


def test_all_texts_together_are_certain() -> None:
    """p of every text of at most 12 symbols, and of what goes on beyond them."""
    model = NGrams([(1,), (1, 1)], symbols=2, order=2)
    ends = [
        sum(model.log_p((1,) * place)[own] for place, own in enumerate((*[1] * length, END))) for length in range(13)
    ]
    beyond = sum(model.log_p((1,) * place)[1] for place in range(13))
    assert np.exp(ends).sum() + np.exp(beyond) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("texts", "order", "message"),
    [
        ([], 2, "got 0 and 2"), ([(1,)], 0, "got 1 and 0"),
        ([(1, 3)], 2, "lie in 1 … 2"), ([(0,)], 2, "lie in 1 … 2"),
    ],
)  # fmt: skip
def test_texts_that_cannot_be_are_refused(texts: list[tuple[int, ...]], order: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NGrams(texts, symbols=3, order=order)
