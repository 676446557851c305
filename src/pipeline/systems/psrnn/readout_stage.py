"""The stage after refinement: the finished model beneath a readout in groups, each horizon regressed or iterated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tqdm import tqdm

from models.baselines.no_state import NoState
from models.forecasting.averaged import Averaged
from models.forecasting.filtering import MaskedSequences
from models.forecasting.fitting import Problem
from models.forecasting.lags import settle_lags, takes_lags
from models.forecasting.readout import FittedReadout
from models.forecasting.readouts.again import grouped_again
from models.forecasting.readouts.fit import HorizonFit, fit_grouped
from models.forecasting.readouts.inputs import GROUPS
from models.forecasting.readouts.model import GroupedReadout
from models.forecasting.readouts.naive import naive_errors
from models.forecasting.readouts.settings import GroupedSettings
from models.forecasting.recurrent import trained_parameters
from models.runtime.seeding import Generators, generators_of
from models.runtime.threads import threads_for
from pipeline.host.progress import progress_bar
from pipeline.job import checkpoint
from pipeline.job.study import Study
from pipeline.settings.messages import of_section
from pipeline.systems.psrnn import figures
from pipeline.systems.psrnn.config import PsrnnConfig, ReadoutConfig
from pipeline.systems.psrnn.divergence import NAIVE
from pipeline.systems.psrnn.first_model import errors_of
from pipeline.systems.psrnn.labels import GROUPED, name_of
from pipeline.systems.psrnn.lags import readout_settings, say_lags
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.refine import Trained


class Regressed(NamedTuple):
    """Holds a model beneath its readout, and the fit of each horizon.

    chosen: what validation chose, by names for tags.
    """

    model: GroupedReadout
    horizons: list[HorizonFit]
    chosen: dict[str, Any]


def lags_of(model: Any, settings: ReadoutConfig, parts: Parts, generators: Generators) -> int:
    """Returns how many observations the readout sees. These are the lags of the model's own readout. Of a model without
    lags they are those asked for, or those that validation chooses without a state."""
    if takes_lags(model):
        return model.lags
    if settings.lags is not None:
        return settings.lags
    asked = readout_settings(settings)
    stateless = NoState()
    alone = stateless.fit(Problem(parts.train, parts.validation, asked, generators("weights"), parts.lagged))
    settled = settle_lags(alone.model, FittedReadout(alone.chosen, None, None), parts.readout_fit(asked))
    say_lags(name_of(stateless), settled.model, settled.tried)
    return settled.model.lags


def horizons_within(settings: ReadoutConfig, parts: Sequence[MaskedSequences]) -> int:
    """Returns up to which horizon each has a regression of its own: as asked, and at most half of the steps of the
    shorter part. Says so where that is less."""
    asked, reach = max(1, settings.direct), max(1, min(part.values.shape[1] for part in parts) // 2)
    if reach < asked:
        say_capped(asked, reach)
    return min(asked, reach)


def say_capped(asked: int, reach: int) -> None:
    tqdm.write(
        f"readout.direct={asked}: training and validation part are long enough for {reach} step{'s' * (reach > 1)} "
        "ahead; further ones are iterated"
    )


def grouped_settings(settings: ReadoutConfig, *, lags: int, direct: int) -> GroupedSettings:
    """Returns the settings as models take them. Says what is left out where validation chose no lags."""
    count = settings.count if lags or settings.traces else 0
    difference = settings.difference and lags > 0
    left_out = ["readout.count"] * (count < settings.count) + ["readout.difference"] * (
        difference < settings.difference
    )
    if left_out:
        tqdm.write(
            f"validation chose no lags, so {' and '.join(left_out)} are left out: there is nothing to apply them to"
        )
    return GroupedSettings(
        lags=lags, traces=tuple(settings.traces), count=count, bandwidth=settings.bandwidth, whiten=settings.whiten,
        direct=direct, difference=difference, shared=settings.shared,
    )  # fmt: skip


def regress(settings: ReadoutConfig, parts: Parts, model: Any, generators: Generators) -> Regressed:
    """Returns the model beneath a readout that is fitted to the training part, its choices made by the validation
    part."""
    with of_section("readout"), threads_for(model), progress_bar("readout"):
        lags, direct = lags_of(model, settings, parts, generators), horizons_within(settings, parts[:2])
        asked = grouped_settings(settings, lags=lags, direct=direct)
        fit = fit_grouped(model, parts.train, parts.validation, asked, generators)
    if fit.left_out:
        say_capped(direct, len(fit.horizons))
    return Regressed(fit.model, fit.horizons, fit.chosen)


def kept_or_regressed(settings: PsrnnConfig, parts: Parts, model: Any, path: Path) -> Regressed:
    """Returns the regressed model that the checkpoint at `path` holds, or makes it and keeps it there."""
    saved = checkpoint.find(path)
    if saved is not None:
        with checkpoint.fitting(path):
            return restored(saved, model, parts)
    found = regress(settings.readout, parts, model, generators_of(settings.seed))
    values = {"shape": found.model.architecture, "horizons": found.horizons, "chosen": found.chosen}
    checkpoint.save(path, found.model.state_dict(), values)
    return found


def restored(saved: checkpoint.Saved, model: Any, parts: Parts) -> Regressed:
    """Returns what a checkpoint of this stage holds, above the finished model."""
    whole = GroupedReadout(model, **saved.values["shape"]).to(parts.train.values)
    whole.load_state_dict(saved.tensors)
    return Regressed(whole, [HorizonFit(*row) for row in saved.values["horizons"]], saved.values["chosen"])


def parameters_of(model: Any) -> int:
    """Returns how many numbers are fitted. Of a grouped readout they are those of the maps that are used, and its
    model's; of an average those of all members."""
    if isinstance(model, Averaged):
        return sum(parameters_of(own) for own in model.models)
    if not isinstance(model, GroupedReadout):
        return trained_parameters(model)
    maps = {0, *model.direct.nonzero()[:, 0].tolist()}
    return trained_parameters(model.base) + len(maps) * (model.weight[0].numel() + model.bias[0].numel())


