"""The sign of an eigenvector or singular vector, which a decomposition leaves to rounding, fixed by a rule."""

from __future__ import annotations

import torch
from torch import Tensor

TIED = 0.01  # magnitudes that differ by less, relative to the largest, count as equal


def column_signs(vectors: Tensor) -> Tensor:
    """Returns 1 or −1 for each column of `vectors` (…, row, column): what its largest entry is to be multiplied by to
    be positive; (…, column).

    Of several entries whose magnitudes are within 1 % of the largest the first counts, so that rounding cannot choose
    between entries that are equal. It is 1 for a column of zeros.
    """
    sizes = vectors.abs()
    largest = sizes >= (1 - TIED) * sizes.amax(-2, keepdim=True)
    entry = vectors.gather(-2, largest.int().argmax(-2, keepdim=True)).squeeze(-2)  # the first of several maxima
    return torch.where(entry < 0, -1.0, 1.0).to(vectors)


def with_fixed_signs(vectors: Tensor) -> Tensor:
    """Returns the columns (…, row, column), each turned so that its largest entry is positive: see `column_signs`.

    A column is determined by this only where its eigenvalue or singular value stands alone. Vectors of equal values are
    any basis of the space that they span together, which no rule for signs makes unique.
    """
    return vectors * column_signs(vectors).unsqueeze(-2)
