"""Recorded functions: what a replay must not do is shown on the CPU by a recorder with the same fixed memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from fixed_memory import FixedMemory
from models.psrnn import fused, fused_factorised
from models.runtime import cuda_graphs as recorded
from models.runtime.cuda_graphs import MOST_SHAPES, Argument, Recordable, Recorded, Recorder, Recording, agree


def record_anew(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """The recursions of a module without the recordings that other tests left."""
    monkeypatch.setattr(module, "RECURSION", Recorded(module.recursion))
    monkeypatch.setattr(module, "REVERSAL", Recorded(module.reversal))


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> FixedMemory:
    recorder = FixedMemory()
    monkeypatch.setitem(recorded.RECORDERS, "cpu", recorder)
    for module in (fused, fused_factorised):
        record_anew(monkeypatch, module)
    return recorder


def twice(x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
    return 2 * x, x if y is None else x + y


def test_nothing_is_recorded_on_a_cpu() -> None:
    function = Recorded(twice)
    for _ in range(3):
        assert function(torch.ones(3), None)[0].tolist() == [2, 2, 2]
    assert function.recordings == {}


def test_results_outlive_the_next_replay(memory: FixedMemory) -> None:
    function = Recorded(twice)
    first, *_, last = [function(torch.full((3,), x), torch.ones(3)) for x in (1.0, 2.0, 5.0)]
    second = function(torch.full((3,), 7.0), torch.ones(3))
    assert [part.tolist() for part in (*first, *last)] == [[2.0] * 3, [2.0] * 3, [10.0] * 3, [6.0] * 3]
    assert second[0].tolist() == [14.0] * 3
    assert memory.recordings == 1


def test_shapes_that_come_again_are_recorded_up_to_a_limit(memory: FixedMemory) -> None:
    function = Recorded(twice)
    for batch in range(1, MOST_SHAPES + 4):
        function(torch.ones(5, batch, 2), None)
    assert memory.recordings == 0
    for batch in range(1, MOST_SHAPES + 4):
        assert function(torch.ones(5, batch, 2), None)[0].shape == (5, batch, 2)
    assert memory.recordings == MOST_SHAPES == len(function.recordings)


def test_another_family_replaces_what_was_recorded(memory: FixedMemory) -> None:
    function = Recorded(twice)
    for shape, dtype in (
        ((4, 2), torch.float32),
        ((4, 3), torch.float32),
        ((5, 3), torch.float32),
        ((5, 3), torch.float64),
    ):
        for _ in range(2):
            function(torch.ones(shape, dtype=dtype), None)
    assert (memory.recordings, len(function.recordings)) == (4, 1)


def test_empty_and_large_arguments_are_not_recorded(memory: FixedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MOST_BYTES", 4 * 100)
    function = Recorded(twice)
    for _ in range(3):
        assert function(torch.ones(0, 2), None)[0].shape == (0, 2)
        assert function(torch.ones(101), None)[0].shape == (101,)
    assert memory.recordings == 0


def test_threads_take_turns(memory: FixedMemory) -> None:
    """Each thread gets the answer to its own question, though the replay lies between others' copies."""

    def slowly(x: Tensor) -> tuple[Tensor]:
        time.sleep(1e-3)
        return (2 * x,)

    function, numbers = Recorded(slowly), [float(number) for number in range(40)]
    function(torch.zeros(3))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: function(torch.full((3,), number))[0].tolist(), numbers))
    assert answers == [[2 * number] * 3 for number in numbers]
    assert memory.recordings == 1


def test_numbers_that_are_not_finite_hide_no_difference() -> None:
    infinite = torch.tensor([1.0, torch.inf, torch.nan])
    assert agree([infinite], [infinite])
    assert not agree([infinite + torch.tensor([7e9, 0, 0])], [infinite])


def stale(function: Recordable, arguments: Sequence[Argument]) -> Recording:
    own = tuple(None if x is None else x.clone() for x in arguments)
    return Recording(own, function(*own), lambda: None)


def refused(*_: object) -> Recording:
    raise RuntimeError("operation not permitted when stream is capturing\nand more lines")


