"""Samples that hold the same are learned from together, or held out together."""

from __future__ import annotations

import warnings

import pytest
import torch

from mctn_problems import samples
from models.mctn.held_out import first_equal, joined, split
from models.mctn.samples import Samples
from models.runtime.seeding import generator


def repeated(rows: list[int]) -> Samples:
    own = samples(12)
    places = torch.tensor(rows)
    return Samples({letter: stream.take(places) for letter, stream in own.streams.items()}, places.double())


def test_samples_that_all_differ_are_drawn_one_by_one() -> None:
    own = repeated(list(range(12)))
    order = torch.randperm(12, generator=generator(3, "mctn/held_out")).double()
    assert own.labels is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned, held_out = split(own.streams, own.labels, share=0.5, seed=3)
    assert (learned.labels, held_out.labels) != (None, None)
    torch.testing.assert_close(held_out.labels, order[:6])
    torch.testing.assert_close(learned.labels, order[6:])


@pytest.mark.parametrize("seed", range(8))
def test_samples_that_hold_the_same_stay_in_one_part(seed: int) -> None:
    own = repeated([*range(12), *range(12), 0, 0, 0, 0, 0])  # 24, and the first one five times more
    assert own.labels is not None
    with pytest.warns(UserWarning, match=r"^17 of 29 samples hold the same as another; each stays in one part with it"):
        learned, held_out = split(own.streams, own.labels, share=0.25, seed=seed)
    assert learned.labels is not None
    assert held_out.labels is not None
    assert not set(learned.labels.tolist()) & set(held_out.labels.tolist())
    assert (learned.count + held_out.count, 5 <= held_out.count <= 7) == (29, True)


def test_too_few_different_samples_are_said() -> None:
    own = repeated([0] * 15 + [1] * 15)
    assert own.labels is not None
    with pytest.warns(UserWarning, match="30 are learned from and 0 held out, too few to choose an epoch by; 5 are"):
        _, held_out = split(own.streams, own.labels, share=0.3, seed=0)
    assert held_out.count == 0


def test_a_few_samples_that_could_be_held_out_are_learned_from() -> None:
    """Of eight only the four that differ fit beside groups of nine."""
    own = repeated([0] * 9 + [1] * 9 + [2, 3, 4, 5])
    assert own.labels is not None
    with pytest.warns(UserWarning, match=r"22 are learned from and 0 held out, too few .*, and the last is kept"):
        learned, held_out = split(own.streams, own.labels, share=0.37, seed=0)
    assert (learned.count, held_out.count) == (22, 0)


def test_samples_without_a_step_are_not_called_equal() -> None:
    own = samples(12, missing=[0, 1, 5])
    assert first_equal({"v": own.streams["v"]}).tolist() == list(range(12))


def test_groups_and_samples_that_hold_the_same_are_joined_along_chains() -> None:
    """The first and the second hold the same, the second and the fourth are of a group, as are the third and fifth."""
    found = joined(torch.tensor([0, 0, 2, 3, 4]), torch.tensor([7, 8, 9, 8, 9]))
    assert [own == found[0] for own in found] == [True, True, False, True, False]
    assert found[2] == found[4]


def test_of_a_class_some_samples_are_learned_from() -> None:
    own = samples(12)
    classes = torch.tensor([0] * 9 + [1] * 3)
    for seed in range(20):
        learned, held_out = split(own.streams, classes, share=0.9, seed=seed)
        assert held_out.count == 10
        assert learned.labels is not None
        assert learned.labels.unique().tolist() == [0, 1]
