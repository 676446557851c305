"""Dropout that a resumed run repeats: it draws from torch's global generator, which each step sets anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from models.runtime.collectives import rank
from models.runtime.seeding import derived


def drops_units(model: nn.Module) -> bool:
    """Returns whether a module of the model draws from torch's global generator while training.

    Such a module is a dropout layer, has a number `dropout` above 0 as recurrent layers do, or says by a true `draws`
    that it draws.
    """
    for module in model.modules():
        if getattr(module, "draws", False) is True:
            return True
        share = module.p if isinstance(module, nn.modules.dropout._DropoutNd) else getattr(module, "dropout", 0)
        if isinstance(share, int | float) and share > 0:
            return True
    return False


@contextmanager
def repeatable(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """Puts torch's global generators, in the block, where seed, step and the rank of this process put them. After the
    block they stand where they stood before."""
    number = derived(seed, f"dropout/{step}/{rank()}")
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(number)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(number)
        yield
