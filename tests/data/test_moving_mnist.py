"""Moving MNIST: how digits move, what the sets share and do not share, and where the digits come from."""

import gzip
import hashlib
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from data.base import DataError, Dataset
from data.files.download import open_https
from data.files.mnist import FOLDER
from data.files.mnist import IMAGES as FILE
from data.moving_mnist import (
    BOX,
    CHECKSUMS,
    DIGIT,
    ROOM,
    SPEED,
    MovingMnist,
    bounce,
    draw_video,
    halve,
    read_digits,
    stand_in_digits,
)

FEW: dict[str, Any] = {"videos": 9, "test": 3, "validation": 2, "steps": 4}


def load_moving_mnist(*, opener: Any = open_https, **settings: Any) -> Dataset:
    return MovingMnist(**settings).load(opener)


def images_file(images):
    header = struct.pack(">HBB", 0, 8, images.ndim) + struct.pack(f">{images.ndim}I", *images.shape)
    return gzip.compress(header + images.astype(np.uint8).tobytes())


def plain_images(count):
    """Image k is one grey of its own everywhere: 255 − k."""
    return np.broadcast_to(255 - np.arange(count)[:, None, None], (count, DIGIT, DIGIT)).astype(np.uint8)


@pytest.fixture
def small_file(monkeypatch):
    """The content of a small digits file that has the expected checksum."""
    content = images_file(plain_images(40))
    monkeypatch.setitem(CHECKSUMS, FILE, hashlib.sha256(content).hexdigest())
    return content


@pytest.fixture
def root(tmp_path, small_file):
    """A data root with that file."""
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / FILE).write_bytes(small_file)
    return str(tmp_path)


places = st.floats(0, ROOM)
velocities = st.floats(-3 * ROOM, 3 * ROOM)


@given(start=st.tuples(places, places), velocity=st.tuples(velocities, velocities), steps=st.integers(1, 60))
def test_a_path_stays_between_the_walls_and_begins_at_its_start(start, velocity, steps):
    path = bounce(np.array(start), np.array(velocity), steps=steps)
    assert path.shape == (steps, 2)
    assert path.min() >= 0
    assert path.max() <= ROOM
    np.testing.assert_allclose(path[0], start, atol=1e-12)


@given(start=st.tuples(places, places), angle=st.floats(0, 2 * np.pi))
def test_a_path_equals_one_that_is_followed_step_by_step_and_turned_at_the_walls(start, angle):
    place, velocity = list(start), [SPEED * np.cos(angle), SPEED * np.sin(angle)]
    followed = []
    for _ in range(60):
        followed.append(tuple(place))
        for axis in range(2):
            place[axis] += velocity[axis]
            if not 0 <= place[axis] <= ROOM:
                place[axis] = -place[axis] if place[axis] < 0 else 2 * ROOM - place[axis]
                velocity[axis] = -velocity[axis]
    path = bounce(np.array(start), SPEED * np.array([np.cos(angle), np.sin(angle)]), steps=60)
    np.testing.assert_allclose(path, followed, atol=1e-9)


def test_speed_is_constant_between_bounces_and_only_the_axis_of_the_wall_turns():
    path = bounce(np.array([3.0, 10.0]), np.array([-2.0, 1.0]), steps=6)
    np.testing.assert_allclose(path[:, 0], [3, 1, 1, 3, 5, 7])
    np.testing.assert_allclose(path[:, 1], [10, 11, 12, 13, 14, 15])
    np.testing.assert_allclose(
        bounce(np.array([35.0, 36.0]), np.array([3.0, 0.5]), steps=3)[1:], [[34, 35.5], [31, 35]]
    )


