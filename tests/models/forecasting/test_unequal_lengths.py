"""Sequences of unequal length and with gaps, filtered and refined: against filtering step by step in plain loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from models.baselines.networks import GRUNetwork, LSTMNetwork, MinGRUNetwork
from models.forecasting import filtering
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import (
    Filtered,
    MaskedSequences,
    before_end,
    filter_sequences,
    gapless,
    scored_steps,
    up_to_end,
    with_padding_observed,
)
from models.forecasting.horizons import horizon_errors
from models.forecasting.readout import ReadoutFit, ReadoutSettings
from models.forecasting.recurrent import Recurrent
from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN

DIMENSION, STEPS, LENGTHS = 2, 23, (23, 17, 9, 1, 20)
MODELS: dict[str, Callable[[], Recurrent]] = {
    "psrnn": lambda: PSRNN(frequencies=3, dimension=DIMENSION, state=4, lags=2),
    "psrnn, frequencies learned, no lags": lambda: PSRNN(
        frequencies=3, dimension=DIMENSION, state=4, projected=3, learn_frequencies=True
    ),
    "psrnn_cp": lambda: FactorisedPSRNN(frequencies=3, dimension=DIMENSION, state=4, rank=5, lags=1),
    "lstm": lambda: LSTMNetwork(dimension=DIMENSION, units=3, lags=2),
    "gru": lambda: GRUNetwork(dimension=DIMENSION, units=3, lags=1),
    "min_gru": lambda: MinGRUNetwork(dimension=DIMENSION, units=3, lags=0),
}


def random_model(name: str = "psrnn") -> Recurrent:
    generator = torch.Generator().manual_seed(1)
    model = MODELS[name]().double()
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(0.7 * torch.randn(tensor.shape, generator=generator, dtype=torch.float64))
    return model


def mask_of(kind: str) -> Tensor:
    """unequal: lengths alone; gaps: rows and single entries besides; rare: one gap in each, all observed in between."""
    mask = (torch.arange(STEPS) < torch.tensor(LENGTHS)[:, None]).unsqueeze(2).repeat(1, 1, DIMENSION)
    if kind in ("gaps", "some gaps"):
        mask[0, 5:8] = False
        mask[4, 2, 1] = mask[4, 19, 0] = False
    if kind == "gaps":
        mask[1, 0] = mask[2, 8, 1] = mask[3] = False
    if kind == "rare":
        mask[:] = True
        mask[:, 11, 1] = mask[2, 12] = False
    return mask


def part_of(kind: str) -> MaskedSequences:
    generator = torch.Generator().manual_seed(2)
    mask = mask_of(kind)
    values = torch.randn(mask.shape, generator=generator, dtype=torch.float64)
    return MaskedSequences(torch.where(mask, values, 0.0), mask, scored_steps(mask, first_step=1))


def scored_part(values: Tensor, mask: Tensor) -> MaskedSequences:
    return MaskedSequences(values, mask, scored_steps(mask, first_step=2))


def by_steps(model: Any, values: Tensor, mask: Tensor, start: Any = None) -> Filtered:
    """Filtering by nothing but `predict` and `update`. With a start-up no state moves before something was observed."""
    state, found = model.initial_state(len(values)) if start is None else start, []
    for t in range(values.shape[1]):
        prediction = model.predict(state)
        filled = torch.where(mask[:, t], values[:, t], prediction)
        found.append((prediction, filled, *state))
        moves = mask[:, t].any(1) | (state[-1][:, 0] > 0) | torch.tensor(model.start_up is None)
        pairs = zip(model.update(state, filled), state, strict=True)
        state = tuple(torch.stack([(new if m else old)[i] for i, m in enumerate(moves)]) for new, old in pairs)
    predictions, filled, *states = (torch.stack(parts, 1) for parts in zip(*found, strict=True))
    return Filtered(predictions, filled, tuple(states))


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def trained(model: Recurrent) -> list[Tensor]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def steps_taken(model: Recurrent, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The batch sizes of the updates that are taken one by one, as they come."""
    taken: list[int] = []
    update = model.update

    def counting(state: Any, observation: Tensor) -> Any:
        taken.append(len(observation))
        return update(state, observation)

    monkeypatch.setattr(model, "update", counting)
    return taken


