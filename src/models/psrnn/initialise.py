"""From standardised training sequences to a PSRNN that filters: features, 2SR (or chance), readout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from models.features.maps import joint_features
from models.features.metric import Metric
from models.psrnn.cell import PSRNN
from models.psrnn.projection import Projections
from models.psrnn.shape import CellShape
from models.psrnn.two_stage import FeatureStream, LazyFeatureBatch, TwoStageParameters
from models.psrnn.windows import Windows
from models.runtime.collectives import own_rows


class Metrics(NamedTuple):
    """Holds the metrics of the three maps; None where a map takes its windows as they are."""

    history: Metric | None = None
    future: Metric | None = None
    observation: Metric | None = None


class Frequencies(NamedTuple):
    """Holds the frequencies (count, dimension) of the three maps, a column for each number of a window, with their
    metrics.

    delay: j, the observations that the map `observation` is of.
    """

    history: Tensor
    future: Tensor
    observation: Tensor
    metrics: Metrics = Metrics()
    delay: int = 1

    def sizes(self) -> tuple[int, int, int]:
        """Returns the number of features of history, future and observation."""
        history, future, observation = (
            2 * len(each) + (0 if metric is None or metric.linear is None else each.shape[1])
            for each, metric in zip(self[:3], self.metrics, strict=True)
        )
        return history, future, observation


def feature_stream(windows: Windows, frequencies: Frequencies, *, chunk: int) -> FeatureStream:
    """Returns a stream of random features of this rank's share of the windows, `chunk` rows at a time.

    Each pass computes anew those that it uses. Raises ValueError for a chunk below 1 and for fewer windows than ranks.
    """
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")

    own = own_rows(len(windows.history))

    def features(name: str, rows: slice) -> Tensor:
        of = "future" if name == "shifted_future" else name
        return joint_features(getattr(windows, name)[rows], getattr(frequencies, of), getattr(frequencies.metrics, of))

    def batches() -> Iterator[LazyFeatureBatch]:
        for i in range(own.start, own.stop, chunk):
            yield LazyFeatureBatch(partial(features, rows=slice(i, min(i + chunk, own.stop))))

    return batches


def random_parameters(*, state: int, features: int, generator: torch.Generator) -> TwoStageParameters:
    """Returns Gaussian W with entries of variance 1/s and a random q_1 of unit norm: the start that 2SR is compared
    with.

    state: s; features: w. Shapes: as in `TwoStageParameters`, all float64.
    """

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    initial = normal(state)
    return TwoStageParameters(
        update=normal(state, state, features) / state**0.5,
        initial=initial / initial.norm(),
        observation_moment=torch.eye(features, dtype=torch.float64),
    )


def build_psrnn(
    parameters: TwoStageParameters,
    frequencies: Frequencies,
    projections: Projections | None = None,
    *,
    lags: int,
    keep_sign: bool,
    learn_frequencies: bool = False,
) -> PSRNN:
    """Returns a PSRNN with these parameters, in the dtype and on the device of the frequencies; its readout is 0."""
    (count, inputs), metric = frequencies.observation.shape, frequencies.metrics.observation
    shape = CellShape(
        frequencies=count, dimension=inputs // frequencies.delay, state=len(parameters.initial),
        projected=None if projections is None else projections.observation.shape[1],
        lags=lags, keep_sign=keep_sign, learn_frequencies=learn_frequencies, delay=frequencies.delay,
        whitened=metric is not None and metric.root is not None,
        linear=metric is not None and metric.linear is not None,
    )  # fmt: skip
    model = PSRNN(**asdict(shape)).to(frequencies.observation)
    given = {
        "frequencies": frequencies.observation,
        "projection": None if projections is None else projections.observation,
        **({} if metric is None else metric._asdict()),
    }
    model.features.load_state_dict({name: part for name, part in given.items() if part is not None})
    model.set_update(parameters.update, parameters.initial)
    return model
