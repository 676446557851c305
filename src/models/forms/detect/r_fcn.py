"""R-FCN: proposals whose class and edges are pooled from position-sensitive maps (Dai et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.forms.detect.boxes import CLASSES
from models.forms.detect.position_sensitive import POOLINGS, position_sensitive_scores
from models.forms.detect.trunk import head
from models.forms.detect.two_stage import TwoStage, TwoStageSettings
from models.ranges import Count
from models.runtime.parameters import one_of, whole_number
from models.runtime.seeding import drawn


@dataclass(frozen=True, kw_only=True)
class RFCN(TwoStageSettings):
    """`detector=r_fcn`. bins: k, of a box along each side. pooling: a cell of the map that a bin touches counts whole,
    "rounded", as in the paper, or by the part of it that lies in the bin, "precise". The others are those of
    `TwoStageSettings` (proposals, candidates, hard_examples), `AnchoredSettings` (anchors, shapes, decay, most_overlap)
    and `TrunkSettings` (stride, width, depth, norm)."""

    bins: Count = 7
    pooling: str = "rounded"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("bins", self.bins, most=16)
        one_of("pooling", self.pooling, tuple(POOLINGS))

    def network(self, *, seed: int = 0) -> RFCNNetwork:
        with drawn(seed, "forms/r_fcn"):
            return RFCNNetwork(self)


class RFCNNetwork(TwoStage):
    """Reads class and offsets of a proposal as the means of its bins: r_c = k⁻² Σ_ij r_c(i, j)."""

    def __init__(self, settings: RFCN) -> None:
        super().__init__(settings)
        self.bins, self.pooling = settings.bins, settings.pooling
        self.maps = head(settings.width, settings.bins**2 * (len(CLASSES) + 4))

    def judge(self, maps: Tensor, boxes: Sequence[Tensor]) -> Tensor:
        forms = torch.arange(len(boxes), device=maps.device).repeat_interleave(
            torch.tensor([len(own) for own in boxes], device=maps.device)
        )
        cells = torch.cat(list(boxes)) / self.trunk.stride
        return position_sensitive_scores(maps, self.maps, cells, forms, self.bins, pooling=self.pooling)
