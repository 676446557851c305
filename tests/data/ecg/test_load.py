"""The data set ecg: shapes, names, noise, determinism, the split, and parameters that are refused."""

import inspect
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf

from data.base import DataError
from data.ecg.load import Ecg

SMALL = {"trajectories": 6, "test": 2, "validation": 1, "steps": 60}


def small(**changes):
    return Ecg(**{**SMALL, **changes}).load()


def test_records_have_the_documented_shapes_names_and_units():
    dataset = small()
    assert [part.values.shape for part in dataset.parts.values()] == [(3, 60, 1), (1, 60, 1), (2, 60, 1)]
    assert all(bool(part.mask.all()) for part in dataset.parts.values())
    assert (dataset.name, dataset.feature_names, dataset.units) == ("ecg", ("voltage",), ("mV",))
    assert (dataset.source, dataset.stand_in) == ("simulated", False)


def test_the_same_seed_gives_the_same_data_and_another_seed_other_hearts():
    assert small(seed=3).checksum == small(seed=3).checksum
    one, other = small(seed=3, noise=0.0).test.values, small(seed=4, noise=0.0).test.values
    assert (one - other).abs().max() > 0.1


def test_hearts_differ_from_record_to_record():
    values = small(noise=0.0).train.values
    assert (values[0] - values[1]).abs().max() > 0.1


def test_fewer_and_shorter_records_are_the_begin_of_more_and_longer_ones():
    less, more = small(), small(trajectories=9, test=5, steps=75)
    every = {name: part.values[i] for part in more.parts.values() for i, name in enumerate(part.names)}
    for part in less.parts.values():
        for name, values in zip(part.names, part.values, strict=True):
            torch.testing.assert_close(values, every[name][:60], rtol=0, atol=1e-9)


def test_the_last_records_are_the_test_part_and_validation_is_drawn():
    assert small().test.names == ("record_04", "record_05")
    assert len({small(seed=seed).validation.names for seed in range(8)}) > 1


def test_the_noise_is_of_the_stated_size_and_changes_nothing_else():
    added = small(steps=1500, noise=0.2).train.values - small(steps=1500, noise=0.0).train.values
    assert added.std().item() == pytest.approx(0.2, rel=0.05)
    assert abs(added.mean().item()) < 0.02


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, r"seed must be a whole number of at least 0, got -1"),
        ({"steps": 0}, r"steps must be a whole number of at least 1, got 0"),
        ({"test": 0}, r"test must be a whole number of at least 1, got 0"),
        ({"validation": 4}, r"6 trajectories cannot give 2 for test, 4 for validation and at least one for training"),
        ({"frequency": -1.0}, r"frequency must be a number of at least 0, got -1\.0"),
        ({"frequency": 0.5}, r"frequency=0\.5 must be at least 1 and at most 100000"),
        ({"frequency": 1e6}, r"frequency=1000000\.0 must be at least 1 and at most 100000"),
        ({"heart_rate": "fast"}, r"heart_rate must be a number above 0, got 'fast'"),
        ({"heart_rate_spread": 60.0}, r"heart_rate_spread must be below heart_rate; lower it"),
        ({"noise": float("inf")}, r"noise must be a number of at least 0, got inf"),
        ({"beat_spread": 0.15}, r"beats could become as short as -0\.0508 s, below 0\.2 s; lower heart_rate, "),
        ({"heart_rate": 400.0}, r"beats could become as short as 0\.0947 s, below 0\.2 s"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(change, message):
    with pytest.raises(DataError, match=f"^ecg: {message}"):
        small(**change)


def test_the_configuration_names_every_parameter_with_its_default():
    conf = OmegaConf.load(Path(__file__).parents[3] / "conf" / "data" / "ecg.yaml")
    defaults = {name: p.default for name, p in inspect.signature(Ecg).parameters.items()}
    assert dict(conf) == {"_target_": "data.ecg.load.Ecg", **defaults}
