"""The choices of config groups, those of a person's own folder (--config-dir) among them."""

from __future__ import annotations

from typing import Any

from hydra.core.global_hydra import GlobalHydra


def choices_of(group: str) -> list[str]:
    """Returns the names of a group's choices; none where there is no such group."""
    return GlobalHydra.instance().config_loader().get_group_options(group)


def section_of_choice(group: str, choice: str) -> Any:
    """Returns the settings in the file of a group's choice, without what its list of defaults adds to them; None where
    there is no such choice."""
    loader: Any = GlobalHydra.instance().config_loader()
    found = loader.repository.load_config(f"{group}/{choice}")
    return None if found is None else found.config


def groups_in(group: str) -> list[str]:
    """Returns the names of the folders in a group's folder."""
    return GlobalHydra.instance().config_loader().list_groups(group)


def data_of_contender(contender: str) -> str | None:
    """Returns the data set that a contender was chosen for, "swimmer" for "swimmer/lstm"; None where its folder is
    named after no data set."""
    folder = contender.rpartition("/")[0]
    return folder if folder in choices_of("data") else None
