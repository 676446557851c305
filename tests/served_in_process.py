"""The applications of the two servers in this process: a request's body in, status and answer out."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import mlflow
import pytest
from mlflow.pyfunc import scoring_server

from pipeline.tracking.application import parameters_of, reader_of, strict


def answered(app: Any, body: bytes | None, headers: list[tuple[bytes, bytes]]) -> tuple[int, str]:
    """Status and text of the application's answer to a body, in this process; without one, reading it fails."""
    sent: list[dict] = []

    async def receive() -> dict:
        assert body is not None, "the body was read"
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/invocations", "query_string": b"", "headers": headers}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def application(logged: str, kind: str, patch: pytest.MonkeyPatch, **settings: Any) -> Any:
    """The application of one of the servers: of `mlflow models serve` (plain), or of `pipeline.serving` (strict)."""
    patch.setattr(scoring_server, "_decode_json_input", scoring_server._decode_json_input)  # put back in the end
    if kind == "plain":
        patch.setenv(scoring_server._SERVER_MODEL_PATH, logged)
    patch.setattr(os, "environ", dict(os.environ))  # MLflow notes there that it serves
    model = mlflow.pyfunc.load_model(logged, model_config=settings)
    app = scoring_server.init(model)
    if kind == "plain":
        return app
    return strict(app, parameters=parameters_of(model), most_bytes=2**20, read=reader_of(model))


def in_process(app: Any, payload: object) -> tuple[int, dict[str, Any]]:
    body = (payload if isinstance(payload, str) else json.dumps(payload)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    status, text = answered(app, body, headers)
    return status, json.loads(text)
