"""The server that loads a model which travels with its own code: how it reads the bodies of requests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

MLFLOWS_SERVER = "mlflow.pyfunc.scoring_server"


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
