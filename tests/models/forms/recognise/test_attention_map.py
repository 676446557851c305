"""Attention beside CTC's alignment: by hand, and of a network beside the decoder's own steps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from models.forms.images import crops_of
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.attention_map import AttentionMap, attention_maps
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq
from models.sequence.ctc import joined


def test_weight_near_an_alignment_is_counted_by_hand() -> None:
    shares = np.array([[0.5, 0.2, 0.1, 0.1, 0.1, 0.0], [0.0, 0.1, 0.2, 0.3, 0.1, 0.3]])
    own = AttentionMap(shares, np.array([0, -1, -1, 1, 1, -1]))
    np.testing.assert_array_equal(own.near(), [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]])
    np.testing.assert_allclose(own.near_shares(), [0.7, 0.9])
    np.testing.assert_allclose(own.equal_shares(), [2 / 6, 4 / 6])


def test_maps_are_of_each_image_alone_and_follow_the_text(word_images: list[Tensor], words: list[str]) -> None:
    settings = CTCSeq2Seq(height=16, channels=16, units=24, encoder_layers=1, decoder_layers=2, step=2)
    network = settings.network(Alphabet.of_texts(words), seed=1).eval()
    maps = attention_maps(network, crops_of(word_images, 16), words)
    for image, text, own in zip(word_images, words, maps, strict=True):
        (symbols,) = network.alphabet.encode([text])
        said = [0 if place < 0 else symbols[place] for place in own.alignment]
        assert joined(said) == symbols
        memory = network.remember(crops_of([image], 16))
        state, last = network.start(memory), network.embedding.num_embeddings - 1
        for step, symbol in enumerate(symbols):
            decoded = network.step(state, torch.tensor([last]))[1]
            _, shares = network.spoken(decoded.hidden[-1:].transpose(0, 1), memory)
            np.testing.assert_allclose(own.shares[step], shares[0, 0].detach(), rtol=1e-4, atol=1e-6)
            state, last = decoded, symbol
