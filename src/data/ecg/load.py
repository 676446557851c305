"""The data set ecg: electrocardiograms of one lead, made by a dynamical model.

McSharry, Clifford, Tarassenko and Smith, "A dynamical model for generating synthetic electrocardiogram signals", IEEE
Transactions on Biomedical Engineering 50(3), 2003. It needs no files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from data.base import DataError, Dataset, check_numbers
from data.ecg.model import electrocardiogram, shortest_beat
from data.ranges import Count, Deviation, Range
from data.trajectories import Trajectories

LEAST_BEAT = 0.2  # seconds: 300 beats a minute
LOWEST_FREQUENCY, HIGHEST_FREQUENCY = 1.0, 100_000.0  # rows a second
# What the generators of different draws under one seed are told apart by.
HEART, NOISE, SPLIT = range(3)

Positive = Annotated[float, Range(above=0)]
Frequency = Annotated[float, Range(at_least=LOWEST_FREQUENCY, at_most=HIGHEST_FREQUENCY)]


@dataclass(frozen=True, kw_only=True)
class Ecg(Trajectories):
    """Is the section `data=ecg`: `trajectories` records of `steps` rows, of as many hearts; the last `test` are the
    test part.

    The one feature is the voltage between two electrodes (mV) with noise. The angle in the heart's cycle, the length of
    the beat and breathing are hidden.
    seed: draws hearts, noise and, among all but the test part, the `validation` records.
    frequency: rows a second.
    heart_rate: beats a minute; the mean rate of a record is uniform within `heart_rate_spread` of it.
    beat_spread: standard deviation of the length of a beat within a record, as a share of its mean.
    noise: standard deviation (mV) of the Gaussian noise of the measurement.

    The motion is not chaotic: rounding that differs between processors stays in the last digits.

    Raises DataError for parameters out of range, and for beats that could become shorter than 0.2 s.
    """

    steps: Count = 500
    frequency: Frequency = 50.0
    heart_rate: Positive = 60.0
    heart_rate_spread: Deviation = 10.0
    beat_spread: Deviation = 0.05
    noise: Deviation = 0.025

    def load(self) -> Dataset:
        """Returns the data. Raises DataError as the class says."""
        self.check("ecg")
        check_numbers("ecg", {"noise": self.noise})
        check_frequency(self.frequency)
        check_beats(self.heart_rate, self.heart_rate_spread, self.beat_spread)
        arrays = []
        for i in range(self.trajectories):
            heart = np.random.default_rng([self.seed, HEART, i])
            beat = 60.0 / (self.heart_rate + self.heart_rate_spread * heart.uniform(-1.0, 1.0))
            voltage = electrocardiogram(
                heart, beat=beat, spread=self.beat_spread * beat, frequency=self.frequency, steps=self.steps
            )
            added = np.random.default_rng([self.seed, NOISE, i]).standard_normal(self.steps)
            arrays.append((voltage + self.noise * added)[:, None])
        parts = self.split(arrays, word="record", use=SPLIT)
        return Dataset("ecg", *parts, ("voltage",), ("mV",), "simulated")


def check_frequency(frequency: float) -> None:
    check_numbers("ecg", {"frequency": frequency})
    if not LOWEST_FREQUENCY <= frequency <= HIGHEST_FREQUENCY:
        raise DataError(
            f"ecg: frequency={frequency} must be at least {LOWEST_FREQUENCY:g} and at most {HIGHEST_FREQUENCY:g}"
        )


def check_beats(heart_rate: float, heart_rate_spread: float, beat_spread: float) -> None:
    """Checks what the parameters of the same names say of the heart."""
    check_numbers("ecg", {"heart_rate": heart_rate}, positive=True)
    check_numbers("ecg", {"heart_rate_spread": heart_rate_spread, "beat_spread": beat_spread})
    if heart_rate_spread >= heart_rate:
        raise DataError("ecg: heart_rate_spread must be below heart_rate; lower it")
    mean = 60.0 / (heart_rate + heart_rate_spread)
    least = shortest_beat(mean, beat_spread * mean)
    if least < LEAST_BEAT:
        raise DataError(
            f"ecg: beats could become as short as {least:.3g} s, below {LEAST_BEAT} s; lower heart_rate, "
            "heart_rate_spread or beat_spread"
        )
