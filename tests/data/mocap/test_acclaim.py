"""ASF and AMC: round trips of random motions, kinematics against scipy, and errors that name the line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from data.base import DataError
from data.mocap.acclaim import Motion, Skeleton, positions, read_motion, read_skeleton

ASF = """# a body of three bones
:version 1.10
:units
  mass 1.0
  length 0.45
  angle deg
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name back
     direction 0 1 0
     length 2.5
     axis 0 0 0  XYZ
    dof rx ry rz
    limits (-20.0 45.0)
           (-30.0 30.0)
           (-30.0 30.0)
  end
  begin
     id 2
     name arm
     direction 1 0 0
     length 3
     axis 10 20 30  XYZ
    dof rx rz
  end
  begin
     id 3
     name nail
     direction 0.6 0 0.8
     length 0.5
     axis 0 0 40  XYZ
  end
:hierarchy
  begin
    root back
    back arm
    arm nail
  end
"""
WIDTHS = {"root": 6, "back": 3, "arm": 2}
AMC_HEADER = "#!OML:ASF body.ASF\n:FULLY-SPECIFIED\n:DEGREES\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("acclaim")


@pytest.fixture(scope="module")
def skeleton(folder) -> Skeleton:
    return read_skeleton(write(folder / "body.asf", ASF))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def amc(values, *, first=1, order=("root", "back", "arm"), end="\n") -> str:
    """The text of a motion, its bones in any order."""
    columns = dict(zip(WIDTHS, np.split(np.asarray(values), [6, 9], axis=1), strict=True))
    lines = []
    for frame in range(len(values)):
        lines.append(str(first + frame))
        lines += [" ".join([bone, *map(repr, columns[bone][frame].tolist())]) for bone in order]
    return AMC_HEADER.replace("\n", end) + end.join([*lines, ""])


def test_skeleton_has_bones_in_tree_order_with_vectors_and_frames(skeleton):
    assert [(bone.name, bone.parent, bone.channels) for bone in skeleton.bones] == [
        ("root", -1, ("tx", "ty", "tz", "rx", "ry", "rz")),
        ("back", 0, ("rx", "ry", "rz")),
        ("arm", 1, ("rx", "rz")),
        ("nail", 2, ()),
    ]
    assert skeleton.unit == 0.45
    np.testing.assert_allclose(skeleton.bone("nail").vector, [0.3, 0.0, 0.4])
    frame = Rotation.from_euler("xyz", [10, 20, 30], degrees=True).as_matrix()
    np.testing.assert_allclose(skeleton.bone("arm").frame, frame, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    frames=st.integers(1, 5),
    first=st.integers(1, 500),
    order=st.permutations(list(WIDTHS)),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_a_motion_written_out_is_read_back_exactly(folder, skeleton, seed, frames, first, order, end):
    values = np.random.default_rng(seed).normal(scale=90, size=(frames, 11))
    path = folder / "round.amc"
    path.write_bytes(amc(values, first=first, order=order, end=end).encode())
    motion = read_motion(path, skeleton)
    np.testing.assert_array_equal(motion.values, values)
    np.testing.assert_array_equal(motion.frames, np.arange(first, first + frames))


def test_positions_follow_the_formula_frame_by_frame(skeleton):
    values = np.random.default_rng(3).uniform(-60, 60, size=(4, 11))
    ends = positions(skeleton, Motion(np.arange(4), values))

    def turn(order, degrees):
        return Rotation.from_euler(order, degrees, degrees=True).as_matrix()

    for t, row in enumerate(values):
        root = turn("xyz", row[3:6])
        back = root @ turn("xyz", row[6:9])
        frame = turn("xyz", [10, 20, 30])
        arm = back @ frame @ turn("xyz", [row[9], 0, row[10]]) @ frame.T
        back_end = row[:3] + back @ [0, 2.5, 0]
        arm_end = back_end + arm @ [3, 0, 0]
        expected = {"root": row[:3], "back": back_end, "arm": arm_end, "nail": arm_end + arm @ [0.3, 0, 0.4]}
        for bone, end in expected.items():
            np.testing.assert_allclose(ends[bone][t], end, atol=1e-12, err_msg=bone)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  angle deg", "  angle rad", r"line 6: only angles in degrees"),
        ("  length 0.45\n", "", r"line 3: section :units has no entry 'length'"),
        ("   position 0 0 0", "   position 0 1 0", r"line 10: unsupported root entry 'position 0 1 0'"),
        ("     length 3\n", "", r"line 24: a bone without 'length'"),
        ("     length 3\n", "     length three\n", r"line 28: expected numbers"),
        ("direction 0 1 0", "direction 0 1", r"line 16: expected 3 numbers, found 2"),
        ("direction 0 1 0", "direction 0 nan 0", r"line 16: a number that is not finite"),
        ("axis 10 20 30  XYZ", "axis 10 20 30", r"line 29: axis order '30' is no permutation of XYZ"),
        ("dof rx rz", "dof rz rx", r"line 30: degrees of freedom 'rz rx'"),
        ("name arm", "name back", r"line 24: bone 'back' is defined twice"),
        ("    arm nail\n", "", r"line 43: the hierarchy leaves out nail"),
        ("    arm nail\n", "    leg nail\n", r"line 43: 'leg' above 'nail'"),
        ("    arm nail\n", "    arm leg\n", r"line 43: 'arm' above 'leg'"),
        ("    dof rx rz\n  end\n", "    dof rx rz\n", r"line 31: 'begin' is out of place"),
    ],
)
def test_a_malformed_skeleton_is_refused_by_line(tmp_path, old, new, message):
    assert ASF.count(old) == 1
    path = write(tmp_path / "bad.asf", ASF.replace(old, new))
    with pytest.raises(DataError, match=rf"bad\.asf, {message}"):
        read_skeleton(path)


@pytest.mark.parametrize("kept", range(1, ASF.count("\n")))
def test_a_skeleton_cut_short_anywhere_is_refused(tmp_path, kept):
    path = write(tmp_path / "cut.asf", "\n".join(ASF.splitlines()[:kept]))
    with pytest.raises(DataError, match=r"cut\.asf"):
        read_skeleton(path)


@pytest.mark.parametrize("kept", [n for n in range(2, 15) if n not in (7, 11)])
def test_a_motion_cut_within_a_frame_is_refused(tmp_path, skeleton, kept):
    lines = amc(np.ones((3, 11))).splitlines()
    path = write(tmp_path / "cut.amc", "\n".join(lines[:kept]))
    with pytest.raises(DataError, match=r"cut\.amc, line \d+: "):
        read_motion(path, skeleton)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n2\n", "\n3\n", r"line 8: expected 2, found '3'"),
        ("\n2\n", "\ntwo\n", r"line 8: expected 2, found 'two'"),
        (":DEGREES", ":RADIANS", r"line 2: the header has no :DEGREES"),
        ("1\nroot", "root", r"line 4: expected the number of the first frame"),
        ("2\nroot", "2\nleg", r"line 9: bone 'leg' is repeated, or not a movable bone"),
        ("2\nroot 1.0", "2\nroot", r"line 9: expected 6 numbers, found 5"),
        ("2\nroot 1.0", "2\nroot x", r"line 9: expected numbers"),
        ("2\nroot 1.0", "2\nroot inf", r"line 9: a number that is not finite"),
    ],
)
def test_a_malformed_motion_is_refused_by_line(tmp_path, skeleton, old, new, message):
    text = amc(np.ones((2, 11)))
    assert text.count(old) == 1
    path = write(tmp_path / "bad.amc", text.replace(old, new))
    with pytest.raises(DataError, match=rf"bad\.amc, {message}"):
        read_motion(path, skeleton)


def test_files_that_are_missing_empty_or_binary_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.asf: cannot be read as text"):
        read_skeleton(tmp_path / "none.asf")
    with pytest.raises(DataError, match=r"empty\.asf: the file is empty"):
        read_skeleton(write(tmp_path / "empty.asf", "\n# nothing\n"))
    (tmp_path / "binary.asf").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"binary\.asf: cannot be read as text"):
        read_skeleton(tmp_path / "binary.asf")
