"""Every row of the tables is learned, and predicts from what it reads alone."""

from __future__ import annotations

import numpy as np
import pytest

from mctn_problems import utterances
from models.mctn.arms import ARMS, MODALITIES, plan_of
from models.mctn.reader import SentimentReader


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_learns_and_predicts_from_what_it_reads(arm: str) -> None:
    own = utterances(8)
    reader = SentimentReader(arm, units=3, epochs=6, learning_rate=0.02, held_out=0).fit(own)
    training = [losses[0] for losses in reader.curve_]
    assert training[-1] < training[0]
    read = {MODALITIES[letter]: own[MODALITIES[letter]] for letter in plan_of(arm).read}
    scores = reader.predict(read)
    assert scores.shape == (8,)
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0
    name = next(iter(read))
    with pytest.raises(ValueError, match=f"no modality {name}"):
        reader.predict({other: own[other] for other in MODALITIES.values() if other != name})
