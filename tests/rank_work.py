"""What processes in tests compute together: each writes what it found to FOLDER/RANK.pt."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist
from torch import Tensor, nn

from least_squares import ROWS, LeastSquares, fit
from models.features.bandwidth import bandwidth
from models.features.kernels import Gaussian
from models.features.samplers import Iid, draw_frequencies
from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import filter_by_all_ranks
from models.forecasting.readout import ReadoutFit, ReadoutSettings
from models.psrnn.initialise import Frequencies, build_psrnn, feature_stream
from models.psrnn.projection import find_projections, projected
from models.psrnn.two_stage import two_stage_regression
from models.psrnn.windows import extract_windows
from models.runtime import collectives as ranks
from models.runtime.collectives import (
    bytes_of_first_rank,
    own_rows,
    rank,
    sum_gradients,
    sum_over_ranks,
    text_of_first_rank,
)
from models.runtime.noted_losses import NotedLosses
from models.runtime.objective import mean_gradient
from models.trace.estimators import independent_estimates
from models.trace.parallel import OverRanks
from pipeline.host.torchrun import refuse_unlike
from pipeline.job import checkpoint
from small_problems import oscillation, with_gap
from warm_processes import server

Found = dict[str, Any]
TRAIN, VALIDATION = oscillation(1, sequences=5), oscillation(2, sequences=3)


def chance(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def features(dtype: torch.dtype) -> tuple[Any, Frequencies]:
    windows = extract_windows(TRAIN.values.to(dtype), TRAIN.mask, length=2)
    drawn = []
    for seed, name in enumerate(("history", "future", "observation")):
        points = getattr(windows, name)
        width = bandwidth(points, generator=chance(seed))
        drawn.append(
            draw_frequencies(
                kernel=Gaussian(), sampler=Iid(), count=6, dimension=points.shape[1], bandwidth=width,
                generator=chance(seed),
            ).to(dtype)
        )  # fmt: skip
    return windows, Frequencies(*drawn)


def regressed(*, dtype: torch.dtype = torch.float64, projection: int | None = None, chunk: int = 50) -> Found:
    windows, frequencies = features(dtype)
    stream = feature_stream(windows, frequencies, chunk=chunk)
    if projection is not None:
        stream = projected(stream, find_projections(stream, size=projection))
    return two_stage_regression(stream, ridge=0.01, scale="samples")._asdict()


def objective(*, gaps: bool, batch_size: int = 2) -> TruncatedBPTT:
    train = with_gap(TRAIN) if gaps else TRAIN
    windows, frequencies = features(torch.float64)
    found = two_stage_regression(feature_stream(windows, frequencies, chunk=64), ridge=0.01, scale="samples")
    model = build_psrnn(found, frequencies, lags=1, keep_sign=True)
    fit = ReadoutFit(train, VALIDATION, ReadoutSettings(lags=1, ridges=[1e-4, 1e-2], scale="samples"))
    return TruncatedBPTT(model, train, horizon=10, batch_size=batch_size, solve_readout=lambda m: fit(m).train)


def refreshed(*, gaps: bool) -> Found:
    """Readout, filtered states and training error."""
    work = objective(gaps=gaps)
    error = work.refresh()
    return {"error": error, "state": work.states[0], "filled": work.filled, **work.model.state_dict()}


def gradients(*, gaps: bool, chunks: int) -> Found:
    work = objective(gaps=gaps)
    work.refresh()
    batch = torch.arange(chunks) * 3
    parameters = work.parameters()
    total, weight = mean_gradient(work.loss, [batch], parameters)
    return {"loss": total / weight, **{str(i): p.grad for i, p in enumerate(parameters)}}


def fitted(*, place: Path, dropout: float = 0.0) -> Found:
    """Least squares in batches of 5, of which the ranks have unlike shares, accumulated; then gone on from disk."""
    settings = {
        "accept": "always",
        "accumulate": 2,
        "checkpoint_every": 1,
        "seed": 0,
        "path": place / "run" / "fit.npz",
    }
    work = LeastSquares(batch_size=5, weights=torch.linspace(0.5, 3.0, ROWS, dtype=torch.float64), dropout=dropout)
    fit(work, epochs=3, steps=5, **settings)
    _, rows = fit(work, epochs=3, **settings)
    return {"weight": work.line.weight, "train": [row.values.get("train", 0.0) for row in rows]}


def taken_back() -> Found:
    """The model after a step back, where rounding had given each rank a readout of its own."""
    work = objective(gaps=False)
    work.refresh()
    with torch.no_grad():
        work.model.readout_bias.add_(1e-9 * rank())
    before, remembered = {name: tensor.clone() for name, tensor in work.model.state_dict().items()}, work.remembered()
    work.model.load_state_dict(before)
    work.recall(remembered)
    return {"unlike": before["readout_bias"], **work.model.state_dict()}


def of_unlike_parameters() -> Found:
    """The first parameter has a gradient on every rank, the second on the last alone, the third on none."""
    parameters = [nn.Parameter(torch.ones(2, dtype=dtype)) for dtype in (torch.float64, torch.float32, torch.float32)]
    parameters[0].grad = torch.full((2,), 1.0 + rank(), dtype=torch.float64)
    parameters[1].grad = torch.full((2,), 5.0) if rank() == 1 else None
    sum_gradients(parameters)
    return {str(i): p.grad for i, p in enumerate(parameters)}


def of_numbers_beside(*, dtype: torch.dtype) -> Found:
    """Numbers beside the gradients that the gradients' dtype cannot hold, and what is left of those of the caller."""
    parameter = nn.Parameter(torch.ones(2, dtype=dtype))
    parameter.grad = torch.ones_like(parameter)
    own = torch.tensor([0.1, 2.0**24 + 1 if rank() == 0 else 0.0], dtype=torch.float64)
    return {"sums": sum_gradients([parameter], own), "own": own, "gradient": parameter.grad}


