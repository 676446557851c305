"""Parameters of estimators as JSON has them, and back: nothing is unpickled, and no class but a record of this package
is made."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any


def class_name(kind: type) -> str:
    """Returns the full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def plain(value: Any, name: str) -> Any:
    """Returns a value as JSON has it; a tuple by that name, a record of this package as its class and its fields, and
    an array or an index of one axis as a list.

    Raises ValueError for what could not be read again.
    """
    if hasattr(value, "tolist") and value.ndim < 2:
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        parts = [plain(part, name) for part in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith("models."):
        own = {field.name: plain(getattr(value, field.name), name) for field in fields(value) if field.init}
        return {"class": class_name(type(value)), "fields": own}
    raise ValueError(
        f"{name} is {value!r}, which cannot be saved as plain values; give a name, a number, or a kernel, sampler or "
        "other record of this package"
    )


def made_of(value: Any) -> Any:
    """Returns what `plain` was given. Raises ValueError for a class that is no record of this package."""
    if isinstance(value, list):
        return [made_of(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(made_of(value["tuple"]))
    module, _, name = str(value["class"]).rpartition(".")
    kind = getattr(import_module(module), name, None) if module.startswith("models.") else None
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module):
        raise ValueError(f"the saved estimator names {value['class']}, which is no record of this package")
    return kind(**{key: made_of(part) for key, part in value["fields"].items()})