def boxes(frames):
    """First and last row and column of what is not black, for each frame."""
    for frame in frames:
        lit = np.argwhere(frame > 0)
        yield lit.min(axis=0), lit.max(axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_two_whole_digits_are_inside_the_box_and_overlap_by_their_maximum(seed):
    frames = np.zeros((50, BOX, BOX))
    draw_video(frames, plain_images(2), np.random.default_rng(seed))
    brighter = frames == 1.0
    assert (brighter.sum((1, 2)) == DIGIT**2).all()
    assert set(np.unique(frames)) == {0.0, 254 / 255, 1.0}
    corners = []
    for first, last in boxes(brighter):
        assert (last - first == DIGIT - 1).all()
        corners.append(first)
    moves = np.abs(np.diff(corners, axis=0))
    assert moves.max() <= SPEED + 1
    assert moves.any(axis=1).all()
    whole = (frames > 0).sum((1, 2))
    assert whole.min() >= DIGIT**2
    assert whole.max() <= 2 * DIGIT**2


def test_the_halves_are_disjoint_complete_and_drawn_under_the_seed():
    digits = plain_images(41)
    others, tested = halve(digits, seed=3)
    greys = [set(half[:, 0, 0].tolist()) for half in (others, tested)]
    assert not greys[0] & greys[1]
    assert greys[0] | greys[1] == set(digits[:, 0, 0].tolist())
    assert [len(others), len(tested)] == [20, 21]
    np.testing.assert_array_equal(halve(digits, seed=3)[0], others)
    assert (halve(digits, seed=4)[0] != others).any()


def test_shapes_names_and_marks(root, forbidden):
    dataset = load_moving_mnist(root=root, source="mnist", opener=forbidden, **FEW)
    assert (dataset.name, dataset.source, dataset.stand_in) == ("moving_mnist", "mnist", False)
    assert (dataset.common_scale, dataset.image_shape) == (True, (64, 64))
    assert [tuple(part.values.shape) for part in dataset.parts.values()] == [(4, 4, 4096), (2, 4, 4096), (3, 4, 4096)]
    for part in dataset.parts.values():
        assert part.values.dtype == torch.float64
        assert part.mask.dtype == torch.bool
        assert part.mask.shape == part.values.shape
        assert bool(part.mask.all())
        assert part.lengths.tolist() == [4] * len(part)
        assert 0 <= float(part.values.min()) < float(part.values.max()) <= 1
    assert dataset.train.names == ("training_0002", "training_0003", "training_0004", "training_0005")
    assert dataset.validation.names == ("training_0000", "training_0001")
    assert dataset.test.names == ("test_0000", "test_0001", "test_0002")
    assert dataset.feature_names[:2] == ("pixel_00_00", "pixel_00_01")
    assert dataset.feature_names[-1] == "pixel_63_63"
    assert dataset.units == ("",) * 4096


def test_test_videos_show_images_that_no_other_video_shows(root):
    dataset = load_moving_mnist(root=root, videos=120, test=60, validation=20, steps=1)
    shown = {name: set(part.values.unique().tolist()) - {0.0} for name, part in dataset.parts.items()}
    assert not shown["test"] & (shown["train"] | shown["validation"])
    assert len(shown["test"]) > 10
    assert len(shown["train"]) > 10


def test_equal_seeds_give_equal_videos_and_all_videos_differ(root):
    dataset, again, other = (load_moving_mnist(root=root, seed=seed, **FEW) for seed in (5, 5, 6))
    assert dataset.checksum == again.checksum != other.checksum
    videos = torch.cat([part.values for part in dataset.parts.values()]).flatten(1)
    assert len(videos.unique(dim=0)) == FEW["videos"]


def test_a_shorter_request_gives_the_first_videos_and_frames_of_a_longer_one(root):
    long = load_moving_mnist(root=root, videos=12, test=5, validation=2, steps=6)
    short = load_moving_mnist(root=root, videos=8, test=3, validation=2, steps=4)
    for name, part in short.parts.items():
        assert part.names == long.parts[name].names[: len(part)]
        assert torch.equal(part.values, long.parts[name].values[: len(part), :4])


def test_a_part_holds_no_memory_but_its_own(root):
    for part in load_moving_mnist(root=root, **FEW).parts.values():
        assert part.values.untyped_storage().nbytes() == part.values.numel() * 8


def test_a_missing_file_is_fetched_once_from_a_pinned_address(tmp_path, small_file, web, forbidden):
    address = "https://raw.githubusercontent.com/fgnt/mnist/ae608a02b796c9ee908c082585a5f006fe05258e/t10k-images-idx3-ubyte.gz"
    web.files = {address: small_file}
    first = load_moving_mnist(root=str(tmp_path), opener=web, **FEW)
    assert web.asked == [("HEAD", address, 2.0), ("GET", address, 30.0)]
    second = load_moving_mnist(root=str(tmp_path), opener=forbidden, **FEW)
    assert first.source == "mnist"
    assert first.checksum == second.checksum


def test_auto_falls_back_to_the_stand_in_with_a_warning(tmp_path, offline):
    with pytest.warns(UserWarning, match=r"^moving_mnist: NOT REAL DATA: .*t10k-images.* is missing and .*no network"):
        dataset = load_moving_mnist(root=str(tmp_path), opener=offline, **FEW)
    assert (dataset.source, dataset.stand_in) == ("stand-in", True)
    assert not any(tmp_path.iterdir())


def test_mnist_never_falls_back(tmp_path, offline):
    with pytest.raises(DataError, match=r"no network; put it there \(from https://.*or choose source='stand_in'"):
        load_moving_mnist(root=str(tmp_path), source="mnist", opener=offline, **FEW)


@pytest.mark.parametrize("source", ["auto", "mnist"])
def test_a_damaged_file_is_an_error_not_a_fallback(root, source, forbidden):
    path = Path(root) / FOLDER / FILE
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz: damaged or cut short"):
        load_moving_mnist(root=root, source=source, opener=forbidden, **FEW)


def test_a_download_that_fails_is_an_error_not_a_fallback(tmp_path, breaking):
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte\.gz: cannot be fetched"):
        load_moving_mnist(root=str(tmp_path), opener=breaking, **FEW)


def test_the_stand_in_is_asked_for_without_warning_file_or_network(tmp_path, forbidden):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = load_moving_mnist(root=str(tmp_path), source="stand_in", opener=forbidden, **FEW)
    assert (dataset.source, dataset.stand_in) == ("stand-in", True)
    assert dataset.checksum == load_moving_mnist(root=None, source="stand_in", **FEW).checksum


def test_the_stand_in_is_never_mixed_with_the_file(root):
    stand_in = load_moving_mnist(root=root, source="stand_in", **FEW)
    assert stand_in.checksum == load_moving_mnist(root=None, source="stand_in", **FEW).checksum


def test_stand_in_digits_are_enlarged_and_different():
    digits = stand_in_digits()
    assert digits.shape == (1797, DIGIT, DIGIT)
    assert digits.dtype == np.uint8
    assert digits.max() == 255
    assert len(np.unique(digits.reshape(len(digits), -1), axis=0)) == 1797
    # A zero's middle is darker than its left and right strokes.
    assert digits[0, 14, 14] < min(digits[0, 14, :12].max(), digits[0, 14, 16:].max())


@pytest.mark.parametrize("images", [np.zeros((5, 27, 28)), np.zeros((5, 784)), np.zeros((3, 28, 28))])
def test_other_arrays_than_digits_are_refused(tmp_path, images):
    path = tmp_path / "other.gz"
    path.write_bytes(images_file(images))
    with pytest.raises(DataError, match=r"other\.gz: holds uint8 of shape .* not at least 4 images of 28 × 28 bytes"):
        read_digits(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": "uci"}, "source=uci is unknown; choose one of auto, mnist, stand_in"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"test": 0}, "9 videos cannot be split into 0 for test, 2 for validation"),
        ({"validation": 0}, "9 videos cannot be split into 3 for test, 0 for validation"),
        ({"test": 7}, "9 videos cannot be split into 7 for test, 2 for validation"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message, forbidden):
    with pytest.raises(DataError, match=f"^moving_mnist: {message}"):
        load_moving_mnist(**{"root": None, "source": "stand_in", "opener": forbidden, **FEW, **arguments})
