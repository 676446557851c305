"""What a page of `pipeline.export` leaves out, and what it says of a multirun that did not finish."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from pipeline.export import export, main
from pipeline.tracking.run import Run, create_run


def parent(client: MlflowClient, **tags: str) -> Run:
    """Returns a multirun of two jobs that is called walks."""
    found = {"multirun": "parent", "command": "python -m pipeline -m", "git.commit": "abc", "jobs": "2"}
    run = create_run(client, "0", "walks", found | {"jobs.failed": "0", "jobs.stopped": "0"} | tags)
    run.describe("walks\n\nA table.")
    return run


def test_rows_of_the_data_beside_the_saved_model_stay_in_the_store(client: MlflowClient, tmp_path: Path) -> None:
    run = parent(client)
    for path in ("jobs.csv", "parameters/example.csv"):
        run.table(pd.DataFrame({"load": [1.5]}), path)
    run.finish("FINISHED")
    assert "example" not in export("walks", tmp_path).read_text()
    assert [path.name for path in (tmp_path / "walks").iterdir()] == ["jobs.csv"]


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ("0", "0 failed. The jobs ran, but the best of them could not be told: no column arm. The same command with"),
        ("1", "1 failed. The same command with resume=true tries those that failed again."),
    ],
)
def test_a_page_says_what_failed(failed: str, said: str, client: MlflowClient, tmp_path: Path) -> None:
    tags = {"jobs.failed": failed, "summary.error": "the best of them could not be told: no\ncolumn arm"}
    parent(client, **tags).finish("FAILED")
    assert said in export("walks", tmp_path).read_text()


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_help_is_the_usage_and_no_error(
    asked: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["export", asked])
    main()
    printed = capsys.readouterr()
    assert "python -m pipeline.export RUN_NAME FOLDER" in printed.out
    assert "--from-files" in printed.out
    assert printed.err == ""
