"""BVH: round trips, kinematics against scipy, and errors that name the line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from data.base import DataError
from data.mocap.bvh import positions, read_clip

HIERARCHY = """HIERARCHY
ROOT Hips
{
\tOFFSET 0 1 0
\tCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
\tJOINT Leg
\t{
\t\tOFFSET 0 -2 0
\t\tCHANNELS 3 Xrotation Zrotation Yrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0 0 3
\t\t}
\t}
\tJOINT Arm
\t{
\t\tOFFSET 1 0 0
\t\tCHANNELS 1 Zposition
\t}
}
"""


def text_of(rows) -> str:
    lines = [" ".join(map(repr, row)) for row in np.asarray(rows).tolist()]
    return HIERARCHY + f"MOTION\nFrames: {len(rows)}\nFrame Time: .0083333\n" + "\n".join([*lines, ""])


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), frames=st.integers(1, 4))
def test_rows_written_out_are_read_back_exactly(tmp_path_factory, seed, frames):
    rows = np.random.default_rng(seed).normal(scale=90, size=(frames, 10))
    clip = read_clip(write(tmp_path_factory.mktemp("bvh") / "round.bvh", text_of(rows)))
    np.testing.assert_array_equal(clip.values, rows)
    assert [(joint.name, joint.parent) for joint in clip.joints] == [
        ("Hips", -1),
        ("Leg", 0),
        ("Leg end", 1),
        ("Arm", 0),
    ]


def test_positions_follow_the_formula_frame_by_frame(tmp_path):
    rows = np.random.default_rng(1).uniform(-60, 60, size=(3, 10))
    found = positions(read_clip(write(tmp_path / "a.bvh", text_of(rows))))
    for t, row in enumerate(rows):
        hips = Rotation.from_euler("ZYX", row[3:6], degrees=True).as_matrix()
        leg = hips @ Rotation.from_euler("XZY", row[6:9], degrees=True).as_matrix()
        at = row[:3] + np.array([0, 1, 0])
        knee = at + hips @ [0, -2, 0]
        expected = {"Hips": at, "Leg": knee, "Leg end": knee + leg @ [0, 0, 3], "Arm": at + hips @ [1, 0, row[9]]}
        for joint, position in expected.items():
            np.testing.assert_allclose(found[joint][t], position, atol=1e-12, err_msg=joint)


def test_an_offset_can_be_replaced(tmp_path):
    clip = read_clip(write(tmp_path / "a.bvh", text_of(np.zeros((1, 10)))))
    moved = positions(clip.with_offsets({"Arm": np.array([5.0, 6.0, 7.0])}))
    np.testing.assert_allclose(moved["Arm"], [[5.0, 7.0, 7.0]])
    np.testing.assert_allclose(moved["Leg"], positions(clip)["Leg"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HIERARCHY\n", "", r"line 1: expected HIERARCHY"),
        ("ROOT Hips", "JOINT Hips", r"line 2: 'JOINT Hips' is out of place"),
        ("JOINT Arm", "JOINT Leg", r"line 15: joint 'Leg' is defined twice"),
        ("\t\tOFFSET 1 0 0\n", "", r"line 19: the hierarchy is incomplete: joint 'Arm' has no OFFSET"),
        ("OFFSET 1 0 0", "OFFSET 1 0", r"line 17: expected 3 numbers, found 2"),
        ("CHANNELS 1 Zposition", "CHANNELS 2 Zposition", r"line 18: bad channel list"),
        ("CHANNELS 1 Zposition", "CHANNELS 1 Wposition", r"line 18: bad channel list"),
        ("CHANNELS 1 Zposition", "CHANNELS", r"line 18: bad channel list"),
        ("\t\tCHANNELS 1 Zposition", "\t\tSCALE 1", r"line 18: unknown entry 'SCALE'"),
        ("JOINT Arm\n\t{", "JOINT Arm", r"line 16: 'OFFSET' is out of place; expected an opening brace"),
        ("\t}\n}\n", "\t}\n", r"line 19: the hierarchy is incomplete: a brace is left open"),
        ("\t}\n}\n", "\t}\n}\n}\n", r"line 21: '}' outside of any joint"),
        ("Frames: 2", "Frames: 3", r"line 25: 3 rows announced, 2 found"),
        ("Frames: 2", "Frames: 1", r"line 25: 1 rows announced, 2 found"),
        ("Frame Time: .0083333\n", "", r"line 21: expected 'Frames:' and 'Frame Time:'"),
        ("0.5", "x", r"line 24: expected numbers"),
        ("0.5", "nan", r"line 24: a number that is not finite"),
        ("0.5 ", "", r"line 24: expected 10 numbers, found 9"),
    ],
)
def test_a_malformed_file_is_refused_by_line(tmp_path, old, new, message):
    text = text_of([[0.5, *[1.0] * 9], [2.0] * 10])
    assert text.count(old) == 1
    path = write(tmp_path / "bad.bvh", text.replace(old, new))
    with pytest.raises(DataError, match=rf"bad\.bvh, {message}"):
        read_clip(path)


@pytest.mark.parametrize("kept", range(1, 25))
def test_a_file_cut_short_anywhere_is_refused(tmp_path, kept):
    lines = text_of(np.ones((2, 10))).splitlines()
    path = write(tmp_path / "cut.bvh", "\n".join(lines[:kept]))
    with pytest.raises(DataError, match=r"cut\.bvh, line \d+: "):
        read_clip(path)
