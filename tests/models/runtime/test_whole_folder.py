"""Folders that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.runtime.whole_folder import folder_written_whole


def test_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    final = tmp_path / "deeper" / "results"
    with pytest.raises(FileNotFoundError, match="no-such-folder"), folder_written_whole(final) as folder:
        (folder / "no-such-folder" / "first.csv").write_text("1")
    assert list(final.parent.iterdir()) == []
    with folder_written_whole(final) as folder:
        (folder / "first.csv").write_text("1")
        assert not final.exists()
    assert [path.name for path in final.parent.iterdir()] == ["results"]
    assert (final / "first.csv").read_text() == "1"
    with pytest.raises(FileExistsError, match="results is there already; name another folder"):
        folder_written_whole(final).__enter__()


def test_an_empty_folder_gives_its_place_and_no_other_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    with folder_written_whole(Path("model")) as folder:
        (folder / "first.csv").write_text("1")
    assert Path("model/first.csv").read_text() == "1"
    Path("file").touch()
    for taken in ("model", "file"):
        with pytest.raises(FileExistsError, match=f"{taken} is there already; name another folder, or remove it"):
            folder_written_whole(Path(taken)).__enter__()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "model"]
