"""The server that loads a model which travels with its own code: how it reads the bodies of requests, and what it
answers to a bad one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

MLFLOWS_SERVER = "mlflow.pyfunc.scoring_server"


def bad_request(of_mlflow: Any, code: int) -> type[ValueError]:
    """Returns the error that says in one line what is wrong with the input: a server answers 400 with it, without the
    data or a stack trace. It is a ValueError, too.

    of_mlflow, code: MLflow's exception and its code of a bad request, as nothing here imports MLflow.
    """

    class BadRequest(of_mlflow, ValueError):
        def __init__(self, reason: str) -> None:
            super().__init__(reason, error_code=code)
            self.reason = reason

        def serialize_as_json(self) -> str:
            return json.dumps({"error_code": self.error_code, "message": self.reason})

    return BadRequest


def check_before_mlflow(decoded: Callable[[Any], dict[str, Any]], refused: Callable[[str], Exception]) -> None:
    """Has the server of `mlflow models serve`, if this is its process, read bodies by `decoded`, which raises
    ValueError for a wrong one. refused: makes of its words what the server answers with.

    It reads them before any model sees them, and its own reader (MLflow 3.17) ends in a status of 500 where they are
    nested deep or a number has thousands of digits, and turns `true` among numbers into 1.
    """

    def read(body: Any) -> dict[str, Any]:
        try:
            return body if isinstance(body, dict) else decoded(body)
        except ValueError as error:
            raise refused(str(error)) from None

    server: Any = sys.modules.get(MLFLOWS_SERVER)
    if server is not None and server._SERVER_MODEL_PATH in os.environ:
        server._decode_json_input = read
