"""What the benchmarks share: forms timed in turn in one process, the machine's own peaks, one Markdown table."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

import torch
from torch import Tensor

Form = Callable[[], object]
REST, LONGEST_REST = 0.002, 0.2  # seconds in which no thread may work before a sample, and that are waited at most
SAMPLE = 5e-4  # seconds that one sample takes at least: short calls are repeated
MOST_ROUNDS = 200
HEADER = "| hot spot | size | form | median | ÷ ours | of product peak | of read peak |\n|---|---|---|---|---|---|---|"
VECTOR_BITS = {"AVX2": 256, "AVX512": 512}  # by the name that torch gives to a processor's capability
PEERS = {"sklearn": "scikit-learn", "pylops": "PyLops", "gpytorch": "GPyTorch", "transformers": "transformers"}


@dataclass(frozen=True)
class Machine:
    """Where the forms run, and its peaks: flops a second of a matrix product by dtype, bytes read a second."""

    device: torch.device
    product: Mapping[torch.dtype, float]
    read: float

    def describe(self) -> str:
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else f"{processor()}, {vectors()}"
        products = ", ".join(f"{str(t).removeprefix('torch.')} {x / 1e9:.0f} GF/s" for t, x in self.product.items())
        return (
            f"{name}, {torch.get_num_threads()} thread(s), torch {torch.__version__}; matrix-product peak {products}; "
            f"read peak {self.read / 1e9:.1f} GB/s"
        )


@dataclass(frozen=True, kw_only=True)
class Work:
    """The arithmetic that cannot be avoided, and the bytes that have to be read; 0 where it says nothing."""

    flops: float = 0.0
    dtype: torch.dtype = torch.float32
    read: Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """seconds: the median; ratio: over that of ours; shares of the peaks, for ours alone."""

    spot: str
    size: str
    form: str
    seconds: float
    ratio: float
    product_share: float | None = None
    read_share: float | None = None

    def __str__(self) -> str:
        shares = ("" if share is None else f"{share:.0%}" for share in (self.product_share, self.read_share))
        cells = (self.spot, self.size, self.form, milliseconds(self.seconds), f"{self.ratio:.2f}", *shares)
        return f"| {' | '.join(cells)} |"


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{1000 * seconds:.0f} ms"


def processor() -> str:
    """The model's name as the system tells it."""
    import platform

    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def vectors() -> str:
    """The vector instructions that torch uses on this processor, and their width."""
    name = torch.backends.cpu.get_cpu_capability()
    return f"{name} ({VECTOR_BITS[name]}-bit vectors)" if name in VECTOR_BITS else f"vectors: {name}"


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def rest() -> None:
    """Return when the threads that the form before left behind have ceased to turn, waiting for work.

    OpenBLAS's, under NumPy and scikit-learn, do so for tens of milliseconds, and OpenMP's, under torch, for some.
    """
    end = time.perf_counter() + LONGEST_REST
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(REST)
        if time.process_time() - before < REST / 4:
            return


def seconds_of(form: Form, calls: int, device: torch.device) -> float:
    """Seconds a call, over `calls` calls."""
    rest()
    wait(device)
    start = time.perf_counter()
    for _ in range(calls):
        form()
    wait(device)
    return (time.perf_counter() - start) / calls


def samples(forms: Mapping[str, Form], *, device: torch.device, budget: float) -> dict[str, list[float]]:
    """Seconds a call of each form, one sample of each in turn (A B C A B C …) until the budget is spent.

    Every form runs once before, to warm up; forms that use three budgets up by that are not called again.
    """
    first = {name: [seconds_of(form, 1, device)] for name, form in forms.items()}
    if sum(times[0] for times in first.values()) > 3 * budget:
        return first
    calls = {name: max(1, math.ceil(SAMPLE / max(seconds_of(form, 1, device), 1e-9))) for name, form in forms.items()}
    found: dict[str, list[float]] = {name: [] for name in forms}
    start = time.perf_counter()
    for _ in range(MOST_ROUNDS):
        for name, form in forms.items():
            found[name].append(seconds_of(form, calls[name], device))
        if time.perf_counter() - start > budget:
            break
    return found


def compare(
    spot: str, size: str, forms: Mapping[str, Form], *, machine: Machine, budget: float, work: Work | None = None
) -> list[Row]:
    """A row for each form; the first is ours. The share of the read peak is that of reading `work.read` itself."""
    work = work or Work()
    reading: dict[str, Form] = {} if work.read is None else {"": work.read.sum}
    times = {
        name: median(found)
        for name, found in samples({**forms, **reading}, device=machine.device, budget=budget).items()
    }
    ours = next(iter(forms))
    shares = {
        "product_share": work.flops / times[ours] / machine.product[work.dtype] if work.flops else None,
        "read_share": times[""] / times[ours] if reading else None,
    }
    return [
        Row(spot=spot, size=size, form=name, seconds=times[name], ratio=times[name] / times[ours],
            **(shares if name == ours else {}))
        for name in forms
    ]  # fmt: skip


def product_peak(dtype: torch.dtype, device: torch.device) -> float:
    """Flops a second of the fastest of several products of square matrices."""
    size = 8192 if device.type == "cuda" else 1024
    a = torch.randn(size, size, device=device).to(dtype)
    return 2 * size**3 / min(samples({"": lambda: a @ a}, device=device, budget=1.0)[""])


def read_peak(device: torch.device) -> float:
    """Bytes a second of the fastest of several sums over 256 MB."""
    x = torch.ones(2**26, device=device)
    return x.numel() * x.element_size() / min(samples({"": x.sum}, device=device, budget=1.0)[""])


def measured_machine(device: torch.device) -> Machine:
    return Machine(device, {t: product_peak(t, device) for t in (torch.float32, torch.float64)}, read_peak(device))


def equal_lstm_units(parameters: int, inputs: int) -> int:
    """The largest h for which an LSTM of h units has at most so many parameters: 4h(h + inputs + 2)."""
    half = (inputs + 2) / 2
    return int(math.sqrt(half**2 + parameters / 4) - half)


def left_out() -> list[str]:
    """The peers that are not installed."""
    return [name for module, name in PEERS.items() if find_spec(module) is None]


def report(machine: Machine, rows: Sequence[Row]) -> str:
    """One Markdown table under a line about the machine."""
    lines = [machine.describe(), "", HEADER, *map(str, rows)]
    if left_out():
        lines += ["", f"Left out, as they are not installed: {', '.join(left_out())}."]
    return "\n".join(lines) + "\n"


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--device", type=torch.device, default=torch.device("cpu"), help="cpu or cuda")
    made.add_argument("--threads", type=int, help="of torch; its own choice when left out")
    made.add_argument("--budget", type=float, default=2.0, help="seconds for each size, after one call of each form")
    return made


def machine_of(options: argparse.Namespace) -> Machine:
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    return measured_machine(options.device)


def run(description: str, measure: Callable[[Machine, float], list[Row]]) -> None:
    """The main program of a benchmark."""
    options = parser(description).parse_args()
    machine = machine_of(options)
    print(report(machine, measure(machine, options.budget)), end="")
