"""How large the parts of this project may grow before they are cut: functions, files, parameters, rooms of a folder."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
FILES = sorted(SOURCE.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def functions() -> dict[str, Function]:
    """Every function and method in src by file, line and name."""
    trees = {path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
    return {
        f"{path}:{node.lineno} {node.name}": node
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    }


def length_of(node: Function) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if said else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def parameters_of(node: Function) -> int:
    """How many parameters a function is given; that a method has an object or a class does not count."""
    own = node.args
    named = [each.arg for each in (*own.posonlyargs, *own.args, *own.kwonlyargs) if each.arg not in ("self", "cls")]
    return len(named) + (own.vararg is not None) + (own.kwarg is not None)


def test_functions_are_short(functions: dict[str, Function]) -> None:
    lines = {name: length_of(node) for name, node in functions.items()}
    assert median(lines.values()) <= 7
    assert {name: count for name, count in lines.items() if count > 40} == {}


def test_files_end_before_line_300() -> None:
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: count for name, count in lengths.items() if count > 300} == {}


def test_only_loaders_of_data_with_a_parameter_a_setting_have_more_than_six(functions: dict[str, Function]) -> None:
    many = {name for name, node in functions.items() if parameters_of(node) > 6}
    assert len(many) <= 5, many
    assert {name for name in many if not name.startswith("data/")} == set()


def test_the_pipeline_has_twelve_rooms_at_most() -> None:
    folder = SOURCE / "pipeline"
    rooms = [path for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert len([path for path in rooms if path.name != "__init__.py"]) <= 12, sorted(path.name for path in rooms)
