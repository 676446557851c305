"""`python -m pipeline.serving MODEL`: MLflow's model server, stricter about requests.

The server is MLflow's own (`/ping`, `/version`, `/invocations`). In addition a request with an unknown key or parameter
is refused, which MLflow ignores, and every refusal is one line of JSON without a stack trace.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from typing import Any

from pipeline.host.errors import PipelineError
from pipeline.host.paths import refuse_shadowing
from pipeline.host.process import prepare_environment
from pipeline.settings.messages import one_line

MEBIBYTE = 2**20


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**16:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 65535, got {number}")
    return number


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m pipeline.serving", description="Serve a logged model over HTTP.")
    parser.add_argument("model", help="its URI: runs:/RUN_ID/model, models:/NAME@best")
    parser.add_argument(
        "--host", default="127.0.0.1", help="the server checks no passwords: mind it before you open it"
    )
    parser.add_argument("--port", type=port, default=5001, help="0: any that is free, which is printed")
    parser.add_argument("--most-megabytes", type=positive, default=64, help="the largest request")
    parser.add_argument(
        "--most-rows",
        type=positive,
        help="of a forecast: its horizon times its sequences; else as the model was logged",
    )
    parser.add_argument(
        "--threads", type=positive, default=1, help="of one request; requests run beside each other, so 1 suits several"
    )
    return parser.parse_args()


def application(chosen: argparse.Namespace) -> Any:
    """Returns what answers requests with the model that was chosen. Raises PipelineError when it cannot be loaded."""
    import torch
    from mlflow.pyfunc import scoring_server

    from pipeline.tracking.application import parameters_of, reader_of, strict
    from pipeline.tracking.model import load_model
    from pipeline.tracking.store import open_store

    torch.set_num_threads(chosen.threads)
    os.environ["MLFLOW_TRACKING_URI"] = str(open_store(None).tracking_uri)
    own = {} if chosen.most_rows is None else {"most_rows": chosen.most_rows}
    model = load_model(chosen.model, **own)
    most_bytes = chosen.most_megabytes * MEBIBYTE
    app = scoring_server.init(model)
    return strict(app, parameters=parameters_of(model), most_bytes=most_bytes, read=reader_of(model))


def serve(app: Any, chosen: argparse.Namespace) -> None:
    """Answers requests until the process is stopped, and says where as soon as it does."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                found = self.servers[0].sockets[0].getsockname()[1]  # with --port 0 the system finds one
                address = f"http://{chosen.host}:{found}"
                print(f"{chosen.model} answers at {address}/invocations; Ctrl-C ends it", flush=True)

    with suppress(KeyboardInterrupt):
        Server(uvicorn.Config(app, host=chosen.host, port=chosen.port, log_level="warning")).run()


def main() -> None:
    """Serves the model that the command line names. Exits with status 1 and one line when the model cannot be loaded,
    or a file here hides a package of this project."""
    prepare_environment()
    try:
        refuse_shadowing()  # before anything of the package `models` is imported
        chosen = options()
        app = application(chosen)
    except PipelineError as error:
        sys.exit(f"error: {one_line(error)}")
    serve(app, chosen)


if __name__ == "__main__":
    main()
