"""The learning curve of a training: rows of named values, of which one may decide which model is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from torch import Tensor


@dataclass(frozen=True)
class Decision:
    """Holds the name of the value that decides which model is kept, and says whether lower or higher values are
    better. ties: the value of which the lower decides where two models have equal ones; None keeps the first."""

    name: str
    better: Literal["lower", "higher"] = "lower"
    ties: str | None = None

    def cost(self, values: Mapping[str, float]) -> float:
        """Returns the value that decides, with the sign with which lower is better."""
        return values[self.name] if self.better == "lower" else -values[self.name]


@dataclass(frozen=True)
class EpochRow:
    """Holds one row of a learning curve: after an epoch, or after so many steps.

    epoch, step: how many of them are done. values: what was measured, by name. learning_rate: the one of the step that
    follows. accepted: False where the epoch ended worse or not finite and was taken back; then the values are those of
    the row before. decides: which of the values does, if one does.
    """

    epoch: int
    step: int
    values: Mapping[str, float]
    learning_rate: float
    accepted: bool = True
    decides: Decision | None = None

    @property
    def cost(self) -> float:
        """The value that decides, with the sign with which lower is better; NaN where nothing decides."""
        return math.nan if self.decides is None else self.decides.cost(self.values)

    def better_than(self, other: EpochRow) -> bool:
        """Returns whether the model of this row is to be kept in place of that of another one."""
        ties = self.decides and self.decides.ties
        if ties is None or self.cost != other.cost:
            return better(self.cost, other.cost)
        return better(self.values[ties], other.values.get(ties, math.inf))  # states of before have none


@dataclass(frozen=True)
class Measures:
    """Says what the rows of a curve hold.

    evaluate: measures the model as it stands, for example on validation data. Of several processes each measures the
    same values. It is not called again for an epoch that was taken back.

    on_row: is told of every row, and on a resumed run of the earlier rows once more.

    decides: which of the values decides what model is kept; None keeps the last.

    training: the name that the training error has among the values.
    """

    evaluate: Callable[[], Mapping[str, float]]
    on_row: Callable[[EpochRow], None]
    decides: Decision | None = None
    training: str = "train_loss"


@dataclass
class Progress:
    """Says how far a training has come. learning_rate: halved where an epoch was taken back, before any schedule.

    steps: of the optimiser, those that were taken back and those that were not finite among them. best: the parameters
    and buffers of the row that is kept, none where nothing decides. train: the training error of the last row that was
    accepted. summed: total and weight of the batch losses since the last row.
    """

    learning_rate: float
    rows: list[EpochRow] = field(default_factory=list)
    best_row: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)
    train: float = math.inf
    steps: int = 0
    summed: tuple[float, float] = (0.0, 0.0)

    @property
    def kept(self) -> EpochRow:
        """The row of the model that is kept."""
        return self.rows[self.best_row]

    def values(self) -> dict[str, Any]:
        """Returns all but the parameters, for JSON."""
        rows = [asdict(row) for row in self.rows]
        others = {k: v for k, v in vars(self).items() if k not in ("rows", "best")}
        return {"rows": rows, **others}


def row_of(values: Mapping[str, Any]) -> EpochRow:
    decides = values["decides"]
    return EpochRow(**{**values, "decides": None if decides is None else Decision(**decides)})


def progress_of(values: Mapping[str, Any]) -> Progress:
    """Returns the progress that gave these `Progress.values`, without the best model."""
    rows = [row_of(row) for row in values["rows"]]
    return Progress(**{**values, "rows": rows, "summed": tuple(values["summed"])})


def no_worse(error: float, before: float) -> bool:
    """Returns whether an error is finite and not above `before`; any finite error is no worse than one that is not."""
    return math.isfinite(error) and not error > before


def better(cost: float, best: float) -> bool:
    """Returns whether a cost is finite and below `best`; any finite cost is better than one that is not."""
    return math.isfinite(cost) and not cost >= best
