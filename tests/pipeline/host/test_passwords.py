"""A password in an address is neither printed nor kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlflow_servers import free_port
from pipeline.host.errors import PipelineError
from pipeline.host.passwords import masked, masked_settings
from pipeline.tracking.run import create_run, where_to_look
from pipeline.tracking.store import experiment_id, open_store

SECRET = "s3cret"  # pragma: allowlist secret


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://user:s3cret@host/db", "postgresql://user:***@host/db"),  # pragma: allowlist secret
        ("to pg+x://u:s3@c/ret@host:5432/d?x=1 now", "to pg+x://u:***@host:5432/d?x=1 now"),  # pragma: allowlist secret
        ("'uri=HTTPS://user:s3cret@host:50/a' x@y", "'uri=HTTPS://user:***@host:50/a' x@y"),  # pragma: allowlist secret
        ("redis://:s3cret@host", "redis://:***@host"),  # pragma: allowlist secret
        ("postgresql://host/db?user=u&password=s3cret&a=b", "postgresql://host/db?user=u&password=***&a=b"),
        ("a://u:s3cret@h b://v:s3cret@h", "a://u:***@h b://v:***@h"),  # pragma: allowlist secret
    ],
)  # fmt: skip
def test_masked(text: str, expected: str) -> None:
    assert masked(text) == expected
    assert masked(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:5000",
        "http://127.0.0.1:5001/a models:/swimmer@best",
        "http://host:5000/user@name",
        "sqlite:////tmp/a:b@c/mlflow.db",
        "postgresql://user@host/db",
        "model=models:/swimmer@best",
    ],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert masked(text) == text


def test_masked_in_nested_settings() -> None:
    uri, kept = f"postgresql://u:{SECRET}@h/db", "postgresql://u:***@h/db"  # pragma: allowlist secret
    found = masked_settings({"tracking": {"uri": uri, "wait": 60.0}, "more": [uri, None]})
    assert found == {"tracking": {"uri": kept, "wait": 60.0}, "more": [kept, None]}


def files_with(word: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_a_run_keeps_none(store: Path, client) -> None:
    uri = f"postgresql://user:{SECRET}@host/db"
    run = create_run(client, experiment_id(client, "secret"), "one", {"command": f"pipeline tracking.uri={uri}"})
    run.parameters({"tracking": {"uri": uri}})
    run.tags({"hydra.overrides": f"tracking.uri={uri}"})
    run.describe(f"see {uri}")
    run.finish("FAILED", error=f"{uri} is away")
    assert files_with("postgresql://user:***@host/db", store)  # pragma: allowlist secret
    assert files_with(SECRET, store) == []
    tags = client.get_run(run.id).data.tags
    assert tags["error"] == "postgresql://user:***@host/db is away"  # pragma: allowlist secret
    assert tags["command"] == "pipeline tracking.uri=postgresql://user:***@host/db"  # pragma: allowlist secret


def test_a_multirun_prints_and_keeps_none(run_pipeline, store: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"  # without the column that groups are to be read from
    table.write_text("a\n1\n2\n", encoding="utf-8")
    group = f"data.group='ftp://user:{SECRET}@host'"
    result = run_pipeline("-m", "data=table", f"data.path={table}", group, "seed=0")
    assert result.error.startswith("error: job 0 failed: ")
    assert files_with("ftp://user:***@host", store)  # pragma: allowlist secret
    assert SECRET not in result.out + result.err
    assert [path.name for path in files_with(SECRET, store)] == ["multirun.yaml"]  # Hydra's own, as the page says


def test_a_store_that_is_away_prints_none(run_pipeline) -> None:
    uri = f"http://user:{SECRET}@127.0.0.1:{free_port()}"
    result = run_pipeline(
        "data=mocap", "data.source=stand_in", "size=tiny", "tracking=server", f"tracking.uri={uri}", "tracking.wait=1"
    )
    assert "the tracking server http://user:***@127.0.0.1:" in result.error  # pragma: allowlist secret
    assert SECRET not in result.out + result.err


def test_a_database_that_is_none_prints_none(store: Path) -> None:
    assert store.is_dir()
    with pytest.raises(PipelineError, match=r"store mysql\+x://user:\*\*\*@host/db cannot be used") as raised:
        open_store(f"mysql+x://user:{SECRET}@host/db")
    assert SECRET not in str(raised.value)


def test_the_closing_lines_have_none() -> None:
    class Away:
        id, tracked = "0", True

        class client:
            tracking_uri = f"postgresql://user:{SECRET}@host/db"

    closing = where_to_look(Away, "run", limited=False)  # type: ignore[arg-type]
    assert "mlflow ui --backend-store-uri 'postgresql://user:***@host/db'" in closing  # pragma: allowlist secret
    assert closing.startswith("run: run (0)")
