"""GPyTorch's models on the same points: the exact process, its random Fourier features, and a variational process.

Only imported where `model=` names one: GPyTorch is the extra `gp`. Each gives the curve of its training, and the
process at the point that is kept, which `peer_processes` makes of it.

The peers have a loop of their own, as their curves are committed results: `job.fit` draws batches, measures epochs and
takes steps back in another order, and would give other numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor

from data.points import some_of
from models.runtime.seeding import derived
from pipeline.systems.ssgp.curves import (
    CurveRow,
    FittedCurve,
    Predict,
    StandardisedPart,
    StandardisedPoints,
    best_place,
    curve_row,
    say_end,
)
from pipeline.systems.ssgp.peer_processes import exact_peer, feature_peer, variational_peer

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit.script, at import
    import gpytorch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from linear_operator.utils.errors import NanError, NotPSDError

ROWS = 1000  # that are predicted at once
FIRST_NOISE = 0.25  # as `models.ssgp.model`
STARTS = (1.0, 0.5, 0.25, 0.125)  # of the exact process, which from too long a length-scale may end in noise alone
FAILURES = (NanError, NotPSDError)  # of a decomposition


class Trained(NamedTuple):
    """Holds the curve of a fit, and GPyTorch's model and likelihood at the point of it that is kept."""

    curve: list[CurveRow]
    model: Any
    likelihood: Any


class PeerTraining(NamedTuple):
    """Says how a model of GPyTorch's is trained. every: iterations from one row of the curve to the next. scale: the
    length-scale that training begins with."""

    iterations: int
    learning_rate: float
    every: int
    scale: float
    seed: int


class ExactModel(gpytorch.models.ExactGP):
    """Is an exact process with zero mean and a scaled kernel, which has a length-scale for each input."""

    def __init__(self, part: StandardisedPart, kernel: Any, likelihood: GaussianLikelihood) -> None:
        super().__init__(part.inputs, part.targets, likelihood)
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))  # pyright: ignore[reportArgumentType]


class VariationalModel(gpytorch.models.ApproximateGP):
    """Is a variational process with zero mean, Gaussian kernel, and inducing points that are trained (Hensman, Matthews
    and Ghahramani 2015). inducing: where they begin, (point, input)."""

    def __init__(self, inducing: Tensor, kernel: Any) -> None:
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(inducing))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, distribution))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))  # pyright: ignore[reportArgumentType]


def begin(model: Any, likelihood: Any, scale: float, like: Tensor) -> None:
    """Gives a model and its likelihood the same first hyper-parameters as `models.ssgp` does. scale: the first
    length-scale. like: a tensor of the dtype and on the device that they are to have."""
    model.to(like)
    likelihood.to(like)
    model.covar_module.base_kernel.lengthscale = scale
    model.covar_module.outputscale = 1.0
    likelihood.noise = FIRST_NOISE


def predictor(model: Any, likelihood: Any) -> Predict:
    """Returns a function from standardised inputs (row, input) to mean and variance of observations, (row,) each. It
    predicts `ROWS` rows at once, and leaves the model ready to train."""

    def predict(inputs: Tensor) -> tuple[Tensor, Tensor]:
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            answers = [likelihood(model(rows)) for rows in inputs.split(ROWS)]
            result = torch.cat([one.mean for one in answers]), torch.cat([one.variance for one in answers])
        model.train()
        likelihood.train()
        return result

    return predict


class TrainingCheckpoints:
    """Holds the curve of a training, and the parameters at each of its points."""

    def __init__(self, model: Any, likelihood: Any) -> None:
        self.modules = (model, likelihood)
        self.curve = list[CurveRow]()
        self.states = list[list[dict[str, Tensor]]]()

    def add(self, row: CurveRow) -> None:
        """Adds a point to the curve, with the parameters as they are now."""
        self.curve.append(row)
        self.states.append([deepcopy(module.state_dict()) for module in self.modules])

    def with_loss(self, loss: float) -> None:
        """Sets the loss of the last point, which is known only after the point was added."""
        self.curve[-1] = self.curve[-1]._replace(loss=loss)

    def restore(self) -> None:
        """Puts the parameters of the best point back into the model and the likelihood."""
        best = best_place([row.validation.nlpd for row in self.curve])
        for module, state in zip(self.modules, self.states[best], strict=True):
            module.load_state_dict(state)


def trained(
    model: Any,
    likelihood: Any,
    losses: Callable[[int], Iterator[Tensor]],
    data: StandardisedPoints,
    training: PeerTraining,
) -> list[CurveRow]:
    """Trains a model and returns the curve: a step of Adam on each loss of an iteration, and a row of the curve every
    `every` iterations and at the end, with the first loss that follows. losses: gives the losses of an iteration by its
    number.

    Where a matrix cannot be decomposed any more, training stops, which is said. The model is left as it was at the best
    row. Raises ValueError where training stops before the first loss.
    """
    kept = TrainingCheckpoints(model, likelihood)
    try:
        train_into(kept, losses, data, training)
    except FAILURES as error:
        while kept.curve and math.isnan(kept.curve[-1].loss):
            kept.curve.pop()
        say_end(kept.curve, f"{type(model).__name__} of GPyTorch, seed {training.seed}", error)
    kept.restore()
    return kept.curve


