"""Schedules of the learning rate against torch's own and written-out values."""

from __future__ import annotations

import pytest
import torch

from pipeline.host.errors import PipelineError
from pipeline.job.schedules import SCHEDULES, share_of_rate


def test_one_cycle_is_that_of_torch() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    expected = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=40, pct_start=0.3, cycle_momentum=False)
    for step in range(40):
        found = share_of_rate("one_cycle", step, total=40, warmup=0.3)
        assert found == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        optimizer.step()
        if step < 39:
            expected.step()


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("warmup_linear", [0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0]),
        ("warmup_inverse_sqrt", [0.5, 1.0, (2 / 3) ** 0.5, 0.5**0.5, (2 / 5) ** 0.5, (2 / 6) ** 0.5]),
        ("cosine", [0.5, 1.0, 1.0, 0.9619397662556434, 0.8535533905932737, 0.6913417161825449, 0.5]),
    ],
)
def test_shares_of_ten_steps_with_two_to_warm_up(name: str, shares: list[float]) -> None:
    found = [share_of_rate(name, step, total=10, warmup=0.2) for step in range(len(shares))]
    assert found == pytest.approx(shares, abs=1e-15)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("total", [1, 2, 3, 50])
def test_a_share_is_between_nothing_and_all_and_the_first_step_moves(name: str, warmup: float, total: int) -> None:
    found = [share_of_rate(name, step, total=total, warmup=warmup) for step in range(total + 3)]
    assert all(0 <= share <= 1 for share in found)
    assert found[0] > 0


def test_without_a_schedule_the_rate_stays_to_the_bit() -> None:
    assert share_of_rate("constant", 7, total=None, warmup=0.0) == 1.0


def test_an_unknown_name_and_an_unknown_length_are_refused() -> None:
    with pytest.raises(
        PipelineError, match="'cosin' is unknown; choose one of constant, warmup_linear, cosine, one_cy"
    ):
        share_of_rate("cosin", 0, total=3, warmup=0.0)
    with pytest.raises(PipelineError, match=r"schedule=cosine with warmup=0 needs the number of steps; give `steps`"):
        share_of_rate("cosine", 0, total=None, warmup=0.0)
