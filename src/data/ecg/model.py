"""The dynamical model of an electrocardiogram by McSharry and others (2003): a point that runs round a circle, and a
voltage that the waves P, Q, R, S and T push up and down as it passes them.

    dx/dt = α x − ω y,  dy/dt = α y + ω x,  α = 1 − √(x² + y²),  ω = 2π / T(t)
    dz/dt = −Σ_i a_i Δ_i exp(−Δ_i² / (2 b_i²)) − (z − z_0(t)),  Δ_i = θ − θ_i modulo 2π, θ = atan2(y, x)

On the circle α = 0, and a point that begins there stays there: then dθ/dt = ω, and z follows from an integral. T(t),
the length of the beat, is a random function whose spectrum has a peak of the blood pressure's waves and one of
breathing; z_0(t), the baseline, moves with breathing too.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import cumulative_simpson
from scipy.signal import lfilter

# Table I of the paper: waves P, Q, R, S, T, angle (rad), size and width (rad).
ANGLES = np.array([-1 / 3, -1 / 12, 0, 1 / 12, 1 / 2]) * math.pi
SIZES = np.array([1.2, -5.0, 30.0, -7.5, 0.75])
WIDTHS = np.array([0.25, 0.1, 0.1, 0.1, 0.4])
GAIN = 30.0  # of the voltage, which then is in millivolts: the paper's z is 0.05 at the top of R, and an R is 1 to 2 mV
BASELINE = 0.15  # amplitude of z_0 after the gain, mV
WAVES, BREATHING = 0.1, 0.25  # Hz: the two peaks of the spectrum of T
PEAK_WIDTH = 0.01  # Hz, the standard deviation of both
WAVES_BY_BREATHING = 0.5  # ratio of their powers
RESOLUTION = 1 / 256  # Hz, of the spectrum
HIGHEST = 0.5  # Hz
WARM_UP = 10.0  # seconds before the first row, in which e^−10 of what z began with is left
LONGEST_STEP = 0.004  # seconds, of the integrals


def electrocardiogram(
    generator: np.random.Generator, *, beat: float, spread: float, frequency: float, steps: int
) -> np.ndarray:
    """Returns the voltage z (mV) of `steps` rows, `frequency` a second, of a heart that the generator draws.

    beat, spread: mean and standard deviation (s) of the length of its beats.
    """
    between = 2 * math.ceil(1 / (2 * frequency * LONGEST_STEP))  # half steps from row to row, an even number
    before = math.ceil(WARM_UP * frequency)
    time = np.arange((before + steps - 1) * between * 2 + 1) / (2 * between * frequency)
    length = beat_lengths(generator, time, mean=beat, spread=spread)
    turned = cumulative_simpson(2 * math.pi / length, x=time, initial=0.0)
    angle = 2 * math.pi * generator.random() + np.asarray(turned)
    breath = np.sin(2 * math.pi * (BREATHING * time + generator.random()))
    voltage = relaxed(pushes(angle) + BASELINE * breath, step=float(time[2]))
    return voltage[before * between :: between]


def pushes(angle: np.ndarray) -> np.ndarray:
    """Returns what the waves add to dz/dt (mV/s) at angles (time,)."""
    total = np.zeros(len(angle))
    for place, size, width in zip(ANGLES, SIZES, WIDTHS, strict=True):
        apart = np.mod(angle - place + math.pi, 2 * math.pi) - math.pi
        total -= GAIN * size * apart * np.exp(-(apart**2) / (2 * width**2))
    return total


def relaxed(force: np.ndarray, *, step: float) -> np.ndarray:
    """Returns z (whole steps,) of dz/dt = force − z, z = 0 at first, for the force at half steps (2n + 1,).

    z(t + h) = e^−h z(t) + ∫ e^(s−h) force(t + s) ds, the integral over 0 ≤ s ≤ h by Simpson's rule.
    """
    decay, half = math.exp(-step), math.exp(-step / 2)
    added = step / 6 * (decay * force[:-2:2] + 4 * half * force[1::2] + force[2::2])
    return np.concatenate([[0.0], np.asarray(lfilter([1.0], [1.0, -decay], added))])


def beat_lengths(generator: np.random.Generator, time: np.ndarray, *, mean: float, spread: float) -> np.ndarray:
    """Returns T(t) at times (time,): a sum of cosines of random phase, so that T has that mean and spread (s)."""
    frequencies, amplitudes = spectrum()
    phases = 2 * math.pi * generator.random(len(frequencies))
    length = np.full(len(time), float(mean))
    for frequency, amplitude, phase in zip(frequencies, spread * amplitudes, phases, strict=True):
        length += amplitude * np.cos(2 * math.pi * frequency * time + phase)
    return length


def spectrum() -> tuple[np.ndarray, np.ndarray]:
    """Returns frequencies (Hz) and amplitudes of the cosines in T(t) where its standard deviation is 1."""
    frequencies = RESOLUTION * np.arange(1, round(HIGHEST / RESOLUTION))
    peaks = [np.exp(-(((frequencies - peak) / PEAK_WIDTH) ** 2) / 2) for peak in (WAVES, BREATHING)]
    power = WAVES_BY_BREATHING * peaks[0] + peaks[1]
    return frequencies, np.sqrt(2 * power / power.sum())


def shortest_beat(mean: float, spread: float) -> float:
    """Returns the least that T(t) can be: all cosines at −1 at once."""
    return mean - spread * float(spectrum()[1].sum())
