"""Hidden tokens: the shares, what is never hidden, and whole words."""

from __future__ import annotations

import math

import pytest
import torch

from models.sequence.masking import Masking, hide

COUNT = 40_000
MASKING = Masking(mask=1, first=4, vocabulary=50)


def drawn(masking: Masking = MASKING, *, seed: int = 0) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(4, 50, (COUNT,), generator=generator)
    tokens[::100] = 2
    words = torch.arange(COUNT) // 3
    return tokens, words, *hide(tokens, words, masking, torch.Generator().manual_seed(seed + 1))


def near(share: float, wanted: float, count: int) -> bool:
    return abs(share - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / count)


def test_shares_are_what_was_asked_for() -> None:
    tokens, _, seen, guessed = drawn()
    open_ = tokens >= 4
    assert near(float(guessed[open_].double().mean()), 0.15, int(open_.sum()))
    assert not guessed[~open_].any()
    assert torch.equal(seen[~guessed], tokens[~guessed])
    hidden, kept = seen[guessed] == 1, seen[guessed] == tokens[guessed]
    count = int(guessed.sum())
    assert near(float(hidden.double().mean()), 0.8, count)
    assert near(float(kept.double().mean()), 0.1 + 0.1 / 46, count)
    assert int(seen[guessed][~hidden].min()) >= 4


def test_words_are_guessed_whole() -> None:
    tokens, words, _, guessed = drawn(MASKING._replace(whole_words=True))
    open_ = tokens >= 4
    by_word = torch.zeros(int(words.max()) + 1).index_add(0, words[open_], guessed[open_].float())
    counts = torch.zeros_like(by_word).index_add(0, words[open_], open_[open_].float())
    assert ((by_word == 0) | (by_word == counts)).all()
    assert 0.14 < float(guessed.double().mean()) < 0.16


def test_the_same_chance_hides_the_same() -> None:
    first, second, other = drawn(), drawn(), drawn(seed=5)
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))
    assert not torch.equal(first[3], other[3])


def test_no_token_and_nothing_to_guess() -> None:
    none = torch.empty(0, dtype=torch.int64)
    assert hide(none, none, MASKING, torch.Generator()).tokens.shape == (0,)
    assert not drawn(MASKING._replace(share=0.0))[3].any()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"share": 1.5}, "share must be"),
        ({"hidden": 0.9, "random": 0.2}, "hidden and random must be at most 1 together"),
    ],
)
def test_shares_that_are_none(change: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        drawn(MASKING._replace(**change))
