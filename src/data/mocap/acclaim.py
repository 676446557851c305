"""Acclaim skeletons (ASF) and motions (AMC), as distributed by the CMU motion capture database, and their kinematics.

ASF gives each bone a direction, a length, a local frame C (`axis`) and its degrees of freedom; AMC gives one value a
degree of freedom and frame, in degrees. With M = Rz Ry Rx of the bone's angles (those it lacks are 0),
G = G_parent C M Cᵀ and end = start + G · direction · length; a bone starts where its parent ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.files.textfile import Line, fail, read_lines, read_numbers
from data.mocap.kinematics import AXES, bone_ends, euler_rotations

TURNS = ("rx", "ry", "rz")
ROOT_CHANNELS = ("tx", "ty", "tz", *TURNS)


class Bone(NamedTuple):
    """Holds one bone of a skeleton. vector: direction × length at rest, (3,); frame: C, (3, 3); channels: its
    degrees of freedom, in order."""

    name: str
    parent: int
    vector: np.ndarray
    frame: np.ndarray
    channels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Skeleton:
    """Holds bones in an order where parents come first; bone 0 is "root", of length 0. unit: the file's `length`
    entry."""

    bones: tuple[Bone, ...]
    unit: float

    def bone(self, name: str) -> Bone:
        """Returns the bone of that name. Raises KeyError with the name when there is none."""
        return {bone.name: bone for bone in self.bones}[name]


@dataclass(frozen=True, eq=False)
class Motion:
    """Holds the frames of an AMC file. frames: the file's own frame numbers, int64 (frame,). values: (frame,
    channel), channels bone by bone."""

    frames: np.ndarray
    values: np.ndarray


def read_skeleton(path: Path) -> Skeleton:
    """Reads an ASF file. Raises DataError, with the line, for one that is cut short, malformed or of another
    dialect."""
    sections = _sections(path, read_lines(path))
    unit = _unit(path, sections["units"])
    _check_root(path, sections["root"])
    bones = {"root": Bone("root", -1, np.zeros(3), np.eye(3), ROOT_CHANNELS)}
    for block in _blocks(path, sections["bonedata"]):
        bone = _bone(path, block)
        if bone.name in bones:
            fail(path, block[0].number, f"bone {bone.name!r} is defined twice")
        bones[bone.name] = bone
    return Skeleton(_in_tree_order(path, bones, sections["hierarchy"]), unit)


def read_motion(path: Path, skeleton: Skeleton) -> Motion:
    """Reads an AMC file that belongs to `skeleton`.

    Frames must be numbered without gaps (the first number is free) and each must give every movable bone once.
    Raises DataError, with the line, otherwise; a last frame that is cut short is an error, too.
    """
    widths = {bone.name: len(bone.channels) for bone in skeleton.bones if bone.channels}
    numbers: list[int] = []
    rows: list[list[float]] = []
    for frame in _frames(path, read_lines(path)):
        numbers.append(_frame_number(path, frame[0], numbers))
        rows.append(_frame_values(path, frame, widths))
    return Motion(np.array(numbers, dtype=np.int64), np.array(rows))


def positions(skeleton: Skeleton, motion: Motion) -> dict[str, np.ndarray]:
    """Returns the ends of all bones in the file's length unit, (frame, 3) each; "root" is the root's own position."""
    stops = np.cumsum([len(bone.channels) for bone in skeleton.bones])
    values = np.split(motion.values, stops[:-1], axis=1)
    root = values[0][:, :3]
    values[0] = values[0][:, 3:]
    local = [_local_rotations(bone, angles) for bone, angles in zip(skeleton.bones, values, strict=True)]
    parents = [bone.parent for bone in skeleton.bones]
    ends = bone_ends(parents, [bone.vector for bone in skeleton.bones], local, root)
    return {bone.name: end for bone, end in zip(skeleton.bones, ends, strict=True)}


def _local_rotations(bone: Bone, angles: np.ndarray) -> np.ndarray:
    """Returns C Rz Ry Rx Cᵀ for each row of angles, with the factors of missing degrees of freedom left out."""
    turns = [channel[1].upper() for channel in bone.channels if channel in TURNS]
    return bone.frame @ euler_rotations("".join(reversed(turns)), angles[:, ::-1]) @ bone.frame.T


def _sections(path: Path, lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Returns the lines by `:keyword`, the keyword's own line first. Raises DataError for a file that lacks a
    section."""
    sections: dict[str, list[Line]] = {}
    current: list[Line] = []
    for line in lines:
        if line.tokens[0].startswith(":"):
            current = sections.setdefault(line.tokens[0][1:], [])
        current.append(line)
    for needed in ("units", "root", "bonedata", "hierarchy"):
        if needed not in sections:
            fail(path, lines[-1].number, f"the file ends without a section :{needed}; it is cut short or no ASF file")
    return sections


def _unit(path: Path, section: Sequence[Line]) -> float:
    entries = {line.tokens[0]: line for line in section[1:]}
    for needed in ("length", "angle"):
        if needed not in entries:
            fail(path, section[0].number, f"section :units has no entry {needed!r}")
    if entries["angle"].tokens[1:] != ["deg"]:
        fail(path, entries["angle"].number, "only angles in degrees (deg) are supported")
    return read_numbers(path, entries["length"].number, entries["length"].tokens[1:], 1)[0]


