"""The recursions never wait for a number: what a captured graph on a GPU would need, checked without one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode

from models.psrnn.fused import states_with_gradient, states_without_gradient
from models.psrnn.fused_factorised import factorised_states

BATCH, STEPS, STATE, WIDTH, RANK = 3, 7, 4, 6, 5
SHAPES: dict[Any, list[tuple[int, ...]]] = {
    states_with_gradient: [(STATE, STATE, WIDTH), (STATE,), (BATCH, STATE), (STEPS, BATCH, WIDTH)],
    factorised_states: [(STATE, RANK), (STATE, RANK), (STEPS - 1, BATCH, RANK), (STATE,), (BATCH, STATE)],
}
SHAPES[states_without_gradient] = SHAPES[states_with_gradient]


def test_the_check_finds_what_waits() -> None:
    with FakeTensorMode(), pytest.raises(DataDependentOutputException, match="_local_scalar_dense"):
        bool(torch.zeros(3).any())


@pytest.mark.parametrize("keep_sign", [True, False])
@pytest.mark.parametrize("recursion", SHAPES, ids=lambda recursion: recursion.__name__)
def test_shapes_and_kernels_depend_on_no_number(recursion: Any, keep_sign: bool) -> None:
    with FakeTensorMode():  # tensors without numbers: reading one, or a shape that depends on one, is an error
        parts = [torch.empty(*shape, requires_grad=True) for shape in SHAPES[recursion]]
        states = recursion(*parts, torch.empty(STATE) if keep_sign else None)
        assert states.shape == (STEPS, BATCH, STATE)
        if recursion is not states_without_gradient:
            gradients = torch.autograd.grad(states.sum(), parts)
            assert [g.shape for g in gradients] == [p.shape for p in parts]
