"""`python -m pipeline.serving MODEL`: MLflow's model server, stricter about requests.

The server is MLflow's own (`/ping`, `/version`, `/invocations`). In addition a request with an unknown key or parameter
is refused, which MLflow ignores, and every refusal is one line of JSON without a stack trace.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import torch
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from mlflow.pyfunc import scoring_server

from models.request import FORMATS, PARAMETERS, decoded
from pipeline.errors import PipelineError
from pipeline.messages import one_line
from pipeline.process import prepare_environment
from pipeline.tracking.model import MOST_ROWS, load_model
from pipeline.tracking.store import open_store

LONGEST_REASON = 500
MEBIBYTE = 2**20
Handler = Callable[[Request], Awaitable[Any]]


def fault(content_type: str, body: bytes) -> str | None:
    """What is wrong with the outside of a request, in one line; None when nothing is."""
    if content_type.split(";")[0].strip() != "application/json":
        return f"send Content-Type: application/json, not {content_type or 'nothing'}"
    try:
        request = decoded(body)
    except ValueError as error:
        return str(error)
    unknown = [key for key in request if key not in (*FORMATS, "params")]
    unknown += [f"params.{key}" for key in request.get("params") or {} if key not in PARAMETERS]
    return f"{unknown[0][:LONGEST_REASON]} is unknown; params may have {', '.join(PARAMETERS)}" if unknown else None


def refusal(reason: str, status: int) -> Response:
    shown = " ".join(reason.encode(errors="replace").decode().split())[:LONGEST_REASON]  # half a surrogate pair
    return JSONResponse({"error_code": "BAD_REQUEST" if status < 500 else "INTERNAL_ERROR", "message": shown}, status)


async def in_one_line(response: Any) -> Response:
    """MLflow's refusal without its stack trace."""
    body = b"".join([chunk async for chunk in response.body_iterator])
    try:
        told = json.loads(body)
        reason = str(told["message"] if "message" in told else told["detail"])
    except (ValueError, KeyError, TypeError):
        reason = body.decode(errors="replace")
    return refusal(reason, response.status_code)


def strict(app: FastAPI, *, most_bytes: int) -> FastAPI:
    """Add the checks to MLflow's application."""

    @app.middleware("http")
    async def checked(request: Request, go_on: Handler) -> Any:
        if request.url.path == "/invocations" and request.method == "POST":
            length = request.headers.get("content-length", "")
            if not length.isdecimal():
                return refusal("the request does not say its Content-Length", 411)
            if int(length) > most_bytes:  # said before a byte of it is read
                return refusal(f"the body has {length} bytes, at most {most_bytes} are taken", 413)
            reason = fault(request.headers.get("content-type", ""), await request.body())
            if reason is not None:
                return refusal(reason, 400)
        response = await go_on(request)
        return await in_one_line(response) if response.status_code >= 400 else response

    return app


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipeline.serving", description="Serve a logged model over HTTP.")
    parser.add_argument("model", help="its URI: runs:/RUN_ID/model, models:/NAME@best")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the server checks no passwords: mind it before you open it"
    )
    parser.add_argument("--port", type=int, default=5001)
    parser.add_argument("--most-megabytes", type=positive, default=64, help="the largest request")
    parser.add_argument(
        "--most-rows", type=positive, default=MOST_ROWS, help="of a forecast: its horizon times its sequences"
    )
    parser.add_argument(
        "--threads", type=positive, default=1, help="of one request; requests run beside each other, so 1 suits several"
    )
    return parser.parse_args()


def main() -> None:
    """Exit status 1 with one line when the model cannot be loaded."""
    prepare_environment()
    chosen = options()
    torch.set_num_threads(chosen.threads)
    try:
        os.environ["MLFLOW_TRACKING_URI"] = str(open_store(None).tracking_uri)
        app = scoring_server.init(load_model(chosen.model, most_rows=chosen.most_rows))
    except PipelineError as error:
        sys.exit(f"error: {one_line(error)}")
    uvicorn.run(
        strict(app, most_bytes=chosen.most_megabytes * MEBIBYTE),
        host=chosen.host,
        port=chosen.port,
        log_level="warning",
    )


if __name__ == "__main__":
    main()
