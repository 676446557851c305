"""Metrics on their way to the store: written to a file at once, sent in batches by one thread, never lost.

Every line that a run puts here goes first to `mlruns/unsent/RUN_ID.jsonl`, whose first line names the store and the
run. The file is emptied when all of it has been sent, and deleted at the end of the run. What a killed process or an
absent server leaves there is sent by the next program that opens the same store. To send a line twice does no harm: a
metric has its time, and MLflow keeps one row of the same metric, step, time and value.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pipeline.host.errors import PipelineError
from pipeline.host.locks import opened_locked
from pipeline.host.passwords import masked
from pipeline.host.paths import store_folder
from pipeline.tracking.server import NOTICE, say

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

BATCH = 500
SECONDS = 1.0  # between two batches
PAUSE = 5.0  # after one that was refused
Entry = dict[str, Any]


def unsent_folder() -> Path:
    return store_folder() / "unsent"


def first_reason(error: BaseException) -> str:
    return masked((str(error) or type(error).__name__).splitlines()[0])


def deliver(client: MlflowClient, run_id: str, entries: list[Entry]) -> None:
    """Sends entries to the run: metrics {key, value, timestamp, step}, {tag, value}, and {status, end_time}."""
    from mlflow.entities import Metric, RunTag

    metrics = [Metric(**entry) for entry in entries if "key" in entry]
    tags = [RunTag(entry["tag"], entry["value"]) for entry in entries if "tag" in entry]
    if metrics or tags:
        client.log_batch(run_id, metrics=metrics, tags=tags)
    for entry in entries:
        if "status" in entry:
            client.set_terminated(run_id, entry["status"], entry["end_time"])


class Outbox:
    """Keeps the entries of one run that the store does not have yet."""

    def __init__(self, client: MlflowClient, run_id: str) -> None:
        self.client, self.run_id = client, run_id
        self.path = unsent_folder() / f"{run_id}.jsonl"
        self._file: TextIO | None = None
        self._pending: list[Entry] = []
        self._refused = 0
        self._error: Exception | None = None
        self._hurry = self._closed = False
        self._changed = threading.Condition()

    def put(self, entry: Entry) -> None:
        """Keeps an entry in the file, to be sent soon. Raises OSError when it cannot be written."""
        with self._changed:
            write_entry(self._file or self._open(), entry)
            self._pending.append(entry)
            if len(self._pending) >= BATCH:
                self._changed.notify_all()

    def drain(self) -> None:
        """Returns when everything has been sent. Raises PipelineError when the store refuses it."""
        with self._changed:
            refused = self._refused
            self._hurry = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._pending or self._refused > refused)
            self._hurry = False
            if self._pending:
                raise PipelineError(
                    f"{masked(str(self.client.tracking_uri))} took no metrics of run {self.run_id} "
                    f"({first_reason(self._error or OSError())}); {len(self._pending)} lines are kept in {self.path}, "
                    "and the next run on that store sends them"
                ) from self._error

    def close(self) -> None:
        """Ends the thread and deletes the file; it is to be called after `drain`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._file is not None:
                self.path.unlink(missing_ok=True)
                self._file.close()

    def _open(self) -> TextIO:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = opened_locked(self.path)
        write_entry(self._file, self._heading())
        threading.Thread(target=self._work, name=f"outbox {self.run_id}", daemon=True).start()
        return self._file

    def _heading(self) -> Entry:
        return {"uri": place(self.client), "run": self.run_id}

    def _work(self) -> None:
        """The thread: once a second, or when there is much to send or somebody waits, a batch."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or (self._hurry and self._pending) or len(self._pending) >= BATCH, SECONDS
                )
                if self._closed:
                    return
                batch = self._pending[:BATCH]
            if batch:
                self._send(batch)

    def _send(self, batch: list[Entry]) -> None:
        try:
            deliver(self.client, self.run_id, batch)
        except Exception as error:  # whatever it is: the lines are kept, and `drain` raises it
            self._told(error)
            return
        NOTICE.answered()
        with self._changed:
            self._error = None
            del self._pending[: len(batch)]
            if not self._pending and self._file is not None:
                self._file.truncate(0)
                write_entry(self._file, self._heading())
            self._changed.notify_all()

    def _told(self, error: Exception) -> None:
        with self._changed:
            if self._error is None:
                say(f"warning: metrics are not taken ({first_reason(error)}); they are kept in {self.path}")
            self._error = error
            self._refused += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed, PAUSE)


def write_entry(file: TextIO, entry: Entry) -> None:
    file.write(json.dumps(entry) + "\n")
    file.flush()


def place(client: MlflowClient) -> str:
    """Returns the address of a store, without its password; that of the folder which the journals lie in goes
    without its path too, for it may move."""
    uri = str(client.tracking_uri)
    return "local" if uri.startswith(f"sqlite:///{store_folder()}/") else masked(uri)


def read_entries(file: TextIO) -> list[Entry]:
    """Returns the entries of a file; one that was cut off, by a full disk or a killed process, is left out and said."""
    entries = []
    for number, row in enumerate(file, start=1):
        try:
            entries.append(json.loads(row))
        except json.JSONDecodeError:
            say(f"warning: {file.name}, line {number} was cut off and is left out")
    return entries


def send_file(client: MlflowClient, path: Path) -> int:
    """Sends what an ended process left in `path` and deletes it; returns 0 while a process holds it or for another
    store. Raises FileNotFoundError where it is gone, and OSError where it cannot be opened to write or locked."""
    try:
        opened = opened_locked(path, "r+", wait=False)
    except BlockingIOError:
        return 0
    with opened as file:
        entries = read_entries(file)
        heading = next((entry for entry in entries if "uri" in entry), None)
        rest = [entry for entry in entries if "uri" not in entry]
        if rest and heading is None:
            say(f"warning: {path} does not say which store its lines are for; it is left as it is")
            return 0
        if heading is not None and heading["uri"] != place(client):
            return 0
        for start in range(0, len(rest), BATCH):
            deliver(client, path.stem, rest[start : start + BATCH])
        path.unlink(missing_ok=True)
        return len(rest)


def send_unsent(client: MlflowClient) -> None:
    """Sends what earlier processes could not, and says so; a file that the store refuses stays, with a warning."""
    from mlflow.exceptions import MlflowException

    for path in sorted(unsent_folder().glob("*.jsonl")):
        try:
            count = send_file(client, path)
        except FileNotFoundError:  # another process was faster
            continue
        except (MlflowException, OSError) as error:
            say(f"warning: {path} could not be sent ({first_reason(error)}); delete it if its run is gone")
            continue
        if count:
            say(f"{count} unsent lines of run {path.stem} were sent (process {os.getpid()})")
