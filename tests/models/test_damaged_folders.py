"""Saved estimators whose files are cut off, emptied or missing: one line that names the folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models import SSGPRegressor, VARForecaster


@pytest.fixture(params=["forecaster", "regressor"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    rows = np.random.default_rng(0).normal(size=(60, 2))
    if request.param == "forecaster":
        estimator = VARForecaster(orders=2).fit(rows)
    else:
        estimator = SSGPRegressor(count=3, iterations=0).fit(rows, rows[:, 0])
    estimator.save(tmp_path / "model")
    return type(estimator), tmp_path / "model"


@pytest.mark.parametrize("damage", ["empty", "cut off", "no entries"])
def test_a_damaged_file_is_named_by_its_folder(saved: tuple[Any, Path], damage: str) -> None:
    kind, folder = saved
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        if damage == "no entries" and file.suffix == ".npz":
            np.savez(file, allow_pickle=False)
        else:
            file.write_bytes({"empty": b"", "cut off": whole[: len(whole) // 2], "no entries": b"{}"}[damage])
        with pytest.raises(ValueError, match="is damaged or was not written by save") as refused:
            kind.load(folder)
        assert str(refused.value).startswith(str(folder))
        assert "\n" not in str(refused.value)
        file.write_bytes(whole)
    kind.load(folder)


def test_a_missing_folder_or_file_is_not_found(saved: tuple[Any, Path]) -> None:
    kind, folder = saved
    with pytest.raises(FileNotFoundError, match="no-such-folder holds no saved"):
        kind.load(folder.parent / "no-such-folder")
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        file.unlink()
        with pytest.raises(FileNotFoundError, match=str(folder)):
            kind.load(folder)
        file.write_bytes(whole)
