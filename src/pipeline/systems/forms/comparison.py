"""How models of forms are compared: detectors by average precision, recognisers by their character error rate."""

from __future__ import annotations

from typing import Any

from pipeline.compare.comparison import Comparison, other_scores, training_seconds

ERROR = "evaluate/test_error"
TAGS = ("arm", "stage", "scored", "augment")
EDGES = "reader.edges"  # a tag: where the edges of found words were taken to be
TRAINED = ("detector", "refiner", "recogniser")  # stages


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its error: every number of its evaluation among it."""
    tags, metrics = run.data.tags, run.data.metrics
    return {
        **{name: tags[name] for name in TAGS},
        "model": tags.get("model", ""),  # runs of older versions have none
        "edges": tags.get(EDGES, ""),  # nor that; neither have runs that find no words
        "parameters": int(metrics["model/parameters"]),
        "seconds": training_seconds(run, TRAINED),
        **other_scores(run, ERROR),
    }


FORMS = Comparison(
    metric=ERROR,
    chosen_by="validation_error",
    columns=columns,
    label="test error (1 − average precision at IoU 0.5; of recognisers and readers the character error rate in %)",
    words=("stage", "scored", "augment", "model"),
    apart=("stage", "scored"),
    sizes=("parameters",),
    measured_by=("forms.stage", "forms.scored", "forms.boxes", "forms.alphabet"),
    groups=("detector", "recogniser", "reader", "refiner", "forms.augment"),
    report="pipeline.systems.forms.multirun:summarise",
    shown=(
        ERROR,
        "evaluate/test_ap_word",
        "evaluate/test_map",
        "evaluate/test_cer",
        "evaluate/test_wer",
        "evaluate/test_word_accuracy",
        "model/parameters",
    ),
)
