"""Data as people hand them over, in a form that NumPy reads."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor


def for_numpy(data: Any) -> Any:
    """Returns the data as NumPy can read them; what is neither of these comes back as it is.

    A tensor comes back as an array: dense, on the CPU, without its gradient, and bfloat16 as float32. A masked array of
    numbers has NaN where it is masked.
    """
    if isinstance(data, Tensor):
        own = data.detach().cpu().to_dense()
        return (own.float() if own.is_floating_point() and own.itemsize < 4 else own).numpy()
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "biuf":
        return np.ma.filled(data.astype(np.float64), np.nan)
    return data
