"""Huge pages for large tensors. Nothing of torch is imported here."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "THP_MEM_ALLOC_ENABLE"
OFFER = Path("/sys/kernel/mm/transparent_hugepage/enabled")  # of Linux; one of its words is in brackets


def ask_for_huge_pages() -> bool:
    """Have torch ask for huge pages from here on, where the system hands them out on request; returns whether it does.

    Memory of a large tensor is handed out page by page as it is first written to, which for a tensor that is new in
    each step can cost more than computing it. torch reads the environment variable when it first asks for memory of
    the CPU: later calls change nothing. What the environment already says is left.
    """
    if VARIABLE not in os.environ and OFFER.is_file() and "[never]" not in OFFER.read_text():
        os.environ[VARIABLE] = "1"
    return os.environ.get(VARIABLE) == "1"
