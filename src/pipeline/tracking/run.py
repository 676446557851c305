"""One MLflow run: parameters, buffered metrics, artifacts, resume without doubled rows."""

from __future__ import annotations

import os
import posixpath
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from pipeline.host.passwords import masked, masked_settings
from pipeline.tracking.outbox import Outbox, first_reason
from pipeline.tracking.server import say
from pipeline.tracking.store import UI_HINT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

PARAMETERS_PER_BATCH = 100
LONGEST_PARAMETER = 6000
LONGEST_TAG = 8000
LIMITED = "size: it has limits, so the numbers of this run may not say how good a model is"
LOWERED = "size.lowered"  # tag of a run: a list, in JSON, of the settings that `size` lowered, in words
DESCRIPTION = "description.md"
CUT = f"\n\n… cut here; the whole text is the artifact {DESCRIPTION}"


def flatten(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Returns nested settings as `section.key` → text."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = str(value)
    return flat


def is_metric_name(name: str) -> bool:
    """Returns whether MLflow takes a name of a metric: at most 250 letters, digits, spaces and _ - . : /, where /
    stands as in the path of a file."""
    return re.fullmatch(r"[/\w.\- :]{1,250}", name) is not None and posixpath.normpath(name) == name


def now() -> int:
    """Returns the milliseconds since 1970."""
    return int(time.time() * 1000)


class Run:
    """Writes to one MLflow run. Metrics are sent in the background; none is written twice, on resume neither.

    known: the run as it is in the store, which is asked for it where None is given.
    """

    def __init__(self, client: MlflowClient, run_id: str, known: MlflowRun | None = None) -> None:
        self.client, self.id = client, run_id
        self._outbox = Outbox(client, run_id)
        self._known = known or client.get_run(run_id)
        self.name, self.experiment_id = str(self._known.info.run_name), self._known.info.experiment_id
        self._written = {
            (key, metric.step) for key in self._known.data.metrics for metric in client.get_metric_history(run_id, key)
        }

    @property
    def tracked(self) -> bool:
        """Whether what is written is kept."""
        return True

    def metric(self, name: str, value: float, step: int = 0) -> None:
        if (name, step) in self._written:
            return
        self._written.add((name, step))
        self._outbox.put({"key": name, "value": float(value), "timestamp": now(), "step": step})

    def flush(self) -> None:
        """Returns when the store has every metric. Raises PipelineError when it refuses them."""
        self._outbox.drain()

    def parameters(self, settings: Mapping[str, Any]) -> None:
        """Logs settings flat; those longer than MLflow takes are cut and stand whole in the artifact config.yaml.

        Passwords in addresses are masked.
        """
        from mlflow.entities import Param

        settings = masked_settings(settings)
        known = self._known.data.params
        items = [Param(k, v[:LONGEST_PARAMETER]) for k, v in flatten(settings).items() if k not in known]
        for start in range(0, len(items), PARAMETERS_PER_BATCH):
            self.client.log_batch(self.id, params=items[start : start + PARAMETERS_PER_BATCH])
        self.text(yaml.safe_dump(dict(settings), sort_keys=False), "config.yaml")

    def tags(self, tags: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        self.client.log_batch(self.id, tags=[RunTag(key, masked(str(value))) for key, value in tags.items()])

    def describe(self, markdown: str) -> None:
        """Sets what the UI shows first; what is longer than MLflow takes is cut at a line and stands in
        description.md."""
        markdown = masked(markdown)
        if len(markdown) > LONGEST_TAG:
            self.text(markdown, DESCRIPTION)
            markdown = markdown[: LONGEST_TAG - len(CUT)].rpartition("\n")[0] + CUT
        self.client.set_tag(self.id, "mlflow.note.content", markdown)

    def text(self, text: str, path: str) -> None:
        self.client.log_text(self.id, text, path)

    def table(self, frame: pd.DataFrame, path: str) -> None:
        self.text(frame.to_csv(index=False), path)

    def arrays(self, arrays: Mapping[str, Any], path: str) -> None:
        """Logs arrays by name as an NPZ file, without pickle. path: of the file, which ends in .npz."""
        import numpy as np

        within, name = PurePosixPath(path).parent, PurePosixPath(path).name
        with scratch_folder() as folder:
            np.savez(folder / name, allow_pickle=False, **arrays)
            self.client.log_artifact(self.id, str(folder / name), str(within) if within.name else None)

    def figure(self, figure: Figure, path: str) -> None:
        """Logs a figure as PNG and as SVG; `path` has no ending. It is laid out once for both, which takes as long
        as drawing."""
        if (layout := figure.get_layout_engine()) is not None:
            layout.execute(figure)
            figure.set_layout_engine(None)
        self.client.log_figure(self.id, figure, f"{path}.png")
        self.client.log_figure(self.id, figure, f"{path}.svg")

    def dataset(self, frame: pd.DataFrame, *, name: str, source: str, digest: str, context: str) -> None:
        """Logs the data set as an input of the run, which the UI lists and compares by its digest. Whole numbers are
        logged as doubles, of which MLflow's schema may have gaps: of integers it warns.

        MLflow looks for the data set and writes it if it is not there: of jobs that do so at once only one succeeds,
        and the others find it at the next attempt.
        """
        from mlflow.data.code_dataset_source import CodeDatasetSource
        from mlflow.data.pandas_dataset import from_pandas
        from mlflow.entities import DatasetInput, InputTag
        from mlflow.exceptions import MlflowException

        inputs = self._known.inputs
        if inputs and inputs.dataset_inputs:
            return
        frame = frame.astype(dict.fromkeys(frame.select_dtypes("integer").columns, "float64"))
        data = from_pandas(frame, source=CodeDatasetSource(tags={"source": source}), name=name, digest=digest[:36])
        entity = DatasetInput(data._to_mlflow_entity(), [InputTag("mlflow.data.context", context)])
        try:
            self.client.log_inputs(self.id, [entity])
        except MlflowException as error:
            say(f"the data set of run {self.id} was not taken ({first_reason(error)}); trying once more")
            self.client.log_inputs(self.id, [entity])

    def finish(self, status: str, **tags: str) -> None:
        """Writes the last tags, the status and all metrics. Raises PipelineError when the store is away; they are
        kept."""
        for name, value in tags.items():
            self._outbox.put({"tag": name, "value": masked(value)})
        self._outbox.put({"status": status, "end_time": now()})
        self._outbox.drain()
        self._outbox.close()


def create_run(client: MlflowClient, experiment: str, name: str, tags: Mapping[str, str]) -> Run:
    shown_tags = {key: masked(value) for key, value in tags.items()}
    run = client.create_run(experiment, run_name=name, tags={**shown_tags, "pid": str(os.getpid())})
    return Run(client, run.info.run_id, run)


def keeps_models(tracking: Any) -> bool:
    """Returns true when a run's settings ask for its model."""
    return tracking.enabled and str(tracking.log_model).lower() != "false"


def where_to_look(run: Run, name: str, *, limited: bool, lowered: Sequence[str] = ()) -> str:
    """Returns the closing lines of a run on the terminal. limited: whether `size` had any limit. lowered: the settings
    that it lowered, in words."""
    said = f"{LIMITED}{'; it lowered ' if lowered else ''}{', '.join(lowered)}\n" if limited else ""
    if not run.tracked:
        return f"{said}tracking=off: nothing was kept"
    store = masked(str(run.client.tracking_uri))
    look = store if store.startswith("http") else f"make ui   (or: {UI_HINT} '{store}')"
    return f"{said}run: {name} ({run.id})\nlook: {look}"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
