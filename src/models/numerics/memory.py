"""Memory for large results."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def empty_rows(rows: int, columns: int, *, like: Tensor) -> Tensor:
    """Uninitialised (rows, columns) with the dtype and on the device of `like`.

    On the CPU the memory is NumPy's, which asks the system for huge pages where an array is large: most of the time
    that a fresh large tensor costs is the system handing out small pages one by one.
    """
    if like.device.type != "cpu":
        return like.new_empty(rows, columns)
    memory = np.empty(rows * columns * like.element_size(), np.uint8)
    return torch.from_numpy(memory).view(like.dtype).view(rows, columns)
