"""Stages two and three of a PSRNN: its random features; its first parameters and its readout."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor
from tqdm import tqdm

from models.features.bandwidth import NothingVaries
from models.forecasting.filtering import MaskedSequences
from models.forecasting.forecaster import built, description_of
from models.forecasting.readout_settings import ReadoutSettings
from models.numerics.ridge import NotPositiveDefinite
from models.psrnn.cell import PSRNN
from models.psrnn.factorised import FactorisedPSRNN
from models.psrnn.features import FeatureDraw, Features, draw_features
from models.psrnn.fit import FittedPSRNN, Regression, first_cell, solved_cell
from models.psrnn.method import Psrnn
from models.psrnn.projection import TooManyDirections
from models.runtime.seeding import Generators
from models.runtime.threads import threads_for
from pipeline.host.errors import PipelineError
from pipeline.host.out_of_memory import halving
from pipeline.host.progress import progress_bar
from pipeline.job import checkpoint
from pipeline.job.study import Study
from pipeline.systems.psrnn import report
from pipeline.systems.psrnn.first_model import Initialised, judge
from pipeline.systems.psrnn.labels import label
from pipeline.systems.psrnn.lags import say_lags
from pipeline.systems.psrnn.load import Parts
from pipeline.systems.psrnn.too_large import refuse_wide_windows

DECOMPOSITION_ERROR = "decomposition.error"


def drawn(train: MaskedSequences, draw: FeatureDraw, generators: Generators) -> Features:
    """Returns the features of `draw_features`. Raises PipelineError, with the settings, where nothing varies."""
    try:
        return draw_features(train, draw, generators)
    except NothingVaries as error:
        fixed = "features.bandwidth.rule=fixed features.bandwidth.value=NUMBER"
        raise PipelineError(f"features.bandwidth.rule={draw.bandwidth.rule}: {error}, {fixed}") from error


def windows_in_words(draw: FeatureDraw) -> str:
    """Returns what is unlike the paper in the windows and their features, after a comma; empty where nothing is."""
    changed = {
        "history": draw.history, "future": draw.future, "delay": draw.delay if draw.delay > 1 else None,
        "whiten": draw.whiten, "linear": draw.linear, "traces": " ".join(f"{each:g}" for each in draw.traces),
    }  # fmt: skip
    return "".join(f", {name} {value}" for name, value in changed.items() if value)


@dataclass(frozen=True)
class PsrnnStages:
    """Fits features and two-stage regression: `models.psrnn.fit.fit` in two stages, each logged and the second kept.

    memory: in bytes, more than which no size of features may take; None where it is not known.
    """

    drawn: ClassVar[bool] = True
    method: Psrnn
    draw: FeatureDraw
    regression: Regression
    readout: ReadoutSettings
    generators: Generators
    memory: int | None = None

    @property
    def span(self) -> int:
        return self.draw.span

    def words(self) -> str:
        projection, rank = self.regression.projection, self.method.terms
        name = label(self.method.name) + ("" if rank is None else f" of rank {rank}")
        projected = "" if projection is None else f" projected to {projection}"
        start = "random" if self.regression.random else "two_stage"
        sizes = f"{self.draw.count} frequencies{projected}{windows_in_words(self.draw)}"
        return f"{name}, {sizes}, update={self.regression.update}, {start}"

    def first_model(self, parts: Parts, study: Study) -> Initialised:
        dimension = parts.train.values.shape[2]
        refuse_wide_windows(self.draw, dimension, projection=self.regression.projection, memory=self.memory)
        with study.clock.stage("features"):
            features = drawn(parts.train, self.draw, self.generators)
            if study.full:
                report.log_features(study.run, features, self.draw.kernel, title=study.title)
        with study.clock.stage("two_stage"):
            first = self.regressed(parts, features, study.folder / "two_stage.npz")
            study.run.metric("two_stage/train_mse", first.train_mse)
            study.run.metric("two_stage/test_mse", first.test_mse)
            if DECOMPOSITION_ERROR in first.chosen:
                study.run.metric("two_stage/decomposition_error", first.chosen[DECOMPOSITION_ERROR])
        return first

    def regressed(self, parts: Parts, features: Features, path: Path) -> Initialised:
        """Returns the model from its checkpoint, or makes the model and keeps it there."""
        saved = checkpoint.find(path)
        if saved is not None:
            with checkpoint.fitting(path):
                return restored(saved, like=parts.train.values, factorised=self.regression.rank is not None)
        first = initialise(parts, features, self.regression, self.readout, self.generators)
        values = {name: value for name, value in first._asdict().items() if name != "model"}
        checkpoint.save(path, first.model.state_dict(), {**values, "shape": description_of(first.model)})
        return first


def restored(saved: checkpoint.Saved, *, like: Tensor, factorised: bool) -> Initialised:
    """Returns the model that a checkpoint of this stage holds, for values (sequence, time, feature) as `like`."""
    model = built(FactorisedPSRNN if factorised else PSRNN, saved.values.pop("shape"), dimension=like.shape[2]).to(like)
    model.load_state_dict(saved.tensors)
    return Initialised(model, **saved.values)


def cell_in_memory(
    features: Features, regression: Regression, generators: Generators, *, lags: int, within: str = ""
) -> tuple[PSRNN, dict[str, Any]]:
    """Returns `first_cell` in as large chunks as memory allows, and the chunk under its tag where it was halved.

    within: what stands before the names of the settings, a section and a dot. Raises PipelineError for more
    directions of a projection than there are features, and for a ridge or a whitening that is too small.
    """

    def work(chunk: int) -> tuple[PSRNN, int]:
        return first_cell(features, replace(regression, chunk=chunk), generators, lags=lags), chunk

    try:
        with progress_bar("two-stage regression", regression.passes * len(features.windows.time)):
            cell, chunk = halving(work, chunk=regression.chunk, key=f"{within}initialise.chunk")
    except TooManyDirections as error:
        raise PipelineError(f"{within}features.{error}") from error
    except NotPositiveDefinite as error:
        raise PipelineError(f"{within}initialise.{error}") from error
    return cell, {} if chunk == regression.chunk else {"halved.initialise.chunk": chunk}


def say_decomposition(fitted: FittedPSRNN, rank: int | None) -> dict[str, Any]:
    """Says how well the outer products fit; returns their error under its name. Warns where they did not settle."""
    decomposition = fitted.decomposition
    if decomposition is None:
        return {}
    tqdm.write(f"update tensor: {rank} outer products, relative error {decomposition.error:.3g}")
    if not decomposition.converged:
        warnings.warn(
            f"model.rank={rank}: the decomposition was stopped before it came to rest, at a relative error of "
            f"{decomposition.error:.3g}; another rank or seed may do better",
            stacklevel=2,
        )
    return {DECOMPOSITION_ERROR: decomposition.error}


def initialise(
    parts: Parts,
    features: Features,
    regression: Regression,
    readout: ReadoutSettings,
    generators: Generators,
    *,
    within: str = "",
) -> Initialised:
    """Returns the model of `models.psrnn.fit.fit` with its errors. Warns of a draw of features that is of no use.

    within: see `cell_in_memory`.
    """
    cell, chosen = cell_in_memory(features, regression, generators, lags=readout.lags, within=within)
    with threads_for(cell), progress_bar("filtering"):
        fitted = solved_cell(cell, parts.readout_fit(readout), regression, generators)
        chosen |= say_decomposition(fitted, regression.rank)
        say_lags("psrnn" if regression.rank is None else "psrnn_cp", fitted.model, fitted.tried)
        first = judge(fitted.model, parts, fitted.readout)
    return first._replace(chosen=first.chosen | chosen)
