"""How Gaussian processes on points are compared: by their root mean squared error, beside their density."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.ssgp.method import MODELS, arm_of
from pipeline.compare.arms import plain
from pipeline.compare.comparison import Comparison, training_seconds

NAMES = ("arm", "model", "sampler", "kernel", "target")  # tags of a run, as columns of tables
NUMBERS = {"test_nlpd": "evaluate/test_nlpd", "iteration": "evaluate/iteration"}


def arm(choices: Mapping[str, Any]) -> str:
    """Returns the model, with its sampler where it draws by one."""
    model, sampler = (plain(group, choices.get(group) or "") for group in ("model", "sampler"))
    return arm_of(model, sampler) if model in MODELS else model


def columns(run: Any) -> dict[str, object]:
    """Returns what tables say of a finished run beside its errors: values by the names of columns."""
    tags, metrics = run.data.tags, run.data.metrics
    model = MODELS[tags["model"]]
    return {
        **{name: tags[name] for name in NAMES},
        **{name: metrics[key] for name, key in NUMBERS.items()},
        "seconds": training_seconds(run, ("fit",)),
        "count": int(run.data.params["features.count"]) if model.counted else 0,
        "stopped": tags["ssgp.stopped"] != "",
        "seeded": tags.get("ssgp.seeded", str(model.random).lower()) == "true",  # runs of before do not say it
        "job": int(tags["job"]),
    }


PROCESSES = Comparison(
    metric="evaluate/test_rmse",
    chosen_by="validation_rmse",
    columns=columns,
    label="root mean squared error (the target's unit)",
    words=("model", "sampler", "kernel"),
    apart=("kernel",),
    measured_by=("size.steps",),
    groups=("model", "sampler"),
    arm=arm,
    report="pipeline.systems.ssgp.multirun:summarise",
    counted="features.count",
    counted_as="frequencies",
    shown=("evaluate/test_rmse", "evaluate/test_nlpd"),
)
