"""Several processes find what one finds, and the same bits as one another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import rank_work
from rank_work import Found, on_ranks


def agree(found: list[Found], expected: Found, **tolerance: float) -> None:
    """All ranks to the bit, and the process alone within the tolerance."""
    for name, value in expected.items():
        first, *others = (each[name] for each in found)
        if value is None:
            assert all(each is None for each in (first, *others)), name
            continue
        assert all(torch.equal(torch.as_tensor(first), torch.as_tensor(other)) for other in others), name
        torch.testing.assert_close(
            torch.as_tensor(first), torch.as_tensor(value).detach(), msg=lambda m, n=name: f"{n}: {m}", **tolerance
        )


@pytest.mark.parametrize(
    ("count", "arguments"),
    [(2, {}), (3, {"chunk": 1000}), (2, {"projection": 4})],
    ids=["two", "three", "projected"],
)
def test_two_stage_regression(count: int, arguments: dict[str, Any], tmp_path: Path) -> None:
    found = on_ranks(rank_work.regressed, tmp_path, count=count, **arguments)
    agree(found, rank_work.regressed(**arguments), rtol=1e-10, atol=1e-10)


def test_two_stage_regression_in_single_precision(tmp_path: Path) -> None:
    found = on_ranks(rank_work.regressed, tmp_path, dtype=torch.float32)
    agree(found, rank_work.regressed(dtype=torch.float32), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("gaps", [False, True])
def test_readout_and_filtered_states(gaps: bool, tmp_path: Path) -> None:
    agree(on_ranks(rank_work.refreshed, tmp_path, gaps=gaps), rank_work.refreshed(gaps=gaps), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("gaps", "chunks"), [(False, 5), (True, 4), (False, 1)])
def test_gradients_of_a_batch(gaps: bool, chunks: int, tmp_path: Path) -> None:
    """One chunk for two ranks: one of them has nothing to do."""
    expected = rank_work.gradients(gaps=gaps, chunks=chunks)
    assert any(isinstance(value, Tensor) and float(value.abs().max()) > 1e-6 for value in expected.values())
    agree(on_ranks(rank_work.gradients, tmp_path, gaps=gaps, chunks=chunks), expected, rtol=1e-10, atol=1e-12)


def test_two_ranks_train_as_one(tmp_path: Path) -> None:
    """Also where their shares of a batch are unlike, and batches are accumulated; dropout alone is each one's own."""
    places = [tmp_path / name for name in ("alone", "both", "dropped")]
    for place in places:
        place.mkdir()
    expected = rank_work.fitted(place=places[0])
    agree(on_ranks(rank_work.fitted, places[1], place=places[1]), expected, rtol=1e-12, atol=1e-12)
    first, second = on_ranks(rank_work.fitted, places[2], place=places[2], dropout=0.5)
    agree([first, second], first, rtol=0, atol=0)
    assert not torch.equal(first["weight"], rank_work.fitted(place=tmp_path, dropout=0.5)["weight"])


def test_after_a_step_back_all_ranks_have_the_model_of_the_first(tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.taken_back, tmp_path)
    assert not torch.equal(first.pop("unlike"), second.pop("unlike"))
    agree([first, second], first, rtol=0, atol=0)


def test_a_parameter_without_a_gradient_keeps_none(tmp_path: Path) -> None:
    expected = {"0": torch.full((2,), 3.0, dtype=torch.float64), "1": torch.full((2,), 5.0), "2": None}
    agree(on_ranks(rank_work.of_unlike_parameters, tmp_path), expected, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_numbers_beside_the_gradients_are_summed_in_double_precision(dtype: torch.dtype, tmp_path: Path) -> None:
    found = on_ranks(rank_work.of_numbers_beside, tmp_path, dtype=dtype)
    expected = {
        "sums": torch.tensor([0.1 + 0.1, 2.0**24 + 1], dtype=torch.float64),
        "gradient": torch.full((2,), 2.0, dtype=dtype),
    }
    agree(found, expected, rtol=0, atol=0)
    assert [each["own"].tolist() for each in found] == [[0.1, 2.0**24 + 1], [0.1, 0.0]]


def test_all_ranks_keep_the_model_of_the_first(tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.kept_of_unlike, tmp_path)
    assert not torch.equal(first["unlike"], second["unlike"])
    agree([first, second], {"weight": first["unlike"]}, rtol=0, atol=0)


def test_all_ranks_decide_by_the_scores_of_the_first(tmp_path: Path) -> None:
    for found in on_ranks(rank_work.ended_by_unlike_scores, tmp_path):
        assert found == {"values": [2.0, 1.0, 1.0, 1.0], "best": 1}


def test_rows_text_and_bytes(tmp_path: Path) -> None:
    first, second = on_ranks(rank_work.shared, tmp_path)
    assert (first["rows"], second["rows"]) == ((0, 3), (3, 7))
    for found in (first, second):
        assert found["text"] == "rank 0: größer"
        assert (found["bytes"], found["no bytes"]) == ([0, 0, 255], [])
    torch.testing.assert_close(first["one"], rank_work.shared()["one"])


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (rank_work.too_few_rows, "1 rows cannot be shared by 2 processes; start at most 1"),
        (rank_work.left_alone, "another process of this run has ended, or cannot be reached"),
    ],
)
def test_errors(work: Callable[..., Found], said: str, tmp_path: Path) -> None:
    assert said in on_ranks(work, tmp_path)[0]["error"]
