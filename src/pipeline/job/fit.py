"""The one gradient loop: epochs, best model kept, a step back when an epoch ends worse."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from tqdm import tqdm

from models.runtime.collectives import sum_gradients
from pipeline.job import checkpoint

SMALLEST_STEP = 2.0**-12
PLAIN_SHARE = 0.05  # of the learning rate, for parameters that a preconditioner leaves alone


class Objective(Protocol):
    """What is minimised. `refresh` gives the training error; it is called first, and after each epoch.

    repeats: whether `refresh` finds the same to the bit when it is called again with nothing changed in between.
    loss: of several ranks each gives its part of the sum, and `refresh` the same error on all of them.
    remembered: what `refresh` found along the training part, which `recall` puts back after a step back.
    """

    @property
    def model(self) -> nn.Module: ...
    @property
    def repeats(self) -> bool: ...
    def parameters(self) -> list[nn.Parameter]: ...
    def refresh(self, *, solve: bool = True) -> float: ...
    def batches(self, generator: torch.Generator) -> Iterator[Tensor]: ...
    def loss(self, batch: Tensor) -> Tensor: ...
    def remembered(self) -> Any: ...
    def recall(self, remembered: Any) -> None: ...


class Preconditioner(Protocol):
    """`handles`: the parameters that take the whole learning rate; of most of them `apply` changes the gradient."""

    def handles(self, model: Any) -> list[nn.Parameter]: ...
    def refresh(self, objective: Any) -> None: ...
    def apply(self, model: Any) -> None: ...


@dataclass(frozen=True)
class FitSettings:
    epochs: int
    optimizer: str
    learning_rate: float
    clip: float


@dataclass(frozen=True)
class EpochRow:
    """One line of the learning curve. accepted: False when the epoch ended worse or not finite and was taken back."""

    epoch: int
    train_mse: float
    validation_mse: float
    test_mse: float
    learning_rate: float
    accepted: bool


@dataclass
class Progress:
    """All that the loop needs to go on from the end of an epoch."""

    learning_rate: float
    rows: list[EpochRow] = field(default_factory=list)
    best_epoch: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)
    train_mse: float = math.inf

    @property
    def epoch(self) -> int:
        return len(self.rows)

    @property
    def kept_errors(self) -> tuple[float, float]:
        """Training and validation error of the best model."""
        best = self.rows[self.best_epoch]
        return best.train_mse, best.validation_mse

    @property
    def validation_mse(self) -> float:
        return self.kept_errors[1]


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def make_optimizer(settings: FitSettings, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    if settings.optimizer == "adam":
        return torch.optim.Adam(groups, lr=settings.learning_rate)
    return torch.optim.SGD(groups, lr=settings.learning_rate)


def parameter_groups(
    parameters: list[nn.Parameter], preconditioner: Preconditioner | None, model: nn.Module
) -> list[dict[str, Any]]:
    """One group, or with a preconditioner two: what it leaves alone takes plain steps, of `PLAIN_SHARE` of the rate."""
    handled = {id(p) for p in preconditioner.handles(model)} if preconditioner else {id(p) for p in parameters}
    parts = [p for p in parameters if id(p) in handled], [p for p in parameters if id(p) not in handled]
    return [{"params": part, "factor": factor} for part, factor in zip(parts, (1.0, PLAIN_SHARE), strict=True) if part]


def no_worse(error: float, before: float) -> bool:
    """Finite, and not above `before`; any finite error is no worse than one that is not."""
    return math.isfinite(error) and not error > before


def better(error: float, best: float) -> bool:
    """Finite, and below `best`; any finite error is better than one that is not."""
    return math.isfinite(error) and not error >= best


class Fit:
    """Minimise an objective. `errors` gives the validation and the test error of the model as it stands.

    The model with the least validation error is kept, the one before the first epoch among the candidates; the test
    error is recorded and decides nothing. After an epoch whose training error rose or is not finite the parameters go
    back to the epoch before, the optimiser forgets its moments, and the learning rate is halved. With a `path` the
    state is written there after every epoch, and a `Fit` made anew with the same arguments goes on from it to the same
    numbers.
    """

    def __init__(
        self,
        objective: Objective,
        settings: FitSettings,
        *,
        generator: torch.Generator,
        errors: Callable[[], tuple[float, float]],
        on_epoch: Callable[[EpochRow], None],
        preconditioner: Preconditioner | None = None,
        path: Path | None = None,
    ) -> None:
        self.objective, self.settings, self.generator = objective, settings, generator
        self.errors, self.on_epoch, self.preconditioner, self.path = errors, on_epoch, preconditioner, path
        groups = parameter_groups(objective.parameters(), preconditioner, objective.model)
        self.optimizer = make_optimizer(settings, groups)
        self.progress = Progress(settings.learning_rate)
        self._set_learning_rate(settings.learning_rate)

    def run(self) -> Progress:
        """The learning curve; the objective's model is left with the best parameters."""
        saved = checkpoint.find(self.path) if self.path else None
        if self.path and saved:
            self._restore(saved, self.path)
        else:
            self._record(self._refresh(), accepted=True)
        with tqdm(total=self.settings.epochs, initial=self.progress.epoch - 1, desc="BPTT", unit="epoch") as bar:
            while self.progress.epoch <= self.settings.epochs and not self._stuck():
                self._epoch()
                row = self.progress.rows[-1]
                bar.set_postfix(train=f"{row.train_mse:.3g}", validation=f"{row.validation_mse:.3g}")
                bar.update()
        if self._stuck():
            tqdm.write(
                f"BPTT ended at epoch {self.progress.epoch - 1}: smaller steps no longer lower the training error"
            )
        self.objective.model.load_state_dict(self.progress.best)
        return self.progress

    def _stuck(self) -> bool:
        return self.progress.learning_rate < self.settings.learning_rate * SMALLEST_STEP

    def _refresh(self, *, solve: bool = True) -> float:
        train = self.objective.refresh(solve=solve)
        self._precondition(train)
        return train

    def _precondition(self, train: float) -> None:
        if self.preconditioner and math.isfinite(train):
            self.preconditioner.refresh(self.objective)

    def _epoch(self) -> None:
        before, remembered = snapshot(self.objective.model), self.objective.remembered()
        finite = self._descend()
        train = self._refresh() if finite else math.inf
        accepted = no_worse(train, self.progress.train_mse)
        if not accepted:
            self._step_back(before, remembered, finite=math.isfinite(train))
            train = self.progress.train_mse
        self._record(train, accepted=accepted)

    def _step_back(self, before: dict[str, Tensor], remembered: Any, *, finite: bool) -> None:
        """The model and all that was found along the data are those of the epoch before; nothing is filtered anew."""
        self.objective.model.load_state_dict(before)
        self.objective.recall(remembered)
        self._precondition(self.progress.train_mse)
        self.optimizer.state.clear()
        self._set_learning_rate(self.progress.learning_rate / 2)
        if not finite:
            tqdm.write(
                f"epoch {self.progress.epoch}: loss or gradient is not finite; taken back, "
                f"learning rate halved to {self.progress.learning_rate:g}"
            )

    def _descend(self) -> bool:
        """One pass over the batches; False as soon as a gradient is not finite."""
        parameters = self.objective.parameters()
        for batch in self.objective.batches(self.generator):
            self.optimizer.zero_grad()
            self.objective.loss(batch).backward(inputs=parameters)
            sum_gradients(parameters)
            if self.preconditioner:
                self.preconditioner.apply(self.objective.model)
            norm = torch.nn.utils.clip_grad_norm_(parameters, self.settings.clip)
            if not bool(torch.isfinite(norm)):
                return False
            self.optimizer.step()
        return True

    def _set_learning_rate(self, value: float) -> None:
        self.progress.learning_rate = value
        for group in self.optimizer.param_groups:
            group["lr"] = value * group["factor"]

    def _record(self, train: float, *, accepted: bool) -> None:
        progress = self.progress
        last = progress.rows[-1] if progress.rows else None
        kept = None if accepted or last is None else (last.validation_mse, last.test_mse)
        validation, test = kept or self.errors()
        row = EpochRow(progress.epoch, train, validation, test, progress.learning_rate, accepted)
        if not progress.rows or better(validation, progress.rows[progress.best_epoch].validation_mse):
            progress.best_epoch, progress.best = row.epoch, snapshot(self.objective.model)
        progress.train_mse = train
        progress.rows.append(row)
        if self.path:
            self._save(self.path)
        self.on_epoch(row)

    def _save(self, path: Path) -> None:
        tensors = {f"model/{k}": v for k, v in snapshot(self.objective.model).items()}
        tensors |= {f"best/{k}": v for k, v in self.progress.best.items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{k}": v for k, v in state.items() if isinstance(v, Tensor)}
        tensors["generator"] = self.generator.get_state()
        values = {k: v for k, v in asdict(self.progress).items() if k != "best"}
        checkpoint.save(path, tensors, values)

    def _restore(self, saved: checkpoint.Saved, path: Path) -> None:
        with checkpoint.fitting(path):
            self._put_in_place(saved)
        for row in self.progress.rows:
            self.on_epoch(row)
        self._refresh(solve=self.objective.repeats)

    def _put_in_place(self, saved: checkpoint.Saved) -> None:
        device = next(self.objective.model.parameters()).device

        def section(prefix: str) -> dict[str, Tensor]:
            return {k.removeprefix(prefix): v for k, v in saved.tensors.items() if k.startswith(prefix)}

        self.objective.model.load_state_dict(section("model/"))
        self.generator.set_state(saved.tensors["generator"])
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in section("optimizer/").items():
            index, key = name.split("/")
            state.setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": state})
        rows = [EpochRow(**row) for row in saved.values.pop("rows")]
        best = {k: v.to(device) for k, v in section("best/").items()}
        self.progress = Progress(**saved.values, rows=rows, best=best)
        self._set_learning_rate(self.progress.learning_rate)
