"""How models that read documents are compared: by F1 of entities, accuracy of classes, or nats a hidden token."""

from __future__ import annotations

from typing import Any

from pipeline.compare.comparison import Comparison, other_scores, training_seconds

ERROR, ATTENTION = "evaluate/test_error", "attention/"
SIMPLE = "test_error_"  # begins the names of the errors of simple models
TAGS = ("arm", "task", "cue")


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its error: every number of its evaluation among it, but of
    simple models their errors alone."""
    tags, metrics = run.data.tags, run.data.metrics
    own = other_scores(run, ERROR)
    ends = [f"_{name.removeprefix(SIMPLE)}" for name in own if name.startswith(SIMPLE)]
    named = {name for name in own if any(f"{name}{end}" in own for end in ends)}  # of kinds called as simple models
    simple = {f"{name}{end}" for name in own for end in ends} - named
    own = {name: value for name, value in own.items() if name.startswith(SIMPLE) or name not in simple}
    own |= {name.removeprefix(ATTENTION): value for name, value in metrics.items() if name.startswith(ATTENTION)}
    return {
        **{name: tags[name] for name in TAGS},
        "parameters": int(metrics["model/parameters"]),
        "seconds": training_seconds(run, ("pretrain", "finetune")),
        **own,
    }


DOCUMENTS = Comparison(
    metric=ERROR,
    chosen_by="validation_error",
    columns=columns,
    label="test error (1 − F1 of entities, 1 − accuracy of classes, or nats a hidden token)",
    words=("task", "cue"),
    apart=("task", "cue"),
    sizes=("parameters",),
    measured_by=("documents.task", "documents.vocabulary", "documents.lower_case", "pretrain_on", "data@pretrain_on"),
    groups=("attention",),
    report="pipeline.systems.documents.multirun:summarise",
    shown=(ERROR, "evaluate/test_entity_f1", "evaluate/test_accuracy", "evaluate/test_mlm_loss", "model/parameters"),
)
