"""What a named use of the seed draws, and that the global generators are afterwards as they were."""

from __future__ import annotations

import pytest
import torch

from models.runtime.seeding import derived, drawn


def test_a_block_draws_from_the_cpu_as_seeded_and_leaves_the_generator_as_it_was() -> None:
    before = torch.get_rng_state()
    with drawn(3, "use"):
        found = torch.randn(5)
    assert torch.equal(torch.get_rng_state(), before)
    expected = torch.randn(5, generator=torch.Generator().manual_seed(derived(3, "use")))
    assert torch.equal(found, expected)


def test_cuda_that_is_not_in_use_is_not_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_initialized", lambda: False)
    monkeypatch.setattr("torch.cuda.manual_seed_all", lambda _: pytest.fail("CUDA would begin with this seed later"))
    with drawn(3, "use"):
        pass


def test_generators_of_cuda_devices_are_seeded_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    states = {0: torch.tensor([1]), 1: torch.tensor([2])}

    def seed_all(seed: int) -> None:
        states.update(dict.fromkeys(states, torch.tensor([seed])))

    monkeypatch.setattr("torch.cuda.is_initialized", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.manual_seed_all", seed_all)
    monkeypatch.setattr("torch.cuda.get_rng_state", lambda device: states[device])
    monkeypatch.setattr("torch.cuda.set_rng_state", lambda state, device: states.update({device: state}))
    with drawn(3, "use"):
        assert [int(state) for state in states.values()] == [derived(3, "use")] * 2
    assert [int(state) for state in states.values()] == [1, 2]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: its generator cannot be looked at")
def test_a_block_draws_from_the_gpu_as_seeded_and_leaves_its_generator_as_it_was() -> None:
    torch.zeros(1, device="cuda")
    before = torch.cuda.get_rng_state()
    numbers = []
    for _ in range(2):
        with drawn(3, "use"):
            numbers.append(torch.randn(5, device="cuda"))
        assert torch.equal(torch.cuda.get_rng_state(), before)
    assert torch.equal(*numbers)
