"""The handwriting data set: where its file comes from, how writers are split, and, with the file at hand, its size."""

import hashlib
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.base import DataError
from data.files.download import open_https
from data.pendigits import load as handwriting
from data.pendigits.load import CHECKSUMS, FILE, FOLDER, PUBLISHED, Handwriting, draw_trajectories, trajectory_rows
from data.pendigits.unipen import Digit, read_digits


def load_handwriting(*, opener=open_https, **settings):
    return Handwriting(**settings).load(opener)


def recordings() -> Path:
    beside = Path(__file__).parents[4] / "shared" / "data"
    return Path(os.environ.get("PIPELINE_DATA_ROOT") or beside)


needs_recordings = pytest.mark.skipif(
    not (recordings() / FOLDER / FILE).exists(),
    reason="the UCI pen digits are not at hand; set PIPELINE_DATA_ROOT to the folder that holds pendigits_orig/",
)


def unipen_text(writers=30, digits=3) -> str:
    """Digit d of writer w has 10 + d points at (w, d), in two strokes."""
    lines = []
    for digit in range(digits):
        for writer in range(writers):
            lines += [f'.SEGMENT DIGIT 0 ? "{digit}"', f".COMMENT {digit} {writer} 0"]
            for points in (4, 6 + digit):
                lines += [".PEN_DOWN", *[f" {writer} {digit}"] * points, ".PEN_UP", ".DT 100"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A data root with a small file in plain text in place of the real one."""
    path = tmp_path / FOLDER / FILE
    path.parent.mkdir()
    path.write_text(unipen_text(), encoding="ascii")
    monkeypatch.setitem(CHECKSUMS, FILE, hashlib.sha256(path.read_bytes()).hexdigest())
    return str(tmp_path)


def writers(dataset):
    return [name for part in dataset.parts.values() for name in part.names]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "mnist"}, r"source=mnist is unknown; choose one of auto, uci, stand_in"),
        ({"trajectory": "word"}, r"trajectory='word' is unknown; choose one of writer, digit"),
        ({"steps": 0}, r"steps must be at least 1, not 0; for all of them give steps=None$"),
        ({"seed": -1}, r"seed must be at least 0, not -1"),
        ({"test": 0}, r"trajectories=25 with test=0 and validation=4 leaves 21 for training"),
        ({"validation": 0}, r"trajectories=25 with test=5 and validation=0 leaves 20 for training; each of the three"),
        ({"test": 21}, r"trajectories=25 with test=21 and validation=4 leaves 0 for training"),
        ({"trajectories": 31}, r"there are 30 writers, trajectories=31 asks for more; lower it"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(DataError, match=rf"^handwriting: {message}"):
        load_handwriting(**{"root": None, "source": "stand_in", **arguments})


def test_a_pause_follows_every_stroke_where_the_pen_left():
    digit = Digit("4", "1", [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])])
    expected = [[1, 2, 1], [3, 4, 1], [3, 4, 0], [5, 6, 1], [5, 6, 0]]
    np.testing.assert_array_equal(trajectory_rows(digit), expected)


def test_all_digits_of_a_writer_are_joined_in_the_files_order(root, forbidden):
    dataset = load_handwriting(root=root, steps=None, opener=forbidden)
    assert (dataset.name, dataset.source, dataset.stand_in) == ("handwriting", "uci", False)
    assert (dataset.feature_names, dataset.units) == (("x", "y", "pen"), ("tablet unit", "tablet unit", ""))
    assert [len(part) for part in dataset.parts.values()] == [16, 4, 5]
    for part in dataset.parts.values():
        for name, array in zip(part.names, part.to_arrays(), strict=True):
            np.testing.assert_array_equal(array[:, 0], int(name.removeprefix("writer_")))
            np.testing.assert_array_equal(array[:, 1], np.repeat([0, 1, 2], [12, 13, 14]))
            assert np.flatnonzero(array[:, 2] == 0).tolist() == [4, 11, 16, 24, 29, 38]
            assert set(np.unique(array[:, 2])) == {0.0, 1.0}


def test_steps_cut_every_trajectory(root):
    dataset = load_handwriting(root=root, steps=20)
    assert dataset.train.values.shape == (16, 20, 3)
    assert bool(dataset.train.mask.all())


def test_one_digit_of_each_writer_is_drawn(root):
    dataset = load_handwriting(root=root, trajectory="digit")
    lengths = [n for part in dataset.parts.values() for n in part.lengths.tolist()]
    assert set(lengths) == {12, 13, 14}
    assert len(set(writers(dataset))) == 25
    for part in dataset.parts.values():
        for array in part.to_arrays():
            assert len(np.unique(array[:, :2], axis=0)) == 1
            assert np.flatnonzero(array[:, 2] == 0).tolist() == [4, len(array) - 1]


@settings(deadline=None, max_examples=30)
@given(data=st.data(), seed=st.integers(0, 2**31), trajectory=st.sampled_from(["writer", "digit"]))
def test_every_trajectory_is_another_writers(data, seed, trajectory):
    digits = [Digit(str(n % 3), f"w{n % 9}", [np.full((1 + n, 2), float(n % 9))]) for n in range(30)]
    count = data.draw(st.integers(1, 9))
    arrays, names = draw_trajectories(digits, trajectory=trajectory, count=count, steps=None, seed=seed)
    assert len(arrays) == len(set(names)) == count
    for name, array in zip(names, arrays, strict=True):
        np.testing.assert_array_equal(array[:, :2], int(name.removeprefix("writer_w")))


def test_the_seed_draws_writers_and_parts(root):
    drawn = [load_handwriting(root=root, seed=seed) for seed in range(8)]
    for dataset in drawn:
        assert len(set(writers(dataset))) == 25
    assert drawn[0].checksum == load_handwriting(root=root, seed=0).checksum
    assert len({dataset.checksum for dataset in drawn}) == 8
    assert len({frozenset(writers(dataset)) for dataset in drawn}) > 5
    assert len({frozenset(dataset.test.names) for dataset in drawn}) > 5


def test_the_stand_in_needs_neither_file_nor_network(tmp_path, forbidden):
    dataset = load_handwriting(root=str(tmp_path), source="stand_in", seed=3, opener=forbidden)
    assert (dataset.source, dataset.stand_in) == ("stand-in", True)
    assert [part.values.shape for part in dataset.parts.values()] == [(16, 1000, 3), (4, 1000, 3), (5, 1000, 3)]
    assert len(set(writers(dataset))) == 25
    for part in dataset.parts.values():
        assert bool(part.mask.all())
        assert set(part.values[..., 2].unique().tolist()) == {0.0, 1.0}
        assert 0 <= float(part.values.min()) < float(part.values.max()) <= 500
    again = load_handwriting(root=None, source="stand_in", seed=3)
    other = load_handwriting(root=None, source="stand_in", seed=4)
    assert dataset.checksum == again.checksum != other.checksum


def test_the_stand_ins_strokes_are_drawn_under_the_seed():
    first, again, other = (handwriting.stand_in_digits(seed=seed) for seed in (1, 1, 2))
    assert (len(first), len({digit.writer for digit in first})) == (1200, 30)
    assert {digit.label for digit in first} == set("0123456789")
    np.testing.assert_array_equal(first[0].strokes[0], again[0].strokes[0])
    assert [digit.label for digit in first] == [digit.label for digit in again] != [digit.label for digit in other]


def test_stand_in_writers_differ_more_than_the_digits_of_one():
    """Sizes of digit "7", where the writer's size and slant show."""
    own: dict[str, list[float]] = {}
    for digit in handwriting.stand_in_digits(seed=0):
        if digit.label == "7":
            own.setdefault(digit.writer, []).append(float(np.ptp(digit.strokes[0][:, 1])))
    heights = [values for values in own.values() if len(values) > 2]
    assert len(heights) > 15
    assert np.std([np.mean(values) for values in heights]) > 1.2 * np.mean([np.std(values) for values in heights])


def test_auto_falls_back_to_the_stand_in_with_a_warning(tmp_path, offline):
    with pytest.warns(UserWarning, match=r"^handwriting: NOT REAL DATA: .*tra\.Z is missing and .*stand-in"):
        dataset = load_handwriting(root=str(tmp_path), steps=5, opener=offline)
    assert dataset.stand_in
    assert not any(tmp_path.iterdir())


def test_uci_never_falls_back(tmp_path, offline):
    message = (
        r"tra\.Z is missing and there is no network; put it there \(from https://.*\), or choose source='stand_in'"
    )
    with pytest.raises(DataError, match=message):
        load_handwriting(root=str(tmp_path), source="uci", opener=offline)


@pytest.mark.parametrize("source", ["auto", "uci"])
def test_a_damaged_file_is_an_error_not_a_fallback(root, source, forbidden):
    path = Path(root) / FOLDER / FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"pendigits-orig\.tra\.Z: damaged or cut short"):
        load_handwriting(root=root, source=source, opener=forbidden)


