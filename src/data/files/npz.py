"""NPZ files of others, read without trust: no pickle, no odd names, and no more memory than the file accounts for."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.lib import format as npy

MOST_UNPACKED = 4 * 2**30
SYMLINK, KIND = 0o120000, 0o170000


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Returns all arrays of an NPZ file. Nothing is written to disk, whatever the names in it say.

    Raises ValueError for a name that leaves the archive, a link, compressed contents of more than `MOST_UNPACKED`
    bytes, an array whose header promises another size than its member has, and objects (pickles); what zipfile and
    NumPy raise for damage (ValueError, EOFError, OSError, BadZipFile).
    """
    with path.open("rb") as opened, zipfile.ZipFile(opened) as archive:
        members = archive.infolist()
        for member in members:
            _check_member(member)
        _check_size(members)
        for member in members:
            _check_header(archive, member)
        opened.seek(0)
        with np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def _check_member(member: zipfile.ZipInfo) -> None:
    name = PurePosixPath(member.filename.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or ":" in member.filename:
        raise ValueError(f"the archive names {member.filename!r}, which lies outside of it; it is not to be trusted")
    if (member.external_attr >> 16) & KIND == SYMLINK:
        raise ValueError(f"{member.filename!r} in the archive is a link; it is not to be trusted")


def _check_size(members: list[zipfile.ZipInfo]) -> None:
    unpacked = sum(member.file_size for member in members if member.compress_type != zipfile.ZIP_STORED)
    if unpacked > MOST_UNPACKED:
        raise ValueError(
            f"it unpacks to {unpacked} bytes, more than {MOST_UNPACKED}; if you trust it, save it with numpy.savez, "
            "which does not compress"
        )


def _check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Raises ValueError for an array whose header promises another size than its member has. NumPy makes room for what
    a header promises before it reads on."""
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        promised = stream.tell() + int(np.prod([int(size) for size in shape], dtype=object)) * dtype.itemsize
    if not dtype.hasobject and promised != member.file_size:
        raise ValueError(
            f"{member.filename!r} promises {promised} bytes and has {member.file_size}; the file is damaged"
        )
