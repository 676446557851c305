"""The contracts on imports that pyproject.toml states hold, and catch what they forbid."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# File: a line that must not stand there, and the arrow that the linter names. Files of `linear` are new ones.
FORBIDDEN = {
    "data/base.py": ("import models.features.kernels", "data.base -> models.features.kernels"),
    "models/numerics/ridge.py": ("import data.base", "models.numerics.ridge -> data.base"),
    "models/theory/bounds.py": ("import models.trace.queries", "models.theory.bounds -> models.trace.queries"),
    "models/forecasting/readout.py": ("import models.psrnn.cell", "models.forecasting.readout -> models.psrnn.cell"),
    "models/sequence/masks.py": ("import models.trace.queries", "models.sequence.masks -> models.trace.queries"),
    "models/sequence/losses.py": (
        "import models.forecasting.bptt",
        "models.sequence.losses -> models.forecasting.bptt",
    ),
    "models/features/maps.py": ("import omegaconf", "models.features.maps -> omegaconf"),
    "models/linear/regression.py": ("import models.theory.bounds", "models.linear.regression -> models.theory.bounds"),
    "models/runtime/seeding.py": ("import models.numerics.ridge", "models.runtime.seeding -> models.numerics.ridge"),
    "data/linear_points.py": ("import data.regression.abalone", "data.linear_points -> data.regression.abalone"),
    "data/mocap/walker.py": ("import data.swimmer.load", "data.mocap.walker -> data.swimmer.load"),
    "data/split.py": ("import data.files.idx", "data.split -> data.files.idx"),
    "data/files/download.py": ("import data.mocap.load", "data.files.download -> data.mocap.load"),
    "pipeline/host/paths.py": ("import pipeline.job.fit", "pipeline.host.paths -> pipeline.job.fit"),
    "pipeline/systems/theory/config.py": (
        "import pipeline.systems.ssgp.curves",
        "pipeline.systems.theory.config -> pipeline.systems.ssgp.curves",
    ),
    "pipeline/tracking/run.py": (
        "import pipeline.systems.psrnn.load",
        "pipeline.tracking.run -> pipeline.systems.psrnn",
    ),
    "models/psrnn/cell.py": ("import models.psrnn.fit", "- .cell -> .fit (1 import)"),  # a circle
}


def checked(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter on the packages in `source`, with the contracts of this project."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    linter = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [linter, "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source), "COLUMNS": "500"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold(tmp_path: Path) -> None:
    result = checked(ROOT / "src", tmp_path)
    assert result.returncode == 0, result.stdout
    assert " 0 broken" in result.stdout


def test_every_folder_is_a_package_so_that_the_linter_sees_it() -> None:
    folders = {file.parent for file in (ROOT / "src").rglob("*.py")}
    assert len(folders) > 20
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the linter says of a copy of the packages with all of `FORBIDDEN` in it."""
    folder = tmp_path_factory.mktemp("contracts")
    source = folder / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
    for file, (line, _) in FORBIDDEN.items():
        (source / file).parent.mkdir(exist_ok=True)
        (source / file).parent.joinpath("__init__.py").touch()
        with (source / file).open("a") as text:
            text.write(f"\n{line}\n")
    result = checked(source, folder)
    assert result.returncode == 1, result.stderr
    return result.stdout


@pytest.mark.parametrize("file", FORBIDDEN)
def test_a_forbidden_import_is_caught(file: str, broken: str) -> None:
    assert FORBIDDEN[file][1] in broken


def imported_by(package: str) -> set[str]:
    """The distributions that files of a package import, by the names in pyproject.toml."""
    named = {"sklearn": "scikit-learn", "PIL": "pillow"}
    found = set()
    for path in (ROOT / "src" / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {named.get(module.partition(".")[0], module.partition(".")[0]) for module in modules}
    return found


@pytest.mark.parametrize("package", ["models", "data"])
def test_the_page_for_contributors_names_what_a_package_needs(package: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.split(r"[^\w-]", name)[0] for name in project["dependencies"]}
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    said = page.partition("\nDependencies: ")[2].partition(f"`{package}` needs ")[2].partition(". ")[0].lower()
    assert required & imported_by(package) == {name for name in required if re.search(rf"\b{name}\b", said)}
