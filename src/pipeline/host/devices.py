"""What a run computes on: device, threads, and the type of its numbers."""

from __future__ import annotations

import os
import warnings

import torch

from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import place_on_machine, share_of_cores, take_gpu

EXPECT_GPU = "PIPELINE_EXPECT_GPU"  # 1 in the CUDA image
DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.float32}  # what is computed in


def gpu_of_job(job: int, count: int) -> int:
    """Returns the index of the GPU for a job: launchers on one machine assign none, so its number decides."""
    return job % count


def gpu_missing(name: str) -> bool:
    """Returns true when `device=auto` finds no GPU where PIPELINE_EXPECT_GPU=1 says that there is to be one."""
    expected = os.environ.get(EXPECT_GPU, "0")
    if expected not in ("0", "1"):
        raise PipelineError(f"{EXPECT_GPU}={expected} must be 0 or 1")
    return name == "auto" and expected == "1" and not torch.cuda.is_available()


def pick_device(name: str, *, job: int = 0) -> torch.device:
    """Returns the device. auto: a GPU if there is one, else the CPU, with a warning where a GPU was expected; parallel
    jobs spread over the GPUs by their number, and the ranks of one run take one each. A GPU is used without cuDNN's
    attention, in the whole process.

    Raises PipelineError when cuda is asked for and there is none, or fewer than ranks.
    """
    if gpu_missing(name):
        warnings.warn(
            "device=auto: torch sees no GPU, so this runs on the CPU; start the container with --gpus all, set "
            f"device=cpu, or {EXPECT_GPU}=0 where there is none",
            stacklevel=2,
        )
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise PipelineError("device=cuda: torch sees no GPU; use device=cpu, or install a CUDA build of torch")
    device = torch.device("cuda", gpu_of_job(place_on_machine(job), torch.cuda.device_count()))
    take_gpu(device)
    # cuDNN plans attention for each shape that it has not met, and batches differ in length
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def set_threads(threads: int | None) -> None:
    threads = share_of_cores(threads)
    if threads is not None:
        torch.set_num_threads(threads)
