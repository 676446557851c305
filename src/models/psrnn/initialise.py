"""From standardised training sequences to a PSRNN that filters: features, 2SR (or chance), readout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from models.features.maps import RandomFeatureMap, random_features
from models.filtering import filter_sequences
from models.numerics.ridge import AffineMap, RegressionData, fit_affine_by_validation
from models.psrnn.cell import PSRNN, BeliefState
from models.psrnn.two_stage import FeatureBatch, Stream, TwoStageParameters
from models.psrnn.windows import Windows

UPDATES = ("bayes", "paper")


class Frequencies(NamedTuple):
    """Frequencies (count, dimension) of the three maps: history and future (k·d columns), observation (d columns)."""

    history: Tensor
    future: Tensor
    observation: Tensor


class MaskedSequences(NamedTuple):
    """values and mask (sequence, time, feature), standardised; scored: the entries that errors and readouts use."""

    values: Tensor
    mask: Tensor
    scored: Tensor


def feature_stream(windows: Windows, frequencies: Frequencies, *, chunk: int) -> Stream:
    """Random features of the windows, `chunk` rows at a time, computed anew in each pass."""
    if chunk < 1:
        raise ValueError(f"initialise.chunk must be at least 1, got {chunk}")

    def batches() -> Iterator[FeatureBatch]:
        for i in range(0, len(windows.history), chunk):
            rows = slice(i, i + chunk)
            yield FeatureBatch(
                random_features(windows.history[rows], frequencies.history),
                random_features(windows.future[rows], frequencies.future),
                random_features(windows.shifted_future[rows], frequencies.future),
                random_features(windows.observation[rows], frequencies.observation),
            )

    return batches


def random_parameters(*, state: int, features: int, history: int, generator: torch.Generator) -> TwoStageParameters:
    """Gaussian W with entries of variance 1/s and a random q_1 of unit norm: the start that 2SR is compared with."""

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    initial = normal(state)
    return TwoStageParameters(
        update=normal(state, state, features) / state**0.5,
        initial=initial / initial.norm(),
        state_regression=torch.zeros(history, state, dtype=torch.float64),
        observation_moment=torch.eye(features, dtype=torch.float64),
    )


def build_psrnn(parameters: TwoStageParameters, frequencies: Frequencies, *, lags: int, keep_sign: bool) -> PSRNN:
    """A PSRNN with these parameters, in the dtype and on the device of the frequencies; its readout is still 0."""
    count, dimension = frequencies.observation.shape
    state = len(parameters.initial)
    model = PSRNN(frequencies=count, dimension=dimension, state=state, lags=lags, keep_sign=keep_sign)
    model.to(dtype=frequencies.observation.dtype, device=frequencies.observation.device)
    model.features = RandomFeatureMap(frequencies.observation)
    model.set_update(parameters.update, parameters.initial)
    return model


def readout_rows(model: PSRNN, part: MaskedSequences) -> RegressionData:
    """Inputs of the readout along the filtered sequences, and the observations they should give, row by row."""
    with torch.no_grad():
        filtered = filter_sequences(model, part.values, part.mask)
        inputs = model.readout_inputs(BeliefState(*filtered.states))
    return RegressionData(inputs.flatten(0, 1), part.values.flatten(0, 1), part.scored.flatten(0, 1))


def fit_readout(
    model: PSRNN, train: MaskedSequences, validation: MaskedSequences, *, ridges: Sequence[float], scale: str
) -> float:
    """Ridge from the filtered state (and recent observations) to o_t, set on the model; returns the ridge chosen.

    With gaps the filter needs a readout to fill them, so the fit is made twice: first with the gaps filled by the
    training mean (a readout of 0), then with the gaps filled by the first fit.
    """
    gaps = has_gaps(train.mask)
    chosen = ridges[0]
    for _ in range(2 if gaps else 1):
        rows, held_out = readout_rows(model, train), readout_rows(model, validation)
        used = rows.mask.any(1)
        rows = RegressionData(*(part[used] for part in rows))
        readout, chosen = fit_affine_by_validation(rows, held_out, ridges, scale=scale)
        model.set_readout(AffineMap(*readout))
    return chosen


def has_gaps(mask: Tensor) -> bool:
    """Whether an entry is missing before the last observed step of its sequence. mask (sequence, time, feature)."""
    before_end = mask.any(2).flip(1).cumsum(1).flip(1) > 0
    return bool((before_end.unsqueeze(2) & ~mask).any())
