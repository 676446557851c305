"""Biovision hierarchical motion files (BVH) and their kinematics.

A joint's position is p = p_parent + G_parent (offset + translation), its rotation G = G_parent R₁ R₂ R₃ with one factor
a rotation channel, in the order in which the file lists the channels (leftmost first).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.files.textfile import Line, fail, read_lines, read_numbers
from data.mocap.kinematics import euler_rotations, global_rotations, path_sums

ROTATIONS = {"Xrotation": "X", "Yrotation": "Y", "Zrotation": "Z"}
TRANSLATIONS = {"Xposition": 0, "Yposition": 1, "Zposition": 2}


class Joint(NamedTuple):
    """Holds one joint. offset: from the parent's position, in the parent's frame, (3,). An end site has no channels."""

    name: str
    parent: int
    offset: np.ndarray
    channels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Clip:
    """Holds the content of a BVH file. joints: parents first, end sites named "<joint> end". values: (frame,
    channel), channels joint by joint."""

    joints: tuple[Joint, ...]
    values: np.ndarray

    def with_offsets(self, offsets: Mapping[str, np.ndarray]) -> Clip:
        """Returns the same clip with other offsets for the joints named."""
        joints = tuple(joint._replace(offset=offsets.get(joint.name, joint.offset)) for joint in self.joints)
        return replace(self, joints=joints)


def read_clip(path: Path) -> Clip:
    """Reads a BVH file, all rows. Raises DataError, with the line, for a file that is cut short or malformed."""
    lines = read_lines(path)
    start = next((i for i, line in enumerate(lines) if line.tokens == ["MOTION"]), None)
    if start is None:
        fail(path, lines[-1].number, "the file ends without MOTION; it is cut short or no BVH file")
    joints = _read_joints(path, lines[:start])
    return Clip(joints, _read_rows(path, lines[start:], sum(len(joint.channels) for joint in joints)))


def positions(clip: Clip) -> dict[str, np.ndarray]:
    """Returns the positions of all joints and end sites in the file's length unit, (frame, 3) each."""
    stops = np.cumsum([len(joint.channels) for joint in clip.joints])
    values = np.split(clip.values, stops[:-1], axis=1)
    parents = [joint.parent for joint in clip.joints]
    turned = global_rotations(parents, [_rotations(j, v) for j, v in zip(clip.joints, values, strict=True)])
    steps = [joint.offset + _translations(joint, v) for joint, v in zip(clip.joints, values, strict=True)]
    for i, parent in enumerate(parents[1:], start=1):
        steps[i] = np.einsum("tij,tj->ti", turned[parent], steps[i])
    return {joint.name: p for joint, p in zip(clip.joints, path_sums(parents, steps), strict=True)}


def _rotations(joint: Joint, values: np.ndarray) -> np.ndarray:
    columns = [i for i, channel in enumerate(joint.channels) if channel in ROTATIONS]
    return euler_rotations("".join(ROTATIONS[joint.channels[i]] for i in columns), values[:, columns])


def _translations(joint: Joint, values: np.ndarray) -> np.ndarray:
    moved = np.zeros((len(values), 3))
    for i, channel in enumerate(joint.channels):
        if channel in TRANSLATIONS:
            moved[:, TRANSLATIONS[channel]] = values[:, i]
    return moved


def _read_joints(path: Path, lines: Sequence[Line]) -> tuple[Joint, ...]:
    if [line.tokens for line in lines[:1]] != [["HIERARCHY"]]:
        fail(path, 1, "expected HIERARCHY; this is no BVH file")
    joints: list[Joint] = []
    open_joints: list[int] = []
    pending = False
    for line in lines[1:]:
        word, *rest = line.tokens
        if pending != (word == "{"):
            fail(path, line.number, f"{word!r} is out of place; expected {'an opening' if pending else 'no'} brace")
        pending = word in ("ROOT", "JOINT", "End")
        if pending:
            joints.append(_new_joint(path, line, joints, open_joints))
        elif word == "{":
            open_joints.append(len(joints) - 1)
        elif not open_joints:
            fail(path, line.number, f"{word!r} outside of any joint")
        elif word == "}":
            open_joints.pop()
        elif word == "OFFSET":
            joints[-1] = joints[-1]._replace(offset=np.array(read_numbers(path, line.number, rest, 3)))
        elif word == "CHANNELS":
            joints[-1] = joints[-1]._replace(channels=_channels(path, line.number, rest))
        else:
            fail(path, line.number, f"unknown entry {word!r}")
    _check_joints(path, lines[-1].number, joints, closed=not open_joints and not pending)
    return tuple(joints)


def _new_joint(path: Path, line: Line, joints: Sequence[Joint], open_joints: Sequence[int]) -> Joint:
    word, *rest = line.tokens
    if len(rest) != 1 or (word == "ROOT") == bool(joints) or (word != "ROOT" and not open_joints):
        fail(path, line.number, f"{' '.join(line.tokens)!r} is out of place; expected one ROOT and joints inside it")
    parent = open_joints[-1] if open_joints else -1
    name = f"{joints[parent].name} end" if word == "End" else rest[0]
    if any(joint.name == name for joint in joints):
        fail(path, line.number, f"joint {name!r} is defined twice")
    return Joint(name, parent, np.full(3, np.nan), ())


def _channels(path: Path, line: int, tokens: Sequence[str]) -> tuple[str, ...]:
    count, channels = "".join(tokens[:1]), tokens[1:]
    known = all(channel in ROTATIONS or channel in TRANSLATIONS for channel in channels)
    if count != str(len(channels)) or not known or len(set(channels)) != len(channels):
        fail(path, line, f"bad channel list {' '.join(tokens)!r}")
    return tuple(channels)


def _check_joints(path: Path, line: int, joints: Sequence[Joint], *, closed: bool) -> None:
    bare = [joint.name for joint in joints if np.isnan(joint.offset).any()]
    if not joints or not closed or bare:
        what = f"joint {bare[0]!r} has no OFFSET" if bare else "a brace is left open, or there is no joint"
        fail(path, line, f"the hierarchy is incomplete: {what}")


def _read_rows(path: Path, lines: Sequence[Line], channels: int) -> np.ndarray:
    """Returns the numbers (row, channel). It reads from the MOTION line on: "Frames: n", "Frame Time: s", a number that
    is not needed, then n rows of numbers. Raises DataError for lines that are missing or another count of rows."""
    if len(lines) < 3 or lines[1].tokens[0] != "Frames:" or lines[2].tokens[:2] != ["Frame", "Time:"]:
        fail(path, lines[0].number, "expected 'Frames:' and 'Frame Time:' after MOTION; the file may be cut short")
    count = read_numbers(path, lines[1].number, lines[1].tokens[1:], 1)[0]
    read_numbers(path, lines[2].number, lines[2].tokens[2:], 1)
    rows = [read_numbers(path, number, tokens, channels) for number, tokens in lines[3:]]
    if len(rows) != count:
        fail(path, lines[-1].number, f"{count:g} rows announced, {len(rows)} found; the file may be cut short")
    return np.array(rows).reshape(len(rows), channels)
