"""What states remember and the floor of errors, on small problems beside what is written out."""

from __future__ import annotations

import importlib
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from data.ecg.load import Ecg
from data.hopper.load import Hopper
from data.hopper.simulator import hopper_class
from models.baselines.echo_state import EchoState
from models.baselines.no_state import Stateless
from models.forecasting.fitting import Problem
from models.forecasting.readouts.fit import fit_grouped
from models.forecasting.readouts.settings import GroupedSettings
from models.psrnn.features import draw_features
from models.psrnn.fit import fit
from models.psrnn.initialise import joint_features
from models.psrnn.projection import find_projections
from models.runtime.seeding import generators_of

FOLDER = Path(__file__).parents[1] / "benchmarks"
SMALL = Ecg(trajectories=6, test=1, validation=2, steps=90)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("state_memory", "noise_floor"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = importlib.import_module("state_memory")
    monkeypatch.setattr(found, "SOURCES", {"ecg": SMALL})
    monkeypatch.setattr(found, "COUNT", 5)
    monkeypatch.setattr(found, "DRAW", replace(found.DRAW, count=8))
    monkeypatch.setattr(found, "REGRESSION", replace(found.REGRESSION, projection=6))
    monkeypatch.setattr(found, "RESERVOIR", EchoState(units=8, spectral_radius=0.5, leak=1.0))
    return found


@pytest.fixture
def floor(memory: Any) -> Any:
    del memory
    return importlib.import_module("noise_floor")


@pytest.fixture
def parts(memory: Any) -> Any:
    return memory.load(SMALL).parts


def models_of(memory: Any, parts: Any) -> list[Any]:
    """Returns a PSRNN and an echo state network."""
    settings = {"features": memory.DRAW, "regression": memory.REGRESSION, "readout": memory.OWN}
    cell = fit(*parts[:2], **settings, generators=generators_of(0)).model
    problem = Problem(parts[0], parts[1], memory.OWN, generators_of(0)("weights"))
    return [cell, memory.RESERVOIR.fit(problem).model]


@torch.no_grad()
def test_the_map_of_one_step_is_that_of_the_readout_that_runs_have(memory, parts, monkeypatch):
    monkeypatch.setattr(memory, "FIRST", memory.LAGS)
    settings = GroupedSettings(lags=memory.LAGS, count=5, bandwidth=memory.BANDWIDTH, whiten=memory.WHITEN)
    base = Stateless(dimension=1, lags=memory.LAGS).double()
    expected = fit_grouped(base, parts[0], parts[1], settings, generators_of(3)).model
    found = memory.solve(memory.readout_along(parts, 3), (1,))[1]
    torch.testing.assert_close(found.weight, expected.weight[0])
    torch.testing.assert_close(found.bias, expected.bias[0])


@torch.no_grad()
def test_updates_from_the_states_before_come_to_the_states(memory, parts):
    for model in models_of(memory, parts):
        states = memory.states_along(model, parts)
        for own, found in zip(states, memory.updated(model, states, parts, 5), strict=True):
            torch.testing.assert_close(found[:, 5:], own[:, 5:])
            assert not found[:, :5].any()


@torch.no_grad()
def test_the_estimate_from_the_window_is_a_ridge_regression(memory, parts):
    drawn = draw_features(parts[0], memory.DRAW, generators_of(0))
    windows, frequencies, metrics = drawn.windows, drawn.frequencies, drawn.frequencies.metrics
    stream = memory.feature_stream(windows, frequencies, chunk=4096)
    directions = find_projections(stream, size=6)
    past = joint_features(windows.history, frequencies.history, metrics.history) @ directions.history
    ahead = joint_features(windows.future, frequencies.future, metrics.future) @ directions.future
    ridge = (memory.REGRESSION.ridge * len(past)) ** 0.5 * torch.eye(6, dtype=past.dtype)  # of sums over rows
    below = torch.cat([ahead, torch.zeros(6, 6, dtype=past.dtype)])
    expected = past @ torch.linalg.lstsq(torch.cat([past, ridge]), below).solution
    found = memory.window_estimates(drawn, parts)[0][windows.sequence, windows.time]
    torch.testing.assert_close(found, expected)


@torch.no_grad()
def test_a_reservoir_without_recurrence_keeps_nothing_of_rows_before_the_last(memory, parts):
    for radius, left in ((0.0, False), (0.9, True)):
        problem = Problem(parts[0], parts[1], memory.OWN, generators_of(0)("weights"))
        model = EchoState(units=8, spectral_radius=radius, leak=1.0).fit(problem).model
        states = memory.states_along(model, parts)
        assert (memory.kept_of_before(model, states, parts, 1) > 0.01) == left


def test_a_state_that_holds_a_row_recalls_it_and_noise_does_not(memory, parts):
    readout = memory.readout_along(parts, 0)
    row = memory.rows_back(readout.parts, 8)
    torch.testing.assert_close(row[0][:, 8:], parts[0].values[:, :-8])
    noise = [torch.randn(own.shape, generator=torch.Generator().manual_seed(0), dtype=own.dtype) for own in row]
    assert memory.recalled(readout, row, 8) > 0.999
    assert memory.recalled(readout, noise, 8) < 0.6


def test_white_noise_has_no_autocorrelation_and_a_walk_has(memory):
    generator = torch.Generator().manual_seed(1)
    white = torch.randn(2, 2000, 1, generator=generator, dtype=torch.float64)
    for values, least, most in ((white, 0.0, 0.1), (white.cumsum(1), 0.9, 1.0)):
        found = memory.autocorrelations_of(values)
        assert least <= max(map(abs, found)) <= most


@torch.no_grad()
def test_the_tables_have_every_row(memory, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["state_memory", "ecg", "--seeds", "0", "1"])
    memory.main()
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    errors = {line[0]: list(map(float, line[1:])) for line in lines if len(line) == 7 and "validation" not in line[1]}
    assert len(errors) == 9
    assert all(0 < error < 3 for row in errors.values() for error in row)
    assert sum("R² of o(t" in line[0] for line in lines) == 4 * len(memory.BACK)


def test_who_knows_the_heart_has_the_error_of_the_noise(floor):
    found = floor.floors(SMALL, [0], np.array([0.5]), (1, 5))
    assert found == {1: pytest.approx(0.0025), 5: pytest.approx(0.0025)}


def test_without_noise_on_torques_the_hopper_is_known_and_with_it_less_so_later(floor, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setattr(floor, "BRANCHES", 3)
    scale, short = np.full(5, 0.1), Hopper(steps=40)
    still = floor.floors(replace(short, action_noise=0.0), [0], scale, (1, 3))
    assert still == {1: pytest.approx(0.0025), 3: pytest.approx(0.0025)}
    moved = floor.floors(short, [0], scale, (1, 3))
    assert 0.0025 < moved[1] < moved[3]


def test_states_along_a_trajectory_show_its_rows(floor):
    pytest.importorskip("mujoco")
    source = Hopper(trajectories=3, test=1, validation=1, steps=40, noise=0.0)
    rows = source.load().test.values[0].numpy()
    with closing(hopper_class()()) as environment:
        kept = floor.states_along(environment, source, 2)
    shown = np.array([observation[: floor.SEEN] for *_, observation in kept])
    np.testing.assert_allclose(shown, rows[floor.FIRST : -1 : floor.BETWEEN], atol=1e-5)


def test_steps_that_are_not_those_of_the_data_are_refused(floor, monkeypatch):
    pytest.importorskip("mujoco")
    monkeypatch.setattr(floor, "advance", lambda _, _policy, seen, _noise: seen)
    with (
        closing(hopper_class()()) as environment,
        pytest.raises(ValueError, match=r"^trajectory 0 of hopper: step 1 is not that of the data set; make advance"),
    ):
        floor.states_along(environment, Hopper(steps=40), 0)
