"""The server that loads a model which travels with its own code: how it reads the bodies of requests."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

MLFLOWS_SERVER = "mlflow.pyfunc.scoring_server"


def check_before_mlflow(read: Callable[[Any], dict[str, Any]]) -> None:
    """Has the server of `mlflow models serve`, if this is its process, read bodies by `read`.

    It reads them before any model sees them, and its own reader (MLflow 3.17) ends in a status of 500 where they are
    nested deep or a number has thousands of digits, and turns `true` among numbers into 1.
    """
    server: Any = sys.modules.get(MLFLOWS_SERVER)
    if server is not None and server._SERVER_MODEL_PATH in os.environ:
        server._decode_json_input = read
