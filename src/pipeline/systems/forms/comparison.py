"""How detectors of forms are compared: by average precision of words, or its mean over classes."""

from __future__ import annotations

from typing import Any

from pipeline.compare.comparison import Comparison, stored_error

ERROR, EVALUATE = "evaluate/test_error", "evaluate/"
TAGS = ("arm", "scored", "augment")


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its error: every number of its evaluation among it."""
    tags, metrics = run.data.tags, run.data.metrics
    scores = {name: value for name, value in metrics.items() if name.startswith(EVALUATE)}
    own = {name.removeprefix(EVALUATE): stored_error(value) for name, value in scores.items() if name != ERROR}
    own.pop("seconds", None)
    return {
        **{name: tags[name] for name in TAGS},
        "parameters": int(metrics["model/parameters"]),
        "seconds": metrics["detector/seconds"],
        **own,
    }


FORMS = Comparison(
    metric=ERROR,
    chosen_by="validation_error",
    columns=columns,
    label="test error (1 − average precision of words, or 1 − its mean over classes, at IoU 0.5)",
    words=("scored", "augment"),
    apart=("scored",),
    sizes=("parameters",),
    groups=("detector", "forms.augment"),
    report="pipeline.systems.forms.multirun:summarise",
    shown=(ERROR, "evaluate/test_ap_word", "evaluate/test_map", "model/parameters"),
)
