"""The border between configuration and library: the only `instantiate`, and what is checked before it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from hydra.errors import InstantiationException
from hydra.utils import get_object, instantiate
from omegaconf import DictConfig, OmegaConf

from data.source import Source
from pipeline.host.errors import PipelineError
from pipeline.settings.fields import free_sections
from pipeline.settings.messages import of_section
from pipeline.settings.nearest import did_you_mean
from pipeline.settings.parameters import check_numbers
from pipeline.settings.schema import validate
from pipeline.settings.unknown import refuse_unknown

OWN_PACKAGES = ("data", "models")


def import_extensions(extensions: list[str]) -> None:
    """Imports the user's packages, so that their classes can be named by `_target_`.

    Raises PipelineError for a package that cannot be imported, and for Python's own modules: those run any command.
    """
    for name in extensions:
        if name.split(".")[0] in sys.stdlib_module_names:
            raise PipelineError(f"extensions: {name!r} is a module of Python itself; name a package of your own")
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise PipelineError(
                f"extensions: {name!r} cannot be imported ({error}); is it installed or on PYTHONPATH?"
            ) from error


def is_allowed(name: str, extensions: list[str]) -> bool:
    """Returns whether a dotted name lies in one of our packages or in one of the user's extensions."""
    return name.split(".")[0] in (*OWN_PACKAGES, *(e.split(".")[0] for e in extensions))


def target_of(section: str, node: dict[str, Any], extensions: list[str]) -> Any:
    """Returns the class or function that a section names. Raises PipelineError where it is not found, or lies outside
    our packages and the user's extensions.

    Where it was defined counts too: `data.files.download.os.system` begins in a package of ours and ends elsewhere.
    """
    target = str(node.get("_target_", ""))
    if not is_allowed(target, extensions):
        raise PipelineError(
            f"{section}._target_={target or 'missing'} is not allowed; put its package into extensions=[…]"
        )
    try:
        named = get_object(target)
    except Exception as error:
        raise PipelineError(f"{section}._target_={target} cannot be found ({error})") from error
    home = str(getattr(named, "__module__", None))
    if not (inspect.isclass(named) or inspect.isfunction(named)) or not is_allowed(home, extensions):
        raise PipelineError(
            f"{section}._target_={target} is not allowed: it is no class or function of {target.split('.')[0]} itself"
        )
    return named


def nested_targets(key: str, value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every mapping with a `_target_` inside `value`, with its dotted key: all that `instantiate` would call."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    if isinstance(value, dict) and "_target_" in value:
        yield key, value
    for name, part in inside:
        yield from nested_targets(f"{key}.{name}", part)


def check_target(section: str, node: dict[str, Any], extensions: list[str]) -> None:
    """Raises PipelineError for a key that the target does not take, naming those it takes, and for a parameter without
    a default that the section does not give."""
    signature = inspect.signature(target_of(section, node, extensions))
    keys = [str(key) for key in node if key != "_target_"]
    for key in keys:
        if key not in signature.parameters:
            choices = ", ".join(signature.parameters) or "none"
            nearest = did_you_mean(key, signature.parameters, before=f"{section}.")
            raise PipelineError(f"{section}.{key} is not a setting of {node['_target_']}; it takes: {choices}{nearest}")
    required = [n for n, p in signature.parameters.items() if p.default is p.empty and n not in keys]
    if required:
        raise PipelineError(f"{section}.{required[0]} has no value; {node['_target_']} needs it")


def check_section(section: str, node: dict[str, Any], extensions: list[str]) -> None:
    """Checks the section, and everything inside it that would be called, with `check_target`; then checks the numbers
    of each. Raises PipelineError for what they refuse."""
    called = [(section, node), *((key, inner) for key, inner in nested_targets(section, node) if inner is not node)]
    for key, inner in called:
        check_target(key, inner, extensions)
    for key, inner in called:
        check_numbers(key, inner, target_of(key, inner, extensions))


def build(section: str, node: dict[str, Any], extensions: list[str]) -> Any:
    """Returns the object that a section with a `_target_` describes; for a `data.source.Source` it returns the data
    that the source loads.

    Raises PipelineError or DataError, with the section in front, for what the class refuses.
    """
    check_section(section, node, extensions)
    with of_section(section):
        try:
            made = instantiate(node, _convert_="all")
        except InstantiationException as error:
            raise error.__cause__ or error from None
        return made.load() if isinstance(made, Source) else made


def settings_of(config: DictConfig) -> Any:
    """Applies the caps, checks every setting and returns the schema's dataclass with plain values: no config goes
    further.

    Raises PipelineError for a setting that does not exist or makes no sense.
    """
    OmegaConf.set_readonly(config, False)
    refuse_unknown(config)
    validate(config)
    settings: Any = OmegaConf.to_object(config)
    import_extensions(settings.extensions)
    for section in free_sections(type(settings)):
        node = getattr(settings, section)
        if isinstance(node, dict):
            check_section(section, node, settings.extensions)
    return settings
