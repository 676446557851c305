"""Settings of `recipe=mctn`: their words are kept apart from the models, whose modules import torch."""

from __future__ import annotations

from typing import get_args

from models.mctn.network import Share
from models.sequence.recurrent import Feedback
from pipeline.systems.mctn.config import FEEDBACKS, SHARES


def test_words_are_those_that_the_models_know() -> None:
    assert get_args(Share) == SHARES
    assert get_args(Feedback) == FEEDBACKS
