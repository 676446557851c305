"""Downloads: https only, checked before a file gets its name, nothing left behind after a failure."""

import hashlib
import io
import threading
from email.message import Message
from urllib.error import HTTPError, URLError

import pytest

from data.base import DataError
from data.download import check_file, data_root, download, download_all, network_available, sha256_of

ADDRESS = "https://example.org/walk.bvh"
CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Response(io.BytesIO):
    """What an opener returns: a stream that knows its address and may break after some bytes."""

    def __init__(self, content=CONTENT, *, address=ADDRESS, breaks_with=None):
        super().__init__(content)
        self.address = address
        self.breaks_with = breaks_with

    def geturl(self):
        return self.address

    def read(self, size=-1):
        chunk = super().read(size)
        if self.breaks_with and self.tell() == len(self.getvalue()):
            raise self.breaks_with
        return chunk


class Opener:
    """Answers with given responses (or raises them) and notes what was asked for."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def __call__(self, request, *, timeout):
        self.asked.append((request.get_method(), request.full_url, timeout))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def not_found():
    return HTTPError(ADDRESS, 404, "Not Found", Message(), io.BytesIO())


def test_a_file_is_stored_under_its_name_and_nothing_else(tmp_path):
    opener = Opener(Response())
    download(ADDRESS, tmp_path / "deep" / "walk.bvh", sha256=SHA256, timeout=7, opener=opener)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["walk.bvh"]
    assert (tmp_path / "deep" / "walk.bvh").read_bytes() == CONTENT
    assert opener.asked == [("GET", ADDRESS, 7)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Response(CONTENT[:-1]), r"walk\.bvh: the file sent has SHA-256 .*; not kept"),
        (Response(breaks_with=ConnectionResetError("reset")), r"walk\.bvh: cannot be fetched .*reset"),
        (Response(breaks_with=TimeoutError("timed out")), r"walk\.bvh: cannot be fetched .*timed out"),
        (Response(address="http://example.org/walk.bvh"), r"http://example\.org/walk\.bvh: only https"),
        (URLError("no route"), r"walk\.bvh: cannot be fetched .*no route"),
        (not_found(), r"walk\.bvh: cannot be fetched .*404"),
    ],
    ids=["checksum", "reset", "timeout", "redirected", "no-route", "404"],
)
def test_a_failure_leaves_nothing_behind(tmp_path, answer, message):
    with pytest.raises(DataError, match=message):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(answer))
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_leaves_nothing_behind(tmp_path):
    interrupted = Response(breaks_with=KeyboardInterrupt("stopped"))
    with pytest.raises(KeyboardInterrupt, match="stopped"):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(interrupted))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_file_that_was_there(tmp_path):
    (tmp_path / "walk.bvh").write_bytes(b"before")
    with pytest.raises(DataError, match="not kept"):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(Response(b"other")))
    assert (tmp_path / "walk.bvh").read_bytes() == b"before"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataError, match=r"cannot be fetched to .*file/walk\.bvh"):
        download(ADDRESS, tmp_path / "file" / "walk.bvh", sha256=SHA256, opener=Opener(Response()))


@pytest.mark.parametrize("address", ["http://example.org/a", "ftp://example.org/a", "file:///etc/hosts"])
def test_only_https_is_opened(tmp_path, address):
    opener = Opener()
    with pytest.raises(DataError, match="only https addresses"):
        download(address, tmp_path / "a", sha256=SHA256, opener=opener)
    with pytest.raises(DataError, match="only https addresses"):
        network_available(address, opener=opener)
    assert opener.asked == []


def test_several_files_go_below_one_folder(tmp_path):
    opener = Opener(Response(), Response())
    addresses = {"a/1.bvh": ADDRESS, "b/2.bvh": ADDRESS}
    download_all(addresses, tmp_path, checksums=dict.fromkeys(addresses, SHA256), opener=opener)
    assert all(sha256_of(tmp_path / name) == SHA256 for name in addresses)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(Response(), True), (not_found(), True), (URLError("no route"), False), (TimeoutError("slow"), False)],
    ids=["answer", "404", "no-route", "timeout"],
)
def test_the_probe_is_one_request_for_a_header(answer, expected):
    opener = Opener(answer)
    assert network_available(ADDRESS, timeout=0.2, opener=opener) is expected
    assert opener.asked == [("HEAD", ADDRESS, 0.2)]


def test_a_name_lookup_that_hangs_counts_as_no_network():
    release = threading.Event()

    def hang(request, *, timeout):
        release.wait(20 * timeout)
        raise URLError(f"{request.full_url}: too late")

    assert network_available(ADDRESS, timeout=0.05, opener=hang) is False
    release.set()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "walk.bvh"
    path.write_bytes(CONTENT)
    check_file(path, SHA256)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=r"walk\.bvh: damaged or cut short"):
        check_file(path, SHA256)
    with pytest.raises(DataError, match=r"none: cannot be read"):
        check_file(tmp_path / "none", SHA256)


def test_the_root_is_the_argument_then_the_variable_then_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PIPELINE_DATA_ROOT", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root(str(tmp_path)) == tmp_path
    assert data_root(None) == tmp_path / "variable"
    monkeypatch.delenv("PIPELINE_DATA_ROOT")
    assert data_root(None) == tmp_path / "cache" / "orthogonal-psrnn" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_root(None) == tmp_path / ".cache" / "orthogonal-psrnn" / "data"
