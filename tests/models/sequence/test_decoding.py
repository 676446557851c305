"""Greedy and beam search against exhaustive search, their rule, and independence of what else is in the batch."""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from models.sequence.decoding import Rules, Written, beam, best_of, best_of_each, drawn_of_each, greedy, sample

LETTERS, STEPS, END, BEGIN = 5, 4, 0, 4


class Prefixes(NamedTuple):
    """Holds tables (row, step, letter before the last, last, letter) of log p, and the last letters written."""

    tables: Tensor
    step: int
    last: Tensor


class TableWriter:
    """Draws for each sequence log p of a letter, which depends on the step and the two letters before it."""

    def start(self, memory: Tensor) -> Prefixes:
        return Prefixes(memory, 0, torch.zeros(len(memory), dtype=torch.int64))

    def step(self, state: Prefixes, last: Tensor) -> tuple[Tensor, Prefixes]:
        rows = torch.arange(len(last))
        log_p = state.tables[rows, state.step, state.last, last]
        return log_p, Prefixes(state.tables, state.step + 1, last)

    def pick(self, state: Prefixes, rows: Tensor) -> Prefixes:
        return Prefixes(state.tables[rows], state.step, state.last[rows])


def tables(count: int, seed: int = 0, steps: int = STEPS, sharp: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(count, steps, LETTERS, LETTERS, LETTERS, generator=generator, dtype=torch.float64)
    return (sharp * drawn).log_softmax(-1)


def rules(count: int, longest: int = STEPS) -> Rules:
    return Rules(BEGIN, END, torch.full((count,), longest))


def all_hypotheses(table: Tensor, penalty: float) -> list[tuple[float, tuple[int, ...]]]:
    """Every sequence that ends, or is as long as may be, with its score; the best first."""
    found = []
    for length in range(1, len(table) + 1):
        for own in product(range(LETTERS), repeat=length):
            if END in own[:-1] or (own[-1] != END and length < len(table)):
                continue
            before, last, total = 0, BEGIN, 0.0
            for step, letter in enumerate(own):
                total += float(table[step, before, last, letter])
                before, last = last, letter
            found.append((total / ((5 + length) / 6) ** penalty, own))
    return sorted(found, reverse=True)


def letters(own: Written) -> tuple[int, ...]:
    return (*own.tokens.tolist(), *([END] if own.finished else []))


@pytest.mark.parametrize("penalty", [0.0, 0.6, 2.0])
def test_a_beam_that_holds_everything_is_exhaustive_search(penalty: float) -> None:
    own = tables(6)
    for found, table in zip(beam(TableWriter(), own, rules(6), size=700, penalty=penalty), own, strict=True):
        score, expected = all_hypotheses(table, penalty)[0]
        assert letters(found) == expected
        assert found.log_p / ((5 + len(expected)) / 6) ** penalty == pytest.approx(score, rel=1e-12)
        assert found.mean_log_p == pytest.approx(found.log_p / len(expected))


def test_a_beam_of_one_is_greedy_search() -> None:
    own = tables(50, seed=1)
    for one, other in zip(
        beam(TableWriter(), own, rules(50), size=1), greedy(TableWriter(), own, rules(50)), strict=True
    ):
        assert letters(one) == letters(other)
        assert one.log_p == pytest.approx(other.log_p, rel=1e-12)


def test_a_beam_of_one_is_greedy_search_where_single_precision_would_round_to_a_tie() -> None:
    """Behind a total of −200 two letters that are 10⁻⁷ apart were as good, and the lower id was written."""
    table = torch.full((1, 2, LETTERS, LETTERS, LETTERS), -300.0)
    table[:, 0, ..., 3] = -200.0
    table[:, 1, ..., 1], table[:, 1, ..., 2] = -1.0000001, -1.0
    (one,), (other,) = beam(TableWriter(), table, rules(1, 2), size=1), greedy(TableWriter(), table, rules(1, 2))
    assert letters(one) == letters(other) == (3, 2)
    assert one.log_p == other.log_p == -201.0


def test_greedy_search_takes_the_best_letter_of_each_step() -> None:
    (table,) = own = tables(1, seed=2)
    before, last, expected = 0, BEGIN, list[int]()
    while len(expected) < STEPS and (not expected or expected[-1] != END):
        expected.append(int(table[len(expected), before, last].argmax()))
        before, last = last, expected[-1]
    assert letters(greedy(TableWriter(), own, rules(1))[0]) == tuple(expected)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_nothing_depends_on_neighbours(size: int) -> None:
    own, longest = tables(30, seed=3), torch.randint(1, STEPS + 1, (30,), generator=torch.Generator().manual_seed(0))
    together = beam(TableWriter(), own, Rules(BEGIN, END, longest), size=size)
    alone = [
        beam(TableWriter(), own[row : row + 1], Rules(BEGIN, END, longest[row : row + 1]), size=size)[0]
        for row in range(30)
    ]
    assert [letters(each) for each in together] == [letters(each) for each in alone]
    assert [each.log_p for each in together] == pytest.approx([each.log_p for each in alone], rel=1e-12)
    assert all(len(letters(each)) <= most for each, most in zip(together, longest.tolist(), strict=True))


def generators(count: int, first: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(first + row) for row in range(count)]


def drawn_by_a_loop(table: Tensor, longest: int, temperature: float, generator: torch.Generator) -> list[int]:
    """Each letter is the first up to which p^(1/temperature), normalised, sums to more than a uniform number."""
    before, last, found = 0, BEGIN, list[int]()
    while len(found) < longest and (not found or found[-1] != END):
        weights = [math.exp(float(own) / temperature) for own in table[len(found), before, last]]
        point, sums, letter = float(torch.rand((), generator=generator, dtype=torch.float64)) * sum(weights), 0.0, -1
        while sums <= point:
            letter += 1
            sums += weights[letter]
        found.append(letter)
        before, last = last, letter
    return found


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_a_sample_is_that_of_a_plain_loop_with_neighbours_or_without(temperature: float) -> None:
    own, longest = tables(30, seed=3), torch.randint(1, STEPS + 1, (30,), generator=torch.Generator().manual_seed(0))
    whole = Rules(BEGIN, END, longest)
    found = sample(TableWriter(), own, whole, generators=generators(30), temperature=temperature)
    expected = [
        drawn_by_a_loop(table, int(most), temperature, generator)
        for table, most, generator in zip(own, longest, generators(30), strict=True)
    ]
    assert [list(letters(each)) for each in found] == expected
    assert len({len(each) for each in expected}) > 1
    total = sum(float(own[4, step, [0, BEGIN, *expected[4]][step], [BEGIN, *expected[4]][step], letter])
                for step, letter in enumerate(expected[4]))  # fmt: skip
    assert found[4].log_p == pytest.approx(total)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    """Of 4000 draws the counts of five letters lie within five deviations of their means."""
    table = tables(1, seed=8)
    expected = table[0, 0, 0, BEGIN].exp()
    found = sample(TableWriter(), table.expand(4000, *table.shape[1:]), rules(4000, 1), generators=generators(4000))
    counts = torch.bincount(torch.tensor([letters(each)[0] for each in found]), minlength=LETTERS)
    deviation = (4000 * expected * (1 - expected)).sqrt()
    assert bool(((counts - 4000 * expected).abs() < 5 * deviation).all())


def test_a_sample_near_temperature_0_is_greedy_and_writes_what_is_allowed() -> None:
    own = tables(20, seed=9)
    cold = sample(TableWriter(), own, rules(20), generators=generators(20), temperature=1e-4)
    assert [letters(each) for each in cold] == [letters(each) for each in greedy(TableWriter(), own, rules(20))]
    coldest = sample(TableWriter(), own, rules(20), generators=generators(20), temperature=1e-310)
    assert [letters(each) for each in coldest] == [letters(each) for each in cold]
    allowed = torch.tensor([True, False, True, False, False])
    some = sample(TableWriter(), own, Rules(BEGIN, END, rules(20).longest, allowed), generators=generators(20))
    assert {letter for each in some for letter in letters(each)} == {END, 2}
    assert drawn_of_each(torch.tensor([[-torch.inf, 0.0, -torch.inf]] * 2).double(), torch.tensor([0.0, 1 - 2**-53],
                         dtype=torch.float64)).tolist() == [1, 1]  # fmt: skip


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.inf, math.nan])
def test_a_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature, got"):
        sample(TableWriter(), tables(1), rules(1), generators=generators(1), temperature=temperature)


