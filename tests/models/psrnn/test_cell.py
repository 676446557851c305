"""The cell, filtering and forecasting against loops over sequences and steps."""

from __future__ import annotations

import pytest
import torch

import oracles
from models.forecasting import horizons, rolling
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.horizons import horizon_errors
from models.forecasting.rolling import forecast_from_everywhere, roll
from models.psrnn import cell
from models.psrnn.bilinear_cell import normalise
from models.psrnn.cell import PSRNN, bilinear

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


def random_model(*, lags: int = 0, keep_sign: bool = True, dtype: torch.dtype = torch.float64) -> PSRNN:
    generator = torch.Generator().manual_seed(5)
    model = PSRNN(frequencies=4, dimension=2, state=5, lags=lags, keep_sign=keep_sign)
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.5)
    return model.to(dtype)


def series(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    values = torch.randn(3, 9, 2, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.ones(3, 9, 2, dtype=torch.bool)
    mask[0, 4:6] = False
    mask[1, 2, 1] = False
    mask[2, 6:] = False
    return torch.where(mask, values, 0.0), mask


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("lags", "keep_sign"), [(0, True), (0, False), (1, True), (3, False)])
@torch.no_grad()
def test_filtering_equals_the_loop(dtype: torch.dtype, lags: int, keep_sign: bool) -> None:
    model, (values, mask) = random_model(lags=lags, keep_sign=keep_sign, dtype=dtype), series(dtype)
    found = filter_sequences(model, values, mask)
    expected = oracles.filter_by_loop(model, values, mask)
    torch.testing.assert_close(found.predictions, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert torch.equal(found.filled, torch.where(mask, values, found.predictions))
    norms = found.states[0].norm(dim=2)
    torch.testing.assert_close(norms, torch.ones_like(norms), rtol=0, atol=1e-5)


@torch.no_grad()
def test_states_keep_the_sign_of_the_reference_only_when_asked() -> None:
    values, mask = series()
    signed = filter_sequences(random_model(keep_sign=True), values, mask).states[0] @ random_model().reference
    free = filter_sequences(random_model(keep_sign=False), values, mask).states[0] @ random_model().reference
    assert bool((signed[:, 1:] >= 0).all())
    assert bool((free[:, 1:] < 0).any())


def test_a_zero_update_gives_no_nan() -> None:
    assert torch.equal(normalise(torch.zeros(2, 3), None), torch.zeros(2, 3))


def test_gradients() -> None:
    generator = torch.Generator().manual_seed(5)
    parts = [torch.randn(*s, generator=generator, dtype=torch.float64) for s in ((3, 3, 2), (3,), (2, 3), (2, 2))]
    for part in parts:
        part.requires_grad_()
    reference = torch.randn(3, generator=generator, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *a: normalise(bilinear(*a), reference), parts)


def test_negative_lags_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^lags must be 0 or more, got -1"):
        PSRNN(frequencies=1, dimension=1, state=2, lags=-1)


@torch.no_grad()
def test_a_gap_at_the_end_is_a_forecast() -> None:
    model, (values, mask) = random_model(lags=2), series()
    mask[:, 5:] = False
    predictions = filter_sequences(model, values, mask).predictions
    state = oracles.final_state(model, values[:, :5], mask[:, :5])
    torch.testing.assert_close(predictions[:, 5:], roll(model, state, 4))


@torch.no_grad()
def test_what_comes_later_never_changes_a_prediction() -> None:
    model, (values, mask) = random_model(lags=1), series()
    before = filter_sequences(model, values, mask).predictions
    values[:, 7:] += 10
    after = filter_sequences(model, values, mask).predictions
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.equal(before[:, 8:], after[:, 8:])


@torch.no_grad()
def test_horizon_errors_equal_rolling_from_each_step() -> None:
    model, (values, mask) = random_model(lags=1), series()
    filtered = filter_sequences(model, values, mask)
    scored = scored_steps(mask, first_step=2)
    torch.testing.assert_close(forecast_from_everywhere(model, filtered.states, 1)[:, :, 0], filtered.predictions)
    part = MaskedSequences(values, mask, scored)
    found = horizon_errors(model, filtered, part, [1, 3], first_step=2)
    alone = horizon_errors(model, filtered, part, [1], first_step=2)[1]
    torch.testing.assert_close(alone, found[1], equal_nan=True)
    for horizon, errors in found.items():
        for t in range(9):
            target = t + horizon - 1
            state = tuple(part[:, t] for part in filtered.states)
            forecast = roll(model, state, horizon)[:, -1]
            kept = scored[:, target] if t >= 2 and target < 9 else torch.zeros(3, 2, dtype=torch.bool)
            assert torch.equal(~errors[:, t].isnan(), kept)
            if bool(kept.any()):
                expected = (forecast - values[:, target]).square()[kept]
                torch.testing.assert_close(errors[:, t][kept], expected)


@pytest.mark.parametrize("rows", [1, 4, 26, 100])
@torch.no_grad()
def test_forecasts_of_some_horizons_in_blocks_are_those_of_each_origin(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, (values, mask) = random_model(lags=2), series()
    filtered = filter_sequences(model, values, mask)
    monkeypatch.setattr(rolling, "ROLL_BATCH", rows)
    found = forecast_from_everywhere(model, filtered.states, [1, 2, 5])
    assert found.shape == (3, 9, 3, 2)
    for i, horizon in enumerate([1, 2, 5]):
        torch.testing.assert_close(found[:, :, i], oracles.forecasts_one_by_one(model, filtered.states, horizon))
    torch.testing.assert_close(found, forecast_from_everywhere(model, filtered.states, 5)[:, :, [0, 1, 4]])


@torch.no_grad()
def test_only_the_horizons_asked_for_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sequences fit into the bound with two horizons, and none would with all 50 steps."""
    model, (values, mask) = random_model(lags=1), series()
    filtered, groups = filter_sequences(model, values, mask), list[int]()

    def counted(_: object, states: tuple[torch.Tensor, ...], horizons: list[int]) -> torch.Tensor:
        groups.append(len(states[0]))
        return forecast_from_everywhere(model, states, horizons)

    monkeypatch.setattr(horizons, "FORECAST_BYTES", 2 * values[0].numel() * 2 * 8)
    monkeypatch.setattr(horizons, "forecast_from_everywhere", counted)
    part = MaskedSequences(values, mask, scored_steps(mask, first_step=2))
    found = horizon_errors(model, filtered, part, [6, 2], first_step=2)
    assert groups == [2, 1]
    assert list(found) == [6, 2]
    ahead = oracles.forecasts_one_by_one(model, filtered.states, 6)[:, 2:4]
    expected = (ahead - values[:, 7:9]).square()
    kept = ~found[6][:, 2:4].isnan()
    assert bool(kept.any())
    torch.testing.assert_close(found[6][:, 2:4][kept], expected[kept])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@torch.no_grad()
def test_many_rows_in_blocks_are_the_update_written_out(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(4)
    shapes = (5, 5, 3), (5,), (23, 5), (23, 3)
    update, bias, belief, features = (torch.randn(*shape, generator=generator).to(dtype) for shape in shapes)
    expected = torch.einsum("abc,nb,nc->na", *(part.double() for part in (update, belief, features))) + bias.double()
    blocks: list[int] = []
    in_blocks = cell._in_blocks
    monkeypatch.setattr(cell, "BLOCK_BYTES", 0)
    monkeypatch.setattr(cell, "_in_blocks", lambda *parts: (blocks.append(parts[-1]), in_blocks(*parts))[1])
    for rows in (1, 4, 22, 23, 40):
        monkeypatch.setattr(cell, "BLOCK_ROWS", rows)
        found = cell.bilinear(update, bias, belief, features)
        tolerance = 1e-5 if dtype == torch.float32 else 1e-12
        torch.testing.assert_close(found.double(), expected, rtol=tolerance, atol=tolerance)
    assert blocks == [1, 4, 22]
