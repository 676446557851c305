"""One translator trained by two processes of torchrun: the numbers of one process, in one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warm_processes import ended, two_ranks

TINY = (
    "recipe=experts", "data=ciphers", "data.languages=3", "size=tiny", "experts.arm=token+static", "experts.balance=0",
    "translator.width=8", "translator.heads=2", "translator.hidden=8", "translator.layers=1", "translator.dropout=0",
    "adapter.hidden=4", "sampling.tokens=120", "fit.bleu=0", "fit.updates=4", "dtype=float64", "threads=1",
    "tracking.detail=summary", "tracking.log_model=false",
)  # fmt: skip
TIMES = ("/seconds", "/tokens_per_second", "/ms_per_step", "/padding")


def numbers(client) -> dict[tuple[str, int], float]:
    """Every metric of the only run at every step, but for the times and for shares of a batch of one process."""
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert run.info.status == "FINISHED"
    found = {
        (key, metric.step): metric.value
        for key in run.data.metrics if not key.endswith(TIMES)
        for metric in client.get_metric_history(run.info.run_id, key)
    }  # fmt: skip
    client.delete_run(run.info.run_id)
    return found | {("processes", 0): float(run.data.tags["processes"])}


@pytest.mark.slow
def test_two_processes_train_the_translator_of_one(store: Path, run_pipeline: Callable, client) -> None:
    """Gradients are summed with the numbers of target tokens; the balance, which each process has of its own part, is
    off."""
    result = ended(two_ranks, *TINY, folder=store.parent)
    assert result.status == 0, result.err
    shared = numbers(client)
    assert shared.pop(("processes", 0)) == 2
    assert run_pipeline(*TINY).status == 0
    alone = numbers(client)
    assert alone.pop(("processes", 0)) == 1
    assert {("fit/train", 1), ("fit/validation", 2), ("evaluate/test_error", 0)} <= set(shared)
    assert alone == pytest.approx(shared, rel=1e-8)
