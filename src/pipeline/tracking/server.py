"""A tracking server that may be away: waited for at the start, asked again later, and said aloud."""

from __future__ import annotations

import logging
import os
import sys
import time

import requests

from pipeline.host.errors import PipelineError
from pipeline.host.passwords import masked

ASK_SECONDS, LONGEST_PAUSE = 5, 5
# pauses of 0, 2, 4, 8, 16, 32, 64, 120 s: about four minutes
RETRIES = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "8", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1"}


def say(text: str) -> None:
    print(masked(text), file=sys.stderr, flush=True)


class OutageNotice(logging.Filter):
    """Turns the first of urllib3's many lines about one outage into a line for people, and drops the others.

    MLflow's client asks again through urllib3, which tells each attempt to its logger: a warning when nobody answers, a
    line for debugging when the answer is a 5xx.
    """

    def __init__(self) -> None:
        super().__init__()
        self.since: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("Retry") and self.since is None:
            self.since = time.monotonic()
            say(
                "warning: the tracking server does not answer; asking again for about four minutes, "
                "metrics are kept in a file meanwhile"
            )
        return False

    def answered(self) -> None:
        """Notes that something was sent; says how long the outage was, if there was one."""
        if self.since is not None:
            say(f"the tracking server answers again after {time.monotonic() - self.since:.0f} s")
            self.since = None


NOTICE = OutageNotice()


def ask_patiently() -> None:
    """Has MLflow's client ask again for about four minutes, unless the environment says otherwise, and say so once."""
    for name, value in RETRIES.items():
        os.environ.setdefault(name, value)
    logger = logging.getLogger("urllib3.connectionpool")
    logger.setLevel(logging.DEBUG)
    logger.addFilter(NOTICE)


def why_silent(uri: str) -> str | None:
    """Returns None when a server answers at `uri`, be it with a refusal; else why it does not."""
    try:
        status = requests.get(f"{uri.rstrip('/')}/health", timeout=ASK_SECONDS).status_code
    except requests.exceptions.SSLError:
        return None  # it is there; MLflow's client, which knows the certificates, says what is wrong
    except requests.exceptions.ConnectionError:
        return "no connection"
    except requests.exceptions.Timeout:
        return f"no answer in {ASK_SECONDS} s"
    except requests.exceptions.RequestException as error:
        raise PipelineError(masked(f"tracking.uri={uri} is no address of a server: {error}")) from error
    return f"status {status}" if status >= 500 else None


def wait_for_server(uri: str, seconds: float) -> None:
    """Returns when an MLflow server answers at `uri`. Raises PipelineError after `seconds` without an answer."""
    end, pause, told = time.monotonic() + seconds, 0.5, False
    while (reason := why_silent(uri)) is not None:
        if time.monotonic() + pause > end:
            raise PipelineError(
                f"the tracking server {masked(uri)} did not answer within {seconds:g} s ({reason}); "
                "start it, wait longer with tracking.wait=SECONDS, or leave it with tracking=local"
            )
        if not told:
            say(f"waiting up to {seconds:g} s for the tracking server {uri} ({reason})")
            told = True
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
