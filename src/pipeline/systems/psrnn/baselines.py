"""What every run is compared with: last value, seasonal naive and autoregressions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from models.baselines.autoregression import fit_autoregressions, orders_that_fit
from models.baselines.persistence import Persistence
from models.baselines.seasonal_naive import seasonal_naive
from models.forecasting.filtering import MaskedSequences, SequenceModel, rows_before
from models.forecasting.season import find_season
from pipeline.job.study import Study
from pipeline.settings.messages import of_section
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.psrnn.load import Parts


class Season(NamedTuple):
    """Holds the length of a season in `steps`, and its `peak`, which is its autocorrelation in the training part; None
    where the settings name the season.

    early: the share of the scored test rows with fewer than a season of rows before them. The seasonal naive is the
    last value there.
    """

    steps: int
    peak: float | None = None
    early: float = 0.0

    def __str__(self) -> str:
        why = (
            "evaluate.season"
            if self.peak is None
            else f"the training part's autocorrelation peaks there, {self.peak:.2f}"
        )
        stands_in = f"; the last value stands in for it in {100 * self.early:.3g} % of the scored rows"
        return f"season of {self.steps} steps ({why})" + stands_in * (self.early > 0)


def share_before(part: MaskedSequences, rows: int) -> float:
    """Returns the share of the scored rows of a part that have fewer than `rows` rows of their sequence before them,
    see `rows_before`."""
    early = rows_before(part.mask) < rows
    return float(early[part.scored.any(2)].double().mean())


def season_of(parts: Parts, settings: Any) -> Season | None:
    """Returns the season of `evaluate.season`, else the one found in the training part; None for 0, or where none is
    clear.

    The longest test sequence has to reach beyond a season. A season that is named and is too long for that is left out
    with a warning.
    """
    reach = parts.test.values.shape[1] - 1
    if settings.season is None:
        found = find_season(parts.train, most=reach)
        return None if found is None else Season(*found, early=share_before(parts.test, found[0]))
    if settings.season > reach:
        warnings.warn(
            f"evaluate.season={settings.season}: no test sequence is that long; no seasonal naive", stacklevel=2
        )
        return None
    if not settings.season:
        return None
    return Season(settings.season, early=share_before(parts.test, settings.season))


def orders_of(parts: Parts, settings: Any) -> list[int]:
    """Returns those of `evaluate.orders` that training and validation part have rows for, see `orders_that_fit`; warns
    of the others."""
    orders = orders_that_fit(settings.orders, (parts.train, parts.validation))
    left_out = [str(order) for order in settings.orders if order not in orders]
    if left_out:
        warnings.warn(
            "evaluate.orders: training and validation part do not both have a scored step with so many entirely "
            f"observed ones before it: {', '.join(left_out)}; left out",
            stacklevel=2,
        )
    return orders


def baselines(parts: Parts, settings: Any, season: Season | None) -> dict[str, SequenceModel]:
    """Returns the baselines by name: the last value, the seasonal naive where there is a season, and an autoregression
    of each of the orders of `orders_of`. The ridges of the autoregressions are chosen on the validation part."""
    values = parts.train.values
    models: dict[str, SequenceModel] = {
        "persistence": Persistence(dimension=values.shape[2]).to(dtype=values.dtype, device=values.device)
    }
    if season is not None:
        models["seasonal_naive"] = seasonal_naive(parts.train, season.steps)
    orders = orders_of(parts, settings)
    fits = fit_autoregressions(parts.train, parts.validation, orders=orders, ridges=settings.ridges, scale="none")
    return models | {f"ar{order}": model for order, (model, _) in zip(orders, fits, strict=True)}


class Beside(NamedTuple):
    """Holds the models that a run's own is compared with, by name, and the season of the seasonal naive among them."""

    models: Mapping[str, SequenceModel]
    season: Season | None


def baselines_stage(settings: PsrnnConfig, parts: Parts, study: Study, *, seasonal: bool) -> Beside:
    """Returns the baselines, fitted before the run's own model is trained: data that one of them cannot be fitted to
    cost no training. seasonal: whether a seasonal naive may be one of them."""
    with study.clock.stage("baselines"), of_section("evaluate"):
        season = season_of(parts, settings.evaluate) if seasonal else None
        return Beside(baselines(parts, settings.evaluate, season), season)
