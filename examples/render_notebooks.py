"""Run the notebooks and write them as pages, with what they print and draw, for the documentation.

python examples/render_notebooks.py                     all of examples/notebooks into docs/notebooks
python examples/render_notebooks.py forecast_a_table    one of them
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
SOURCES, PAGES = ROOT / "examples" / "notebooks", ROOT / "docs" / "notebooks"
SECONDS = 300
# not shown: pictures that can be enlarged, with the same bytes each time
FIRST_CELL = """
%config InlineBackend.figure_formats = ["svg"]
%config InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None}}
import matplotlib
matplotlib.rcParams["svg.hashsalt"] = "notebook"
"""
SHOWN_AS_TEXT = ("text/plain",)


def run(source: Path) -> Any:
    """Returns the notebook with the outputs of all its cells. Raises nbclient's CellExecutionError where one fails."""
    notebook = nbformat.read(source, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(FIRST_CELL))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()
    del notebook.cells[0]
    return notebook


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.rstrip().splitlines())


def picture(svg: str, folder: Path, name: str, words: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(svg, encoding="utf-8")
    return f"![{words}]({folder.name}/{name})"


def outputs(cell: Any, folder: Path, number: int) -> list[str]:
    """Returns what a cell printed and drew, as Markdown; pictures go into the folder."""
    shown = []
    for place, output in enumerate(cell.outputs):
        data = output.get("data", {})
        if output.output_type == "stream" and output.name == "stdout":
            shown.append(indented(output.text))
        elif "image/svg+xml" in data:
            words = cell.metadata.get("picture", "figure")
            shown.append(picture(data["image/svg+xml"], folder, f"{number:02d}-{place}.svg", words))
        elif output.output_type == "execute_result":
            shown.append(indented(data["text/plain"]))
    return shown


def page(notebook: Any, name: str, folder: Path) -> str:
    """Returns the Markdown of a notebook that was run."""
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts += [fenced(cell.source, "python"), *outputs(cell, folder, number)]
    title, *rest = parts
    made = f"*This page is the notebook `examples/notebooks/{name}.ipynb` with what it prints and draws.*"
    return "\n\n".join([title, made, *rest]) + "\n"


def cells_of(page_text: str) -> list[str]:
    """Returns the code of a page, cell by cell."""
    return [found.rstrip() for found in re.findall(r"^```python\n(.*?)^```", page_text, re.DOTALL | re.MULTILINE)]


def render(name: str) -> Path:
    source, folder = SOURCES / f"{name}.ipynb", PAGES / name
    notebook = run(source)
    for old in folder.glob("*.svg"):
        old.unlink()
    path = PAGES / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(notebook, name, folder), encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the notebooks and write them as pages.")
    parser.add_argument("names", nargs="*", help="of notebooks, without .ipynb; all if none is given")
    for name in parser.parse_args().names or sorted(path.stem for path in SOURCES.glob("*.ipynb")):
        print(render(name).relative_to(ROOT))


if __name__ == "__main__":
    main()
