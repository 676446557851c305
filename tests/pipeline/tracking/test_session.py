"""How a run is closed by what ends it."""

from __future__ import annotations

import signal

import pytest

from logged import only_run
from pipeline.host.errors import Pruned
from pipeline.tracking import session
from pipeline.tracking.run import create_run

PEER = "another process of this run has ended"


@pytest.mark.parametrize(
    ("end", "of_others", "status", "tags"),
    [
        (ValueError("broken"), None, "FAILED", {"error": "broken"}),
        (ValueError("connection closed"), PEER, "FAILED", {"error": PEER}),
        (SystemExit(143), None, "KILLED", {}),
        (SystemExit(143), PEER, "FAILED", {"error": PEER}),
        (KeyboardInterrupt(), None, "KILLED", {}),
        (Pruned("worse than half of the others"), None, "KILLED", {"pruned": "worse than half of the others"}),
    ],
)
def test_sigterm_while_a_run_is_closed_leaves_its_status(end, of_others, status, tags, client, monkeypatch) -> None:
    """torchrun sends it to the other ranks when one has failed, at any time after that."""

    def asked() -> str | None:
        signal.raise_signal(signal.SIGTERM)
        return of_others

    monkeypatch.setattr(session, "first_failure", asked)
    with pytest.raises(type(end)) as raised, session.closed_with_status(create_run(client, "0", "closed", {})):
        raise end
    assert raised.value is end
    run = only_run(client)
    assert run.info.status == status
    assert {key: run.data.tags[key] for key in ("error", "pruned") if key in run.data.tags} == tags