def test_a_larger_beam_finds_better_sequences() -> None:
    own = tables(15, seed=4)
    means = [
        sum(each.log_p for each in beam(TableWriter(), own, rules(15), size=size, penalty=0.0)) for size in (1, 4, 700)
    ]
    assert means == sorted(means)
    assert means[0] < means[2]


def ends_at(*log_p: float) -> Tensor:
    """A table in which the only choice is when to end, with log p of the end at each step."""
    table = torch.full((1, len(log_p), LETTERS, LETTERS, LETTERS), -torch.inf, dtype=torch.float64)
    for step, own in enumerate(log_p):
        table[0, step, :, :, END], table[0, step, :, :, 1] = own, math.log1p(-math.exp(own))
    return table


def test_a_longer_hypothesis_is_divided_by_its_own_length() -> None:
    """Ending at once has p = 0.4; going on to the third letter 0.6 · 0.9 · 0.7 = 0.378."""
    table = ends_at(math.log(0.4), math.log(0.1), math.log(0.7), math.log(0.5))
    plain = beam(TableWriter(), table, rules(1), size=3, penalty=0.0)[0]
    divided = beam(TableWriter(), table, rules(1), size=3, penalty=1.0)[0]
    assert (letters(plain), letters(divided)) == ((END,), (1, 1, END))
    assert divided.log_p == pytest.approx(math.log(0.378))


