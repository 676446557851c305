"""Where CTC-Seq2Seq looks while it writes a text, beside the patches at which CTC says it (thesis, figure 2.12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from models.forms.images import Crops
from models.forms.recognise.ctc_seq2seq import CTCSeq2SeqNetwork
from models.sequence.ctc import alignment

REACH = 1  # patches


class AttentionMap(NamedTuple):
    """Holds attention a_t(s) of a text, float64 (symbol, patch), and CTC's alignment, int64 (patch,): the place of the
    symbol that each patch says, −1 for blank."""

    shares: np.ndarray
    alignment: np.ndarray

    def near(self) -> np.ndarray:
        """Returns which patches are at most `REACH` from one that says the symbol, bool (symbol, patch)."""
        said = self.alignment == np.arange(len(self.shares))[:, None]
        near = said.copy()
        for shift in range(1, REACH + 1):
            near[:, shift:] |= said[:, :-shift]
            near[:, :-shift] |= said[:, shift:]
        return near

    def near_shares(self) -> np.ndarray:
        """Returns the share of the weight that lies on those patches, (symbol,)."""
        return (self.shares * self.near()).sum(1)

    def equal_shares(self) -> np.ndarray:
        """Returns what equal weights for all patches would put there, (symbol,)."""
        return self.near().mean(1)


def attention_maps(network: CTCSeq2SeqNetwork, crops: Crops, texts: Sequence[str]) -> list[AttentionMap]:
    """Returns the map of each image, where the decoder is told its true text.

    Raises ValueError for characters outside the alphabet, and for a text that has fewer patches than CTC needs.
    """
    symbols = network.alphabet.encode(texts)
    with torch.inference_mode():
        memory = network.eval().remember(crops.to(next(network.parameters()).device))
        _, _, shares = network.taught(memory, symbols)
        log_p = network.say_frames(memory.states).log_softmax(2)
    counts = memory.present.sum(1).tolist()
    return [
        AttentionMap(own[: len(text), :count].double().cpu().numpy(),
                     alignment(rows[:count].double().cpu().numpy(), text))
        for own, rows, text, count in zip(shares, log_p, symbols, counts, strict=True)
    ]  # fmt: skip