# --- masks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["unequal", "gaps", "some gaps", "rare"])
def test_ends_are_those_of_a_loop(kind: str) -> None:
    mask = mask_of(kind)
    for s, row in enumerate(mask):
        seen = [t for t in range(STEPS) if bool(row[t].any())]
        end = seen[-1] + 1 if seen else 0
        assert before_end(mask)[s].tolist() == [t < end for t in range(STEPS)]
        assert bool(gapless(mask)[s]) == bool(row[:end].all())
        assert torch.equal(up_to_end(mask)[s, :end], row[:end])
        assert bool(up_to_end(mask)[s, end:].all())


# --- filtering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["unequal", "gaps", "some gaps", "rare"])
@pytest.mark.parametrize("name", MODELS)
def test_filtering_and_its_gradient_are_those_of_single_steps(name: str, kind: str) -> None:
    """To the end of the padding, forecasts after the ends too; with `up_to_end` up to the ends alone."""
    model, (values, mask, scored) = random_model(name), part_of(kind)
    expected = by_steps(model, values, mask)
    found = filter_sequences(model, values, mask)
    close(tuple(found), tuple(expected))
    shorter = filter_sequences(model, values, up_to_end(mask))
    rows = before_end(mask)
    for ours, theirs in zip((*shorter[:2], *shorter.states), (*expected[:2], *expected.states), strict=True):
        close(ours[rows], theirs[rows])
        assert bool(ours.isfinite().all())
    losses = ((each.predictions - values)[scored].square().sum() for each in (expected, found, shorter))
    slow, *fast = (torch.autograd.grad(loss, trained(model), materialize_grads=True) for loss in losses)
    assert any(bool(gradient.any()) for gradient in slow)
    for gradients in fast:
        close(gradients, slow)


@torch.no_grad()
def test_a_start_state_is_shared_out_with_its_sequences() -> None:
    model, (values, mask, _) = random_model(), part_of("some gaps")
    start = tuple(part[:, 7] for part in by_steps(model, values, torch.ones_like(mask)).states)
    close(tuple(filter_sequences(model, values, mask, start)), tuple(by_steps(model, values, mask, start)))


@torch.no_grad()
def test_only_sequences_with_gaps_go_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (values, mask, _) = random_model(), part_of("some gaps")
    taken = steps_taken(model, monkeypatch)
    filter_sequences(model, values, up_to_end(part_of("unequal").mask))
    assert taken == []
    filter_sequences(model, values, up_to_end(mask))
    # of the sequences 0 and 4 the rows 8 to 18 are observed in both: one update leads out of them
    assert taken == [2] * (8 + 1 + 1 + 3)


@torch.no_grad()
def test_the_stretches_around_rare_gaps_are_filtered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (values, mask, _) = random_model(), part_of("rare")
    taken = steps_taken(model, monkeypatch)
    filter_sequences(model, values, mask)
    assert len(taken) == 1 + 2 + 1


@torch.no_grad()
def test_errors_at_horizons_do_not_depend_on_what_lies_after_the_ends() -> None:
    model, part = random_model(), part_of("unequal")
    values, mask, _ = part
    found, expected = (
        horizon_errors(model, filtered, part, [1, 3], first_step=1)
        for filtered in (filter_sequences(model, values, up_to_end(mask)), by_steps(model, values, mask))
    )
    for horizon in (1, 3):
        torch.testing.assert_close(found[horizon], expected[horizon], rtol=1e-10, atol=1e-10, equal_nan=True)


# --- the readout, and truncated BPTT ----------------------------------------------------------------------------------


def objective(model: Recurrent, part: MaskedSequences, *, solved: bool, horizon: int = 5) -> TruncatedBPTT:
    fit = ReadoutFit(part, part, ReadoutSettings(model.lags, [1e-2, 1.0], "samples"))
    solve = (lambda m: fit(m).train) if solved else None
    return TruncatedBPTT(model, part, horizon=horizon, batch_size=4, solve_readout=solve)


