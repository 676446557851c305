"""Two-stage regression and an epoch of refinement, alone and shared by the processes of torchrun.

    python benchmarks/several_processes.py --threads 1
    torchrun --nproc-per-node 2 benchmarks/several_processes.py --threads 1

Beside the wall clock stand the processor seconds of the process that used most: on a machine with other work they say
better than the clock how the work was divided.
"""

from __future__ import annotations

import argparse
import os
import time
from statistics import median

import torch
import torch.distributed as dist
from bptt_step import random_psrnn
from epoch import BATCH, HORIZON, waves
from side_by_side import Form, wait
from two_stage import RIDGE, STEPS, features_of_a_walk, in_chunks

from models.forecasting.bptt import TruncatedBPTT
from models.forecasting.filtering import MaskedSequences
from models.psrnn.two_stage import FeatureBatch, two_stage_regression
from models.runtime.collectives import own_rows, rank, sum_over_ranks, world
from models.runtime.objective import mean_gradient


def regression(features: int, device: torch.device) -> Form:
    batch = features_of_a_walk(features, device)
    stream = in_chunks(FeatureBatch(*(part[own_rows(STEPS)] for part in batch)))
    return lambda: two_stage_regression(stream, ridge=RIDGE, scale="samples")


def objective_of(features: int, device: torch.device) -> TruncatedBPTT:
    train = MaskedSequences(*waves(device))
    return TruncatedBPTT(random_psrnn(features, device), train, horizon=HORIZON, batch_size=BATCH)


def descent(objective: TruncatedBPTT) -> Form:
    """The mean gradient of every batch over the processes."""

    def gradients() -> None:
        for batch in objective.batches(torch.Generator().manual_seed(0)):
            objective.model.zero_grad()
            mean_gradient(objective.loss, [batch], objective.parameters())

    return gradients


def largest_over_ranks(value: float, device: torch.device) -> float:
    each = torch.zeros(world(), dtype=torch.float64, device=device)
    each[rank()] = value
    return float(sum_over_ranks(each).max())


def measured(form: Form, rounds: int, device: torch.device) -> tuple[float, float]:
    """Medians of wall seconds and of the most processor seconds of a process; one round before, to warm up."""
    wall, used = [], []
    for _ in range(rounds + 1):
        largest_over_ranks(0.0, device)  # so that all begin together
        clock, processor = time.perf_counter(), time.process_time()
        form()
        wait(device)
        used.append(largest_over_ranks(time.process_time() - processor, device))
        wall.append(largest_over_ranks(time.perf_counter() - clock, device))
    return median(wall[1:]), median(used[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description="two-stage regression and refinement, alone and by several processes")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=1, help="of each process")
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    objective = objective_of(options.features, device)
    forms: dict[str, Form] = {
        "two-stage regression": regression(options.features, device),
        "filtering": objective.refresh,
        "gradients of an epoch": descent(objective),
    }
    for name, form in forms.items():
        wall, used = measured(form, options.rounds, device)
        if rank() == 0:
            print(f"| {name} | m = {options.features} | {world()} | {wall:.2f} s | {used:.2f} s |", flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
