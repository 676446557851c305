"""What `models` and `data` say names arguments of Python; settings are named by the pipeline, where there are any."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from pipeline.settings.schema import registered_schemas
from pipeline.systems.registry import prepare_composition

ROOT = Path(__file__).resolve().parents[1]
SCOPES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
ADVICE = re.compile(r"\b(?:give|take|use|choose)\s+[a-z_…]+=")  # arguments to copy stand in give={…}
FILE = r"(?:csv|json|npz)\b"  # as in documents.npz: names of files, whose stem is that of a section
EXCEPTIONS = (
    # Tags of a run, under which the choices of validation stand in stores.
    "readout.ridge", "readout.state_ridge", "readout.lags", "readout.ridge.…", "readout.direct.used",
    "encoder.…",  # begins the names of parameters of a network
)  # fmt: skip


def sections() -> set[str]:
    """The groups of conf/ and the keys of every recipe's settings that have settings of their own."""
    prepare_composition()
    own = {item.name for schema in registered_schemas() for item in fields(schema)}
    return own | {folder.name for folder in (ROOT / "conf").iterdir() if folder.is_dir()}


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module but docstrings, by its line; what is filled in is …"""
    passed: set[int] = set()
    for node in ast.walk(tree):  # what encloses a node comes before it
        if isinstance(node, SCOPES) and node.body and isinstance(node.body[0], ast.Expr):
            passed.add(id(node.body[0].value))
        if isinstance(node, ast.JoinedStr):
            passed.update(id(part) for part in node.values)
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.lineno, node.value


def settings_in(source: str, names: set[str]) -> list[tuple[int, str]]:
    """The texts of a module that name a setting: a section, a dot and a name, or a section in front of all; that choose
    data, a model or a recipe; or that advise arguments to copy."""
    section = "|".join(sorted(names))
    dotted = rf"(?<![\w./])(?:{section})\.(?!{FILE})(?:[a-z_]+|…)"
    setting = re.compile(rf"{dotted}|^(?:{section}): |(?<![\w.])(?:data|model|recipe)=[a-z…]|{ADVICE.pattern}")
    return [(line, text) for line, text in texts(ast.parse(source)) if setting.search(text)]


def test_no_text_of_models_or_data_names_a_setting_of_the_pipeline() -> None:
    names, found = sections(), {}
    for path in sorted(path for package in ("models", "data") for path in (ROOT / "src" / package).rglob("*.py")):
        for line, text in settings_in(path.read_text(encoding="utf-8"), names):
            if text not in EXCEPTIONS:
                found[f"{path.relative_to(ROOT)}:{line}"] = text
    assert found == {}


def test_examples_for_those_who_add_classes_keep_to_it() -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.S)
    libraries = [example for example in examples if "pipeline" not in example]
    assert {"ValueError", "DataError"} <= {name for own in libraries for name in re.findall(r"raise (\w+)", own)}
    assert [found for own in libraries for found in settings_in(own, sections())] == []


@pytest.mark.parametrize("excepted", EXCEPTIONS)
def test_every_exception_stands_in_the_source(excepted: str) -> None:
    every = [path for package in ("models", "data") for path in (ROOT / "src" / package).rglob("*.py")]
    assert any(text == excepted for path in every for _, text in texts(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(
    "planted",
    [
        'raise ValueError(f"model.units must be at least 1, got {units}")',
        'raise ValueError(f"model.{name} must be at least 1, got {units}")',
        'raise DataError("a: no file; give data.path=FILE")',
        "raise DataError(f\"{path}: 'data.columns=[{wanted}]'\")",
        'warnings.warn("lower " + "readout.lags", stacklevel=2)',
        'ADVICE = "every step is before evaluate.first_step"',
        'raise ValueError("documents.max_length is too short")',
        'raise DataError("data=table needs a file")',
        'raise DataError(f"data: {count} documents cannot be split")',
        'raise ValueError("no clear season; give season=STEPS, or take another model")',
        'raise DataError("cannot be split; use split=time")',
        'raise DataError(f"{why}; choose " "source=uci")',
        'NO_TEXT = f"not published; take {name}=text"',
    ],
)
def test_a_planted_one_is_found(planted: str) -> None:
    assert [line for line, _ in settings_in(f'"""Says `model.units`."""\n{planted}\n', sections())] == [2]


@pytest.mark.parametrize(
    "plain",
    [
        'raise ValueError(f"units must be at least 1, got {model.units}")',
        'def f():\n    """Raises ValueError for `model.units` below 1."""',
        'raise DataError(f"{file}: no such folder; give", give={"images": "FOLDER"})',
        'raise DataError(f"split={how} is unknown; choose one of {known}")',
        'raise ValueError("models.forecasting.fitting: the model. It has no state")',
    ],
)
def test_arguments_code_and_docstrings_are_not(plain: str) -> None:
    assert settings_in(plain, sections()) == []
