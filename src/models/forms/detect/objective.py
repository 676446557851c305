"""What a detector minimises: the sum of its losses over forms of unequal size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.forms.detect.boxes import Truth
from models.forms.detect.detector import Detector
from models.forms.images import of_one_size
from models.runtime.noted_losses import NotedLosses
from models.runtime.objective import Loss

MOST_TURNS = 2**31

Show = Callable[[int, int], tuple[Tensor, Truth]]


class Shown(NamedTuple):
    """Holds the forms of a batch, and the number of the turn in which they are shown."""

    forms: list[int]
    turn: int


def side_by_side(images: Sequence[Tensor]) -> Tensor:
    """Returns ink (height, width) of several forms as one tensor (form, 1, height, width), white where one ends."""
    return of_one_size(images)[:, None]


class DetectionObjective:
    """Is the mean over forms of a detector's losses, an `Objective` of the gradient loop.

    show: gives the ink (height, width) and the boxes of a training form in a turn; a turn is an epoch, and has a number
    of its own, drawn with the order of the forms, so that a run that goes on sees the same changed copies. count: of
    training forms. batch: forms of a step. `noted` has the parts of the loss. Raises ValueError without a form.
    """

    def __init__(self, model: Detector, show: Show, count: int, *, batch: int) -> None:
        if count < 1:
            raise ValueError("there is no form to learn from")
        self.model, self.show, self.count, self.batch = model, show, count, batch
        self.noted = NotedLosses()

    def parameters(self) -> list[nn.Parameter]:
        """Returns those that the gradient trains."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def batches(self, generator: torch.Generator) -> Iterator[Shown]:
        """Yields the batches of an epoch, in a random order."""
        self.noted.forget()  # of an epoch that was taken back
        turn = int(torch.randint(MOST_TURNS, (), generator=generator))
        order = torch.randperm(self.count, generator=generator).tolist()
        for begin in range(0, self.count, self.batch):
            yield Shown(order[begin : begin + self.batch], turn)

    def loss(self, batch: Shown) -> Loss:
        """Returns the losses summed over the forms of a batch, with their number."""
        own = [self.show(form, batch.turn) for form in batch.forms]
        device = next(self.model.parameters()).device
        images = side_by_side([ink for ink, _ in own]).to(device)
        truths = [truth.to(device) for _, truth in own]
        losses = self.model.losses(images, truths)
        self.noted.note(losses, len(own))
        return Loss(torch.stack(list(losses.values())).sum() * len(own), float(len(own)))
