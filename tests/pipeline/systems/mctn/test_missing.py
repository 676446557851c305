"""That predictions are the same whatever modalities hold that are not read, and that it is seen where they are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from mctn_problems import network, samples
from models.mctn.arms import ARMS, plan_of
from models.mctn.network import SentimentNetwork
from models.mctn.objective import Weights
from models.mctn.samples import Stream, without
from models.sequence.packing import Packed
from pipeline.systems.mctn.missing import is_the_same, variants

ALL = Weights().terms


@pytest.mark.parametrize("arm", [arm for arm in ARMS if plan_of(arm).targets])
def test_outputs_are_the_same_bit_by_bit_whatever_targets_hold(arm: str) -> None:
    others = "".join(letter for letter in "tva" if letter not in plan_of(arm).read)
    if others:
        assert is_the_same(network(arm), samples(), others, terms=ALL) is True
    assert is_the_same(network(arm), samples(), plan_of(arm).read[0], terms=ALL) is None


def test_an_output_that_hangs_on_a_target_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one bit in one sample."""
    forward = SentimentNetwork.forward

    def leaks(self: SentimentNetwork, inputs: Any, **other: Any) -> Any:
        found = forward(self, inputs, **other)
        tiny = torch.zeros_like(found.outputs)
        tiny[3] = 1e-15 * inputs["v"].values[3].nan_to_num(1e9).sum()
        return found._replace(outputs=found.outputs + tiny)

    monkeypatch.setattr(SentimentNetwork, "forward", leaks)
    assert is_the_same(network("cyclic-t-v"), samples(), "v", terms=ALL) is False


def test_variants_are_of_the_named_modalities_alone() -> None:
    own = samples()
    table = Stream(
        Packed(torch.zeros(len(own.streams["t"].steps.values), 1), own.streams["t"].steps.lengths), torch.ones(3, 4)
    )
    with_words = replace(own, streams={**own.streams, "t": table})
    gone, random, spoilt = variants(with_words, "tv")
    assert gone.streams.keys() == own.streams.keys()
    assert torch.equal(gone.lengths("tv"), without(own, "tv").lengths("tv"))
    assert random.streams["t"].table is not None
    assert not torch.equal(random.streams["t"].table, torch.ones(3, 4))
    assert not torch.equal(random.streams["v"].steps.values, own.streams["v"].steps.values)
    assert spoilt.streams["t"].looked_up().isnan().all()
    assert spoilt.streams["v"].looked_up().isnan().all()
    for each in (gone, random, spoilt):
        assert each.streams["a"] is own.streams["a"]
