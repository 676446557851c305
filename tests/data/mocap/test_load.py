"""The mocap data set: where its files come from, how it is split, and, with the files at hand, what is in it."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.base import DataError
from data.mocap import acclaim
from data.mocap import load as mocap
from data.mocap.features import BODY_PARTS, FEATURE_NAMES
from data.mocap.files import CHECKSUMS, FOLDER, PUBLISHED, address_of
from data.mocap.load import (
    ACCLAIM_BONES,
    BVH_JOINTS,
    STAND_IN_TEST_TRACKS,
    TEST_TRACKS,
    acclaim_features,
    bvh_features,
    draw_test,
    draw_validation,
    load_mocap,
    proportional_quotas,
)

NAMES = [f"35_{t:02d}" for t in (*range(1, 17), *range(28, 35))]
NAMES += [f"07_{t:02d}" for t in range(1, 12)] + [f"39_{t:02d}" for t in (*range(1, 10), 12, 13, 14)]


def recordings() -> Path:
    beside = Path(__file__).parents[4] / "shared" / "data"
    return Path(os.environ.get("PIPELINE_DATA_ROOT") or beside)


needs_recordings = pytest.mark.skipif(
    not all((recordings() / FOLDER / name).exists() for name in CHECKSUMS),
    reason="the CMU recordings are not at hand; set PIPELINE_DATA_ROOT to the folder that holds cmu_mocap_walk/",
)


@pytest.fixture
def load_over(monkeypatch):
    """The loader with another web than the real one."""

    def load(opener, **settings):
        monkeypatch.setattr(mocap, "open_https", opener)
        return load_mocap(**settings)

    return load


def all_names(dataset):
    return [name for part in dataset.parts.values() for name in part.names]


def test_an_unknown_source_lists_the_choices():
    with pytest.raises(DataError, match=r"^mocap: source=kitti is unknown; choose one of auto, cmu, stand_in"):
        load_mocap(root=None, source="kitti")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"validation": 40}, "validation must be between 0 and 39 tracks, not 40"),
        ({"validation": -1}, "validation must be between 0 and 39 tracks, not -1"),
        ({"test_tracks": "any"}, r"^mocap: test_tracks='any' is unknown; choose one of named, drawn"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        load_mocap(**{"root": None, "source": "stand_in", "steps": 5, **arguments})


def test_the_stand_in_needs_neither_files_nor_network(tmp_path, forbidden, load_over):
    dataset = load_over(forbidden, root=str(tmp_path), source="stand_in", seed=3, steps=20)
    assert (dataset.name, dataset.source, dataset.stand_in) == ("mocap", "stand-in", True)
    assert [len(part) for part in dataset.parts.values()] == [34, 6, 8]
    assert dataset.test.names == STAND_IN_TEST_TRACKS
    assert len(set(all_names(dataset))) == 48
    assert dataset.train.values.shape == (34, 20, 22)
    assert bool(dataset.train.mask.all())
    assert dataset.feature_names == FEATURE_NAMES
    assert dataset.units == ("m",) * 22
    again = load_mocap(root=None, source="stand_in", seed=3, steps=20)
    other = load_mocap(root=None, source="stand_in", seed=4, steps=20)
    assert dataset.checksum == again.checksum != other.checksum


def test_auto_falls_back_to_the_stand_in_with_a_warning(tmp_path, offline, load_over):
    with pytest.warns(UserWarning, match=r"NOT REAL DATA: 49 of 49 files are missing .*stand-in"):
        dataset = load_over(offline, root=str(tmp_path), steps=5)
    assert dataset.stand_in
    assert not any(tmp_path.iterdir())


def test_cmu_never_falls_back(tmp_path, offline, load_over):
    with pytest.raises(
        DataError, match=r"49 of 49 files are missing .*no network; put them there .*or choose source='stand_in'"
    ):
        load_over(offline, root=str(tmp_path), source="cmu")


@pytest.mark.parametrize("source", ["auto", "cmu"])
def test_a_damaged_file_is_an_error_even_if_others_are_missing(tmp_path, source, forbidden, load_over):
    path = tmp_path / FOLDER / "bvh/35/35_04.bvh"
    path.parent.mkdir(parents=True)
    path.write_text("HIERARCHY\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"35_04\.bvh: damaged or cut short"):
        load_over(forbidden, root=str(tmp_path), source=source)


def test_a_download_that_fails_is_an_error_not_a_fallback(tmp_path, breaking, load_over):
    with pytest.raises(DataError, match=r"07\.asf: cannot be fetched"):
        load_over(breaking, root=str(tmp_path))


def test_the_table_of_files_names_49_pinned_https_addresses():
    assert len(CHECKSUMS) == 49
    tracks = {Path(name).stem for name in CHECKSUMS if not name.endswith(".asf")}
    assert tracks == set(NAMES)
    assert all(len(sha256) == 64 and set(sha256) <= set("0123456789abcdef") for sha256 in CHECKSUMS.values())
    assert address_of("amc/39/39_08.amc") == (
        "https://raw.githubusercontent.com/KseniiaCheloshkina/amc/cc0ee085ee2396b92de5e47d5b59954ba8c57f5d/data/39/39_08.amc"
    )
    assert address_of("bvh/35/35_01.bvh") == (
        "https://raw.githubusercontent.com/franciscovalentecastro/Mocap-Data-Utilities/"
        "25b6ae2cbfe89949b40a3127b74aee6aa0905dfb/sample-mocap-data/Walking/BVH/35_01.bvh"
    )


def test_every_part_has_a_source_in_both_formats():
    assert tuple(ACCLAIM_BONES) == tuple(BVH_JOINTS) == BODY_PARTS
    assert len(FEATURE_NAMES) == 22
    assert FEATURE_NAMES[:3] == ("upperback_x", "upperback_y", "upperback_z")
    assert FEATURE_NAMES[-1] == "root_height"


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6), data=st.data())
def test_quotas_add_up_and_are_fair(sizes, data):
    total = data.draw(st.integers(0, sum(sizes)))
    quotas = proportional_quotas(sizes, total=total)
    assert sum(quotas) == total
    for quota, size in zip(quotas, sizes, strict=True):
        assert abs(quota - total * size / sum(sizes)) < 1
        assert 0 <= quota <= size


def test_validation_tracks_are_spread_over_subjects_and_depend_on_the_seed():
    candidates = [name for name in NAMES if name not in TEST_TRACKS]
    draws = [draw_validation(candidates, count=6, seed=seed) for seed in range(20)]
    for drawn in draws:
        assert drawn < set(candidates)
        assert [sum(name.startswith(s) for name in drawn) for s in ("35", "07", "39")] == [3, 1, 2]
    assert draws[0] == draw_validation(candidates, count=6, seed=0)
    assert len(set(map(frozenset, draws))) > 10
    assert draw_validation(candidates, count=0, seed=0) == set()


def test_drawn_test_tracks_are_spread_over_subjects_and_depend_on_the_seed():
    draws = [draw_test(NAMES, seed=seed) for seed in range(20)]
    for drawn in draws:
        assert [name for name in NAMES if name in drawn] == list(drawn)
        assert [sum(name.startswith(s) for name in drawn) for s in ("35", "07", "39")] == [4, 2, 2]
    assert draws[0] == draw_test(NAMES, seed=0)
    assert len(set(draws)) > 10


def test_another_seed_is_another_split_where_test_tracks_are_drawn():
    def parts(seed, **settings):
        dataset = load_mocap(root=None, source="stand_in", steps=5, seed=seed, **settings)
        return {name: set(part.names) for name, part in dataset.parts.items()}

    first, second = (parts(seed, test_tracks="drawn") for seed in (0, 1))
    assert first["test"] != second["test"]
    for split in (first, second):
        assert [len(names) for names in split.values()] == [34, 6, 8]
        assert len(set.union(*split.values())) == 48
    assert parts(1)["test"] == parts(0)["test"] == set(STAND_IN_TEST_TRACKS)


@needs_recordings
def test_drawn_test_tracks_of_the_recordings_are_none_of_training(forbidden, load_over):
    dataset = load_over(forbidden, root=str(recordings()), seed=1, test_tracks="drawn", steps=5)
    assert [len(part) for part in dataset.parts.values()] == [32, 6, 8]
    assert sorted(all_names(dataset)) == sorted(NAMES)
    assert dataset.test.names == draw_test(NAMES, seed=1) != TEST_TRACKS


@needs_recordings
def test_the_recordings_make_46_tracks_of_walking(forbidden, load_over):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset = load_over(forbidden, root=str(recordings()), source="auto")
    assert (dataset.source, dataset.stand_in) == ("cmu", False)
    assert [len(part) for part in dataset.parts.values()] == [32, 6, 8]
    assert dataset.test.names == TEST_TRACKS
    assert sorted(all_names(dataset)) == sorted(NAMES)
    for part in dataset.parts.values():
        assert part.values.shape[1:] == (300, 22)
        assert bool(part.mask.all())
    values, test = dataset.train.values.numpy(), dataset.test.values.numpy()
    height, left = values[..., -1], values[..., FEATURE_NAMES.index("left_tibia_z")]
    assert 0.8 < height.min() < height.max() < 1.1
    assert 0.5 < np.ptp(left, axis=1).min() < np.ptp(left, axis=1).max() < 1.0
    persistence = np.diff(test, axis=1) / values.std((0, 1))
    assert np.mean(persistence**2) == pytest.approx(2.4e-3, rel=0.1)


@needs_recordings
def test_more_steps_than_a_track_has_are_refused(monkeypatch):
    monkeypatch.setattr(mocap, "BVH_TRIALS", {"07": (1, 10)})
    monkeypatch.setattr(mocap, "ACCLAIM_TRIALS", {})
    with pytest.raises(DataError, match=r"track 07_10 has 301 frames, 302 were asked for; lower steps"):
        load_mocap(root=str(recordings()), steps=302)


@needs_recordings
@pytest.mark.parametrize(("name", "first"), [("35_30", 160), ("35_09", 10), ("07_01", 1), ("07_10", 1)])
def test_bvh_and_amc_give_the_same_positions(name, first):
    """Some AMC copies are cut at the front; the frame numbers in them are the original ones."""
    folder, subject = recordings() / FOLDER, name[:2]
    path = folder / f"amc/{subject}/{name}.amc"
    if not path.exists():
        pytest.skip(f"{path.name} belongs to the comparison only, not to the data set, and is not at hand")
    skeleton = acclaim.read_skeleton(folder / f"amc/{subject}/{subject}.asf")
    frames = acclaim.read_motion(path, skeleton).frames
    from_amc = acclaim_features(path, skeleton)
    from_bvh = bvh_features(folder / f"bvh/{subject}/{name}.bvh", skeleton.bone("thorax").vector)
    assert frames[0] == first
    assert len(from_amc) >= 250
    np.testing.assert_allclose(from_bvh[frames - 1], from_amc, rtol=0, atol=1e-4)


@needs_recordings
@pytest.mark.parametrize("source", ["auto", "cmu"])
def test_a_recording_cut_short_is_an_error(tmp_path, source, forbidden, load_over):
    (tmp_path / FOLDER).mkdir()
    for name in CHECKSUMS:
        (tmp_path / FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / FOLDER / name).symlink_to((recordings() / FOLDER / name).resolve())
    victim = tmp_path / FOLDER / "amc/39/39_09.amc"
    content = victim.read_bytes()
    victim.unlink()
    victim.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"39_09\.amc: damaged or cut short"):
        load_over(forbidden, root=str(tmp_path), source=source)


@needs_recordings
def test_missing_files_are_fetched_and_then_used(tmp_path, web, load_over):
    web.files = {PUBLISHED.address_of(name): (recordings() / FOLDER / name).read_bytes() for name in CHECKSUMS}
    dataset = load_over(web, root=str(tmp_path), source="auto", steps=5)
    assert (dataset.source, dataset.stand_in) == ("cmu", False)
    assert [(method, limit) for method, _, limit in web.asked] == [("HEAD", 2.0), *[("GET", 30.0)] * 49]
    stored = {path.relative_to(tmp_path / FOLDER).as_posix() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert stored == {".lock", *CHECKSUMS}
