"""Sigma-lognormal strokes: length, speed and direction against scipy; digits that close, fit the box and vary."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from data.sigma_lognormal import DIGITS, STEP, Hand, Stroke, displacement, draw_hand, movement, write_digit

STROKES = st.builds(
    Stroke,
    begin=st.floats(-1, 2),
    distance=st.floats(0.1, 10),
    start_angle=st.floats(-6, 6),
    end_angle=st.floats(-6, 6),
    mu=st.floats(-1, 0.5),
    sigma=st.floats(0.1, 0.5),
)
PLAIN = Hand(size=200.0, slant=0.0, pace=1.5)


def lognormal(stroke):
    return stats.lognorm(s=stroke.sigma, loc=stroke.begin, scale=math.exp(stroke.mu))


@settings(deadline=None, max_examples=40)
@given(stroke=STROKES)
def test_a_stroke_travels_its_distance(stroke):
    times = np.linspace(stroke.begin - 0.1, lognormal(stroke).ppf(1 - 1e-9), 40001)
    path = displacement(stroke, times)
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).sum() == pytest.approx(stroke.distance, rel=1e-5)
    np.testing.assert_array_equal(path[times <= stroke.begin], 0.0)


@settings(deadline=None, max_examples=40)
@given(stroke=STROKES, share=st.floats(0.01, 0.99))
def test_speed_is_the_lognormal_and_the_direction_turns_with_the_share_done(stroke, share):
    """v = D f(t) (cos φ, sin φ) with scipy's density f, by a central difference."""
    time, half = lognormal(stroke).ppf(share), 1e-6
    before, after = displacement(stroke, np.array([time - half, time + half]))
    angle = stroke.start_angle + (stroke.end_angle - stroke.start_angle) * share
    speed = stroke.distance * stats.lognorm.pdf(time, stroke.sigma, stroke.begin, math.exp(stroke.mu))
    found = (after - before) / (2 * half)
    np.testing.assert_allclose(found, speed * np.array([math.cos(angle), math.sin(angle)]), atol=1e-5 * speed)


def test_a_straight_stroke_ends_at_its_distance_and_angle():
    stroke = Stroke(0.0, 2.0, math.pi / 6, math.pi / 6)
    np.testing.assert_allclose(displacement(stroke, np.array([1e9])), [[math.sqrt(3), 1.0]], rtol=1e-12)


def test_overlapping_strokes_add_up_every_100_ms():
    first, second = Stroke(0.0, 1.0, 0.0, 1.0), Stroke(0.6, 2.0, 2.0, -1.0)
    path = movement([first, second], start=(3.0, 4.0))
    begin = math.exp(first.mu - 2.5 * first.sigma)
    times = begin + STEP * np.arange(len(path))
    expected = np.array([3.0, 4.0]) + displacement(first, times) + displacement(second, times)
    np.testing.assert_allclose(path, expected, rtol=1e-12)
    assert 0 <= 0.6 + math.exp(second.mu + 2.5 * second.sigma) - times[-1] <= STEP
    alone = [np.gradient(displacement(stroke, times), axis=0) for stroke in (first, second)]
    assert ((np.abs(alone[0]) > 1e-3).any(1) & (np.abs(alone[1]) > 1e-3).any(1)).any()


@pytest.mark.parametrize("label", DIGITS)
def test_every_digit_fits_the_tablets_box_in_whole_units(label):
    generator = np.random.default_rng(0)
    for _ in range(200):
        strokes = write_digit(label, draw_hand(generator), generator)
        assert len(strokes) == len(DIGITS[label])
        for stroke in strokes:
            assert len(stroke) >= 8
            assert stroke.min() >= 0
            assert stroke.max() <= 500
            np.testing.assert_array_equal(stroke, stroke.round())


@pytest.mark.parametrize("label", ["0", "8"])
def test_closed_digits_end_about_where_they_began(label):
    generator = np.random.default_rng(1)
    gaps = [np.linalg.norm(np.subtract(*write_digit(label, PLAIN, generator)[0][[0, -1]])) for _ in range(50)]
    assert np.median(gaps) < 0.2 * PLAIN.size


def test_all_ten_digits_are_written_and_two_of_them_lift_the_pen():
    assert "".join(DIGITS) == "0123456789"
    assert [label for label, templates in DIGITS.items() if len(templates) == 2] == ["4", "5"]


def test_the_generator_alone_decides():
    def written(seed):
        return write_digit("3", PLAIN, np.random.default_rng(seed))[0]

    np.testing.assert_array_equal(written(5), written(5))
    assert not np.array_equal(written(5), written(6))


def test_a_slower_hand_takes_longer_a_larger_one_more_room_and_a_slanted_one_leans():
    def written(hand):
        return write_digit("1", hand, np.random.default_rng(2))[0]

    plain, slow = written(PLAIN), written(PLAIN._replace(pace=3.0))
    assert len(slow) == pytest.approx(2 * len(plain), abs=2)
    np.testing.assert_allclose(np.ptp(slow, axis=0), np.ptp(plain, axis=0), atol=3)
    np.testing.assert_allclose(np.ptp(written(PLAIN._replace(size=400.0)), axis=0), 2 * np.ptp(plain, axis=0), atol=2)
    # The last stroke of "1" goes down: leaning to the right, it ends further to the left of its top.
    leaning = written(PLAIN._replace(slant=0.3))
    fall = plain[:, 1].max() - plain[-1, 1]
    assert leaning[-1, 0] - leaning[:, 0].max() < plain[-1, 0] - plain[:, 0].max() - 0.1 * fall
