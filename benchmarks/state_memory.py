"""Why the state of a PSRNN adds less to a kernel readout than that of an echo state network on ecg and hopper.

    PYTHONPATH=src python benchmarks/state_memory.py ecg
    PYTHONPATH=src python benchmarks/state_memory.py hopper

The settings are those of `conf/contender/ecg` and `conf/contender/hopper`. All readouts are solved on the same rows of
the training part, from row 32 of each sequence on, and every horizon has a map of its own. Prints Markdown tables for
the validation and the test part, as means over seeds; ridges are chosen on the validation part.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from noise_floor import floors
from torch import Tensor

from data.ecg.load import Ecg
from data.hopper.load import Hopper
from models.baselines.echo_state import EchoState
from models.baselines.no_state import Stateless
from models.features.bandwidth import BandwidthRule
from models.forecasting.filtering import MaskedSequences, filter_sequences, recent_along
from models.forecasting.fitting import Problem
from models.forecasting.readout_settings import ReadoutSettings
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.parts import Part, part_of
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.series import standardised, units_of
from models.numerics.grouped_ridge import Columns, choose_ridges
from models.numerics.ridge import RegressionData, per_sample_ridge, solve_ridge
from models.psrnn.bilinear_cell import BilinearCell
from models.psrnn.features import FeatureDraw, Features, draw_features
from models.psrnn.fit import Regression, fit
from models.psrnn.initialise import feature_stream, joint_features
from models.psrnn.projection import find_projections, projected
from models.psrnn.two_stage import accumulate_moments
from models.runtime.seeding import generators_of

SOURCES: dict[str, Ecg | Hopper] = {"ecg": Ecg(), "hopper": Hopper()}
PARTS = ("train", "validation", "test")
HORIZONS, FIRST, LAGS, TRACES = (1, 5, 20), 32, 4, (4.0, 8.0, 16.0)
COUNT, BANDWIDTH, WHITEN = 400, 1.5, 0.5  # of the features of the readout
RESIDUALS, AGAIN = 50, (4, 12)  # lags of the autocorrelation; rows that a state begun anew has seen
BACK = (6, 8, 10, 12)  # rows back that are to be recalled
SINCE = {1: "that of one row before, updated once", 4: "that of four rows before, updated four times"}
LESS = 1e-5  # a ridge of the two-stage regression far below that of the settings
PSRNN, ECHO, WINDOW = "state of the PSRNN", "state of the echo state network", "first-stage estimate from the window"
DRAW = FeatureDraw(count=300, history=12, future=4, delay=4, whiten=0.5, linear=3.0, bandwidth=BandwidthRule(scale=2.0))
REGRESSION = Regression(ridge=0.1, whitening=0.001, projection=80)
RESERVOIR = EchoState(spectral_radius=0.5, leak=1.0)
OWN = ReadoutSettings(LAGS, (1.0,), "none", (1.0,))  # of the models themselves, which nothing here reads
Columned = list[Tensor]  # columns for the three parts, (sequence, time, column) each
Errors = dict[str, dict[int, float]]  # of a part, at a horizon


class Loaded(NamedTuple):
    """Holds the three parts, standardised, and the floor of the errors of the validation part at each horizon."""

    parts: list[MaskedSequences]
    floor: Mapping[int, float]


class Readout(NamedTuple):
    """Holds a readout of lags and their features along the three parts, and the places of its groups of inputs."""

    parts: list[Part]
    groups: Tensor


def load(source: Ecg | Hopper) -> Loaded:
    data = source.load()
    arrays = [getattr(data, name).to_arrays() for name in PARTS]
    units = units_of(arrays[0])
    numbers = [int(name.rpartition("_")[2]) for name in data.validation.names]
    floor = floors(source, numbers, units.scale.numpy(), HORIZONS)
    return Loaded([standardised(part, units, first_step=LAGS) for part in arrays], floor)


def readout_along(parts: Sequence[MaskedSequences], seed: int, traces: tuple[float, ...] = ()) -> Readout:
    """Returns the inputs of the readout without a state, of rows `FIRST` and later."""
    dimension = parts[0].values.shape[2]
    settings = GroupedSettings(lags=LAGS, traces=traces, count=COUNT, bandwidth=BANDWIDTH, whiten=WHITEN)
    base = Stateless(dimension=dimension, lags=LAGS)
    model = GroupedReadout(base, dimension=dimension, lags=LAGS, traces=traces, count=COUNT, horizons=1).double()
    first = part_of(model, parts[0], parts[0].values)
    model.features.draw(model.history_of(first.states)[first.ahead(1)[1].any(2)], settings, generators_of(seed))
    sizes = torch.tensor([size for size in model.group_sizes if size])
    seen = [part_of(model, part, part.values) for part in parts]
    late = [own._replace(late=own.late & (torch.arange(own.late.shape[1]) >= FIRST)) for own in seen]
    return Readout(late, torch.arange(len(sizes)).repeat_interleave(sizes))


def beside(readout: Readout, columns: Columned) -> Readout:
    """Returns the readout with columns as a group of inputs of their own."""
    parts = [
        part._replace(inputs=torch.cat([own, part.inputs], 2)) for part, own in zip(readout.parts, columns, strict=True)
    ]
    groups = torch.cat([torch.zeros(columns[0].shape[2], dtype=torch.int64), readout.groups + 1])
    return Readout(parts, groups)


def solve(readout: Readout, horizons: Sequence[int]) -> dict[int, Any]:
    """Returns the map of each horizon, its ridges chosen on the validation part."""
    train, validation, _ = readout.parts
    begins, start, maps = train.begins, None, {}
    columns = Columns(train.inputs[begins])
    for horizon in horizons:
        targets, keep = train.ahead(horizon)
        used = keep.any(2)
        moments = columns.moments(used[begins], targets[used], keep[used])
        found = choose_ridges(moments, columns.units, validation.rows(horizon), readout.groups, start=start)
        maps[horizon], start = found.readout, found.exponents
    return maps


def errors_of(readout: Readout) -> Errors:
    """Returns the mean squared errors on the validation and the test part."""
    maps = solve(readout, HORIZONS)
    return {
        name: {
            horizon: float((own(rows.inputs) - rows.targets).square().mean())
            for horizon, own in maps.items()
            for rows in [part.rows(horizon)]
        }
        for name, part in zip(PARTS[1:], readout.parts[1:], strict=True)
    }


def states_along(model: Any, parts: Sequence[MaskedSequences]) -> Columned:
    """Returns what a readout may see of the states before each row."""
    return [model.exposed(model.belief(filter_sequences(model, part.values, part.mask).states)) for part in parts]


def window_estimates(features: Features, parts: Sequence[MaskedSequences]) -> Columned:
    """Returns Bᵀη_t: what the first stage of the regression says of the features of the next rows, by the window of
    the past before each row, with the projection and the ridge of the PSRNN."""
    stream = feature_stream(features.windows, features.frequencies, chunk=REGRESSION.chunk)
    projections = find_projections(stream, size=int(REGRESSION.projection or 0))
    moments = accumulate_moments(projected(stream, projections))
    ridge = per_sample_ridge(REGRESSION.ridge, scale=REGRESSION.scale, count=moments.steps)
    weights = projections.history @ solve_ridge(moments.history, moments.history_future, ridge)
    frequencies, metric = features.frequencies.history, features.frequencies.metrics.history
    found = []
    for part in parts:
        past = recent_along(part.values.new_zeros(len(part.values), DRAW.past * part.values.shape[2]), part.values)
        found.append((joint_features(past.flatten(0, 1), frequencies, metric) @ weights).unflatten(0, past.shape[:2]))
    return found


def updated(model: Any, start: Columned, parts: Sequence[MaskedSequences], updates: int) -> Columned:
    """Returns the states before each row that the model comes to by so many updates, from the start that many rows
    before; 0 in rows too early for that."""
    found = []
    for begin, part in zip(start, parts, strict=True):
        steps = part.values.shape[1] - updates
        earlier = model.delayed(part.values)[1] if isinstance(model, BilinearCell) else ()
        belief = tuple(each[:, :steps].flatten(0, 1) for each in (begin, *earlier))
        for step in range(updates):
            belief = model.advance(belief, part.values[:, step : step + steps].flatten(0, 1))
        states = belief[0].unflatten(0, (len(part.values), steps))
        found.append(torch.cat([begin.new_zeros(len(states), updates, states.shape[2]), states], 1))
    return found


def kept_of_before(model: Any, states: Columned, parts: Sequence[MaskedSequences], rows: int) -> float:
    """Returns ‖s − s'‖² over the variance of s on the validation part: s are the states, s' those of the same model
    begun anew so many rows before. 0: the rows before these have left nothing in the state."""
    anew = [model.initial_belief(1)[0].expand(*part.values.shape[:2], -1) for part in parts[1:2]]
    begun = updated(model, anew, parts[1:2], rows)[0][:, FIRST:]
    own = states[1][:, FIRST:]
    return float((own - begun).square().sum() / (own - own.mean((0, 1))).square().sum())


def explained(parts: Sequence[Part], targets: Columned, groups: Tensor) -> float:
    """Returns the share of the targets' variance that the inputs explain by a ridge regression, R², on the validation
    part."""
    train, validation = (
        RegressionData(part.inputs[part.late], own[part.late], torch.ones_like(own[part.late], dtype=torch.bool))
        for part, own in zip(parts[:2], targets[:2], strict=True)
    )
    columns = Columns(train.inputs)
    moments = columns.moments(train.mask.any(1), train.targets, train.mask)
    error = choose_ridges(moments, columns.units, validation, groups).error
    return 1 - error / float((validation.targets - validation.targets.mean(0)).square().mean())


def rows_back(parts: Sequence[Part], rows: int) -> Columned:
    """Returns the row o_{t−rows} before each row; 0 where there is none."""
    return [torch.cat([torch.zeros_like(own.values[:, :rows]), own.values[:, :-rows]], 1) for own in parts]


def recalled(readout: Readout, states: Columned, rows: int) -> float:
    """Returns R² of o_{t−rows} by a linear map of the states and the last `LAGS` rows."""
    lags = [torch.cat([rows_back(readout.parts, lag)[place] for lag in range(1, LAGS + 1)], 2) for place in range(2)]
    inputs = [torch.cat([own, seen], 2) for own, seen in zip(states[:2], lags, strict=True)]
    parts = [part._replace(inputs=own) for part, own in zip(readout.parts[:2], inputs, strict=True)]
    return explained(parts, rows_back(parts, rows), torch.zeros(inputs[0].shape[2], dtype=torch.int64))


def autocorrelations_of(residuals: Tensor) -> list[float]:
    """Returns the autocorrelation of residuals (sequence, time, feature) at lags 1 to `RESIDUALS`, over all features
    together."""
    centred = residuals - residuals.mean((0, 1))
    whole = centred.square().mean((0, 1)).sum()
    products = [(centred[:, lag:] * centred[:, :-lag]).mean((0, 1)).sum() for lag in range(1, RESIDUALS + 1)]
    return [float(product / whole) for product in products]


def autocorrelations(readout: Readout) -> list[float]:
    """Returns the autocorrelation of the one-step residuals on the validation part."""
    part, own = readout.parts[1], solve(readout, (1,))[1]
    return autocorrelations_of((part.values - own(part.inputs))[:, FIRST:])


def rows_of_table(parts: Sequence[MaskedSequences], seed: int) -> tuple[dict[str, Columned], dict[str, Any]]:
    """Returns the columns beside the readout of each row of the table, and the two models."""

    def cell_with(regression: Regression) -> Any:
        generators = generators_of(seed)
        return fit(*parts[:2], features=DRAW, regression=regression, readout=OWN, generators=generators).model

    cell, weaker = cell_with(REGRESSION), cell_with(replace(REGRESSION, ridge=LESS))
    reservoir = RESERVOIR.fit(Problem(parts[0], parts[1], OWN, generators_of(seed)("weights"))).model
    window = window_estimates(draw_features(parts[0], DRAW, generators_of(seed)), parts)
    states, echo = states_along(cell, parts), states_along(reservoir, parts)
    columns = {PSRNN: states, WINDOW: window}
    columns |= {name: updated(cell, window, parts, n) for n, name in SINCE.items()}
    columns |= {f"{PSRNN}, ridge {LESS:g}": states_along(weaker, parts), ECHO: echo}
    columns["both states"] = [torch.cat(both, 2) for both in zip(states, echo, strict=True)]
    return columns, {PSRNN: cell, ECHO: reservoir}


def measure(parts: Sequence[MaskedSequences], seed: int) -> tuple[dict[str, Errors], dict[str, float]]:
    """Returns the errors of each row of the table, and the measures of what the states hold, by their names."""
    plain = readout_along(parts, seed)
    columns, models = rows_of_table(parts, seed)
    rows = {"no state": errors_of(plain)} | {name: errors_of(beside(plain, own)) for name, own in columns.items()}
    rows["no state, traces 4, 8, 16 among the lags"] = errors_of(readout_along(parts, seed, TRACES))
    nothing = [part.values[..., :0] for part in plain.parts]
    held = {"no state": nothing, **{name: columns[name] for name in (PSRNN, WINDOW, ECHO)}}
    found = {f"R² of o(t − {n}), {name}": recalled(plain, own, n) for n in BACK for name, own in held.items()}
    for name, model in models.items():
        found[f"R² of the {name} from lags and features"] = explained(plain.parts, columns[name], plain.groups)
        for n in AGAIN:
            found[f"left of rows before the last {n}, {name}"] = kept_of_before(model, columns[name], parts, n)
    white = autocorrelations(plain)
    return rows, found | {"autocorrelation at lag 1": white[0], "largest of all lags": max(map(abs, white))}


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def table(found: Sequence[dict[str, Errors]], floor: Mapping[int, float]) -> str:
    parts = PARTS[1:]
    head = [f"{part}, {horizon}" for part in parts for horizon in HORIZONS]
    lines = [f"| beside lags and features | {' | '.join(head)} |", "|---" * (len(head) + 1) + "|"]
    for name in found[0]:
        cells = [f"{mean([own[name][part][h] for own in found]):.3g}" for part in parts for h in HORIZONS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    cells = [f"{floor[h]:.3g}" for h in HORIZONS] + [""] * len(HORIZONS)
    return "\n".join([*lines, f"| hidden state known | {' | '.join(cells)} |"])


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description="what the states of recurrent models remember")
    parser.add_argument("data", choices=SOURCES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    parser.add_argument("--data-seed", type=int, default=0, help="of the hearts, or of policy and initial states")
    options = parser.parse_args()
    loaded = load(replace(SOURCES[options.data], seed=options.data_seed))
    measured = [measure(loaded.parts, seed) for seed in options.seeds]
    print(table([rows for rows, _ in measured], loaded.floor), "\n\n| measure | mean | seeds |\n|---|---|---|")
    for name in measured[0][1]:
        each = [found[name] for _, found in measured]
        print(f"| {name} | {mean(each):.2g} | {', '.join(f'{one:.2g}' for one in each)} |")


if __name__ == "__main__":
    main()