def words_of(model: GroupedReadout) -> str:
    """Returns what the readout sees, in words."""
    state, *_ = model.group_sizes
    seen = {"state": state, f"{model.lags} lags": model.lags, f"{len(model.traces)} traces": len(model.traces)}
    count = len(model.features.frequencies)
    named = [*(words for words, there in seen.items() if there), *([f"{count} frequencies of these"] if count else [])]
    direct = f"{int(model.direct.sum())} of {len(model.direct)} horizons direct"
    return f"readout of {', '.join(named)}, {direct}, {parameters_of(model)} parameters"


def horizon_table(found: Regressed, validation: MaskedSequences, *, shared: bool) -> pd.DataFrame:
    """Returns a row for each horizon: errors on the validation part, over the same rows for all columns; which of
    direct and iterated is used; and the ridge of each group of the direct one. shared: see `naive_errors`."""
    naive = naive_errors(validation, history=found.model.history, horizons=len(found.horizons), shared=shared)
    rows = [
        {
            "horizon": fit.horizon, "direct": fit.direct_error, "iterated": fit.iterated_error,
            "last_value": beside.last_value, "mean": beside.mean, "used": "direct" if fit.direct else "iterated",
            **{f"ridge_{name}": fit.ridges[name] for name in GROUPS if name in fit.ridges},
        }
        for fit, beside in zip(found.horizons, naive, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def log_horizons(study: Study, table: pd.DataFrame) -> None:
    """Logs the table, and where it has more than one step a figure of it."""
    study.run.table(table, "readout/horizons.csv")
    if len(table) > 1:
        study.run.figure(
            figures.direct_and_iterated(table, title=f"{study.title}: direct and iterated forecasts"),
            "figures/readout",
        )


def name_beneath(name: str) -> str:
    """Returns what a model beneath a readout in groups is called in tables: a naive one says so, since its forecasts
    are no longer those of the baseline of that name."""
    return f"{name}_{GROUPED}" if name in NAIVE else name


def readout_stage(settings: PsrnnConfig, parts: Parts, trained: Trained, study: Study) -> Trained:
    """Returns the trained model beneath a readout in groups, with its errors, all logged."""
    run = study.run
    with study.clock.stage("readout"):
        found = kept_or_regressed(settings, parts, trained.model, study.folder / "readout.npz")
        with threads_for(found.model):
            errors = errors_of(found.model, parts)
        run.metric("readout/train_mse", errors[0])
        run.metric("readout/validation_mse", errors[1])
        run.tags({name: f"{value:g}" for name, value in found.chosen.items()})
        run.tags({"history": str(found.model.history)})
        run.tags({"stability": "stable" if trained.first.stable(*errors) else "unstable"})
        if study.full:
            log_horizons(study, horizon_table(found, parts.validation, shared=settings.readout.shared))
    line = f"{trained.line}; beneath a {words_of(found.model)}"
    again = partial(
        grouped_again, found.model, horizons=found.horizons, shared=settings.readout.shared,
        difference=settings.readout.difference and found.model.lags > 0,
    )  # fmt: skip
    name = name_beneath(trained.name)
    return trained._replace(model=found.model, name=name, line=line, validation_mse=errors[1], again=again)