def train_into(
    kept: TrainingCheckpoints,
    losses: Callable[[int], Iterator[Tensor]],
    data: StandardisedPoints,
    training: PeerTraining,
) -> None:
    """Trains as `trained` does, and adds each point to `kept` when it is there."""
    parameters = {id(p): p for module in kept.modules for p in module.parameters()}
    optimizer = torch.optim.Adam(parameters.values(), lr=training.learning_rate)
    predict = predictor(*kept.modules)
    for module in kept.modules:
        module.train()
    for iteration in range(training.iterations + 1):
        last = iteration == training.iterations
        if iteration % training.every == 0 or last:  # before the loss, as prediction clears what that would keep
            kept.add(curve_row(predict, data, iteration, math.nan))
        for step, value in enumerate(losses(iteration)):
            if step == 0 and kept.curve[-1].iteration == iteration:
                kept.with_loss(value.item())
            if last:
                break
            optimizer.zero_grad()
            value.backward()
            optimizer.step()


def exact(
    data: StandardisedPoints,
    part: StandardisedPart,
    kernel: Any,
    training: PeerTraining,
    *,
    starts: Sequence[float] = (1.0,),
) -> Trained:
    """Trains an exact process on a part; its curve is that of `data`. starts: factors of the first length-scale, of
    which the one with the largest marginal likelihood is taken."""
    likelihood = GaussianLikelihood()
    model = ExactModel(part, kernel, likelihood)
    objective: Any = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def losses(iteration: int) -> Iterator[Tensor]:  # noqa: ARG001
        yield -objective(model(part.inputs), part.targets)

    def loss_at(factor: float) -> float:
        begin(model, likelihood, factor * training.scale, part.inputs)
        try:
            with torch.no_grad():
                loss = next(losses(0)).item()
        except FAILURES:
            return math.inf
        return loss if math.isfinite(loss) else math.inf

    best = starts[0] if len(starts) == 1 else min(starts, key=loss_at)
    begin(model, likelihood, best * training.scale, part.inputs)
    return Trained(trained(model, likelihood, losses, data, training), model, likelihood)


def full_gp(data: StandardisedPoints, training: PeerTraining, *, points: int) -> FittedCurve:
    """Fits the exact process to `points` training rows at most, drawn under the seed. It is computed by Cholesky, not
    by iteration."""
    generator = torch.Generator().manual_seed(training.seed)
    rows = some_of(torch.arange(len(data.train.targets)), points, generator)
    part = StandardisedPart(data.train.inputs[rows], data.train.targets[rows])
    kernel = gpytorch.kernels.RBFKernel(ard_num_dims=part.inputs.shape[1])
    with gpytorch.settings.fast_computations(False, False, False):
        fitted = exact(data, part, kernel, training, starts=STARTS)
    return FittedCurve(fitted.curve, exact_peer(fitted.model, fitted.likelihood, part))


def rff(data: StandardisedPoints, training: PeerTraining, *, count: int) -> FittedCurve:
    """Fits the exact process whose kernel is that of `count` random Fourier frequencies, drawn under the seed."""
    size = data.train.inputs.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        kernel = gpytorch.kernels.RFFKernel(num_samples=count, num_dims=size, ard_num_dims=size)
        fitted = exact(data, data.train, kernel, training)
    return FittedCurve(fitted.curve, feature_peer(fitted.model, fitted.likelihood, data.train))


def svgp(data: StandardisedPoints, training: PeerTraining, *, inducing: int, batch_size: int) -> FittedCurve:
    """Fits the variational process. An iteration is a pass over the rows, in batches. inducing: how many inducing
    points there are; the caller gives as many as the sparse spectrum has features.

    GPyTorch adds noise to the first variational mean from torch's own generator, which is seeded and put back.
    """
    inputs, targets = data.train
    generator = torch.Generator().manual_seed(training.seed)
    start = inputs[torch.randperm(len(inputs), generator=generator)[:inducing]]
    likelihood = GaussianLikelihood()
    model = VariationalModel(start.clone(), gpytorch.kernels.RBFKernel(ard_num_dims=inputs.shape[1]))
    begin(model, likelihood, training.scale, inputs)
    objective: Any = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(targets))

    def losses(iteration: int) -> Iterator[Tensor]:
        generator.manual_seed(training.seed * 1_000_003 + iteration)
        for rows in torch.randperm(len(targets), generator=generator).split(batch_size):
            yield -objective(model(inputs[rows]), targets[rows])

    with torch.random.fork_rng(devices=[inputs.device] if inputs.is_cuda else []):
        torch.manual_seed(derived(training.seed, "svgp/variational_mean"))
        curve = trained(model, likelihood, losses, data, training)
    return FittedCurve(curve, variational_peer(model, likelihood))
