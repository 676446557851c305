"""What a recogniser minimises: the sum of its losses over images of words, in batches of similar width."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.forms.images import crops_of
from models.forms.recognise.recogniser import Recogniser
from models.runtime.noted_losses import NotedLosses
from models.runtime.objective import Loss

MOST_TURNS = 2**31
SORTED = 16  # batches whose images are sorted by width together

Show = Callable[[int, int, int], Tensor]


class ShownWords(NamedTuple):
    """Holds the images of a batch, the number of the turn in which they are shown, and that of its epoch, from 0
    on."""

    words: list[int]
    turn: int
    epoch: int


class RecognitionObjective:
    """Is the mean over texts of a recogniser's losses, an `Objective` of the gradient loop.

    show: gives the ink (height, width) of a training image in a turn and an epoch; an epoch is a turn, which has a
    number of its own, drawn with the order of the images, so that a run that goes on sees the same changed copies.
    texts: of the images.
    widths: about how wide each image is, at one height; a batch has images of similar width. batch: images of a step.
    `noted` has the parts of the loss. Raises ValueError without an image, and for texts that the alphabet cannot write.
    """

    def __init__(
        self, model: Recogniser, show: Show, texts: Sequence[str], widths: Sequence[float], *, batch: int
    ) -> None:
        if not texts or len(texts) != len(widths):
            raise ValueError(f"each image needs a text and a width; got {len(texts)} texts and {len(widths)} widths")
        model.alphabet.encode(texts)
        self.model, self.show, self.texts, self.batch = model, show, texts, batch
        self.widths = torch.as_tensor(widths, dtype=torch.float64)
        self.noted = NotedLosses()
        self.epoch = 0

    def begins(self, epoch: int) -> None:
        """Is told which epoch is drawn next."""
        self.epoch = epoch

    def parameters(self) -> list[nn.Parameter]:
        """Returns those that the gradient trains."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def batches(self, generator: torch.Generator) -> Iterator[ShownWords]:
        """Yields the batches of an epoch in a random order: every so many images are sorted by width and cut."""
        self.noted.forget()  # of an epoch that was taken back
        turn = int(torch.randint(MOST_TURNS, (), generator=generator))
        batches = list[list[int]]()
        for chunk in torch.randperm(len(self.texts), generator=generator).split(SORTED * self.batch):
            alike = chunk[torch.argsort(self.widths[chunk], stable=True)]
            batches += [own.tolist() for own in alike.split(self.batch)]
        for place in torch.randperm(len(batches), generator=generator).tolist():
            yield ShownWords(batches[place], turn, self.epoch)

    def loss(self, batch: ShownWords) -> Loss:
        """Returns the losses summed over the texts of a batch, with their number."""
        own = batch.words
        device = next(self.model.parameters()).device
        images = [self.show(word, batch.turn, batch.epoch) for word in own]
        crops = crops_of(images, self.model.settings.height).to(device)
        losses = self.model.losses(crops, [self.texts[word] for word in own])
        self.noted.note(losses, len(own))
        return Loss(torch.stack(list(losses.values())).sum() * len(own), float(len(own)))
