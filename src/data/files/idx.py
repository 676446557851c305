"""Reader of the IDX array format of the MNIST files (http://yann.lecun.com/exdb/mnist/); plain or gzip.

Two zero bytes, one byte for the type, one for the number of axes n, n sizes (4 bytes each), then the values, the last
axis fastest; everything is big-endian. Byte offsets in messages count from the start of the decompressed file.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from data.base import DataError

GZIP = b"\x1f\x8b"
DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 32
MOST_BYTES = 2**30
CHUNK = 1 << 20


def read_idx(path: Path) -> np.ndarray:
    """Returns the array of a file, in its own type and the machine's byte order.

    Memory grows with the bytes that are there, not with those that the sizes or a gzip file promise: never more than
    the values, one byte beyond them, and a chunk of 1 MiB.

    Raises DataError, naming the file and a byte offset, for a header that is cut short, a wrong magic number, an
    unknown type, sizes that no array of at most 32 axes and 1 GiB has, too few or too many values and damaged gzip.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            if not packed:
                return read_array(path, raw)
            with gzip.GzipFile(fileobj=raw) as stream:
                return read_array(path, stream)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error


def read_array(path: Path, stream: BinaryIO | gzip.GzipFile) -> np.ndarray:
    dtype, sizes = read_header(path, stream)
    begin = 4 + 4 * len(sizes)
    expected = math.prod(sizes) * dtype.itemsize
    # One byte more than needed shows whether the file ends there, and makes gzip verify its checksum.
    values = read_up_to(path, stream, expected + 1, offset=begin)
    if len(values) < expected:
        raise DataError(
            f"{path}, byte offset {begin + len(values)}: the file ends after {len(values)} of the {expected} bytes of "
            f"values that its sizes {sizes} need; put the original file there"
        )
    if len(values) > expected:
        raise DataError(
            f"{path}, byte offset {begin + expected}: bytes follow the {expected} that its sizes {sizes} need; "
            "put the original file there"
        )
    return np.frombuffer(values, dtype).reshape(sizes).astype(dtype.newbyteorder("="), copy=False)


def read_header(path: Path, stream: BinaryIO | gzip.GzipFile) -> tuple[np.dtype, tuple[int, ...]]:
    """Reads type and sizes, and leaves the stream at the first value."""
    magic = read_up_to(path, stream, 4, offset=0)
    if magic[:2] != bytes(2)[: len(magic)]:
        raise DataError(f"{path}, byte offset 0: begins with {magic.hex()}, not with 0000; this is not an IDX file")
    if len(magic) < 4:
        raise DataError(f"{path}, byte offset {len(magic)}: too short for an IDX header; put the original file there")
    kind, axes = magic[2:]
    if kind not in DTYPES:
        known = ", ".join(f"{code:02x}" for code in DTYPES)
        raise DataError(f"{path}, byte offset 2: type {kind:02x} is unknown; the types of IDX are {known}")
    if not 1 <= axes <= MOST_AXES:
        raise DataError(f"{path}, byte offset 3: {axes} axes; from 1 to {MOST_AXES} can be read")
    packed = read_up_to(path, stream, 4 * axes, offset=4)
    if len(packed) < 4 * axes:
        raise DataError(
            f"{path}, byte offset {4 + len(packed)}: too short for the {axes} sizes of its header; "
            "put the original file there"
        )
    return np.dtype(DTYPES[kind]), checked_sizes(path, struct.unpack(f">{axes}I", packed), np.dtype(DTYPES[kind]))


def checked_sizes(path: Path, sizes: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    # NumPy leaves zeros out when it looks whether an array is too big.
    if math.prod(max(size, 1) for size in sizes) * dtype.itemsize > MOST_BYTES:
        raise DataError(
            f"{path}, byte offset 4: an array of sizes {sizes} would take more than {MOST_BYTES} bytes; "
            "put the original file there"
        )
    return sizes


def read_up_to(path: Path, stream: BinaryIO | gzip.GzipFile, count: int, *, offset: int) -> bytearray:
    """Reads at most `count` bytes, fewer where the stream ends, in chunks so that a promise alone takes no memory."""
    content = bytearray()
    try:
        while len(content) < count and (chunk := stream.read(min(CHUNK, count - len(content)))):
            content += chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        where = offset + len(content)
        raise DataError(
            f"{path}, after byte offset {where}: damaged gzip ({error}); put the original file there"
        ) from error
    return content
