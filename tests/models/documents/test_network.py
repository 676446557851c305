"""The network that reads documents: what it sees, and what it must not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from models.documents.network import SPREAD, Architecture, DocumentNetwork, place_table
from models.documents.tokens import NO_BOX, PageTokens, in_thousandths, joined_tokens, layout_of, tokens_of
from models.sequence.attention import Attending
from models.sequence.orders import page_order
from models.sequence.patterns import DistanceWindow, Full, Pattern, keys_of
from models.sequence.plans import Plan, plan
from models.sequence.vocabulary import BEGIN, Vocabulary

SMALL = Architecture(50, width=16, heads=2, hidden=24, layers=2, longest=64, pages=3, dropout=0.0, outputs=5)


def document(count: int, *, seed: int = 0) -> tuple[PageTokens, np.ndarray]:
    """A sign and words of one or two tokens, with the centres of the words."""
    generator = np.random.default_rng(seed)
    owner = np.concatenate([[-1], np.sort(generator.integers(0, count, count - 1))])
    owner[1:] = np.unique(owner[1:], return_inverse=True)[1]
    words = int(owner.max()) + 1
    low = generator.integers(0, 900, (words, 2))
    boxes = np.concatenate([low, low + generator.integers(1, 100, (words, 2))], 1)
    boxes[::5] = NO_BOX
    whole = np.concatenate([np.full((1, 4), NO_BOX), boxes])[owner + 1]
    pages = np.sort(generator.integers(0, 5, words))
    parts = (
        np.concatenate([[1], generator.integers(4, 50, count - 1)]), owner, np.arange(count), whole,
        np.concatenate([pages[:1], pages])[owner + 1], np.array([count]),
    )  # fmt: skip
    return PageTokens(*map(torch.from_numpy, parts)), low + 1000.0 * pages[:, None] * [0, 1]


def planned(tokens: PageTokens, centres: np.ndarray, pattern: Pattern) -> Any:
    place = layout_of(tokens, centres)
    keys = keys_of(pattern, place, np.random.default_rng(0))
    return plan(keys, page_order(place.centres, leaf=16), block=16)


def network(**changed: Any) -> DocumentNetwork:
    own = Architecture(**{**vars(SMALL), **changed})
    return DocumentNetwork(own, seed=0).double().eval()


def test_the_embedding_is_the_sum_that_it_says() -> None:
    tokens, _ = document(20)
    own: Any = network().embedding
    x, y, wide, high = (side.weight for side in own.sides)
    for i in range(20):
        x0, y0, x1, y1 = tokens.boxes[i].tolist()
        size = (NO_BOX, NO_BOX) if x0 == NO_BOX else (x1 - x0, y1 - y0)
        page = own.pages.weight[min(int(tokens.pages[i]), 2)]
        expected = own.words.weight[tokens.ids[i]] + own.positions.weight[i] + x[x0] + x[x1] + y[y0] + y[y1]
        expected = own.norm(expected + wide[size[0]] + high[size[1]] + page)
        torch.testing.assert_close(own(tokens)[i], expected)


@pytest.mark.parametrize("pattern", [Full(), DistanceWindow(5, 4)], ids=str)
def test_documents_do_not_change_one_another(pattern: Pattern) -> None:
    """Nor does their order; there is no padding that could."""
    made, given = network(), [document(count, seed=count) for count in (30, 4, 61)]
    plans = [planned(*each, pattern) for each in given]
    alone = [made.tags(tokens, [own]) for (tokens, _), own in zip(given, plans, strict=True)]
    for order in ((0, 1, 2), (2, 0, 1)):
        together = made.tags(joined_tokens([given[i][0] for i in order]), [Plan.joined([plans[i] for i in order])])
        torch.testing.assert_close(together, torch.cat([alone[i] for i in order]), rtol=1e-10, atol=1e-12)


def test_heads_read_the_first_token_of_documents_and_of_words() -> None:
    made: Any = network()
    given = [document(count, seed=count) for count in (30, 12)]
    tokens, plans = (
        joined_tokens([each[0] for each in given]),
        [Plan.joined([planned(*each, Full()) for each in given])],
    )
    states = made.encode(tokens, plans)
    torch.testing.assert_close(made.classes(tokens, plans), made.head(states[[0, 30]]))
    starts = [i for i in range(42) if int(tokens.words[i]) >= 0 and int(tokens.words[i]) != int(tokens.words[i - 1])]
    torch.testing.assert_close(made.tags(tokens, plans), made.head(states[starts]))
    asked = torch.zeros(42, dtype=torch.bool).index_fill(0, torch.tensor([3, 33]), value=True)
    guessed = made.guess(states[[3, 33]]) @ made.embedding.words.weight.T + made.guess_bias
    torch.testing.assert_close(made.guesses(tokens, plans, asked), guessed)


def test_without_boxes_where_words_stand_is_not_seen() -> None:
    tokens, centres = document(20)
    moved = tokens._replace(boxes=tokens.boxes.flip(0), pages=tokens.pages.flip(0))
    plans: list[Attending] = [planned(tokens, centres, Full())]
    for boxes in (True, False):
        made = network(boxes=boxes)
        assert torch.equal(made.tags(tokens, plans), made.tags(moved, plans)) is not boxes


def test_networks_that_share_a_part_begin_with_the_same_weights() -> None:
    small, large = network(), network(layers=3, outputs=7)
    for name, value in small.state_dict().items():
        if not name.startswith("head.leave"):
            assert torch.equal(value, large.state_dict()[name]), name


def test_a_plan_for_each_layer() -> None:
    tokens, centres = document(20)
    one, two = planned(tokens, centres, Full()), planned(tokens, centres, DistanceWindow(2, 2))
    made = network()
    torch.testing.assert_close(made.tags(tokens, [one, one]), made.tags(tokens, [one]))
    assert not torch.allclose(made.tags(tokens, [one, two]), made.tags(tokens, [one]))


def test_boxes_in_thousandths_of_their_pages() -> None:
    boxes = np.array([[0, 0, 300, 400], [np.nan] * 4, [150.2, 1, 600.4, 800]], np.float32)
    found = in_thousandths(boxes, np.full((3, 2), [600, 800]))
    assert found.tolist() == [[0, 0, 500, 500], [NO_BOX] * 4, [250, 1, 1000, 1000]]


def test_tokens_are_pieces_of_words_with_the_box_and_page_of_the_word() -> None:
    words, sizes = ("law", "of", "Oregon"), np.array([[600, 800], [300, 400]], np.float32)
    vocabulary = Vocabulary.train(["law of the land", "laws and law of law"], pieces=265)
    boxes = np.array([[0, 0, 60, 80], [np.nan] * 4, [30, 40, 60, 80]], np.float32)
    tokens = tokens_of(words, boxes, np.array([0, 0, 1]), sizes, vocabulary)
    pieces = [own.tolist() for own in vocabulary.encode([" law", " of", " Oregon"])]
    assert tokens.ids.tolist() == [BEGIN, *(piece for own in pieces for piece in own)]
    assert tokens.words.tolist() == [-1, *(i for i, own in enumerate(pieces) for _ in own)]
    assert tokens.ids[tokens.starts].tolist() == [own[0] for own in pieces]
    assert tokens.pages[tokens.starts].tolist() == [0, 0, 1]
    assert tokens.boxes[tokens.starts].tolist() == [[0, 0, 100, 100], [NO_BOX] * 4, [100, 100, 200, 200]]
    centres = np.array([[30.0, 40.0], [30.0, 40.0], [45.0, 860.0]])
    place = layout_of(tokens, centres)
    np.testing.assert_array_equal(place.centres[1:], centres[tokens.words[1:].numpy()])
    assert np.isnan(place.centres[0]).all()
    assert place.everywhere.tolist() == [True] + [False] * (len(tokens.ids) - 1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"width": 15}, "width must be a multiple of heads, got 15 and 2"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"outputs": -1}, "outputs must be at least 0, got -1"),
        ({"adjacent": -1}, "adjacent must be at least 0, got -1"),
        ({"places": "near"}, "places must be one of drawn, smooth, got 'near'"),
    ],
)
def test_architectures_that_cannot_be(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        network(**changed)


def test_what_a_network_was_not_made_for() -> None:
    tokens, centres = document(20)
    plans = [planned(tokens, centres, Full())]
    with pytest.raises(ValueError, match="this network has no outputs; make one with outputs=NUMBER"):
        network(outputs=0).tags(tokens, plans)
    with pytest.raises(ValueError, match="a document has 20 tokens, and longest is 19; read it in chunks"):
        network(longest=19).tags(tokens, plans)


def test_smooth_places_begin_with_the_products_of_a_gaussian_kernel() -> None:
    width, length = 40_000, 5.0
    torch.manual_seed(0)
    rows = place_table(31, width, "smooth", length=length, apart=1).weight.detach().double() / SPREAD
    apart = torch.arange(30)[:, None] - torch.arange(30)
    expected = torch.exp(-(apart**2) / (2 * length**2)).double()
    torch.testing.assert_close(rows[:30] @ rows[:30].T / width, expected, atol=0.03, rtol=0)
    assert (rows[30] @ rows[:30].T / width).abs().max() < 0.03  # no place: drawn by itself


def test_smooth_places_are_those_of_each_table_and_leave_the_words_as_they_are() -> None:
    plain, smooth = (
        DocumentNetwork(Architecture(30, width=16, heads=2, hidden=16, layers=1, longest=9, places=places), seed=3)
        for places in ("drawn", "smooth")
    )
    torch.testing.assert_close(plain.embedding.words.weight, smooth.embedding.words.weight, atol=0, rtol=0)
    tables = [own.weight[:NO_BOX] for own in smooth.embedding.sides]
    assert all(not torch.equal(one, other) for one, other in combinations(tables, 2))
    for own in tables:
        steps = (own[1:] - own[:-1]).norm(dim=1)
        assert steps.max() < 0.2 * own.norm(dim=1).min()
