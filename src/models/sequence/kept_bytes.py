"""What attention keeps in memory for the gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def saved_bytes(attention: Attention, parts: Sequence[Tensor]) -> int:
    """Returns the bytes that a pass keeps for the gradient, each storage once, without those of the parts: queries,
    keys and values, (token, head, width), of which one at least wants a gradient."""
    sizes, given = dict[int, int](), {part.untyped_storage().data_ptr() for part in parts}

    def kept(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(kept, lambda tensor: tensor):
        found = attention(*parts)
    del found
    return sum(size for place, size in sizes.items() if place not in given)
