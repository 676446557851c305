"""The objective of recognisers: batches of similar width, every image once in a turn."""

from __future__ import annotations

import pytest
import torch

from models.forms.images import crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.crnn import CRNN
from models.forms.recognise.objective import RecognitionObjective
from models.runtime.objective import EpochObjective

WIDTHS = [float(20 + 7 * (place % 5)) for place in range(11)]


def show(word: int, turn: int, epoch: int) -> torch.Tensor:
    """An image of a width of its own."""
    return torch.full((16, int(WIDTHS[word])), (turn % 5 + epoch) / 10)


def objective(batch: int = 3) -> RecognitionObjective:
    """Of eleven images."""
    network = CRNN(height=16, width=32, units=8).network(Alphabet(tuple("ab")), seed=0)
    return RecognitionObjective(network, show, ["ab", *["b"] * 10], WIDTHS, batch=batch)


def test_every_image_comes_once_beside_others_of_similar_width() -> None:
    batches = list(objective().batches(torch.Generator().manual_seed(1)))
    assert sorted(word for batch in batches for word in batch.words) == list(range(11))
    assert len({batch.turn for batch in batches}) == 1
    assert (
        max(max(WIDTHS[word] for word in own.words) - min(WIDTHS[word] for word in own.words) for own in batches) < 15
    )
    assert batches == list(objective().batches(torch.Generator().manual_seed(1)))
    assert batches != list(objective().batches(torch.Generator().manual_seed(2)))


def test_the_loss_is_the_sum_over_texts() -> None:
    own = objective()
    batch = next(own.batches(torch.Generator().manual_seed(0)))
    loss = own.loss(batch)
    crops = crops_of([show(word, batch.turn, 0) for word in batch.words], 16)
    expected = own.model.losses(crops, [own.texts[word] for word in batch.words])["ctc_loss"]
    torch.testing.assert_close(loss.total, expected * len(batch.words))
    assert loss.weight == len(batch.words)


def test_images_are_shown_in_the_epoch_that_was_told() -> None:
    own = objective()
    assert isinstance(own, EpochObjective)
    own.begins(3)
    batch = next(own.batches(torch.Generator().manual_seed(0)))
    assert batch.epoch == 3
    crops = crops_of([show(word, batch.turn, 3) for word in batch.words], 16)
    expected = own.model.losses(crops, [own.texts[word] for word in batch.words])["ctc_loss"]
    torch.testing.assert_close(own.loss(batch).total, expected * len(batch.words))


def test_what_cannot_be_learned_is_refused() -> None:
    network = objective().model
    with pytest.raises(ValueError, match="got 1 texts and 2 widths"):
        RecognitionObjective(network, show, ["a"], [1.0, 2.0], batch=1)
    with pytest.raises(ValueError, match="text 'c'"):
        RecognitionObjective(network, show, ["c"], [1.0], batch=1)
