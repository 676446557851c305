"""Faster R-CNN: proposals that are pooled from one map and read by two linear layers (Ren et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.forms.detect.boxes import CLASSES
from models.forms.detect.roi_align import roi_align
from models.forms.detect.two_stage import TwoStage, TwoStageSettings
from models.ranges import Count
from models.runtime.parameters import whole_number
from models.runtime.seeding import drawn


@dataclass(frozen=True, kw_only=True)
class FasterRCNN(TwoStageSettings):
    """`detector=faster_rcnn`. bins: of a box along each side. channels: that the map is reduced to before it is pooled.
    hidden: units of the linear layers. By default there are about as many parameters as in R-FCN."""

    bins: Count = 7
    channels: Count = 16
    hidden: Count = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("bins", self.bins, most=16)
        for name in ("channels", "hidden"):
            whole_number(name, getattr(self, name))

    def network(self, *, seed: int = 0) -> FasterRCNNNetwork:
        with drawn(seed, "forms/faster_rcnn"):
            return FasterRCNNNetwork(self)


class FasterRCNNNetwork(TwoStage):
    """Reads class and offsets of a proposal by two linear layers from its bins."""

    def __init__(self, settings: FasterRCNN) -> None:
        super().__init__(settings)
        self.bins = settings.bins
        self.reduce = nn.Conv2d(settings.width, settings.channels, 1)
        self.read = nn.Sequential(
            nn.Linear(settings.channels * settings.bins**2, settings.hidden), nn.ReLU(),
            nn.Linear(settings.hidden, settings.hidden), nn.ReLU(),
        )  # fmt: skip
        self.say = nn.Linear(settings.hidden, len(CLASSES) + 4)
        nn.init.normal_(self.say.weight, std=0.01)

    def judge(self, maps: Tensor, boxes: Sequence[Tensor]) -> Tensor:
        cells = [own / self.trunk.stride for own in boxes]
        pooled = roi_align(torch.relu(self.reduce(maps)), cells, self.bins)
        return self.say(self.read(pooled.flatten(1)))
