"""The mocap data set: walks of three subjects of the CMU motion capture database, 120 Hz, 22 features in metres.

Downey et al. (2017), section 6, use 48 walks of three subjects, 300 steps each; their files are not public. The closest
that can be rebuilt from public files of known checksum has 46: the first 300 frames of subject 35, trials 01–16 and
28–34, subject 07, trials 01–11 (both BVH), and subject 39, trials 01–09 and 12–14 (ASF/AMC).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from data.base import DataError, Dataset, Sequences
from data.files.download import open_https
from data.mocap import acclaim, bvh, walker
from data.mocap.features import BODY_PARTS, FEATURE_NAMES, UNITS, stack_features
from data.mocap.files import PUBLISHED
from data.ranges import Count, Held, Seed

BVH_TRIALS = {"35": (*range(1, 17), *range(28, 35)), "07": tuple(range(1, 12))}
ACCLAIM_TRIALS = {"39": (*range(1, 10), 12, 13, 14)}
TEST_TRACKS = ("35_04", "35_10", "35_16", "35_33", "07_04", "07_08", "39_04", "39_09")
STAND_IN_TEST_TRACKS = (
    "walker1_03",
    "walker1_08",
    "walker1_13",
    "walker2_04",
    "walker2_09",
    "walker2_14",
    "walker3_05",
    "walker3_11",
)
TESTED = ("named", "drawn")
# CMU lengths are inches × 0.45.
METRES = 0.0254 / 0.45
ACCLAIM_BONES = dict(
    zip(BODY_PARTS, ("upperback", "thorax", "head", "lclavicle", "rclavicle", "ltibia", "rtibia"), strict=True)
)
# A BVH joint sits where the bone above it ends.
BVH_JOINTS = dict(
    zip(BODY_PARTS, ("Spine1", "Neck", "Head end", "LeftArm", "RightArm", "LeftFoot", "RightFoot"), strict=True)
)


def load_mocap(
    *,
    root: str | None,
    source: str = "auto",
    seed: Seed = 0,
    test_tracks: str = "named",
    validation: Held = 6,
    steps: Count = 300,
) -> Dataset:
    """Returns the first `steps` frames of every track, split into training, validation and eight test tracks.

    root: folder that holds `cmu_mocap_walk/`; None: $PIPELINE_DATA_ROOT, else a cache of the user's own.
    source: "cmu": the recordings, fetched over https where files are missing. "stand_in": simulated walks (see
        `data.mocap.walker`); nothing in them is real. "auto": the recordings, or, where files are missing and there is
        no network, the stand-in with a warning. The two never mix.
    seed: draws the validation tracks (spread over the subjects in proportion) and, for the stand-in, the walks.
    test_tracks: "named": `TEST_TRACKS`, whatever the seed. "drawn": as many tracks that the seed draws, spread over the
        subjects in proportion, so that another seed is another split altogether.

    Raises DataError for an argument out of range, for missing files that cannot be fetched, and always for a file
    that is damaged or cut short.
    """
    PUBLISHED.check_source(source)
    if steps < 1:
        raise DataError(f"mocap: steps must be at least 1, not {steps}")
    if test_tracks not in TESTED:
        raise DataError(f"mocap: test_tracks={test_tracks!r} is unknown; choose one of {', '.join(TESTED)}")
    if PUBLISHED.find(root, source=source, opener=open_https):
        arrays, names = read_tracks(PUBLISHED.folder_below(root), steps=steps)
        test = TEST_TRACKS if test_tracks == "named" else draw_test(names, seed=seed)
        return _dataset(arrays, names, test, seed=seed, validation=validation, stand_in=False)
    arrays, names = walker.walk_tracks(seed=seed, steps=steps)
    test = STAND_IN_TEST_TRACKS if test_tracks == "named" else draw_test(names, seed=seed)
    return _dataset(arrays, names, test, seed=seed, validation=validation, stand_in=True)


def read_tracks(folder: Path, *, steps: int) -> tuple[list[np.ndarray], list[str]]:
    """Reads all 46 tracks from the files below `folder`: arrays (steps, 22) in metres, and names like "35_04"."""
    tracks: dict[str, np.ndarray] = {}
    for subject, trials in BVH_TRIALS.items():
        thorax = acclaim.read_skeleton(folder / f"amc/{subject}/{subject}.asf").bone("thorax").vector
        for name in _track_names(subject, trials):
            tracks[name] = bvh_features(folder / f"bvh/{subject}/{name}.bvh", thorax)
    for subject, trials in ACCLAIM_TRIALS.items():
        skeleton = acclaim.read_skeleton(folder / f"amc/{subject}/{subject}.asf")
        for name in _track_names(subject, trials):
            tracks[name] = acclaim_features(folder / f"amc/{subject}/{name}.amc", skeleton)
    for name, track in tracks.items():
        if len(track) < steps:
            raise DataError(f"mocap: track {name} has {len(track)} frames, {steps} were asked for; lower steps")
    return [track[:steps] * METRES for track in tracks.values()], list(tracks)


def acclaim_features(path: Path, skeleton: acclaim.Skeleton) -> np.ndarray:
    """Returns the features (frame, 22) of an AMC file in CMU's length unit."""
    ends = acclaim.positions(skeleton, acclaim.read_motion(path, skeleton))
    return stack_features(ends["root"], {part: ends[bone] for part, bone in ACCLAIM_BONES.items()})


