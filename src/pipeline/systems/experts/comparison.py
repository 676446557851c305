"""How translators are compared: by −log p of a target token in nats, the mean over tasks, or over new ones alone where
some are learned later."""

from __future__ import annotations

from typing import Any

from pipeline.compare.comparison import Comparison, other_scores, training_seconds

ERROR, DATA = "evaluate/test_error", "data/"
TAGS = ("arm", "tag", "tasks", "low", "adapt")


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its error: every number of its evaluation among it."""
    tags, metrics = run.data.tags, run.data.metrics
    own = other_scores(run, ERROR)
    own |= {name.removeprefix(DATA): value for name, value in metrics.items() if name.startswith(f"{DATA}pairs_")}
    return {
        **{name: tags[name] for name in TAGS},
        "data_source": tags["data.source"],
        "shots": int(tags["shots"]),
        "asked": int(tags.get("asked", tags["shots"])),
        "parameters": int(metrics["model/parameters"]),
        "parameters_active": int(metrics["model/parameters_active"]),
        "ms_per_step": metrics.get("fit/ms_per_step", float("nan")),
        "updates": int(metrics.get("fit/updates", 0)),
        "seconds": training_seconds(run, ("fit",)),
        **own,
    }


TRANSLATION = Comparison(
    metric=ERROR,
    chosen_by="validation_error",
    columns=columns,
    label="test −log p of a target token (nats, mean over tasks; few-shot: new ones)",
    words=("tag", "tasks", "low", "adapt"),
    sizes=("parameters", "parameters_active"),
    measured_by=("vocabulary.",),
    groups=("experts.arm",),
    report="pipeline.systems.experts.multirun:summarise",
    shown=(ERROR, "evaluate/bleu_xe", "evaluate/bleu_ex", "model/parameters_active"),
)
