"""Stage four: refinement by truncated back-propagation through time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.psrnn.bptt import TruncatedBPTT
from models.psrnn.cell import PSRNN
from models.psrnn.initialise import fit_readout
from models.psrnn.kronecker import KroneckerPreconditioner
from pipeline.fit import EpochRow, Fit, FitSettings, Progress
from pipeline.seeding import generator
from pipeline.stages.load import Loaded
from pipeline.stages.two_stage import one_step_mse


def refine(
    model: PSRNN, loaded: Loaded, settings: Any, *, readout: Any, readout_ridge: float, seed: int, path: Path,
    on_epoch: Callable[[EpochRow], None],
) -> Progress:  # fmt: skip
    """Train W, b and q_1 (and the readout, unless it is solved) in place; the model keeps its best parameters."""
    kronecker = settings.optimizer == "kronecker"

    def solve(refined: PSRNN) -> None:
        fit_readout(refined, loaded.train, loaded.validation, ridges=[readout_ridge], scale=readout.scale)

    objective = TruncatedBPTT(
        model, loaded.train, horizon=settings.horizon, batch_size=settings.batch_size,
        solve_readout=solve if kronecker else None,
    )  # fmt: skip
    loop = Fit(
        objective,
        FitSettings(settings.epochs, settings.optimizer, settings.learning_rate, settings.clip),
        generator=generator(seed, "order"),
        errors=lambda: (one_step_mse(model, loaded.validation), one_step_mse(model, loaded.test)),
        on_epoch=on_epoch,
        preconditioner=KroneckerPreconditioner(damping=settings.damping) if kronecker else None,
        path=path,
    )
    return loop.run()
