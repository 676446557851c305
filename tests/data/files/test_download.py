"""Downloads: https only, checked before a file gets its name, and what was broken off goes on where it stopped."""

import hashlib
import io
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from urllib.error import HTTPError, URLError
from urllib.request import Request

import pytest

from data.base import DataError
from data.files.download import (
    HttpsRedirects,
    check_file,
    data_root,
    download,
    download_all,
    network_available,
    open_https,
    sha256_of,
)

ADDRESS = "https://example.org/walk.bvh"
CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Response(io.BytesIO):
    """What an opener returns: a stream that knows its address and may break after some bytes."""

    def __init__(self, content=CONTENT, *, address=ADDRESS, breaks_with=None, status=200, **headers):
        super().__init__(content)
        self.address, self.status = address, status
        self.breaks_with = breaks_with
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

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
        self.asked, self.ranges = [], []

    def __call__(self, request, *, timeout):
        self.asked.append((request.get_method(), request.full_url, timeout))
        self.ranges.append(request.get_header("Range"))
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
        (Response(address="http://example.org/walk.bvh"), r"http://example\.org/walk\.bvh: only https"),
        (URLError("no route"), r"walk\.bvh: cannot be fetched .*no route"),
        (not_found(), r"walk\.bvh: cannot be fetched .*404"),
    ],
    ids=["checksum", "redirected", "no-route", "404"],
)
def test_a_failure_leaves_nothing_behind(tmp_path, answer, message):
    with pytest.raises(DataError, match=message):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(answer))
    assert list(tmp_path.iterdir()) == []


BREAKS = [
    (ConnectionResetError("reset"), DataError, r"walk\.bvh: cannot be fetched .*reset"),
    (TimeoutError("timed out"), DataError, r"walk\.bvh: cannot be fetched .*timed out"),
    (KeyboardInterrupt("stopped"), KeyboardInterrupt, "stopped"),
]


def broken_download(path, content=CONTENT[:100_000], reason=BREAKS[0]):
    """Leaves a part of the file behind, as a connection that breaks does."""
    error, raised, message = reason
    with pytest.raises(raised, match=message):
        download(ADDRESS, path, sha256=SHA256, opener=Opener(Response(content, breaks_with=error)))
    assert not path.exists()
    (part,) = path.parent.iterdir()
    return part


def rest_of(have, content=CONTENT):
    return Response(content[have:], status=206, Content_Range=f"bytes {have}-{len(content) - 1}/{len(content)}")


@pytest.mark.parametrize("reason", BREAKS, ids=["reset", "timeout", "stopped"])
def test_a_download_that_broke_goes_on_where_it_stopped(tmp_path, reason):
    path = tmp_path / "walk.bvh"
    have = broken_download(path, reason=reason).stat().st_size
    assert 0 < have < len(CONTENT)
    opener = Opener(rest_of(have))
    download(ADDRESS, path, sha256=SHA256, opener=opener)
    assert opener.ranges == [f"bytes={have}-"]
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("walk.bvh", CONTENT)]


def test_a_connection_that_ends_early_is_not_taken_for_the_whole(tmp_path):
    path, half = tmp_path / "walk.bvh", CONTENT[:100_000]
    with pytest.raises(DataError, match="the connection ended after 100000 of 256000 bytes"):
        download(ADDRESS, path, sha256=SHA256, opener=Opener(Response(half, Content_Length="256000")))
    download(ADDRESS, path, sha256=SHA256, opener=Opener(rest_of(100_000)))
    assert path.read_bytes() == CONTENT


def test_a_server_without_ranges_sends_all_of_it_again(tmp_path):
    path = tmp_path / "walk.bvh"
    broken_download(path)
    opener = Opener(Response())
    download(ADDRESS, path, sha256=SHA256, opener=opener)
    assert path.read_bytes() == CONTENT
    assert len(opener.asked) == 1


def test_a_part_of_another_file_is_thrown_away(tmp_path):
    path = tmp_path / "walk.bvh"
    have = broken_download(path, content=bytes(100_000)).stat().st_size
    opener = Opener(rest_of(have), Response())
    download(ADDRESS, path, sha256=SHA256, opener=opener)
    assert path.read_bytes() == CONTENT
    assert opener.ranges == [f"bytes={have}-", None]


@pytest.mark.parametrize("content", [CONTENT, CONTENT + b"more"], ids=["complete", "too-long"])
def test_a_part_that_lacks_nothing_is_checked_like_any_other(tmp_path, content):
    path = tmp_path / "walk.bvh"
    broken_download(path).write_bytes(content)
    no_more = HTTPError(ADDRESS, 416, "Range Not Satisfiable", Message(), io.BytesIO())
    opener = Opener(no_more, Response())
    download(ADDRESS, path, sha256=SHA256, opener=opener)
    assert path.read_bytes() == CONTENT
    assert len(opener.asked) == (1 if content == CONTENT else 2)


def test_another_part_than_the_one_asked_for_is_refused(tmp_path):
    path = tmp_path / "walk.bvh"
    have = broken_download(path).stat().st_size
    with pytest.raises(DataError, match="the server sent another part"):
        download(ADDRESS, path, sha256=SHA256, opener=Opener(rest_of(have - 1)))
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_never_stops_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("data.files.download.MOST_BYTES", len(CONTENT) - 1)
    with pytest.raises(DataError, match="sends more than 255999 bytes; not kept"):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(Response()))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_is_named(tmp_path):
    (tmp_path / f".walk.bvh.{SHA256[:12]}.part").symlink_to("/dev/full")
    with pytest.raises(DataError, match=r"cannot be fetched to .*walk\.bvh \(.*No space left on device"):
        download(ADDRESS, tmp_path / "walk.bvh", sha256=SHA256, opener=Opener(Response()))
    assert not (tmp_path / "walk.bvh").exists()


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


def test_two_jobs_that_want_the_same_files_fetch_them_once(tmp_path):
    addresses, asked = {"a.bvh": ADDRESS, "b.bvh": ADDRESS}, []
    both_begun = threading.Barrier(2)

    def slow(request, *, timeout):
        asked.append((request.full_url, timeout))
        time.sleep(0.1)
        return Response()

    def job():
        both_begun.wait(10)
        download_all(addresses, tmp_path, checksums=dict.fromkeys(addresses, SHA256), opener=slow)
        assert all(sha256_of(tmp_path / name) == SHA256 for name in addresses)

    with ThreadPoolExecutor(2) as pool:
        for ended in [pool.submit(job), pool.submit(job)]:
            ended.result(timeout=20)
    assert len(asked) == len(addresses)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "a.bvh", "b.bvh"]


@pytest.mark.parametrize("address", ["http://example.org/a", "ftp://example.org/a", "file:///etc/hosts"])
def test_no_redirection_leads_away_from_https(address):
    begin = Request(ADDRESS)
    with pytest.raises(DataError, match="only https addresses"):
        HttpsRedirects().redirect_request(begin, None, 302, "Found", Message(), address)
    with pytest.raises(DataError, match="only https addresses"):
        open_https(Request(address), timeout=0.1)
    followed = HttpsRedirects().redirect_request(begin, None, 302, "Found", Message(), "https://example.org/b")
    assert followed is not None
    assert followed.full_url == "https://example.org/b"


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
