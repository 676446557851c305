"""The notebooks run without a warning, and their pages have the code that they have."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from jupyter_client.provisioning import local_provisioner

from render_notebooks import PAGES, SOURCES, cells_of, run
from warm_processes import WarmKernel

STARTED = "forecast_a_table"  # imports of its own may warn as well
NAMES = sorted(path.stem for path in SOURCES.glob("*.ipynb"))


def code_of(name: str) -> list[str]:
    notebook = nbformat.read(SOURCES / f"{name}.ipynb", as_version=4)
    return [cell.source.rstrip() for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_runs_without_a_warning(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And keeps its runs beside it, wherever those of its reader's own go. The kernels are forked from a process that
    has the imports, but for one that Jupyter starts anew."""
    if name != STARTED:
        monkeypatch.setattr(local_provisioner, "launch_kernel", WarmKernel)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'own' / 'mlflow.db'}")
    notebook = run(SOURCES / f"{name}.ipynb")
    assert not (tmp_path / "own").exists()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"] == []
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", NAMES)
def test_its_page_has_its_code(name: str) -> None:
    assert cells_of((PAGES / f"{name}.md").read_text(encoding="utf-8")) == code_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_kept_without_output(name: str) -> None:
    notebook = nbformat.read(SOURCES / f"{name}.ipynb", as_version=4)
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
    assert Path(SOURCES / f"{name}.ipynb").stat().st_size < 20_000
