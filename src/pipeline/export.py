"""`python -m pipeline.export RUN_NAME FOLDER`: what a study or a multirun's parent found, as a page with its files.

Without arguments the names are listed. Writes FOLDER/RUN_NAME.md (command, commit, figure, tables) and FOLDER/RUN_NAME/
with the tables (CSV) and figures (SVG); those that an earlier export left there and this run does not have are deleted.

`python -m pipeline.export --from-files FOLDER/RUN_NAME …` makes tables, claims, figures and pages again from jobs.csv
and curves.csv in those folders, with the statistics of this version; no store is needed, and what was measured stays.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.host.atomic import written_whole
from pipeline.host.errors import PipelineError
from pipeline.host.paths import refuse_shadowing
from pipeline.host.process import prepare_environment
from pipeline.settings.messages import expected_errors, one_line
from pipeline.tracking.ended import alphabetical, ended_parent, ended_parents
from pipeline.tracking.run import CUT, DESCRIPTION, scratch_folder
from pipeline.tracking.servable import EXAMPLE
from pipeline.tracking.store import open_store

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

EXPORTED = (".csv", ".svg")
NOTES = {
    "KILLED": " It was stopped before all of its jobs; the same command with resume=true goes on.",
    "FAILED": " The same command with resume=true tries those that failed again.",
}
MADE_AGAIN = " Made again from the files below."
NOT_EXPORTED = (EXAMPLE, "draws.csv")  # rows of the data; of a study, every draw: in the store, too large for a page


def description(client: MlflowClient, run: MlflowRun) -> str:
    """Returns the whole description of a run, also where the note that MLflow shows had to be cut."""
    note = str(run.data.tags["mlflow.note.content"])
    if not note.endswith(CUT):
        return note
    with scratch_folder() as scratch:
        path = client.download_artifacts(run.info.run_id, DESCRIPTION, str(scratch))
        return Path(path).read_text(encoding="utf-8")


def note_on(status: str, tags: Mapping[str, str]) -> str:
    """Says of a multirun that did not finish why, and what to do. tags: its own, of the jobs that failed too."""
    error = tags.get("summary.error")
    if status != "FAILED" or int(tags["jobs.failed"]) or error is None:
        return NOTES[status]
    return f" The jobs ran, but {' '.join(error.split())}. The same command with resume=true tries that again."


def page(name: str, tags: Mapping[str, str], text: str, files: list[str], *, note: str = "") -> str:
    """Returns the Markdown of one result: how it was made, its figures, its tables, its files. note: stands after the
    commit."""
    images = "\n".join(f"![{Path(f).stem}]({name}/{f})\n" for f in files if f.endswith(".svg"))
    links = "\n".join(f"* [{f}]({name}/{f})" for f in files)
    resumed = tags.get("resumed.git.commit")
    commit = tags["git.commit"] + ("" if resumed in (None, tags["git.commit"]) else f", resumed at {resumed}")
    words = text.strip().removeprefix(name).strip()
    plural = "" if tags["jobs"] == "1" else "s"
    return (
        f"# {name}\n\n    {tags['command']}\n\n"
        f"Commit {commit}; {tags['jobs']} job{plural}, {tags['jobs.failed']} failed.{note}\n\n{images}\n"
        f"{words}\n\n## Files\n\n{links}\n"
    )


def fetch(client: MlflowClient, run: MlflowRun, folder: Path) -> list[str]:
    """Copies tables and SVG figures of a run into `folder` and returns their names. Those of an earlier export that the
    run does not have are deleted."""
    with scratch_folder() as scratch:
        root = Path(client.download_artifacts(run.info.run_id, "", str(scratch)))
        artifacts = [p for p in sorted(root.rglob("*")) if p.suffix in EXPORTED and p.name not in NOT_EXPORTED]
        folder.mkdir(parents=True, exist_ok=True)
        for stale in {path.name for path in folder.iterdir() if path.suffix in EXPORTED} - {
            path.name for path in artifacts
        }:
            (folder / stale).unlink()
        for path in artifacts:
            with written_whole(folder / path.name) as temporary:
                shutil.copyfile(path, temporary)
    return [path.name for path in artifacts]


def export(name: str, folder: Path) -> Path:
    """Writes page and files of a run; returns the page's path. Raises PipelineError where no run has that name."""
    client = open_store(None)
    run = ended_parent(client, name)
    files = fetch(client, run, folder / name)
    target, tags, note = folder / f"{name}.md", dict(run.data.tags), ""
    if run.info.status in NOTES:
        stopped = int(tags.get("jobs.stopped", "0"))
        counts = {"jobs": int(tags["jobs"]) - stopped, "jobs.failed": int(tags["jobs.failed"]) - stopped}
        tags |= {key: str(count) for key, count in counts.items()}
        note = note_on(run.info.status, tags)
    with written_whole(target) as temporary:
        temporary.write_text(page(name, tags, description(client, run), files, note=note), encoding="utf-8")
    return target


def export_again(folder: Path) -> Path:
    """Writes page and tables again from the files of an earlier export; returns the page's path. What the page says of
    its jobs behind their number, as that they were stopped, stays.

    Raises PipelineError where the files do not hold what is needed.
    """
    from pipeline.multirun.recompute import COMMIT, command_on, remade, write_files

    target = folder.parent / f"{folder.name}.md"
    before = target.read_text(encoding="utf-8") if target.is_file() else ""
    head, best = COMMIT.search(before), re.search(r"^Best by validation [^:\n]+: .*$", before, re.M)
    if head is None:
        raise PipelineError(f"{target} is no page of pipeline.export; name the folder beside such a page")
    summary = remade(folder, before)
    write_files(folder, summary)
    tags = {"command": command_on(before), "git.commit": head["commit"], "jobs": head["jobs"]}
    files = sorted(path.name for path in folder.iterdir() if path.suffix in EXPORTED)
    text = page(
        folder.name, tags | {"jobs.failed": head["failed"]}, f"{summary.text}\n\n{best[0] if best else ''}", files,
        note=head["note"].replace(MADE_AGAIN, "") + MADE_AGAIN,
    )  # fmt: skip
    with written_whole(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return target


def usage() -> str:
    """Says how the program is called, and the names that it may be given."""
    names = [str(run.info.run_name) for run in ended_parents(open_store(None))]
    return f"{(__doc__ or '').splitlines()[0]} Names: {alphabetical(names)}"


def main() -> None:
    """Runs the program. Its exit status is 0, or 1 with one line on standard error."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print((__doc__ or "").strip())
        return
    prepare_environment()
    again = len(sys.argv) > 2 and sys.argv[1] == "--from-files"
    try:
        refuse_shadowing()
        if not again and len(sys.argv) != 3:
            sys.exit(f"error: {usage()}")
        if not again:
            print(export(sys.argv[1], Path(sys.argv[2])))
        for folder in sys.argv[2:] if again else ():
            print(export_again(Path(folder)))
    except expected_errors() as error:
        sys.exit(f"error: {one_line(error)}")


if __name__ == "__main__":
    main()
