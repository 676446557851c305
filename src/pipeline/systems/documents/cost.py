"""What the attention of a run costs: seconds of planning, bytes kept for the gradient, and plans in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import torch

from models.documents.chunks import Chunk, Reading, plans_of
from models.documents.tokens import layout_of
from models.documents.words import Placed, centres_of
from models.sequence.kept_bytes import Attention, saved_bytes
from pipeline.systems.documents.load import Loaded, Piece


def costs_of(loaded: Loaded, *, heads: int, width: int, dtype: torch.dtype) -> dict[str, float]:
    """Returns what attention costs in the longest chunk of the training part, of equals the first.

    `longest_chunk` is how many tokens it has. `plan_seconds` is the wall time of planning its attention once more, for
    all layers. `saved_bytes` is what attention of one layer keeps for the gradient beside queries, keys and values, the
    mean over layers; it is measured by a pass forward of the attention alone. heads, width: of the attention.
    """
    piece = longest_of(loaded.parts["train"])
    seconds = plan_seconds(loaded.reading, piece.chunk, loaded.data.parts["train"][piece.document])
    document, draw = piece.chunk.document, torch.Generator().manual_seed(0)
    shape = (len(document.tokens.ids), heads, width)
    parts = [torch.randn(*shape, generator=draw).to(loaded.device, dtype).requires_grad_() for _ in range(3)]
    kept = {plan: saved_bytes(attention_by(plan, loaded.device), parts) for plan in dict.fromkeys(document.plans)}
    bytes_of_layer = mean(kept[plan] for plan in document.plans)
    return {"longest_chunk": float(shape[0]), "plan_seconds": seconds, "saved_bytes": float(bytes_of_layer)}


def attention_by(plan: Any, device: torch.device) -> Attention:
    """Returns attention by the plan of one document."""
    return type(plan).joined([plan]).to(device).attend


def longest_of(pieces: Sequence[Piece]) -> Piece:
    """Returns the chunk of most tokens, of equals the first."""
    return max(pieces, key=lambda piece: len(piece.chunk.document.tokens.ids))


def plan_seconds(reading: Reading, chunk: Chunk, document: Placed) -> float:
    """Returns the wall time in which the attention of a chunk of a document is planned."""
    layout = layout_of(chunk.document.tokens, centres_of(document)[slice(*chunk.stretch)])
    start = time.perf_counter()
    plans_of(reading.patterns, layout, layers=reading.layers, seed=[reading.seed])
    return time.perf_counter() - start


def plans_table(loaded: Loaded) -> pd.DataFrame:
    """Returns a row a part: its documents, chunks and tokens, those of its longest chunk, and the bytes in which its
    plans are kept in memory."""
    return pd.DataFrame([plans_row(part, pieces) for part, pieces in loaded.parts.items()])


def plans_row(part: str, pieces: Sequence[Piece]) -> dict[str, Any]:
    """Returns the row of a part."""
    documents = [piece.chunk.document for piece in pieces]
    tokens = [len(own.tokens.ids) for own in documents]
    kept = sum(bytes_of(plan) for own in documents for plan in dict.fromkeys(own.plans))
    return {"part": part, "documents": len({piece.document for piece in pieces}), "chunks": len(pieces),
            "tokens": sum(tokens), "longest_chunk": max(tokens), "plan_bytes": kept}  # fmt: skip


def bytes_of(held: Any) -> int:
    """Returns the bytes of the arrays that a plan, or a tuple, holds."""
    if isinstance(held, (np.ndarray, torch.Tensor)):
        return held.nbytes
    if is_dataclass(held):
        return sum(bytes_of(getattr(held, field.name)) for field in fields(held))
    return sum(map(bytes_of, held)) if isinstance(held, tuple) else 0
