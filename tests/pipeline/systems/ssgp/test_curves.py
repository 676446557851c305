"""Scores and choices of Gaussian-process fits, the exact process against formulae, and streams of generated rows."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from models.features.kernels import Gaussian
from models.features.samplers import Iid, draw_frequencies
from models.runtime.seeding import generator
from models.ssgp.autoencoder_fit import Training, train_autoencoder
from models.ssgp.drawn import first_length_scale
from models.ssgp.fit import train
from models.ssgp.model import SSGP, factor_of
from models.ssgp.moments import in_blocks
from pipeline.job.curve import EpochRow
from pipeline.systems.ssgp.autoencoder import fit_autoencoder, refuse_taken_back
from pipeline.systems.ssgp.curves import (
    CurveRow,
    Part,
    Scores,
    SparseTraining,
    StandardisedPoints,
    best_place,
    best_row,
    explained,
    ridge_curve,
    scores,
    ssgp_curve,
)
from pipeline.systems.ssgp.streamed import generated, slope


def test_scores_are_in_the_unit_of_the_target() -> None:
    targets = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    mean, variance = torch.tensor([0.0, 0.0, 1.0]).double(), torch.tensor([1.0, 0.5, 2.0]).double()
    found = scores(lambda _: (mean, variance), Part(torch.zeros(3, 1), targets), 10.0)
    density = torch.distributions.Normal(10 * mean, 10 * variance.sqrt())
    assert found.nlpd == pytest.approx(-density.log_prob(10 * targets).mean().item())
    assert found.rmse == pytest.approx(10 * math.sqrt((0.25 + 1 + 1) / 3))


def test_the_best_row_is_chosen_on_validation_and_never_on_test() -> None:
    rows = [
        CurveRow(i, 0.0, Scores(1.0, v), Scores(1.0, t)) for i, (v, t) in enumerate([(2, 9), (1, 5), (math.nan, 0)])
    ]
    assert best_row(rows).iteration == 1


def test_a_value_that_is_not_finite_is_never_chosen() -> None:
    assert best_place([math.nan, 3.0, -math.inf, 2.0]) == 3


def test_what_is_explained_of_the_inputs() -> None:
    x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    assert explained(x, x) == 1
    assert explained(x, x.mean(0).expand_as(x)) == 0
    assert explained(x, x - 1) == pytest.approx(1 - 6 / 14)


def nine_iterations() -> list[CurveRow]:
    """A row after every second iteration, as far as training gets."""
    part = linear_problem().train
    points = StandardisedPoints(part, part, part, 1.0)
    return ssgp_curve(points, Gaussian(), Iid(), count=3, seed=0, training=SparseTraining(9, 0.1, 2))


def test_training_that_cannot_go_on_ends_early_and_keeps_the_curve(capsys, monkeypatch) -> None:
    losses, loss = [], SSGP.loss

    def breaks(self: SSGP, stream: Any) -> torch.Tensor:
        losses.append(1)
        return factor_of(torch.eye(2), torch.tensor(-3.0)) if len(losses) == 4 else loss(self, stream)

    monkeypatch.setattr(SSGP, "loss", breaks)
    curve = nine_iterations()
    assert [row.iteration for row in curve] == [0, 2]
    said = capsys.readouterr().out
    assert "seed 0, p = 3: training ends early and counts to 2: a signal variance of -3 times" in said
    assert "train for fewer iterations, or in double precision" in said
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
    curve = nine_iterations()
    assert [row.iteration for row in curve] == [0, 2]
    said = capsys.readouterr().out
    assert "counts to 2: the gradient is not finite at iteration 4; lower the learning rate" in said
    assert "halved" not in said


def test_the_loop_trains_as_python_does() -> None:
    """A process and an autoencoder, each by the pipeline and by what is called without it."""
    problem = linear_problem()
    curve = ssgp_curve(
        problem, Gaussian(), Iid(), count=3, seed=0, training=SparseTraining(7, 0.1, 3, train_frequencies=True)
    )
    drawn = draw_frequencies(
        kernel=Gaussian(),
        sampler=Iid(),
        count=3,
        dimension=1,
        bandwidth=1.0,
        generator=generator(0, "ssgp/frequencies"),
    )
    model = SSGP(drawn, scale=first_length_scale(problem.train.inputs, 0), train_frequencies=True)
    losses = train(model, in_blocks(*problem.train), iterations=7, learning_rate=0.1)
    assert [(row.iteration, row.loss) for row in curve] == [(i, losses[i]) for i in (0, 3, 6, 7)]
    inputs = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    how = {"latent": 2, "components": 3, "training": Training(9, 16, 0.01, 8.0, 1.2), "seed": 5}
    for found, expected in zip(
        fit_autoencoder(inputs, **how).state_dict().values(),
        train_autoencoder(inputs, **how).state_dict().values(),
        strict=True,
    ):
        assert torch.equal(found, expected)


def test_an_autoencoder_whose_gradient_is_not_finite_is_refused() -> None:
    row = EpochRow(1, 4, {}, 0.1, accepted=False)
    with pytest.raises(ValueError, match="gradient is not finite at step 4; lower its learning rate"):
        refuse_taken_back(row)


def linear_problem(rows: int = 30) -> StandardisedPoints:
    inputs = torch.linspace(-2, 2, rows, dtype=torch.float64).unsqueeze(1)
    part = Part(inputs, 0.5 * inputs[:, 0] + 0.1 * torch.sin(40 * inputs[:, 0]))
    return StandardisedPoints(part, part, part, 1.0)


def test_linear_ridge_finds_a_line() -> None:
    rows = ridge_curve(linear_problem(), [1e-8, 1e4])
    assert rows[0].test.rmse < 0.1 < rows[1].test.rmse
    assert rows[0].test.nlpd < rows[1].test.nlpd


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
def test_the_full_process_before_training_is_the_formula() -> None:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining, full_gp_curve

    whole = linear_problem()
    new = Part(whole.test.inputs + 0.01, whole.test.targets)
    problem = whole._replace(validation=new, test=new)
    inputs, targets = problem.train
    (first,) = full_gp_curve(problem, PeerTraining(0, 0.1, 1, 1.5, 0), points=30)
    gram = torch.exp(-0.5 * torch.cdist(inputs, inputs).square() / 1.5**2)
    noisy = gram + 0.25 * torch.eye(30, dtype=torch.float64)
    cross = torch.exp(-0.5 * torch.cdist(new.inputs, inputs).square() / 1.5**2)
    mean = cross @ torch.linalg.solve(noisy, targets)
    assert first.test.rmse == pytest.approx((mean - targets).square().mean().sqrt().item(), rel=1e-3)
    likelihood = torch.distributions.MultivariateNormal(torch.zeros(30).double(), noisy).log_prob(targets)
    assert first.loss == pytest.approx(-likelihood.item() / 30, rel=1e-3)


def test_a_generated_stream_repeats_itself_and_begins_alike_at_every_length() -> None:
    short, long = (generated(rows, dimension=2, seed=3, dtype=torch.float64) for rows in (20_000, 40_000))
    one, again = list(short()), list(short())
    assert [len(targets) for _, targets in one] == [16384, 3616]
    assert all(torch.equal(a, b) for rows in zip(one, again, strict=True) for a, b in zip(*rows, strict=True))
    assert torch.equal(one[0][0], next(iter(long()))[0])


def test_the_slope_of_a_linear_cost_is_one() -> None:
    rows = np.array([10, 100, 1000])
    assert slope(pd.DataFrame({"rows": rows, "seconds": 0.3 * rows})) == pytest.approx(1)
    assert math.isnan(slope(pd.DataFrame({"rows": [5], "seconds": [1.0]})))


@pytest.mark.skipif(find_spec("gpytorch") is None, reason="GPyTorch is not installed: pip install -e '.[gp]'")
def test_a_variational_process_is_a_function_of_its_seed_and_draws_nothing_from_the_global_generator() -> None:
    from pipeline.systems.ssgp.gpytorch_peers import PeerTraining, svgp_curve

    inputs = torch.randn(40, 2, dtype=torch.float64, generator=generator(0, "inputs"))
    part = Part(inputs, torch.sin(inputs[:, 0]))
    data = StandardisedPoints(part, part, part, 1.0)

    def curve(seed: int) -> list[CurveRow]:
        training = PeerTraining(iterations=2, learning_rate=0.01, every=1, scale=1.0, seed=seed)
        return svgp_curve(data, training, inducing=8, batch_size=20)

    before = torch.random.get_rng_state()
    first = curve(0)
    assert torch.equal(torch.random.get_rng_state(), before)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        assert curve(0) == first
    assert curve(1) != first