def trained_for_an_epoch(model: Recurrent, part: MaskedSequences, *, solved: bool) -> tuple[list[Any], list[Tensor]]:
    """The losses on the way, and the parameters after it."""
    work = objective(model, part, solved=solved)
    losses: list[Any] = [work.refresh()]
    optimizer = torch.optim.SGD(work.parameters(), lr=0.05)
    for batch in work.batches(torch.Generator().manual_seed(3)):
        optimizer.zero_grad()
        loss = work.loss(batch).mean
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return [*losses, work.refresh()], [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("solved", [False, True])
@pytest.mark.parametrize("kind", ["unequal", "gaps", "some gaps", "rare"])
@pytest.mark.parametrize("name", MODELS)
def test_an_epoch_is_that_of_single_steps(name: str, kind: str, solved: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(kind)
    found = trained_for_an_epoch(random_model(name), part, solved=solved)
    with monkeypatch.context() as slow:
        for module in ("models.forecasting.filtering", "models.forecasting.bptt", "models.forecasting.readout"):
            slow.setattr(f"{module}.filter_sequences", by_steps)
            slow.setattr(f"{module}.up_to_end", lambda mask: mask)
        slow.setattr("models.forecasting.readout.has_gaps", lambda _: True)
        slow.setattr("models.forecasting.bptt.gapless", lambda mask: torch.zeros(len(mask), dtype=torch.bool))
        if solved and kind == "unequal":  # with gaps the readout is fitted twice
            slow.setattr(ReadoutFit, "__call__", lambda fit, model: fit._begin(model) or fit._once(model))
        expected = trained_for_an_epoch(random_model(name), part, solved=solved)
    close(found, expected)
    assert found[0][-1] != found[0][0]


@pytest.mark.parametrize(("kind", "whole"), [("unequal", 15), ("some gaps", 12)])
def test_whole_chunks_are_known(kind: str, whole: int) -> None:
    part = part_of(kind)
    work = objective(random_model(), part, solved=True)
    for i, (sequence, start) in enumerate(zip(work.chunks.sequence.tolist(), work.chunks.start.tolist(), strict=True)):
        seen = part.mask[sequence, start : start + 5]
        end = max(t for t in range(len(seen)) if bool(seen[t].any())) + 1
        assert bool(work.whole[i]) == bool(seen[:end].all())
    assert int(work.whole.sum()) == whole


def test_whole_chunks_take_no_single_step(monkeypatch: pytest.MonkeyPatch) -> None:
    for solved in (False, True):
        work = objective(random_model(), part_of("unequal"), solved=solved)
        taken = steps_taken(work.model, monkeypatch)
        work.refresh()
        for batch in work.batches(torch.Generator().manual_seed(3)):
            work.loss(batch)
        assert taken == []


def test_what_the_lags_say_is_known_of_whole_chunks_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    work = objective(random_model(), part_of("some gaps"), solved=True)
    work.refresh()
    assert work.lag_share is not None
    assert not bool(work.whole.all())
    seen: list[int] = []
    by_filter = filtering.filter_sequences
    monkeypatch.setattr("models.forecasting.bptt.filter_sequences", lambda *a: seen.append(len(a[1])) or by_filter(*a))
    work.loss(torch.arange(len(work.whole)))
    assert seen == [int((~work.whole).sum())]


def test_padding_is_observed_and_missing_last_rows_are_not() -> None:
    mask = torch.zeros(2, 4, 1, dtype=torch.bool)
    mask[:, 0] = True
    found = with_padding_observed(mask, torch.tensor([2, 4]))[..., 0]
    assert found.tolist() == [[True, False, True, True], [True, False, False, False]]


@torch.no_grad()
def test_the_origins_of_forecasts_are_counted_from_the_first_row_that_was_observed() -> None:
    model, (values, mask, _) = random_model(), part_of("unequal")
    missing = torch.zeros_like(mask[:, :3])
    behind = torch.cat([missing, mask], 1)
    later = torch.cat([torch.zeros_like(values[:, :3]), values], 1)
    found, expected = (
        horizon_errors(model, by_steps(model, own, observed), scored_part(own, observed), [1, 3], first_step=2)
        for own, observed in ((later, behind), (values, mask))
    )
    for horizon in (1, 3):
        assert bool(found[horizon][:, :3].isnan().all())
        assert torch.equal(found[horizon][:, 3:].isnan(), expected[horizon].isnan())
