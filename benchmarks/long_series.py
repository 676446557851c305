"""One long series: a whole fit without refinement and its test errors at three horizons, and an epoch of refinement.

A fit is two-stage regression, the filter along all three parts, a readout whose two ridges are chosen among 25 pairs,
and forecasts from every test step. Beside it the cell row by row, an LSTM with equal parameters, its weights drawn, and
the same readout, and scikit-learn's ridge regression on the same lags, rolled from every test step.

    python benchmarks/long_series.py --threads 1
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch
from epoch import StepwisePSRNN, epoch_of, like
from side_by_side import Form, Machine, Row, compare, equal_lstm_units, run
from torch import Tensor

from models.baselines.networks import LSTMNetwork
from models.features.samplers import Orthogonal
from models.forecasting.filtering import MaskedSequences, filter_sequences, scored_steps
from models.forecasting.horizons import horizon_errors
from models.forecasting.readout import ReadoutSettings, fit_readout
from models.forecasting.recurrent import Recurrent
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.two_stage import two_stage_regression, whiten_observations
from models.psrnn.windows import extract_windows

STEPS, DIMENSION, SPLIT = 6000, 7, (0.7, 0.1, 0.2)
COUNT, WINDOW, LAGS, HORIZONS = 20, 2, 24, (1, 24, 96)
RIDGES, FIRST_STEP = (1e-4, 1e-2, 1.0, 1e2, 1e4), 4
Parts = tuple[MaskedSequences, ...]


def series(device: torch.device) -> Parts:
    """Days of 24 steps with drifting shapes in noise, double precision: training, validation and test part."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    clock = torch.arange(STEPS, dtype=torch.float64).unsqueeze(1) * (2 * torch.pi / 24)
    drift = normal(STEPS, DIMENSION).cumsum(0) / STEPS**0.5
    values = (clock + drift).sin() + 0.5 * (2 * clock + normal(1, DIMENSION)).sin() + 0.3 * normal(STEPS, DIMENSION)
    parts = values.to(device).split([round(share * STEPS) for share in SPLIT])
    masks = [torch.ones_like(part, dtype=torch.bool).unsqueeze(0) for part in parts]
    return tuple(
        MaskedSequences(part.unsqueeze(0), mask, scored_steps(mask, first_step=FIRST_STEP))
        for part, mask in zip(parts, masks, strict=True)
    )


def two_stage(train: MaskedSequences) -> PSRNN:
    """`update=bayes` with Gaussian features; its readout is still 0."""
    windows = extract_windows(train.values, train.mask, length=WINDOW)
    generator = torch.Generator().manual_seed(0)

    def frequencies(like: Tensor) -> Tensor:
        size, width = like.shape[1], like.std(0).norm()
        directions = Orthogonal().directions(COUNT, size, generator=generator).to(like)
        radii = torch.randn(COUNT, size, generator=generator, dtype=torch.float64).norm(dim=1, keepdim=True).to(like)
        return directions * radii / width

    parts = windows.history, windows.future, windows.observation
    history, future, observation = (frequencies(part) for part in parts)
    drawn = Frequencies(history, future, observation)
    found = two_stage_regression(feature_stream(windows, drawn, chunk=4096), ridge=1e-2, scale="samples")
    update = whiten_observations(found.update, found.observation_moment, 1e-4)
    return build_psrnn(found._replace(update=update), drawn, lags=LAGS, keep_sign=True)


def lstm_like(model: PSRNN) -> LSTMNetwork:
    """With at most as many parameters in its cell, drawn."""
    lstm = LSTMNetwork(dimension=DIMENSION, units=equal_lstm_units(model.update_tensor.numel(), DIMENSION), lags=LAGS)
    lstm.draw(torch.Generator().manual_seed(0))
    return lstm.to(model.bias)


@torch.no_grad()
def errors_of(model: Recurrent, parts: Parts) -> list[float]:
    """The readout solved, mean squared test errors at `HORIZONS`."""
    settings = ReadoutSettings(LAGS, RIDGES, "none", RIDGES)
    fit_readout(model, parts[0], parts[1], settings)
    test = parts[2]
    filtered = filter_sequences(model, test.values, test.mask)
    found = horizon_errors(model, filtered, test, HORIZONS, first_step=FIRST_STEP)
    return [float(found[horizon].nanmean()) for horizon in HORIZONS]


def scikit_learn(parts: Parts) -> Callable[[], list[float]]:
    """Ridge regression on the lags, its ridge chosen on validation, predictions fed back from every test step."""
    from sklearn.linear_model import Ridge  # pyright: ignore[reportMissingImports]

    train, validation, test = (part.values[0].cpu().numpy() for part in parts)

    def rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        windows = np.lib.stride_tricks.sliding_window_view(values, LAGS, axis=0)[:-1]
        return windows.transpose(0, 2, 1).reshape(len(windows), -1), values[LAGS:]

    def fit() -> list[float]:
        fitted = [Ridge(alpha=ridge).fit(*rows(train)) for ridge in RIDGES]
        held_out, targets = rows(validation)
        best = min(fitted, key=lambda model: float(np.square(model.predict(held_out) - targets).mean()))
        lags, found = rows(test)[0], []
        for step in range(1, max(HORIZONS) + 1):
            predicted = best.predict(lags)
            if step in HORIZONS:
                ahead = test[LAGS + step - 1 :]
                found.append(float(np.square(predicted[: len(ahead)] - ahead).mean()))
            lags = np.concatenate([lags, predicted], 1)[:, test.shape[1] :]
        return found

    return fit


def fits(parts: Parts) -> dict[str, Form]:
    first = two_stage(parts[0])
    lstm = lstm_like(first)
    forms: dict[str, Form] = {
        "ours": lambda: errors_of(two_stage(parts[0]), parts),
        "row by row": lambda: errors_of(like(two_stage(parts[0]), StepwisePSRNN), parts),
        f"LSTM, {lstm.readout_weight.shape[1] - LAGS * DIMENSION} units": lambda: errors_of(lstm, parts),
    }
    if find_spec("sklearn"):
        forms["scikit-learn Ridge on the lags"] = scikit_learn(parts)
    return forms


def epochs(train: MaskedSequences) -> dict[str, Form]:
    model = two_stage(train)
    return {
        "ours": epoch_of(model, train),
        "row by row": epoch_of(like(model, StepwisePSRNN), train),
        "LSTM, equal parameters": epoch_of(lstm_like(model), train),
    }


def check(parts: Parts) -> None:
    """Ours and the cell row by row have the same errors."""
    model = two_stage(parts[0])
    found, expected = errors_of(model, parts), errors_of(like(model, StepwisePSRNN), parts)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected), rtol=1e-6, atol=1e-9)


def measure(machine: Machine, budget: float) -> list[Row]:
    parts = series(machine.device)
    check(parts)
    size = f"{STEPS} × {DIMENSION}, m = {2 * COUNT}, {LAGS} lags"
    return [
        *compare("one long series, whole fit", size, fits(parts), machine=machine, budget=budget),
        *compare("one long series, epoch", size, epochs(parts[0]), machine=machine, budget=budget),
    ]


if __name__ == "__main__":
    run("one long series: fit and forecasts from every test step, and an epoch of refinement", measure)
