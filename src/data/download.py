"""Files from the web: where they are kept, one probe for the network, and downloads that never leave half a file.

Only https addresses are accepted, and a file gets its final name only once its SHA-256 has been checked.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tqdm import tqdm

from data.base import DataError

Opener = Callable[..., Any]
CHUNK = 1 << 16


def data_root(root: str | None) -> Path:
    """The folder that holds the data folders: `root`, else $PIPELINE_DATA_ROOT, else a cache of the user's own."""
    chosen = root or os.environ.get("PIPELINE_DATA_ROOT")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "orthogonal-psrnn" / "data"


def network_available(address: str, *, timeout: float = 2.0, opener: Opener = urlopen) -> bool:
    """Whether the server of an https address answers within `timeout` seconds, name lookup included.

    An HTTP error status is an answer. Raises DataError for an address that is not https.
    """
    _require_https(address)
    answered = threading.Event()
    # A name lookup cannot be given a time limit, so it runs in a thread that is abandoned when it hangs.
    probe = threading.Thread(target=_probe, args=(address, timeout, opener, answered), daemon=True)
    probe.start()
    probe.join(timeout)
    return answered.is_set()


def _probe(address: str, timeout: float, opener: Opener, answered: threading.Event) -> None:
    try:
        with opener(Request(address, method="HEAD"), timeout=timeout):
            answered.set()
    except HTTPError as error:
        error.close()
        answered.set()
    except (OSError, HTTPException):
        return


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_file(path: Path, sha256: str) -> None:
    """Raises DataError, naming the file, where its checksum is another one (damaged, cut short or edited)."""
    try:
        found = sha256_of(path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error}); make it readable, or delete it to fetch it again"
        ) from error
    if found != sha256:
        raise DataError(
            f"{path}: damaged or cut short (SHA-256 {found[:12]}…, expected {sha256[:12]}…); "
            "delete it to fetch it again"
        )


def download(address: str, path: Path, *, sha256: str, timeout: float = 30.0, opener: Opener = urlopen) -> None:
    """Fetch one file to `path` through a temporary name beside it; a failure leaves nothing behind.

    Raises DataError for an address (also one reached by redirection) that is not https, an HTTP error, a connection
    that breaks, a checksum that differs and a folder that cannot be written.
    """
    _require_https(address)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with opener(Request(address), timeout=timeout) as response, partial.open("wb") as stream:
            _require_https(response.geturl())
            found = _copy(response, stream)
        if found != sha256:
            raise DataError(f"{address}: the file sent has SHA-256 {found[:12]}…, expected {sha256[:12]}…; not kept")
        partial.replace(path)
    except (OSError, HTTPException) as error:
        raise DataError(
            f"{address}: cannot be fetched to {path} ({error}); try again, or put the file there"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def download_all(
    addresses: Mapping[str, str], folder: Path, *, checksums: Mapping[str, str], opener: Opener = urlopen
) -> None:
    """Fetch files given as path below `folder` -> address, with a progress bar on a terminal. Raises as `download`."""
    for name, address in tqdm(addresses.items(), desc=f"downloading to {folder}", unit="file", disable=None):
        download(address, folder / name, sha256=checksums[name], opener=opener)


def _copy(source: Any, target: BinaryIO) -> str:
    """Copy in chunks; the SHA-256 of what was copied."""
    digest = hashlib.sha256()
    while chunk := source.read(CHUNK):
        digest.update(chunk)
        target.write(chunk)
    return digest.hexdigest()


def _require_https(address: str) -> None:
    if not address.startswith("https://"):
        raise DataError(f"{address}: only https addresses are opened")