def kept_of_unlike() -> Found:
    """The model that is kept, the first, where rounding had given each rank one of its own."""
    work, costs = LeastSquares(), iter(range(9))
    with torch.no_grad():
        work.line.weight.add_(1e-9 * rank())
    unlike = work.line.weight.detach().clone()
    fit(work, epochs=1, accept="always", evaluate=lambda: {"validation": float(next(costs))})
    return {"unlike": unlike, "weight": work.line.weight}


def ended_by_unlike_scores() -> Found:
    """The rows of the curve, which row is kept, and after how many training ended, where one rank has rounded a tie."""
    work, costs = LeastSquares(), iter([2.0, 1.0, 1.0 - 1e-9 * rank(), 1.0, 1.0, 1.0])
    loop, rows = fit(work, epochs=5, patience=2, accept="always", evaluate=lambda: {"validation": next(costs)})
    return {"values": [row.values["validation"] for row in rows], "best": loop.progress.best_row}


def shared() -> Found:
    """Rows, text and bytes; fewer sequences than ranks are filtered by each in full."""
    rows = own_rows(7)
    model = objective(gaps=False).model
    return {
        "rows": (rows.start, rows.stop),
        "text": text_of_first_rank(f"rank {rank()}: größer"),
        "bytes": list(bytes_of_first_rank(bytes([rank(), 0, 255]))),
        "no bytes": list(bytes_of_first_rank(b"" if rank() == 0 else b"x")),
        "one": filter_by_all_ranks(model, TRAIN.values[:1], TRAIN.mask[:1]).predictions,
    }


def traced(*, method: str) -> Found:
    """Estimates of a trace whose queries the ranks share; how many this one asked, in how many calls and reductions."""
    asked, reductions, add_up = list[int](), list[int](), ranks.add_up

    def counted(tensor: Tensor) -> Tensor:
        reductions.append(len(tensor))
        return add_up(tensor)

    def oracle(queries: Tensor) -> Tensor:
        asked.append(len(queries.reshape(-1, 40)))
        return queries * torch.arange(1.0, 41.0).double()

    with patch.object(ranks, "add_up", counted):
        estimates = independent_estimates(
            OverRanks(oracle), method=method, queries=12, size=40, trials=5, generator=chance(0)
        )
    return {"estimates": estimates, "asked": sum(asked), "calls": len(asked), "reductions": len(reductions)}


def too_few_rows() -> Found:
    try:
        return {"rows": own_rows(1)}
    except ValueError as error:
        return {"error": str(error)}


def noted(*, few: bool) -> Found:
    """Means of noted losses of batches whose cases the ranks share; the last batch, alone where few are asked for, has
    one case."""
    losses, batches = NotedLosses(), [[(1.0, 4.0), (3.0, 0.0)], [(3.0, 0.0), (3.0, 0.0)], [(2.5, 1.0)]]
    for batch in batches[-1:] if few else batches:
        own = torch.tensor(batch[ranks.rank() :: ranks.world()])
        if len(own):
            box, kind = own.mean(0)
            losses.note({"box_loss": box, "class_loss": kind}, len(own))
    return losses.taken()


def left_alone() -> Found:
    """Rank 1 ends at once; what the other one is told."""
    if rank() == 1:
        return {}
    try:
        return {"sum": sum_over_ranks(torch.ones(3))}
    except ConnectionError as error:
        return {"error": str(error)}


def checkpoints(place: Path) -> Found:
    """Rank 0 writes, and the others are told: each looks into a folder of its own."""
    path = place / f"run{rank()}" / "stage.npz"
    before = checkpoint.find(path)
    checkpoint.save(path, {"a": torch.arange(3) + 10 * rank()}, {"epoch": 4 + rank()})
    found = checkpoint.find(path)
    assert found is not None
    return {"before": before, "written": path.exists(), **found.tensors, **found.values}


def unlike_settings() -> Found:
    try:
        refuse_unlike(f"mark {rank()}")
    except ValueError as error:
        return {"error": str(error)}
    return {"error": None}


def joined(work: Callable[..., Found], arguments: dict[str, Any], number: int, count: int, folder: Path) -> None:
    """Nobody begins, and so nobody ends, before all are connected: a rank that leaves breaks the others' connecting."""
    torch.set_num_threads(1)
    wait = timedelta(seconds=60)
    store = dist.FileStore(str(folder / "meeting"), count)
    dist.init_process_group("gloo", store=store, rank=number, world_size=count, timeout=wait)
    store.set(f"connected {number}", "")
    store.wait([f"connected {other}" for other in range(count)], wait)
    torch.save({key: plain(value) for key, value in work(**arguments).items()}, folder / f"{number}.pt")


def plain(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def on_ranks(work: Callable[..., Found], folder: Path, *, count: int = 2, **arguments: Any) -> list[Found]:
    """What each of `count` processes found. The imports are made once, in the server they are forked from."""
    ranks = [server().Process(target=joined, args=(work, arguments, i, count, folder)) for i in range(count)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(90)
    assert [process.exitcode for process in ranks] == [0] * count
    return [torch.load(folder / f"{i}.pt") for i in range(count)]