def bvh_features(path: Path, thorax: np.ndarray) -> np.ndarray:
    """Returns the features (frame, 22) of a BVH file in CMU's length unit. Its first row, a rest pose that was added,
    is dropped.

    The BVH skeleton lacks the thorax bone: what the thorax carries hangs on Spine1 without an offset. `thorax`, the
    vector (3,) of that bone in the subject's ASF file, is put back there.
    """
    clip = bvh.read_clip(path).with_offsets(dict.fromkeys(("Neck", "LeftShoulder", "RightShoulder"), thorax))
    joints = bvh.positions(clip)
    ends = {part: joints[joint] for part, joint in BVH_JOINTS.items()}
    return stack_features(joints["Hips"], ends)[1:]


def draw_validation(names: Sequence[str], *, count: int, seed: int) -> set[str]:
    """Draws `count` of `names` ("<subject>_<trial>"), spread over the subjects in proportion to their tracks.

    Raises DataError unless 0 <= count < len(names).
    """
    if not 0 <= count < len(names):
        raise DataError(f"mocap: validation must be between 0 and {len(names) - 1} tracks, not {count}")
    return draw_tracks(names, count=count, generator=np.random.default_rng(seed))


def draw_test(names: Sequence[str], *, seed: int) -> tuple[str, ...]:
    """Draws as many of `names` as `TEST_TRACKS` has, spread over the subjects in proportion to their tracks; they
    stay in the order of `names`."""
    drawn = draw_tracks(names, count=len(TEST_TRACKS), generator=np.random.default_rng([seed, 1]))
    return tuple(name for name in names if name in drawn)


def draw_tracks(names: Sequence[str], *, count: int, generator: np.random.Generator) -> set[str]:
    """Draws `count` of `names` ("<subject>_<trial>"), of each subject its proportional share."""
    own: dict[str, list[str]] = {}
    for name in names:
        own.setdefault(name.split("_")[0], []).append(name)
    quotas = proportional_quotas([len(tracks) for tracks in own.values()], total=count)
    drawn = (generator.choice(t, size=k, replace=False) for t, k in zip(own.values(), quotas, strict=True))
    return {str(name) for chosen in drawn for name in chosen}


def proportional_quotas(sizes: Sequence[int], *, total: int) -> list[int]:
    """Returns whole shares of `total` <= sum(sizes) in proportion to sizes, by the method of largest remainders."""
    exact = [total * size / sum(sizes) for size in sizes]
    quotas = [int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda i: quotas[i] - exact[i])
    for i in by_remainder[: total - sum(quotas)]:
        quotas[i] += 1
    return quotas


def _track_names(subject: str, trials: Sequence[int]) -> list[str]:
    return [f"{subject}_{trial:02d}" for trial in trials]


def _dataset(
    arrays: Sequence[np.ndarray],
    names: Sequence[str],
    test: Sequence[str],
    *,
    seed: int,
    validation: int,
    stand_in: bool,
) -> Dataset:
    tracks = dict(zip(names, arrays, strict=True))
    candidates = [name for name in names if name not in test]
    held_out = draw_validation(candidates, count=validation, seed=seed)

    def part(members: Sequence[str]) -> Sequences:
        return Sequences.from_arrays([tracks[name] for name in members], members, features=len(FEATURE_NAMES))

    return Dataset(
        name="mocap",
        train=part([name for name in candidates if name not in held_out]),
        validation=part([name for name in candidates if name in held_out]),
        test=part(test),
        feature_names=FEATURE_NAMES,
        units=UNITS,
        source="stand-in" if stand_in else "cmu",
        stand_in=stand_in,
    )
