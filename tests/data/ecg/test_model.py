"""The model of an electrocardiogram: against the published equations solved by scipy, beats of the rhythm asked for."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from data.ecg import model
from data.ecg.model import beat_lengths, electrocardiogram, pushes, relaxed, shortest_beat, spectrum


class Middle:
    """In place of a generator: every draw is ½."""

    def random(self, size=None):
        return 0.5 if size is None else np.full(size, 0.5)


def published(time, state, beat):
    """The three equations of the paper, with the gain on its table and no variation between beats."""
    x, y, z = state
    alpha, omega = 1 - math.hypot(x, y), 2 * math.pi / beat
    apart = (math.atan2(y, x) - model.ANGLES + math.pi) % (2 * math.pi) - math.pi
    waves = (model.GAIN * model.SIZES * apart * np.exp(-(apart**2) / (2 * model.WIDTHS**2))).sum()
    baseline = model.BASELINE * math.sin(2 * math.pi * (model.BREATHING * time + 0.5))
    return [alpha * x - omega * y, alpha * y + omega * x, -waves - (z - baseline)]


@pytest.mark.parametrize("beat", [0.6, 1.0])
def test_the_voltage_solves_the_published_equations(beat):
    rows = 2 * math.ceil(beat * 50)
    found = electrocardiogram(Middle(), beat=beat, spread=0.0, frequency=50.0, steps=rows)
    times = model.WARM_UP + np.arange(rows) / 50
    start = [math.cos(math.pi), math.sin(math.pi), 0.0]
    solved = solve_ivp(
        published, (0, times[-1]), start, args=(beat,), t_eval=times, rtol=1e-9, atol=1e-9, max_step=0.01
    )
    np.testing.assert_allclose(found, solved.y[2], atol=1e-3)


def test_finer_steps_change_little(monkeypatch):
    def made():
        return electrocardiogram(np.random.default_rng(0), beat=0.9, spread=0.05, frequency=50.0, steps=200)

    usual = made()
    monkeypatch.setattr(model, "LONGEST_STEP", model.LONGEST_STEP / 8)
    np.testing.assert_allclose(made(), usual, atol=1e-3)


def test_a_higher_frequency_shows_rows_between():
    fine, coarse = (
        electrocardiogram(np.random.default_rng(0), beat=0.9, spread=0.05, frequency=f, steps=n)
        for f, n in ((100.0, 200), (50.0, 100))
    )
    np.testing.assert_allclose(fine[::2], coarse, atol=1e-3)


def test_there_are_as_many_beats_as_the_heart_rate_says_and_r_waves_are_the_highest():
    voltage = electrocardiogram(np.random.default_rng(1), beat=0.8, spread=0.03, frequency=250.0, steps=60 * 250)
    peaks = (voltage[1:-1] > 0.7) & (voltage[1:-1] >= voltage[:-2]) & (voltage[1:-1] > voltage[2:])
    apart = np.diff(np.flatnonzero(peaks)) / 250
    assert 73 <= peaks.sum() <= 77
    assert apart.mean() == pytest.approx(0.8, abs=0.02)
    assert 0.015 < apart.std() < 0.045
    assert -1 < voltage.min() < -0.3
    assert 1 < voltage.max() < 2


def test_lengths_of_beats_have_mean_and_spread_over_the_period_of_their_spectrum():
    time = np.arange(0, 256, 0.25)
    lengths = beat_lengths(np.random.default_rng(0), time, mean=0.9, spread=0.05)
    assert lengths.mean() == pytest.approx(0.9, abs=1e-9)
    assert lengths.std() == pytest.approx(0.05, rel=1e-9)
    assert lengths.min() >= shortest_beat(0.9, 0.05)


def test_the_spectrum_has_half_as_much_power_at_the_slow_peak_as_at_that_of_breathing():
    frequencies, amplitudes = spectrum()
    power = amplitudes**2 / 2
    slow = frequencies < 0.175
    assert power.sum() == pytest.approx(1, rel=1e-12)
    assert power[slow].sum() / power[~slow].sum() == pytest.approx(0.5, rel=1e-6)
    assert (power * frequencies)[slow].sum() / power[slow].sum() == pytest.approx(0.1, abs=1e-3)


def test_a_wave_pushes_up_before_its_angle_and_down_after_it():
    before, after = pushes(np.array([-0.05, 0.05]))
    assert before > 0 > after


def test_a_constant_force_is_approached_exponentially():
    np.testing.assert_allclose(relaxed(np.full(9, 2.0), step=0.1), 2 * (1 - np.exp(-0.1 * np.arange(5))), rtol=1e-7)
