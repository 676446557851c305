"""Numbers are the same to the bit on one machine, and to the promised tolerance on any other (docs/method.md).

Other machines are stood in for by the flags that choose a library's code path: OpenBLAS (SciPy), ATen and MKL (torch),
NumPy, and the number of threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

PROGRAM = Path(__file__).parents[2] / "code_paths.py"
TOLERANCE = {"float64": 1e-10, "float32": 1e-4, "drawn in float32": 1e-5}  # relative to the largest entry, as promised
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
OTHERS = {
    "other code paths": ONE_THREAD
    | {
        "OPENBLAS_CORETYPE": "Prescott",
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
    "two threads": {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"},  # threads that wait leave the core to others
}


def numbers(path: Path, settings: dict[str, str]) -> dict[str, Tensor]:
    chosen = {name for others in OTHERS.values() for name in others}
    kept = {name: value for name, value in os.environ.items() if name not in chosen}
    found = subprocess.run([sys.executable, PROGRAM, path], env=kept | settings, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return torch.load(path)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    return numbers(tmp_path_factory.mktemp("here") / "numbers.pt", ONE_THREAD)


def test_the_same_program_twice_gives_the_same_bits(here: dict[str, Tensor], tmp_path: Path) -> None:
    again = numbers(tmp_path / "numbers.pt", ONE_THREAD)
    assert here.keys() == again.keys()
    assert [name for name in here if not torch.equal(here[name], again[name])] == []


@pytest.mark.slow
@pytest.mark.parametrize("settings", OTHERS.values(), ids=OTHERS.keys())
def test_another_code_path_gives_the_promised_digits(
    settings: dict[str, str], here: dict[str, Tensor], tmp_path: Path
) -> None:
    other = numbers(tmp_path / "numbers.pt", settings)
    assert here.keys() == other.keys()
    far = {
        name: f"{distance:.1e}"
        for name, value in here.items()
        if not (distance := apart(value, other[name])) <= TOLERANCE[name.rsplit(", ", 1)[1]]
    }
    assert far == {}
    assert any(not torch.equal(here[name], other[name]) for name in here), "the settings chose no other code path"


def apart(first: Tensor, second: Tensor) -> float:
    """The largest difference over the largest entry."""
    return float((first.double() - second.double()).abs().max() / first.double().abs().max())
