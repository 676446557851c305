"""What a command line with -m is refused for before its first job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from pipeline.host.errors import PipelineError
from pipeline.multirun import checks
from pipeline.multirun.chosen import typed_in


def multirun(*typed: str, folder: Path | None = None) -> Any:
    """The configuration of a multirun of documents, as far as `check_replaced` looks at it."""
    sources = [{"path": "conf", "provider": "main"}]
    sources += [] if folder is None else [{"path": str(folder), "provider": "command-line"}]
    runtime = {"choices": {"data": "kleister_nda"}, "config_sources": sources}
    return OmegaConf.create({"hydra": {"overrides": {"task": list(typed)}, "runtime": runtime}})


@pytest.fixture(autouse=True)
def groups(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"data": ["funsd", "kleister_nda"], "contender": [], "shelf": ["a", "b"]}
    monkeypatch.setattr(checks, "choices_of", lambda group: known.get(group, []))
    monkeypatch.setattr(checks, "groups_in", lambda group: [])  # noqa: ARG005


def test_a_swept_choice_for_another_section_needs_its_own_plus() -> None:
    checks.check_replaced(multirun("recipe=documents", "data=funsd,kleister_nda"))
    with pytest.raises(PipelineError, match=r"^data@pretrain_on has no choice here .*: \+data@pretrain_on=funsd,kle"):
        checks.check_replaced(multirun("recipe=documents", "data@pretrain_on=funsd,kleister_nda"))


def test_an_experiment_of_a_folder_of_ones_own_is_named(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    own = "defaults:\n  - override /recipe: documents\n  - /shelf: a\n"
    (tmp_path / "experiment" / "shelves.yaml").write_text(own, encoding="utf-8")
    typed = ("recipe=documents", "shelf=a,b")
    with pytest.raises(PipelineError, match=r"\(\+experiment=shelves has one\)"):
        checks.check_replaced(multirun(*typed, folder=tmp_path))
    with pytest.raises(PipelineError, match=r"no choice here to replace, so put \+ before it"):
        checks.check_replaced(multirun(*typed))


def test_what_a_trial_typed_for_another_section_is_not_its_data() -> None:
    typed = typed_in("data=kleister_nda +data@pretrain_on=funsd encoder.width=8")
    assert typed == {"data": "kleister_nda", "data@pretrain_on": "funsd", "encoder.width": 8}
