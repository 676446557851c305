"""A vocabulary of the same size with the numbers of two pieces exchanged."""

from __future__ import annotations

import json


def other_pieces(vocabulary: str) -> str:
    """Returns the JSON of a vocabulary with `a` and `b` in each other's place."""
    told = json.loads(vocabulary)
    numbers = told["tokeniser"]["model"]["vocab"]
    numbers["a"], numbers["b"] = numbers["b"], numbers["a"]
    return json.dumps(told)
