"""What a training keeps on disk: its state, and the best model in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from models.runtime.collectives import rank
from models.runtime.objective import Snapshot
from pipeline.host.errors import PipelineError
from pipeline.job import checkpoint
from pipeline.job.curve import Progress, progress_of
from pipeline.job.feed import Feed


def section(tensors: Mapping[str, Tensor], prefix: str) -> Snapshot:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


@dataclass
class FitFiles:
    """Keeps the state of a training at `path`, and beside it the best model, named by its row.

    The best model is written when it changes, before the state that names it; the one before is deleted after that, so
    that at every moment the state's own best model is there.
    """

    path: Path
    written: int | None = None

    def best_path(self, row: int) -> Path:
        return self.path.with_name(f"{self.path.stem}.best{row}{self.path.suffix}")

    def save(
        self, progress: Progress, feed: Feed, model: nn.Module, optimiser: torch.optim.Optimizer, *, start: Snapshot
    ) -> None:
        """Writes the state of a training. start: the model at the last row, where steps were taken since; empty where
        none were."""
        tensors = {f"model/{k}": v for k, v in model.state_dict().items()}
        tensors |= {f"start/{k}": v for k, v in start.items()}
        for index, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{k}": v for k, v in state.items() if isinstance(v, Tensor)}
        tensors["generator"] = feed.state()
        if progress.best and progress.best_row != self.written:
            checkpoint.save(self.best_path(progress.best_row), progress.best, {"row": progress.best_row})
        values = progress.values() | {"epoch": feed.epoch, "consumed": feed.consumed, "best": bool(progress.best)}
        checkpoint.save(self.path, tensors, values)
        if progress.best and progress.best_row != self.written:
            self._forget(progress.best_row)

    def _forget(self, kept: int) -> None:
        self.written = kept
        if rank() == 0:
            for path in self.path.parent.glob(f"{self.path.stem}.best*{self.path.suffix}"):
                if path != self.best_path(kept):
                    path.unlink()

    def restore(
        self, saved: checkpoint.Saved, feed: Feed, model: nn.Module, optimiser: torch.optim.Optimizer
    ) -> tuple[Progress, Snapshot]:
        """Puts the state in place. Returns how far it had come, without the best model, and the model at its last row
        where steps were taken since."""
        values, tensors = dict(saved.values), saved.tensors
        model.load_state_dict(section(tensors, "model/"))
        feed.restore(tensors["generator"], epoch=values.pop("epoch"), consumed=values.pop("consumed"))
        state: dict[int, Snapshot] = {}
        for name, tensor in section(tensors, "optimizer/").items():
            index, key = name.split("/")
            state.setdefault(int(index), {})[key] = tensor
        optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
        del values["best"]
        return progress_of(values), section(tensors, "start/")

    def best(self, saved: checkpoint.Saved, device: torch.device) -> Snapshot:
        """Returns the best model of that state, empty where nothing decides. Raises PipelineError where its file is
        missing."""
        if not saved.values.get("best"):
            return {}
        row = saved.values["best_row"]
        best_saved = checkpoint.find(self.best_path(row))
        if best_saved is None:
            raise PipelineError(
                f"{self.path} needs {self.best_path(row).name}, which is missing; delete it and start anew"
            )
        self.written = row
        return {name: tensor.to(device) for name, tensor in best_saved.tensors.items()}
