"""What a command line chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.settings.command_line import experiment_file, recipe_of


@pytest.mark.parametrize(
    ("arguments", "recipe"),
    [
        ((), "psrnn"),
        (("seed=1",), "psrnn"),
        (("+experiment=mocap",), "psrnn"),
        (("+experiment=forms",), "forms"),
        (("recipe=trace",), "trace"),
        (("+experiment=forms", "recipe=trace"), "trace"),
        (("+experiment=none_such",), None),
        (("+experiment=none_such", "recipe=trace"), "trace"),
        (("+experiment=forms,mocap",), None),
    ],
)
def test_the_recipe_is_the_typed_one_then_that_of_the_experiment_then_the_default(
    arguments: tuple[str, ...], recipe: str | None
) -> None:
    assert recipe_of(arguments) == recipe


@pytest.mark.parametrize("option", [("--config-dir", "{}"), ("--config-dir={}",), ("-cd", "{}")])
def test_an_experiment_of_ones_own_folder_is_found(option: tuple[str, ...], tmp_path: Path) -> None:
    own = tmp_path / "experiment" / "own.yaml"
    own.parent.mkdir()
    own.write_text("# @package _global_\ndefaults:\n  - override /recipe: ssgp\n")
    typed = [part.format(tmp_path) for part in option]
    assert experiment_file([*typed, "+experiment=own"]) == own
    assert recipe_of([*typed, "+experiment=own"]) == "ssgp"
    assert recipe_of(["+experiment=own"]) is None
