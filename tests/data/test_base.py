"""Records of sequences, standardisation, checksums."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from data.base import DataError, Dataset, Sequences, Standardiser

CELLS = st.one_of(st.floats(-1e6, 1e6), st.just(np.nan))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 6).flatmap(lambda n: hnp.arrays(float, (n, 2), elements=CELLS)), min_size=1, max_size=4))
def test_arrays_come_back_as_they_were(arrays: list[np.ndarray]) -> None:
    found = Sequences.from_arrays(arrays, [str(i) for i in range(len(arrays))])
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(arrays, found.to_arrays(), strict=True))
    assert bool((found.values[~found.mask] == 0).all())


def sequences(count: int = 5, seed: int = 0) -> Sequences:
    rng = np.random.default_rng(seed)
    return Sequences.from_arrays([rng.normal(3, 2, (4 + i, 2)) for i in range(count)], [f"s{i}" for i in range(count)])


def test_shortened_spreads_over_all() -> None:
    found = sequences().shortened(sequences=3, steps=5)
    assert found.names == ("s0", "s2", "s4")
    assert found.lengths.tolist() == [4, 5, 5]
    assert found.values.shape == (3, 5, 2)
    assert sequences().shortened(sequences=None, steps=None).names == sequences().names


def test_standardised_training_part_has_mean_0_and_deviation_1() -> None:
    arrays = sequences().to_arrays()
    arrays[1][2, 0] = np.nan
    train = Sequences.from_arrays(arrays, sequences().names)
    scaled = Standardiser.fit(train, ("a", "b")).apply(train)
    for column in range(2):
        values = scaled.values[..., column][train.mask[..., column]]
        assert float(values.mean()) == pytest.approx(0, abs=1e-12)
        assert float(values.std(correction=0)) == pytest.approx(1)
    assert bool((scaled.values[~train.mask] == 0).all())


def test_standardisation_names_what_is_wrong() -> None:
    train = sequences()
    train.values[..., 1] = torch.where(train.mask[..., 1], 7.0, 0.0)
    with pytest.warns(UserWarning, match="constant in the training part, kept unscaled: b"):
        standardiser = Standardiser.fit(train, ("a", "b"))
    assert standardiser.scale[1] == 1
    assert standardiser.constant.tolist() == [False, True]
    train.values[..., 0] = torch.where(train.mask[..., 0], 7.0, 0.0)
    with pytest.raises(DataError, match="nothing varies in the training part"):
        Standardiser.fit(train, ("a", "b"))
    train.mask[..., 0] = False
    with pytest.raises(DataError, match="column a: no observed value in the training part"):
        Standardiser.fit(train, ("a", "b"))


@pytest.mark.parametrize("common_scale", [False, True])
@pytest.mark.parametrize("value", [1e155, -1.7e308])
def test_values_too_large_for_a_standard_deviation_are_refused_by_column(value: float, common_scale: bool) -> None:
    train = sequences()
    train.values[:2, 1, 1] = value
    with pytest.raises(DataError, match=r"^column b: values too large for a standard deviation in"):
        Standardiser.fit(train, ("a", "b"), common_scale=common_scale)


def test_a_common_scale_that_is_not_finite_is_refused() -> None:
    train = Sequences.from_arrays([np.outer([0.9e154, -0.9e154], np.ones(4))], ["x"])
    assert bool(Standardiser.fit(train, "abcd").scale.isfinite().all())  # each has one, the sum of squares is infinite
    with pytest.raises(DataError, match=r"^column a, b, c, d: values too large for a standard deviation"):
        Standardiser.fit(train, "abcd", common_scale=True)


@pytest.mark.parametrize(("unit", "offset", "warned"), [(1e-14, 0.0, True), (1e-10, 0.0, False), (1e-14, 1.0, False)])
def test_a_column_of_the_size_of_the_rounding_of_others_is_warned_of(unit: float, offset: float, warned: bool) -> None:
    train = sequences()
    train.values[..., 1] = torch.where(train.mask[..., 1], unit * train.values[..., 1] + offset, 0.0)
    said = "training part, and may be rounding of them: b; leave out" if warned else "constant in" if offset else ""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Standardiser.fit(train, ("a", "b"))
    assert [said in str(warning.message) for warning in seen] == [True] * bool(said)


def test_standardisation_knows_no_unit() -> None:
    arrays, names = sequences().to_arrays(), sequences().names
    own, small = (Sequences.from_arrays([f * array for array in arrays], names) for f in (1.0, 2.0**-60))
    scaled = [Standardiser.fit(part, ("a", "b")).apply(part).values for part in (own, small)]
    assert torch.equal(*scaled)
    small.values[..., 1] = torch.where(small.mask[..., 1], 0.1, 0.0)  # whose mean is rounded
    with pytest.warns(UserWarning, match="constant in the training part, kept unscaled: b"):
        assert Standardiser.fit(small, ("a", "b")).constant.tolist() == [False, True]


def test_checksum_follows_data_mask_names_and_split() -> None:
    def dataset(**parts: Sequences) -> Dataset:
        base = {"train": sequences(seed=0), "validation": sequences(seed=1), "test": sequences(seed=2)}
        return Dataset(name="d", feature_names=("a", "b"), units=("m", "m"), source="x", **{**base, **parts})

    changed = sequences()
    changed.values[0, 0, 0] += 1e-9
    masked = sequences()
    masked.mask[0, 0, 0] = False
    sums = {
        dataset().checksum,
        dataset(train=changed).checksum,
        dataset(train=masked).checksum,
        dataset(train=replace(sequences(), names=("x", *sequences().names[1:]))).checksum,
        dataset(train=sequences(seed=1), validation=sequences(seed=0)).checksum,
    }
    assert len(sums) == 5
    assert dataset().checksum in sums


def cut(part: Sequences, begin: int, end: int) -> Sequences:
    return Sequences.from_arrays([array[begin:end] for array in part.to_arrays()], part.names)


def test_rows_are_whole_sequences_where_the_parts_were_cut_from_them() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(length, 2)) for length in (30, 24)]
    arrays[0][18:22, 1] = np.nan
    whole = Sequences.from_arrays(arrays, ("a", "b"))
    data = Dataset(
        name="n", train=cut(whole, 0, 15), validation=cut(whole, 15, 20), test=cut(whole, 20, 30),
        feature_names=("x", "y"), units=("", ""), source="table:n", cut_in_time=True,
    )  # fmt: skip
    assert data.rows.names == ("a", "b")
    for joined, array in zip(data.rows.to_arrays(), arrays, strict=True):
        np.testing.assert_array_equal(joined, array)
    one = data.shortened(sequences=1, steps=15).rows  # which cuts nothing
    assert (one.names, one.lengths.tolist()) == (("a",), [30])
    for apart in (data.shortened(sequences=None, steps=8), replace(data, cut_in_time=False)):
        assert apart.rows.names == ("a", "b") * 3
        lengths = [int(length) for part in apart.parts.values() for length in part.lengths]
        assert apart.rows.lengths.tolist() == lengths
