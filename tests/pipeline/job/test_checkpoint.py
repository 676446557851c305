"""Checkpoints: whole or not at all, and never a pickle."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from models.runtime.seeding import generator
from pipeline.host.errors import PipelineError
from pipeline.job import checkpoint


def test_round_trip(tmp_path: Path) -> None:
    tensors = {"model/a": torch.randn(3, 2, generator=generator(0, "a")), "b": torch.tensor(4, dtype=torch.int64)}
    checkpoint.save(tmp_path / "c.npz", tensors, {"epoch": 3, "rows": [{"x": 0.1}]})
    saved = checkpoint.load(tmp_path / "c.npz")
    assert saved.values == {"epoch": 3, "rows": [{"x": 0.1}]}
    assert all(torch.equal(saved.tensors[name], tensor) for name, tensor in tensors.items())
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


@pytest.mark.parametrize("kept", [0, 10, 200])
def test_a_file_cut_short_is_named(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    checkpoint.save(path, {"a": torch.zeros(100)}, {})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(PipelineError, match=r"c\.npz is not a complete checkpoint.*delete it"):
        checkpoint.load(path)


def test_foreign_files_and_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", a=np.zeros(2))
    np.savez(tmp_path / "pickled.npz", a=np.array([{"x": 1}], dtype=object))
    for name in ("foreign", "pickled"):
        with pytest.raises(PipelineError, match=f"{name}.npz is not a complete checkpoint"):
            checkpoint.load(tmp_path / f"{name}.npz")


def test_a_full_disk_keeps_the_old_file_and_leaves_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    checkpoint.save(path, {}, {"epoch": 1})
    monkeypatch.setattr("models.runtime.whole_folder.beside", lambda path: path.with_name(".partial"))
    (tmp_path / ".partial").symlink_to("/dev/full")
    with pytest.raises(PipelineError, match=r"c\.npz cannot be written \(No space left on device\); make room there"):
        checkpoint.save(path, {"a": torch.zeros(100_000)}, {"epoch": 2})
    assert checkpoint.load(path).values == {"epoch": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["c.npz"]


def test_a_checkpoint_copied_from_another_run_is_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "one" / "c.npz", {}, {})
    (tmp_path / "other").mkdir()
    shutil.copy(tmp_path / "one" / "c.npz", tmp_path / "other" / "c.npz")
    with pytest.raises(PipelineError, match=r"other/c\.npz is a checkpoint of the run one; delete it"):
        checkpoint.load(tmp_path / "other" / "c.npz")


def test_generators_are_named() -> None:
    def draw(seed: int, name: str) -> float:
        return float(torch.rand(1, generator=generator(seed, name)))

    assert draw(0, "a") == draw(0, "a")
    assert len({draw(0, "a"), draw(0, "b"), draw(1, "a")}) == 3


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOMEM])
def test_a_checkpoint_that_the_system_does_not_give_is_kept(number: int, tmp_path: Path, monkeypatch) -> None:
    def failing(_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoint, "read", failing)
    path = tmp_path / "c.npz"
    path.touch()
    reason = re.escape(f"c.npz cannot be read ({os.strerror(number)}); keep it")
    with pytest.raises(PipelineError, match=reason) as said:
        checkpoint.load(path)
    assert "delete" not in str(said.value)


def test_lack_of_memory_is_no_damaged_checkpoint(tmp_path: Path, monkeypatch) -> None:
    def failing(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checkpoint, "read", failing)
    path = tmp_path / "c.npz"
    path.touch()
    with pytest.raises(PipelineError, match=r"c\.npz cannot be read for lack of memory; free some"):
        checkpoint.load(path)
    with pytest.raises(torch.OutOfMemoryError), checkpoint.fitting(path):
        raise torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(RuntimeError, match="not enough memory") as raised, checkpoint.fitting(path):
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
    assert not isinstance(raised.value, PipelineError)
