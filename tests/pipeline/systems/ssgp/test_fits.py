"""Fits of models of points: trained as without the pipeline, resumed, ended early; GPyTorch's against formulae."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from models.features.kernels import Gaussian
from models.features.samplers import Iid
from models.numerics.standardisation import Standardisation
from models.runtime.seeding import generator
from models.ssgp.drawn import drawn_process
from models.ssgp.model import SSGP, factor_of
from models.ssgp.moments import in_blocks
from oracles import train
from pipeline.job.fit import Fit
from pipeline.systems.ssgp.config import FeatureCountConfig, SsgpConfig, SsgpSectionConfig
from pipeline.systems.ssgp.curves import (
    CurveRow,
    FittedCurve,
    PointUnits,
    StandardisedPart,
    StandardisedPoints,
    curve_row,
)
from pipeline.systems.ssgp.fits import Draw, fit_process, fit_ridge

DRAW = Draw(Gaussian(), Iid())
ONE = Standardisation(torch.zeros(()), torch.ones(()))
UNITS = PointUnits(ONE, ONE)


def linear_problem(rows: int = 30, dtype: torch.dtype = torch.float64) -> StandardisedPoints:
    inputs = torch.linspace(-2, 2, rows, dtype=dtype).unsqueeze(1)
    part = StandardisedPart(inputs, 0.5 * inputs[:, 0] + 0.1 * torch.sin(40 * inputs[:, 0]))
    return StandardisedPoints(part, part, part, UNITS)


def asked(iterations: int, every: int) -> SsgpConfig:
    section = SsgpSectionConfig(iterations=iterations, learning_rate=0.1, every=every)
    return SsgpConfig(features=FeatureCountConfig(3), ssgp=section)


def nine_iterations(path: Path | None = None) -> FittedCurve:
    """A row after every second iteration, as far as training gets."""
    return fit_process(asked(9, 2), linear_problem(), DRAW, train_frequencies=False, path=path)


def scored(fitted: FittedCurve, data: StandardisedPoints) -> dict[str, float]:
    """The values of the row that is kept, as its process predicts."""
    best = fitted.best
    return curve_row(lambda x: fitted.process.predict(x)[:2], data, best.iteration, best.loss).values()


def assert_predicts_at_its_best(fitted: FittedCurve) -> None:
    """What predicts gives the scores of the row that is kept."""
    assert scored(fitted, linear_problem()) == pytest.approx(fitted.best.values(), nan_ok=True)


def test_training_that_cannot_go_on_ends_early_and_keeps_the_curve(capsys, monkeypatch) -> None:
    losses, loss = [], SSGP.loss

    def breaks(self: SSGP, stream: Any) -> torch.Tensor:
        losses.append(1)
        return factor_of(torch.eye(2), torch.tensor(-3.0)) if len(losses) == 4 else loss(self, stream)

    monkeypatch.setattr(SSGP, "loss", breaks)
    fitted = nine_iterations()
    assert [row.iteration for row in fitted.curve] == [0, 2]
    assert fitted.ended_at(9) == 2
    assert_predicts_at_its_best(fitted)
    said = capsys.readouterr().out
    assert "seed 0, p = 3: training ends early and counts to 2: a signal variance of -3 times" in said
    assert said.endswith("train for fewer iterations\n")
    losses.clear()
    fit_process(asked(9, 2), linear_problem(dtype=torch.float32), DRAW, train_frequencies=False, path=None)
    assert capsys.readouterr().out.endswith("fewer iterations, or in double precision (dtype=float64)\n")
    monkeypatch.setattr(SSGP, "loss_of", lambda *_: torch.tensor(math.nan))
    with pytest.raises(ValueError, match="not finite at iteration 0"):
        nine_iterations()


def test_a_gradient_that_is_not_finite_ends_training_early(capsys, monkeypatch) -> None:
    losses, loss = [], SSGP.loss

    def breaks(self: SSGP, stream: Any) -> torch.Tensor:
        losses.append(1)
        zero = (self.raw_noise - self.raw_noise.detach()).abs().sqrt()  # of gradient NaN
        return loss(self, stream) + (zero if len(losses) == 4 else 0)

    monkeypatch.setattr(SSGP, "loss", breaks)
    curve = nine_iterations().curve
    assert [row.iteration for row in curve] == [0, 2]
    said = capsys.readouterr().out
    assert "counts to 2: the gradient is not finite at iteration 4; lower the learning rate" in said
    assert "halved" not in said


def test_a_process_is_trained_as_python_trains_it() -> None:
    problem = linear_problem()
    curve = fit_process(asked(7, 3), problem, DRAW, train_frequencies=True).curve
    model = drawn_process(problem.train.inputs, Gaussian(), Iid(), count=3, seed=0, train_frequencies=True)
    losses = train(model, in_blocks(*problem.train), iterations=7, learning_rate=0.1)
    assert [(row.iteration, row.loss) for row in curve] == [(i, losses[i]) for i in (0, 3, 6, 7)]


def test_a_training_that_was_killed_goes_on_to_the_same_numbers(tmp_path, monkeypatch) -> None:
    whole, record, rows = nine_iterations(), Fit._record, []

    def killed(self: Fit, train: float | None, *, accepted: bool) -> None:
        if len(rows) == 3:
            raise KeyboardInterrupt
        rows.append(1)
        record(self, train, accepted=accepted)

    monkeypatch.setattr(Fit, "_record", killed)
    with pytest.raises(KeyboardInterrupt):
        nine_iterations(tmp_path / "fit.npz")
    monkeypatch.setattr(Fit, "_record", record)
    steps, loss = [], SSGP.loss
    monkeypatch.setattr(SSGP, "loss", lambda self, stream: (steps.append(1), loss(self, stream))[1])
    again = nine_iterations(tmp_path / "fit.npz")
    assert len(steps) == 5  # of nine, four were done
    assert again.curve == whole.curve
    inputs = linear_problem().test.inputs
    pairs = zip(again.process.predict(inputs), whole.process.predict(inputs), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_linear_ridge_finds_a_line() -> None:
    fitted = fit_ridge(linear_problem(), [1e-8, 1e4])
    rows = fitted.curve
    assert rows[0].test.rmse < 0.1 < rows[1].test.rmse
    assert rows[0].test.nlpd < rows[1].test.nlpd
    assert (fitted.best, fitted.ended_at(9)) == (rows[0], None)
    assert_predicts_at_its_best(fitted)


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
def test_the_full_process_before_training_is_the_formula() -> None:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining, full_gp

    whole = linear_problem()
    new = StandardisedPart(whole.test.inputs + 0.01, whole.test.targets)
    problem = whole._replace(validation=new, test=new)
    inputs, targets = problem.train
    (first,), process = full_gp(problem, PeerTraining(0, 0.1, 1, 1.5, 0), points=30)
    gram = torch.exp(-0.5 * torch.cdist(inputs, inputs).square() / 1.5**2)
    noisy = gram + 0.25 * torch.eye(30, dtype=torch.float64)
    cross = torch.exp(-0.5 * torch.cdist(new.inputs, inputs).square() / 1.5**2)
    mean = cross @ torch.linalg.solve(noisy, targets)
    assert first.test.rmse == pytest.approx((mean - targets).square().mean().sqrt().item(), rel=1e-3)
    assert torch.allclose(process.predict(new.inputs).mean, mean, rtol=1e-3, atol=1e-4)
    likelihood = torch.distributions.MultivariateNormal(torch.zeros(30).double(), noisy).log_prob(targets)
    assert first.loss == pytest.approx(-likelihood.item() / 30, rel=1e-3)


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
def test_a_variational_process_is_a_function_of_its_seed_and_draws_nothing_from_the_global_generator() -> None:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining, svgp

    inputs = torch.randn(40, 2, dtype=torch.float64, generator=generator(0, "inputs"))
    part = StandardisedPart(inputs, torch.sin(inputs[:, 0]))
    data = StandardisedPoints(part, part, part, UNITS)

    def curve(seed: int) -> list[CurveRow]:
        training = PeerTraining(iterations=2, learning_rate=0.01, every=1, scale=1.0, seed=seed)
        return svgp(data, training, inducing=8, batch_size=20).curve

    before = torch.random.get_rng_state()
    first = curve(0)
    assert torch.equal(torch.random.get_rng_state(), before)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        assert curve(0) == first
    assert curve(1) != first


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
@pytest.mark.parametrize("name", ["rff", "svgp", "full_gp"])
def test_what_is_kept_of_gpytorch_predicts_as_gpytorch_does(name: str) -> None:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining, full_gp, rff, svgp

    inputs = torch.randn(120, 2, dtype=torch.float64, generator=generator(0, "inputs"))
    targets = torch.sin(inputs[:, 0]) + 0.1 * torch.randn(120, dtype=torch.float64, generator=generator(0, "noise"))
    cuts = [StandardisedPart(*part) for part in zip(inputs.split(40), targets.split(40), strict=True)]
    data, training = StandardisedPoints(*cuts, units=UNITS), PeerTraining(12, 0.1, 4, 1.0, 0)
    fitted = {
        "rff": lambda: rff(data, training, count=6),
        "svgp": lambda: svgp(data, training, inducing=8, batch_size=16),
        "full_gp": lambda: full_gp(data, training, points=30),
    }[name]()
    assert scored(fitted, data) == pytest.approx(fitted.best.values(), rel=2e-5)
    nothing, same = fitted.process.predict(inputs[:0]), fitted.process.predict(inputs[:5])
    assert nothing.mean.shape == (0,)
    assert torch.all(same.variance > same.function_variance)
