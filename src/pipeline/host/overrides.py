"""What an override of a command line is typed for."""

from __future__ import annotations

from hydra.core.override_parser.types import Override


def key_of(override: Override) -> str:
    """Returns the setting or the config group that an override gives a value, with the section that the group is put
    into, where one is typed: "data.path", "data", "data@pretrain_on"."""
    return "@".join(filter(None, (override.key_or_group, override.package)))


def group_of(key: str) -> str:
    """Returns the config group of a key, without the section that it is put into: "data" of "data@pretrain_on"."""
    return key.partition("@")[0]


def section_of(override: Override) -> str:
    """Returns the section of the settings that an override of a group chooses: "pretrain_on" of
    "data@pretrain_on=funsd", "data" of "data=funsd"."""
    return override.package or override.key_or_group