@pytest.mark.parametrize(
    ("recorder", "words"), [(stale, "its replay gives other numbers"), (refused, "operation not permitted when stream")]
)
def test_a_recording_that_fails_is_warned_about_once_and_not_used(
    recorder: Recorder, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(recorded.RECORDERS, "cpu", recorder)
    function = Recorded(twice)
    function(torch.zeros(3), None)
    with pytest.warns(
        RuntimeWarning, match=rf"no CUDA graph of \S*twice: {words}.*; it runs kernel by kernel"
    ) as found:
        first = function(torch.arange(3.0), None)
    second = function(torch.arange(3.0) + 1, None)  # a second warning would be an error
    assert len(found) == 1
    assert (first[0].tolist(), second[0].tolist()) == ([0, 2, 4], [2, 4, 6])


def random_parts(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in shapes]


def parts_of_full(seed: int, *, batch: int) -> list[Tensor]:
    """W, b, q_0 and ω of four states, six features and seven steps."""
    return random_parts(seed, (4, 4, 6), (4,), (batch, 4), (7, batch, 6))


def parts_of_factorised(seed: int, *, batch: int) -> list[Tensor]:
    """A, B, c, b and q_0 of rank five."""
    return random_parts(seed, (4, 5), (4, 5), (6, batch, 5), (4,), (batch, 4))


RECURSIONS: dict[str, tuple[Any, Any]] = {
    "full": (fused.states_with_gradient, parts_of_full),
    "factorised": (fused_factorised.factorised_states, parts_of_factorised),
}


def states_and_gradients(recursion: Any, problems: list[list[Tensor]], reference: Tensor | None) -> list[Tensor]:
    """Of all problems at once: every forward pass comes before the backward pass, as in one loss."""
    states = [recursion(*parts, reference) for parts in problems]
    loss = torch.stack([found.roll(1, 0).cos().sum() for found in states]).sum()
    return [*states, *torch.autograd.grad(loss, [part for parts in problems for part in parts])]


@pytest.mark.parametrize("keep_sign", [True, False])
@pytest.mark.parametrize("name", RECURSIONS)
def test_states_and_gradients_are_those_without_recordings(
    name: str, keep_sign: bool, request: pytest.FixtureRequest
) -> None:
    recursion, make = RECURSIONS[name]
    reference = torch.tensor([1.0, -1, 1, -1], dtype=torch.float64) if keep_sign else None
    problems = [make(seed, batch=batch) for seed, batch in ((0, 3), (1, 3), (2, 2))]
    expected = states_and_gradients(recursion, problems, reference)
    memory: FixedMemory = request.getfixturevalue("memory")
    for _ in range(3):
        found = states_and_gradients(recursion, problems, reference)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert memory.recordings == 4  # two batch sizes, forwards and backwards
    assert memory.replays > 4 * 2 + 3 * 2  # each tried twice, and then used


@torch.no_grad()
@pytest.mark.parametrize("name", RECURSIONS)
def test_nothing_is_recorded_without_a_gradient(name: str, memory: FixedMemory) -> None:
    _, make = RECURSIONS[name]
    without = {"full": fused.states_without_gradient, "factorised": fused_factorised.factorised_states}[name]
    for _ in range(3):
        without(*make(0, batch=3), None)
    assert memory.recordings == 0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: CUDA graphs cannot be recorded")
@pytest.mark.parametrize("keep_sign", [True, False])
@pytest.mark.parametrize("name", RECURSIONS)
def test_graphs_on_a_gpu_give_what_the_cpu_gives(name: str, keep_sign: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    recursion, make = RECURSIONS[name]
    module = {"full": fused, "factorised": fused_factorised}[name]
    record_anew(monkeypatch, module)
    reference = torch.tensor([1.0, -1, 1, -1], dtype=torch.float64) if keep_sign else None
    problems = [make(seed, batch=batch) for seed, batch in ((0, 3), (1, 3), (2, 2))]
    expected = states_and_gradients(recursion, problems, reference)
    on_gpu = [[part.detach().cuda().requires_grad_() for part in parts] for parts in problems]
    for _ in range(3):
        found = states_and_gradients(recursion, on_gpu, None if reference is None else reference.cuda())
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.cpu(), other, rtol=1e-9, atol=1e-12)
    for function in (module.RECURSION, module.REVERSAL):
        assert len(function.recordings) == 2
        assert None not in function.recordings.values()
