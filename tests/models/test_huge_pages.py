"""Large tensors in huge pages, where the system offers them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models import huge_pages

HELD = """
from models.huge_pages import ask_for_huge_pages
ask_for_huge_pages()
import torch
large = torch.ones(2**23)
print(any(line.startswith("VmFlags") and " hg" in line for line in open("/proc/self/smaps")))
"""


@pytest.mark.parametrize(
    ("offer", "said", "expected"),
    [
        ("always [madvise] never", None, "1"),
        ("[always] madvise never", None, "1"),
        ("always madvise [never]", None, None),
        (None, None, None),
        ("always [madvise] never", "0", "0"),
    ],
)
def test_what_the_system_offers_and_the_environment_says(
    offer: str | None, said: str | None, expected: str | None, tmp_path: Path, monkeypatch
) -> None:
    path = tmp_path / "enabled"
    if offer is not None:
        path.write_text(offer + "\n")
    monkeypatch.setattr(huge_pages, "OFFER", path)
    monkeypatch.setenv(huge_pages.VARIABLE, said or "")
    if said is None:
        monkeypatch.delenv(huge_pages.VARIABLE)
    assert huge_pages.ask_for_huge_pages() is (expected == "1")
    assert os.environ.get(huge_pages.VARIABLE) == expected


def test_torch_asks_for_them() -> None:
    if not huge_pages.OFFER.is_file() or "[never]" in huge_pages.OFFER.read_text():
        pytest.skip("this system hands out no huge pages")
    environment = {name: value for name, value in os.environ.items() if name != huge_pages.VARIABLE}
    found = subprocess.run(
        [sys.executable, "-c", HELD], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout == "True\n"
