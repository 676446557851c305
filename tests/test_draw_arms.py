"""The pictures of arms are those that the plans give."""

from __future__ import annotations

from draw_arms import FOLDER, pictures
from models.mctn.arms import ROWS


def test_the_pictures_are_those_of_the_plans() -> None:
    made = pictures()
    assert sorted(path.name for path in FOLDER.glob("*.svg")) == sorted(made)
    for name, picture in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == picture, "run python examples/draw_arms.py"


def test_every_kind_has_a_picture() -> None:
    assert {name.split("-")[0] for name in pictures()} == {*ROWS, "model.svg"}
