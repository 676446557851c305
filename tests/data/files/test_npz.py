"""Archives of others: path tricks, links, bombs and pickles are refused before anything is read from them."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data.base import DataError
from data.files.npz import read_arrays
from data.files.table_files import TextFormat, read_frame


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def archive(path: Path, name: str, content: bytes, *, mode: int = 0, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    member = zipfile.ZipInfo(name)
    member.external_attr, member.compress_type = mode << 16, compression
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, content)
    return path


SERIES = np.arange(40.0).reshape(20, 2)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_arrays_come_back(compression: int, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", "values.npy", npy(SERIES), compression=compression)
    assert list(read_arrays(path)) == ["values"]
    np.testing.assert_array_equal(read_arrays(path)["values"], SERIES)
    assert len(read_frame(path, TextFormat())[0]) == 20


@pytest.mark.parametrize(
    "name", ["../values.npy", "/values.npy", "a/../../values.npy", "..\\values.npy", "C:values.npy"]
)
def test_names_that_leave_the_archive(name: str, tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", name, npy(SERIES))
    with pytest.raises(DataError, match=r"a\.npz: cannot be read: the archive names .* outside of it"):
        read_frame(path, TextFormat())
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]


def test_links(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", "values.npy", b"/etc/hostname", mode=0o120777)
    with pytest.raises(DataError, match=r"'values\.npy' in the archive is a link"):
        read_frame(path, TextFormat())


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.files.npz.MOST_UNPACKED", 100_000)
    monkeypatch.setattr("data.files.table_files.MOST_UNPACKED", 100_000)
    content = npy(np.zeros((10_000, 2)))
    path = archive(tmp_path / "a.npz", "values.npy", content)
    with pytest.raises(DataError, match="it unpacks to 160128 bytes, more than 100000; if you trust it"):
        read_frame(path, TextFormat())
    stored = archive(tmp_path / "b.npz", "values.npy", content, compression=zipfile.ZIP_STORED)
    assert len(read_frame(stored, TextFormat())[0]) == 10_000
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 100_000))
    with pytest.raises(DataError, match=r"c\.csv\.gz: cannot be read: it unpacks to more than 100000 bytes"):
        read_frame(tmp_path / "c.csv.gz", TextFormat())


def test_a_header_that_promises_more_than_there_is(tmp_path: Path) -> None:
    content = npy(SERIES).replace(b"(20, 2), }      ", b"(20, 2000000), }")
    path = archive(tmp_path / "a.npz", "values.npy", content)
    with pytest.raises(DataError, match=re.escape("'values.npy' promises 320000128 bytes and has 448")):
        read_frame(path, TextFormat())


def test_pickles(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", "values.npy", npy(np.array([{"x": 1}], dtype=object)))
    with pytest.raises(DataError, match="allow_pickle=False"):
        read_frame(path, TextFormat())


@pytest.mark.parametrize(
    ("values", "names", "said"),
    [
        (np.zeros((2, 3, 2)), ["a", "sequence"], "a feature is called 'sequence', as the column that tells the seq"),
        (np.zeros((3, 2)), ["a", "a"], "the column 'a' stands twice; rename one"),
        (
            np.array([["2024-01-01"], ["NaT"]], dtype="datetime64[D]"),
            ["a"],
            r"values are datetime64\[D\]; real numbers",
        ),
        (np.array([[1], ["NaT"]], dtype="timedelta64[s]"), ["a"], r"values are timedelta64\[s\]; real numbers"),
        (np.array([[1 + 2j]]), ["a"], "values are complex128; real numbers"),
    ],
)
def test_features_that_are_none_are_refused(values: np.ndarray, names: list[str], said: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", values=values, feature_names=np.array(names))
    with pytest.raises(DataError, match=rf"a\.npz: cannot be read: {said}"):
        read_frame(tmp_path / "a.npz", TextFormat())
