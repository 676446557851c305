"""Numbers that the class or function of a `_target_` takes: what its signature says they must be, checked before it is
called.

A parameter says so by a `Range` in its annotation, `Annotated[int, Range(at_least=1)]`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from data.ranges import Range as RangeOfData
from models.ranges import Range as RangeOfModel
from pipeline.host.errors import PipelineError
from pipeline.settings.fields import Rule
from pipeline.settings.messages import NUMBERS


def parameters_of(target: Any) -> dict[str, Any]:
    """Returns each parameter of a class or function with its type, as its signature says it.

    None are known where the types are imported for type checkers alone, as a person's own may be.
    """
    told = target.__init__ if inspect.isclass(target) and not is_dataclass(target) else target
    try:
        hints = get_type_hints(told, include_extras=True)
    except (NameError, AttributeError, TypeError):
        return {}
    return {name: hints[name] for name in inspect.signature(target).parameters if name in hints}


def ranges_in(kind: Any) -> Iterator[tuple[type, Rule]]:
    """Yields the ranges that stand in a type: `int` or `float`, and what such a number must be."""
    if get_origin(kind) is not Annotated:
        for inner in get_args(kind):
            yield from ranges_in(inner)
        return
    number, *extras = get_args(kind)
    yield from ((number, Rule(**extra._asdict())) for extra in extras if isinstance(extra, RangeOfData | RangeOfModel))


def no_number(value: Any, number: type) -> str | None:
    """Says what the value must be where it is no number of that type; returns None where it is one. A whole number is a
    float too; a truth value is neither."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole or (number is float and isinstance(value, float)):
        return None
    return NUMBERS["Integer" if number is int else "Float"]


def check_number(key: str, value: Any, kind: Any) -> None:
    """Raises PipelineError, naming key and value, where the value is no number of the type, or a number out of its
    range."""
    taken = get_args(kind)
    lists = get_origin(kind) is list or any(get_origin(inner) is list for inner in taken)
    for number, rule in ranges_in(kind):
        if value is None:
            if type(None) not in taken:
                raise PipelineError(f"{key} must have a value, not null")
            return
        if lists and not isinstance(value, list):
            raise PipelineError(f"{key} must be a list, as in {key}=[…]")
        values: list[Any] = value if lists else [value]
        for one in values:
            broken = no_number(one, number) or rule.broken_by(one)
            if broken is not None:
                raise PipelineError(f"{key}={value} must be {broken}")


def check_numbers(section: str, node: dict[str, Any], target: Any) -> None:
    """Checks with `check_number` all that a section gives its target. A value that would itself be called is passed
    over, since it gives a number only then."""
    for name, kind in parameters_of(target).items():
        value = node.get(name)
        if name in node and not (isinstance(value, dict) and "_target_" in value):
            check_number(f"{section}.{name}", value, kind)