def test_what_is_as_long_as_may_be_is_cut_and_said() -> None:
    table = ends_at(*[math.log(1e-6)] * 4)
    for found in (greedy(TableWriter(), table, rules(1))[0], beam(TableWriter(), table, rules(1), size=2)[0]):
        assert letters(found) == (1, 1, 1, 1)
        assert not found.finished


@pytest.mark.parametrize("count", [1, 5, 63, 64, 65, 200])
def test_the_best_of_each_row_is_found_block_by_block(count: int) -> None:
    values = torch.randint(7, (40, count), generator=torch.Generator().manual_seed(count)).double()
    values[:, ::3] = -torch.inf
    values[3] = torch.nan
    found = best_of_each(values)
    for own, expected in zip(found, values.max(1), strict=True):
        torch.testing.assert_close(own[:3], expected[:3], rtol=0, atol=0)
        torch.testing.assert_close(own[4:], expected[4:], rtol=0, atol=0)
    assert bool(found[0][3].isnan())


def test_of_equals_the_lower_id_is_taken() -> None:
    table = torch.full((1, STEPS, LETTERS, LETTERS, LETTERS), -math.log(4), dtype=torch.float64)
    table[..., END] = -torch.inf
    for found in (greedy(TableWriter(), table, rules(1))[0], beam(TableWriter(), table, rules(1), size=3)[0]):
        assert letters(found) == (1, 1, 1, 1)
    values = torch.tensor([[1.0, 3, 3, 2, 3, 2], [0, -torch.inf, 0, 1, -torch.inf, -torch.inf]])
    largest, places = best_of(values, 4)
    assert places[0].tolist() == [1, 2, 4, 3]
    assert places[1, :3].tolist() == [3, 0, 2]
    assert largest[1].tolist() == [1, 0, 0, -torch.inf]


def test_only_what_is_allowed_is_written() -> None:
    own, allowed = tables(20, seed=5), torch.tensor([True, True, False, True, False])
    limits = Rules(BEGIN, END, torch.full((20,), STEPS), allowed)
    for found in (*greedy(TableWriter(), own, limits), *beam(TableWriter(), own, limits, size=3)):
        assert not {2, 4} & set(letters(found))


def test_nothing_to_write_and_what_is_wrong() -> None:
    assert beam(TableWriter(), tables(0), rules(0), size=2) == greedy(TableWriter(), tables(0), rules(0)) == []
    with pytest.raises(ValueError, match=r"a beam needs a size of at least 1 and a penalty of at least 0, got 0 and 1"):
        beam(TableWriter(), tables(1), rules(1), size=0)
    with pytest.raises(ValueError, match=r"longest must be at least 1 for every sequence, got 0"):
        rules(2, longest=0)
    with pytest.raises(ValueError, match=r"decoding: no token has a finite probability; look for weights"):
        greedy(TableWriter(), torch.full_like(tables(1), torch.nan), rules(1))
