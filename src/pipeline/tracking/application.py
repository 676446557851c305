"""MLflow's application that answers requests, with stricter checks: every refusal is one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from models.runtime.request import FORMATS, read_body

LONGEST_REASON = 500
Handler = Callable[[Request], Awaitable[Any]]
Reader = Callable[[bytes], dict[str, Any]]


def parameters_of(model: Any) -> list[str]:
    """Returns the names that `params` of a request may have: those of the signature that was logged with the model."""
    signature = model.metadata.signature
    return [] if signature is None or signature.params is None else [parameter.name for parameter in signature.params]


def reader_of(model: Any) -> Reader:
    """Returns what reads the body of a request: `decoded` of the class that serves the model, which checks the values
    too and raises ValueError; of a class without it, what reads a body of any model."""
    kind = type(model.unwrap_python_model())
    before = kind.predict.__globals__.get("decoded")  # of a model that was logged before its class said it
    return getattr(kind, "decoded", None) or before or read_body


def fault(content_type: str, body: bytes, parameters: Sequence[str], read: Reader = read_body) -> str | None:
    """Says in one line what is wrong with the outside of a request; None when nothing is.

    parameters: the names that `params` may have. read: returns the request, and raises ValueError.
    """
    if content_type.split(";")[0].strip() != "application/json":
        return f"send Content-Type: application/json, not {content_type or 'nothing'}"
    try:
        request = read(body)
    except ValueError as error:
        return str(error)
    unknown = [key for key in request if key not in (*FORMATS, "params")]
    unknown += [f"params.{key}" for key in request.get("params") or {} if key not in parameters]
    if not unknown:
        return None
    known = f"params may have {', '.join(parameters)}" if parameters else "this model takes no params"
    return f"{unknown[0][:LONGEST_REASON]} is unknown; {known}"


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


def strict(app: FastAPI, *, parameters: Sequence[str], most_bytes: int, read: Reader = read_body) -> FastAPI:
    """Adds the checks to MLflow's application. parameters, read: as `fault` has them."""

    @app.middleware("http")
    async def checked(request: Request, go_on: Handler) -> Any:
        if request.url.path == "/invocations" and request.method == "POST":
            length = request.headers.get("content-length", "")
            if not length.isdecimal():
                return refusal("the request does not say its Content-Length", 411)
            if int(length) > most_bytes:  # said before a byte of it is read
                return refusal(f"the body has {length} bytes, at most {most_bytes} are taken", 413)
            reason = fault(request.headers.get("content-type", ""), await request.body(), parameters, read)
            if reason is not None:
                return refusal(reason, 400)
        response = await go_on(request)
        return await in_one_line(response) if response.status_code >= 400 else response

    return app