def test_a_download_that_fails_is_an_error_not_a_fallback(tmp_path, breaking):
    with pytest.raises(DataError, match=r"tra\.Z: cannot be fetched"):
        load_handwriting(root=str(tmp_path), opener=breaking)


def test_a_missing_file_is_fetched_and_then_used(root, web):
    path = Path(root) / FOLDER / FILE
    address, content = PUBLISHED.address_of(FILE), path.read_bytes()
    path.unlink()
    web.files = {address: content}
    dataset = load_handwriting(root=root, steps=5, opener=web)
    assert (dataset.source, dataset.stand_in) == ("uci", False)
    assert web.asked == [("HEAD", address, 2.0), ("GET", address, 30.0)]
    assert path.read_bytes() == content


def test_the_address_is_https_and_pinned_to_a_commit():
    assert CHECKSUMS == {FILE: "ceae25d05f1ccfed4d27ca2e5766370fb32ddd685a647567e84cf7685aa7ac8b"}
    assert PUBLISHED.address_of(FILE) == (
        "https://raw.githubusercontent.com/amknguyen/sigKerForPenDigits/"
        "e2bf050902126fa2705def44658f3192a2d2895e/data/pendigits-orig.tra.Z"
    )


@needs_recordings
def test_the_recordings_have_the_counts_that_are_published():
    digits = read_digits(recordings() / FOLDER / FILE)
    points = np.concatenate([stroke for digit in digits for stroke in digit.strokes])
    lengths = [sum(map(len, digit.strokes)) for digit in digits]
    labels = [digit.label for digit in digits]
    assert (len(digits), len({digit.writer for digit in digits}), len(points)) == (7494, 30, 304216)
    assert [labels.count(str(n)) for n in range(10)] == [780, 779, 780, 719, 780, 720, 720, 778, 719, 719]
    assert (min(lengths), np.median(lengths), max(lengths)) == (9, 39, 185)
    assert [sum(len(digit.strokes) == n for digit in digits) for n in (1, 2, 3)] == [5564, 1921, 9]
    assert (points.min(0).tolist(), points.max(0).tolist()) == ([44, 12], [439, 449])


@needs_recordings
def test_the_recordings_make_25_trajectories(forbidden):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = load_handwriting(root=str(recordings()), opener=forbidden)
    assert (dataset.source, dataset.stand_in) == ("uci", False)
    assert [part.values.shape for part in dataset.parts.values()] == [(16, 1000, 3), (4, 1000, 3), (5, 1000, 3)]
    assert len(set(writers(dataset))) == 25
    assert 0.02 < 1 - float(dataset.train.values[..., 2].mean()) < 0.05
