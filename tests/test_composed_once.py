"""What tests spare of Hydra's compositions changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.hydra import Hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import OmegaConf

from composed_once import compose_once, read_once
from pipeline.host.paths import conf_folder
from pipeline.systems.registry import prepare_composition

READ = ConfigRepository.load_config  # without what the session keeps


@pytest.fixture
def hydra() -> Iterator[Hydra]:
    prepare_composition()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        made = GlobalHydra.instance().hydra
        assert made is not None
        yield made


@pytest.mark.parametrize(
    ("typed", "mode"),
    [
        (["size=tiny"], None),
        (["size=none_such"], None),
        (["+experiment=mocap", "size=tiny"], None),
        (["+experiment=figure3", "size=tiny"], RunMode.MULTIRUN),
        (["+experiment=figure3", "size=none_such"], None),
        (["hydra.mode=MULTIRUN"], RunMode.MULTIRUN),
    ],
)
def test_the_mode_is_the_one_that_hydra_finds(
    typed: list[str], mode: RunMode | None, hydra: Hydra, monkeypatch
) -> None:
    assert hydra.get_mode("config", typed) == mode
    compose_once(monkeypatch)
    assert hydra.get_mode("config", typed) == mode


def test_settings_are_handed_out_once_and_then_composed_anew(monkeypatch) -> None:
    """As for a multirun with the same job twice: checked, checked, started, started."""
    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", lambda *_: object())
    compose_once(monkeypatch)
    loader, whole = object.__new__(ConfigLoaderImpl), OmegaConf.create({})
    first, *others = (loader.load_sweep_config(whole, ["seed=1"]) for _ in range(4))
    assert others[0] is first
    assert len({id(own) for own in (first, *others[1:])}) == 3
    assert loader.load_sweep_config(whole, ["seed=2"]) is not first


@pytest.mark.parametrize("typed", [["+experiment=figure3", "size=tiny"], ["recipe=ssgp", "data=abalone"]])
@pytest.mark.usefixtures("hydra")
def test_files_that_were_kept_give_the_settings_of_files_that_are_read(typed: list[str]) -> None:
    def written() -> str:
        return OmegaConf.to_yaml(compose("config", typed, return_hydra_config=True))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConfigRepository, "load_config", READ)
        read = written()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConfigRepository, "load_config", READ)
        read_once(patch)
        reads: list[str] = []
        patch.setattr(OmegaConf, "load", lambda file, load=OmegaConf.load: (reads.append(file.name), load(file))[1])
        assert (written(), written()) == (read, read)
    assert reads
    assert len(reads) == len(set(reads))


def test_a_file_of_another_folder_is_read_again(tmp_path: Path) -> None:
    GlobalHydra.instance().clear()
    for number in (1, 2):
        (tmp_path / "own.yaml").write_text(f"number: {number}\n", encoding="utf-8")
        with initialize_config_dir(str(tmp_path), version_base="1.3"):
            assert compose("own").number == number