def _check_root(path: Path, section: Sequence[Line]) -> None:
    """Raises DataError for a root that is not of the CMU form, which alone is supported: translations, rotations about
    x, y, z, and no rest transform."""
    expected = {
        "order": ["TX", "TY", "TZ", "RX", "RY", "RZ"],
        "axis": ["XYZ"],
        "position": ["0", "0", "0"],
        "orientation": ["0", "0", "0"],
    }
    for line in section[1:]:
        if expected.get(line.tokens[0]) != line.tokens[1:]:
            fail(path, line.number, f"unsupported root entry {' '.join(line.tokens)!r}")


def _blocks(path: Path, section: Sequence[Line]) -> Iterator[list[Line]]:
    """Yields the lines between each `begin` and `end`; the `begin` line stays as the first. Raises DataError for one of
    them that is out of place or missing."""
    block: list[Line] = []
    for line in section[1:]:
        word = line.tokens[0]
        if (word == "begin") == bool(block):
            fail(path, line.number, f"{word!r} is out of place between 'begin' and 'end'")
        if word == "end":
            yield block
            block = []
        else:
            block.append(line)
    if block:
        fail(path, section[-1].number, "the file ends before the block's 'end'; it is cut short")


def _bone(path: Path, block: Sequence[Line]) -> Bone:
    entries = {line.tokens[0]: line for line in block[1:]}
    for needed in ("name", "direction", "length", "axis"):
        if needed not in entries:
            fail(path, block[0].number, f"a bone without {needed!r}")
    number, (_, *axis) = entries["axis"]
    order = axis[-1] if axis else ""
    if sorted(order) != list(AXES):
        fail(path, number, f"axis order {order!r} is no permutation of XYZ")
    angles = np.array([read_numbers(path, number, axis[:-1], 3)])
    by_axis = angles[:, [AXES.index(letter) for letter in reversed(order)]]
    frame = euler_rotations(order[::-1], by_axis)[0]
    direction = read_numbers(path, entries["direction"].number, entries["direction"].tokens[1:], 3)
    length = read_numbers(path, entries["length"].number, entries["length"].tokens[1:], 1)[0]
    name = " ".join(entries["name"].tokens[1:])
    return Bone(name, -1, np.array(direction) * length, frame, _channels(path, entries.get("dof")))


def _channels(path: Path, line: Line | None) -> tuple[str, ...]:
    channels = tuple(line.tokens[1:]) if line else ()
    if line and channels != tuple(turn for turn in TURNS if turn in channels):
        fail(
            path, line.number, f"degrees of freedom {' '.join(channels)!r}: only rx ry rz, in this order, are supported"
        )
    return channels


def _in_tree_order(path: Path, bones: dict[str, Bone], section: Sequence[Line]) -> tuple[Bone, ...]:
    """Returns the bones as `:hierarchy` lists them, with parents as indices. Raises DataError for a bone that is
    unknown, repeated, not yet placed or left out."""
    index = {"root": 0}
    ordered = [bones["root"]]
    for block in _blocks(path, section):
        for number, (parent, *children) in block[1:]:
            for child in children:
                if parent not in index or child not in bones or child in index:
                    fail(
                        path, number, f"{parent!r} above {child!r}: a bone that is unknown, repeated or not yet placed"
                    )
                index[child] = len(ordered)
                ordered.append(bones[child]._replace(parent=index[parent]))
    if len(ordered) != len(bones):
        missing = ", ".join(sorted(bones.keys() - index.keys()))
        fail(path, section[-1].number, f"the hierarchy leaves out {missing}; the file may be cut short")
    return tuple(ordered)


def _frames(path: Path, lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """Yields the lines of each frame, its number first; the header's lines start with ':'. Raises DataError for a
    header without :DEGREES and for a missing first frame."""
    first = next((i for i, line in enumerate(lines) if not line.tokens[0].startswith(":")), len(lines))
    if [":DEGREES"] not in [line.tokens for line in lines[:first]]:
        fail(path, lines[0].number, "the header has no :DEGREES; only angles in degrees are supported")
    body = lines[first:]
    starts = [i for i, line in enumerate(body) if len(line.tokens) == 1]
    if not starts or starts[0] > 0:
        fail(
            path,
            (body or lines)[0].number,
            "expected the number of the first frame; the file is cut short or no AMC file",
        )
    for start, stop in zip(starts, [*starts[1:], len(body)], strict=True):
        yield body[start:stop]


def _frame_number(path: Path, line: Line, before: Sequence[int]) -> int:
    token = line.tokens[0]
    if not token.isdecimal() or (before and int(token) != before[-1] + 1):
        expected = f"{before[-1] + 1}" if before else "a frame number"
        fail(path, line.number, f"expected {expected}, found {token!r}")
    return int(token)


def _frame_values(path: Path, frame: Sequence[Line], widths: dict[str, int]) -> list[float]:
    """Returns one frame's values in the skeleton's channel order, whatever the order of the lines. Raises DataError for
    a bone that is unknown, repeated or missing."""
    by_bone: dict[str, list[float]] = {}
    for number, (name, *tokens) in frame[1:]:
        if name not in widths or name in by_bone:
            fail(path, number, f"bone {name!r} is repeated, or not a movable bone of the skeleton")
        by_bone[name] = read_numbers(path, number, tokens, widths[name])
    missing = [name for name in widths if name not in by_bone]
    if missing:
        fail(
            path, frame[-1].number, f"frame {frame[0].tokens[0]} ends without {missing[0]!r}; the file may be cut short"
        )
    return [value for name in widths for value in by_bone[name]]
