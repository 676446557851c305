"""Settings of what a multirun chooses: `-m model=lstm,gru model.units=8`."""

from __future__ import annotations

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from pipeline.host.overrides import section_of


def with_swept_settings(arguments: list[str]) -> list[str]:
    """Returns the arguments with `model.units=8` as `++model.units=8` where `model` is swept.

    Hydra composes a multirun's own configuration without what is swept but with every other value. So it composes with
    the default model, which may not have that setting. The jobs are checked as ever: what a model does not take is
    refused. Raises HydraException for an argument that cannot be parsed.
    """
    places = [i for i, argument in enumerate(arguments) if "=" in argument and not argument.startswith("-")]
    parsed = dict(zip(places, OverridesParser.create().parse_overrides([arguments[i] for i in places]), strict=True))
    swept = {section_of(override) for override in parsed.values() if override.is_sweep_override()}
    return [f"++{a.lstrip('+')}" if belongs(parsed.get(i), swept) else a for i, a in enumerate(arguments)]


def belongs(override: Override | None, swept: set[str]) -> bool:
    """Returns whether the override gives one value to a setting of a section that is swept."""
    if override is None or override.is_delete() or override.is_sweep_override():
        return False
    section, dot, _ = override.key_or_group.partition(".")
    return bool(dot) and section in swept
