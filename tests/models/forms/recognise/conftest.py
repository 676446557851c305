"""Images of some words, and a short training by heart, which all tests of recognisers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from data.forms.hand import write_words
from models.forms.images import as_ink, crops_of
from models.forms.recognise.recogniser import Recogniser

WORDS = ["ada", "otto", "berg"]
Learn = Callable[..., None]


@pytest.fixture(scope="session")
def words() -> list[str]:
    return WORDS


@pytest.fixture(scope="session")
def word_images() -> list[Tensor]:
    return [as_ink(image) for image in write_words(WORDS, [0, 0, 0], seed=0).images()]


@pytest.fixture(scope="session")
def learn() -> Learn:
    """Some steps of AdamW on a few images."""

    def learnt(network: Recogniser, images: Sequence[Tensor], texts: Sequence[str], *, steps: int, rate: float) -> None:
        crops, optimiser = crops_of(images, network.settings.height), torch.optim.AdamW(network.parameters(), rate)
        for _ in range(steps):
            optimiser.zero_grad()
            torch.stack(list(network.losses(crops, texts).values())).sum().backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()

    return learnt
