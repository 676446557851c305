"""The IDX reader: every type of the format, and no file, however damaged, that does more than raise a DataError."""

import gzip
import math
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data.base import DataError
from data.files.idx import DTYPES, MOST_BYTES, read_idx

MIB = 2**20
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def idx_bytes(values, kind=0x08, *, sizes=None):
    sizes = np.shape(values) if sizes is None else sizes
    header = bytes([0, 0, kind, len(sizes)]) + struct.pack(f">{len(sizes)}I", *sizes)
    return header + np.asarray(values).astype(DTYPES[kind]).tobytes()


def written(folder, content):
    path = folder / "digits.idx"
    path.write_bytes(content)
    return path


def peak_memory(read):
    """The most bytes that were held at once during a call."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_or_refuse(folder, content):
    """The array, or None after a DataError of one line that names the file; little memory in any case."""
    path = written(folder, content)
    outcome = []

    def read():
        try:
            outcome.append(read_idx(path))
        except DataError as error:
            outcome.append(str(error))

    assert peak_memory(read) < 4 * MIB
    if isinstance(outcome[0], np.ndarray):
        return outcome[0]
    assert str(path) in outcome[0]
    assert "\n" not in outcome[0]
    return None


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (0x08, np.uint8),
        (0x09, np.int8),
        (0x0B, np.int16),
        (0x0C, np.int32),
        (0x0D, np.float32),
        (0x0E, np.float64),
    ],
)
def test_every_type_is_read_back_plain_or_gzip(tmp_path, kind, dtype, pack):
    values = np.arange(24).reshape(2, 3, 4) * 5
    array = read_idx(written(tmp_path, pack(idx_bytes(values, kind))))
    assert array.dtype == np.dtype(dtype)
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, values)


def test_the_bytes_of_the_format_are_big_endian_and_row_by_row(tmp_path):
    content = bytes.fromhex("00000b02 00000002 00000001 0102 fffe")
    np.testing.assert_array_equal(read_idx(written(tmp_path, content)), [[258], [-2]])


def test_an_array_without_elements_is_read(tmp_path):
    assert read_idx(written(tmp_path, idx_bytes(np.zeros((0, 28, 28))))).shape == (0, 28, 28)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "byte offset 0: too short for an IDX header"),
        (b"\0\0\x08", "byte offset 3: too short for an IDX header"),
        (b"\x89PNG", "byte offset 0: begins with 89504e47, not with 0000; this is not an IDX file"),
        (b"\0\0\x0a\1", "byte offset 2: type 0a is unknown; the types of IDX are 08, 09, 0b, 0c, 0d, 0e"),
        (b"\0\0\x08\0", "byte offset 3: 0 axes; from 1 to 32 can be read"),
        (b"\0\0\x08\x41" + 65 * b"\0\0\0\1" + b"x", "byte offset 3: 65 axes; from 1 to 32 can be read"),
        (b"\0\0\x08\2\0\0\0\1\0", "byte offset 9: too short for the 2 sizes of its header"),
        (idx_bytes(np.ones(7), sizes=(2, 4)), "byte offset 19: the file ends after 7 of the 8 bytes of values"),
        (idx_bytes(np.ones(9), sizes=(2, 4)), "byte offset 20: bytes follow the 8 that its sizes"),
        (idx_bytes(np.ones(3), 0x0C, sizes=(4,)), "byte offset 20: the file ends after 12 of the 16 bytes of values"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_damaged_file_is_named_with_the_place(tmp_path, content, message, pack):
    with pytest.raises(DataError, match=rf"digits\.idx, {message}"):
        read_idx(written(tmp_path, pack(content)))


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        (0x08, (MOST_BYTES + 1,)),
        (0x0E, (MOST_BYTES // 8 + 1,)),
        (0x08, (2**32 - 1,) * 32),
        (0x08, (0, 2**32 - 1, 2**32 - 1, 2**32 - 1)),
    ],
)
def test_absurd_sizes_are_refused(tmp_path, kind, sizes):
    with pytest.raises(DataError, match=r"digits\.idx, byte offset 4: an array of sizes .* more than 1073741824 bytes"):
        read_idx(written(tmp_path, idx_bytes([], kind, sizes=sizes)))


def test_damaged_gzip_is_named_with_the_place(tmp_path):
    packed = bytearray(gzip.compress(idx_bytes(np.arange(100))))
    with pytest.raises(DataError, match=r"digits\.idx, after byte offset \d+: damaged gzip \(Compressed file ended"):
        read_idx(written(tmp_path, packed[:-9]))
    packed[-8] ^= 1
    with pytest.raises(DataError, match=r"digits\.idx, after byte offset \d+: damaged gzip \(CRC check failed"):
        read_idx(written(tmp_path, packed))
    with pytest.raises(DataError, match=r"digits\.idx, after byte offset 0: damaged gzip \(Not a gzipped|.*Unknown"):
        read_idx(written(tmp_path, b"\x1f\x8b\0\0" + bytes(10)))


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(DataError, match=r"nowhere: cannot be read .*put the original file there"):
        read_idx(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"cannot be read"):
        read_idx(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        idx_bytes(np.zeros(5), sizes=(MOST_BYTES,)),
        gzip.compress(idx_bytes(np.zeros(5), sizes=(MOST_BYTES,))),
        gzip.compress(idx_bytes(np.zeros(64 * MIB, dtype=np.uint8), sizes=(5,)), 1),
    ],
    ids=["sizes promise a GiB", "sizes promise a GiB, gzip", "gzip of 64 MiB too many"],
)
def test_promises_take_no_memory(tmp_path, content):
    path = written(tmp_path, content)

    def read():
        with pytest.raises(DataError, match=r"byte offset 13: (the file ends after 5 of|bytes follow the 5)"):
            read_idx(path)

    assert peak_memory(read) < 4 * MIB


@same_folder
@given(content=st.binary(max_size=200), pack=st.sampled_from([bytes, gzip.compress]))
def test_arbitrary_bytes_give_an_array_or_a_data_error(tmp_path, content, pack):
    read_or_refuse(tmp_path, pack(content))


@same_folder
@given(
    kind=st.sampled_from([*DTYPES]),
    sizes=st.lists(st.sampled_from([0, 1, 2, 3, 2**16, 2**31, 2**32 - 1]), max_size=40),
    tail=st.binary(max_size=40),
)
def test_arbitrary_headers_give_an_array_of_those_sizes_or_a_data_error(tmp_path, kind, sizes, tail):
    array = read_or_refuse(tmp_path, idx_bytes([], kind, sizes=sizes) + tail)
    fits = 0 < len(sizes) <= 32 and math.prod(max(n, 1) for n in sizes) * np.dtype(DTYPES[kind]).itemsize <= MOST_BYTES
    assert (array is not None) == (fits and math.prod(sizes) * np.dtype(DTYPES[kind]).itemsize == len(tail))
    assert array is None or array.shape == tuple(sizes)


@same_folder
@given(
    kind=st.sampled_from([*DTYPES]),
    pack=st.sampled_from([bytes, gzip.compress]),
    place=st.integers(0, 400),
    new=st.binary(max_size=4),
    removed=st.integers(0, 4),
)
def test_a_valid_file_that_is_changed_gives_an_array_or_a_data_error(tmp_path, kind, pack, place, new, removed):
    content = pack(idx_bytes(np.arange(60).reshape(3, 4, 5), kind))
    at = place % (len(content) + 1)
    changed = content[:at] + new + content[at + removed :]
    array = read_or_refuse(tmp_path, changed)
    if changed == content:
        np.testing.assert_array_equal(array, np.arange(60).reshape(3, 4, 5))
    elif len(changed) != len(content) and at > 15 and pack is bytes:
        assert array is None
