"""How sentiment models are compared: by the mean absolute error of scores, or the share of wrong classes."""

from __future__ import annotations

from typing import Any

from pipeline.compare.comparison import Comparison, other_scores, training_seconds

ERROR = "evaluate/test_error"
TAGS = ("arm", "read", "label_kind", "positive_from")


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its error, every number of its evaluation included: values by
    the names of columns."""
    tags, parameters, metrics = run.data.tags, run.data.params, run.data.metrics
    return {
        **{name: tags[name] for name in TAGS},
        "contaminated": tags["contaminated"] == "true",
        "unlinked": parameters.get("data.link", "").lower() == "false",
        "three": parameters.get("data.three", "").lower() == "true",
        "split": parameters.get("data.split", ""),
        "fold": int(parameters.get("data.fold", 0)),
        "bar": parameters.get("mctn.bar", ""),
        "missing": parameters.get("mctn.missing", "None").replace("None", ""),
        "parameters": int(metrics["model/parameters"]),
        "parameters_at_test": int(metrics["model/parameters_at_test"]),
        "seconds": training_seconds(run, ("fit",)),
        **other_scores(run, ERROR),
    }


SENTIMENT = Comparison(
    metric=ERROR,
    chosen_by="validation_error",
    columns=columns,
    label="test error (mean absolute error of scores, share of wrong classes)",
    words=("read", "label_kind", "positive_from", "bar", "missing", "split"),
    sizes=("parameters", "parameters_at_test"),
    groups=("mctn.arm",),
    report="pipeline.systems.mctn.multirun:summarise",
    shown=(ERROR, "evaluate/test_accuracy", "evaluate/test_f1", "evaluate/bar_error", "model/parameters_at_test"),
)
