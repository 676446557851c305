"""What `recipe=documents` refuses before anything is loaded."""

from __future__ import annotations

import re

from models.documents.chunks import SPATIAL, AnyPattern
from models.documents.network import Architecture
from models.sequence.patterns import has_global_token
from models.sequence.vocabulary import library
from pipeline.host.errors import PipelineError, said_of
from pipeline.settings.build import build
from pipeline.systems.documents.config import DocumentsConfig

NAMED = {  # the attention that the variant of a reader= is called by: its class
    "full": "Full", "sliding window": "SlidingWindow", "window + random": "WindowRandom", "distance": "Distance",
    "distance + window": "DistanceWindow", "distance keys": "DistanceKeysWindowValues",
}  # fmt: skip


def check(settings: DocumentsConfig) -> None:
    """Raises PipelineError for a package that is missing, and for settings that do not go together."""
    try:
        library()
    except ImportError as error:
        raise PipelineError(f"recipe=documents: {error}") from error
    check_variant(settings)
    check_layout(settings)
    check_global(settings)
    with said_of("encoder"):
        architecture_of(settings, vocabulary=1, outputs=0)
    check_lengths(settings)
    if settings.documents.task == "mlm" and not settings.pretrain.steps:
        raise PipelineError("documents.task=mlm scores what pretraining learns; give its steps, as pretrain.steps=600")
    if settings.documents.repeated is not None and settings.documents.task != "entities":
        raise PipelineError(
            f"documents.repeated={settings.documents.repeated:g} is for documents.task=entities, and "
            f"documents.task={settings.documents.task} tags no words; give documents.repeated=null"
        )


def check_variant(settings: DocumentsConfig) -> None:
    """Raises PipelineError for an attention beside a reader= that is called by another one, as tables would name it."""
    variant = settings.documents.variant
    named = NAMED.get(re.split(r",| 512", variant)[0]) if variant else None
    kind = str(settings.attention.get("_target_", "")).rpartition(".")[2]
    if named is not None and kind not in ("", named):
        raise PipelineError(
            f"the arm is called {variant!r} by its reader=, and its attention is {kind}; choose the reader= that has "
            "it and leave out attention=, or give documents.variant=null"
        )


def check_layout(settings: DocumentsConfig) -> None:
    """Raises PipelineError for an attention that cannot be, and for one, in whatever layer, that looks at boxes beside
    documents.layout=text."""
    near = [type(pattern).__name__ for pattern in patterns_of(settings) if isinstance(pattern, SPATIAL)]
    if settings.documents.layout == "text" and near:
        raise PipelineError(
            f"documents.layout=text: the attention {near[0]} looks at where words stand; take "
            "attention=sliding_window, window_random or full, or documents.layout=boxes"
        )


def check_global(settings: DocumentsConfig) -> None:
    """Raises PipelineError where a class is asked for and the first token, off which it is read, sees no more than its
    own keys in any layer."""
    if settings.documents.task == "classes" and not any(map(has_global_token, patterns_of(settings))):
        raise PipelineError(
            "documents.task=classes reads the class off the first token, which sees few others with "
            "attention.global_tokens=[]; take [first], or another task"
        )


def check_lengths(settings: DocumentsConfig) -> None:
    """Raises PipelineError for chunks that fit into no batch, or that overlap by all they hold."""
    own = settings.documents
    for stage in ("pretrain", "finetune"):
        most = getattr(settings, stage).max_tokens
        if most is not None and most < own.max_length:
            raise PipelineError(
                f"{stage}.max_tokens={most} is less than documents.max_length={own.max_length}, so that a batch may "
                "not hold a document; raise the first or lower the second"
            )
    if own.stride >= own.max_length - 1:
        raise PipelineError(
            f"documents.stride={own.stride} leaves no room in chunks of documents.max_length={own.max_length}; lower it"
        )


def patterns_of(settings: DocumentsConfig) -> tuple[AnyPattern, ...]:
    """Returns the attention of all layers, or of each. Raises PipelineError for one that cannot be, and for more or
    fewer than there are layers."""
    made = build("attention", settings.attention, settings.extensions)
    if not isinstance(made, tuple):
        return (made,)
    if len(made) != settings.encoder.layers:
        raise PipelineError(
            f"attention.per_layer has {len(made)} names, and encoder.layers={settings.encoder.layers}; give as many"
        )
    return made


def architecture_of(settings: DocumentsConfig, *, vocabulary: int, outputs: int) -> Architecture:
    """Returns what the network is made of. Raises ValueError for what cannot be."""
    own = settings.encoder
    return Architecture(
        vocabulary, width=own.width, heads=own.heads, hidden=own.hidden, layers=own.layers,
        longest=settings.documents.max_length, boxes=settings.documents.layout == "boxes",
        norm="post" if own.norm == "post" else "pre", dropout=own.dropout, outputs=outputs,
        adjacent=own.adjacent, places=own.places, spelling=own.spelling,
    )  # fmt: skip
