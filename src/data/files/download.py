"""Files from the web: where they are kept, one probe for the network, and downloads that are never taken for whole.

Only https addresses are opened, by redirection too, and a file gets its final name only once its SHA-256 has been
checked. What a broken connection left is kept under a temporary name, and the next attempt asks for the rest alone.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from filelock import FileLock, Timeout
from tqdm import tqdm

from data.base import DataError

Opener = Callable[..., Any]
CHUNK = 1 << 16
MOST_BYTES = 2**30
PARTIAL, RANGE_NOT_SATISFIABLE = 206, 416


class HttpsRedirects(HTTPRedirectHandler):
    """Handles redirections and follows none away from https."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> Request | None:
        _require_https(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_https(request: Request, *, timeout: float) -> Any:
    """Opens an address by `urllib.request.urlopen`, for https alone. Raises DataError for any other address, also
    one redirected to."""
    _require_https(request.full_url)
    return build_opener(HttpsRedirects).open(request, timeout=timeout)


def data_root(root: str | None) -> Path:
    """Returns the folder that holds the data folders: `root`, else $PIPELINE_DATA_ROOT, else a cache of the user's
    own."""
    chosen = root or os.environ.get("PIPELINE_DATA_ROOT")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "orthogonal-psrnn" / "data"


def network_available(address: str, *, timeout: float = 2.0, opener: Opener = open_https) -> bool:
    """Returns true when the server of an https address answers within `timeout` seconds, name lookup included.

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
        with opener(Request(address, method="HEAD"), timeout=timeout):  # noqa: S310
            answered.set()
    except HTTPError as error:
        error.close()
        answered.set()
    except DataError:  # it answers, by a redirection that the download will refuse in words
        answered.set()
    except (OSError, HTTPException):
        return


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_file(path: Path, sha256: str) -> None:
    """Checks the SHA-256 of a file. Raises DataError, naming the file, where it is another one (damaged, cut short
    or edited)."""
    try:
        checksum = sha256_of(path)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error}); make it readable, or delete it to fetch it again"
        ) from error
    if checksum != sha256:
        raise DataError(
            f"{path}: damaged or cut short (SHA-256 {checksum[:12]}…, expected {sha256[:12]}…); "
            "delete it to fetch it again"
        )


class Body(NamedTuple):
    """Holds what a server sends: its stream, at which byte of the file it begins, and how long the whole file is,
    if said."""

    stream: Any
    start: int
    total: int | None


def download(address: str, path: Path, *, sha256: str, timeout: float = 30.0, opener: Opener = open_https) -> None:
    """Fetches one file to `path`. A connection that breaks leaves the bytes it brought in a `.part` file beside it,
    and the next call goes on from there; a checksum that differs or a size above the limit leaves nothing.

    Raises DataError for an address (also one reached by redirection) that is not https, an HTTP error, a connection
    that breaks, more than `MOST_BYTES`, a checksum that differs and a folder that cannot be written.
    """
    _require_https(address)
    partial = path.with_name(f".{path.name}.{sha256[:12]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        resumed = _fetch(address, partial, timeout=timeout, opener=opener)
        if resumed and sha256_of(partial) != sha256:  # the beginning was damaged, or of another file
            partial.unlink()
            _fetch(address, partial, timeout=timeout, opener=opener)
        checksum = sha256_of(partial)
        if checksum != sha256:
            raise DataError(f"{address}: the file sent has SHA-256 {checksum[:12]}…, expected {sha256[:12]}…; not kept")
        partial.replace(path)
    except (OSError, HTTPException) as error:
        raise DataError(
            f"{address}: cannot be fetched to {path} ({error}); try again, or put the file there"
        ) from error
    except DataError:
        with suppress(OSError):
            partial.unlink()
        raise


def download_all(
    addresses: Mapping[str, str], folder: Path, *, checksums: Mapping[str, str], opener: Opener = open_https
) -> None:
    """Fetches files given as path below `folder` -> address, with a progress bar on a terminal. Raises as `download`.

    One process at a time fetches into a folder; another waits, and takes what the first one brought.
    """
    with preparing(folder):
        for name, address in tqdm(addresses.items(), desc=f"downloading to {folder}", unit="file", disable=None):
            path = folder / name
            if not (path.is_file() and sha256_of(path) == checksums[name]):
                download(address, path, sha256=checksums[name], opener=opener)


@contextmanager
def preparing(folder: Path) -> Iterator[None]:
    """Keeps other processes from preparing data in `folder` during the block. The lock ends with the process, even
    with a killed one.

    Raises DataError when nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            tqdm.write(f"waiting for another process that prepares {folder} …")
            lock.acquire()
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error}); name another by PIPELINE_DATA_ROOT") from error
    try:
        yield
    finally:
        lock.release()


def _fetch(address: str, partial: Path, *, timeout: float, opener: Opener) -> bool:
    """Appends to `partial` the bytes that it lacks. Returns True where it held something that was kept."""
    have = partial.stat().st_size if partial.exists() else 0
    request = Request(address, headers={"Range": f"bytes={have}-"} if have else {})  # noqa: S310
    try:
        with opener(request, timeout=timeout) as response:
            body = _body(response, have)
            with partial.open("ab" if body.start else "wb") as stream:
                _copy(body, stream, address)
        return body.start > 0
    except HTTPError as error:
        if error.code != RANGE_NOT_SATISFIABLE or not have:
            raise
        error.close()
    return True  # nothing is left to be sent: the checksum tells whether what is there is the file


def _body(response: Any, have: int) -> Body:
    """Returns what the server sends: from the first byte where it knows no ranges, else from byte `have` on. Raises
    DataError for another range than that asked for, and for an address that is not https."""
    _require_https(response.geturl())
    length = response.headers.get("Content-Length")
    sent = int(length) if length is not None else None
    if response.status != PARTIAL:
        return Body(response, 0, sent)
    if not str(response.headers.get("Content-Range")).startswith(f"bytes {have}-"):
        raise DataError(f"{response.geturl()}: the server sent another part than the one asked for; try again")
    return Body(response, have, None if sent is None else have + sent)


def _copy(body: Body, target: BinaryIO, address: str) -> None:
    size = body.start
    while chunk := body.stream.read(CHUNK):
        size += len(chunk)
        if size > MOST_BYTES:
            raise DataError(f"{address}: the server sends more than {MOST_BYTES} bytes; not kept")
        target.write(chunk)
    if body.total is not None and size < body.total:
        raise ConnectionError(f"the connection ended after {size} of {body.total} bytes")


def _require_https(address: str) -> None:
    if not address.startswith("https://"):
        raise DataError(f"{address}: only https addresses are opened")
