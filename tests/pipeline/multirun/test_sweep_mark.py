"""The mark by which a multirun that was stopped is found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pipeline.multirun.sweep_mark import sweep_mark


def mark_of(section: str, path: str, *, swept: bool) -> str:
    """Returns the mark of a multirun over a file, which is swept with another one or set."""
    overrides = [f"{section}.path={path},/nowhere/other.csv"] if swept else []
    composed = {section: {"path": None if swept else path}, "resume": False}
    hydra = {"overrides": {"task": overrides}, "sweeper": {"params": None}}
    return sweep_mark(OmegaConf.create({**composed, "hydra": hydra}))


@pytest.mark.parametrize("swept", [False, True])
@pytest.mark.parametrize("section", ["data", "matrix"])
def test_a_table_with_more_rows_is_another_sweep(section: str, swept: bool, tmp_path: Path) -> None:
    file = tmp_path / "readings.csv"
    file.write_text("load\n1\n2\n")
    before = mark_of(section, str(file), swept=swept)
    assert mark_of(section, str(file), swept=swept) == before
    file.write_text("load\n1\n2\n3\n")
    assert mark_of(section, str(file), swept=swept) != before
    assert mark_of(section, str(tmp_path), swept=swept)  # a folder
