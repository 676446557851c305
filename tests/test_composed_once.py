"""What tests spare of Hydra's compositions changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal import defaults_list
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.hydra import Hydra
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import ConfigCompositionException, OverrideParseException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from composed_once import compose_once, read_once
from pipeline.host.paths import conf_folder
from pipeline.systems.registry import prepare_composition

READ, MAP = ConfigRepository.load_config, defaults_list._create_interpolation_map  # without what the session spares
CHOOSE, MERGE = defaults_list._create_defaults_list, ConfigLoaderImpl._compose_config_from_defaults_list
SINGLE, RULE = ConfigLoaderImpl._load_single_config, OverridesParser.parse_rule


def unpatched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ConfigRepository, "load_config", READ)
    patch.setattr(defaults_list, "_create_interpolation_map", MAP)
    patch.setattr(defaults_list, "_create_defaults_list", CHOOSE)
    patch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", MERGE)
    patch.setattr(ConfigLoaderImpl, "_load_single_config", SINGLE)
    patch.setattr(OverridesParser, "parse_rule", RULE)
    if hasattr(ConfigRepository, "__deepcopy__"):
        patch.delattr(ConfigRepository, "__deepcopy__")


def loaded(hydra: Hydra, typed: list[str], *, again: bool) -> DictConfig:
    """The settings of a multirun, as Hydra composes them to find the mode, or thereafter."""
    return hydra.config_loader.load_configuration("config", typed, RunMode.MULTIRUN, validate_sweep_overrides=again)


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


def test_a_multirun_is_handed_what_was_composed_for_the_mode_and_then_composed_anew(hydra: Hydra, monkeypatch) -> None:
    typed = ["+experiment=figure3", "size=tiny", "model.features.count=5,7"]
    before = [OmegaConf.to_yaml(loaded(hydra, typed, again=again)) for again in (False, True)]
    assert before[0] == before[1]
    compose_once(monkeypatch)
    first, *others = (loaded(hydra, typed, again=again) for again in (False, True, True))
    assert others[0] is first
    assert others[1] is not first
    assert OmegaConf.to_yaml(first) == OmegaConf.to_yaml(others[1]) == before[0]


def test_a_sweep_of_hydras_settings_is_refused_as_ever(hydra: Hydra, monkeypatch) -> None:
    typed = ["+experiment=figure3", "hydra.verbose=true,false"]
    compose_once(monkeypatch)
    loaded(hydra, typed, again=False)
    with pytest.raises(ConfigCompositionException, match="Sweeping over Hydra's configuration is not supported"):
        loaded(hydra, typed, again=True)


def test_settings_are_handed_out_once_and_then_composed_anew(monkeypatch) -> None:
    """As for a multirun with the same job twice: checked, checked, started, started."""
    monkeypatch.setattr(ConfigLoaderImpl, "load_sweep_config", lambda *_: object())
    compose_once(monkeypatch)
    loader, whole = object.__new__(ConfigLoaderImpl), OmegaConf.create({})
    first, *others = (loader.load_sweep_config(whole, ["seed=1"]) for _ in range(4))
    assert others[0] is first
    assert len({id(own) for own in (first, *others[1:])}) == 3
    assert loader.load_sweep_config(whole, ["seed=2"]) is not first


@pytest.mark.parametrize(
    "typed",
    [
        ["+experiment=figure3", "size=tiny"],
        ["recipe=ssgp", "data=abalone"],
        ["+experiment=equal_effort", "model=lstm"],
        ["+experiment=tune", "space=${model}"],
    ],
)
@pytest.mark.usefixtures("hydra")
def test_files_that_were_kept_give_the_settings_of_files_that_are_read(typed: list[str]) -> None:
    def written() -> str:
        return OmegaConf.to_yaml(compose("config", typed, return_hydra_config=True))

    with pytest.MonkeyPatch.context() as patch:
        unpatched(patch)
        read = written()
    with pytest.MonkeyPatch.context() as patch:
        unpatched(patch)
        read_once(patch)
        reads: list[str] = []
        patch.setattr(OmegaConf, "load", lambda file, load=OmegaConf.load: (reads.append(file.name), load(file))[1])
        assert (written(), written()) == (read, read)
    assert reads
    assert len(reads) == len(set(reads))


def test_overrides_are_parsed_once_and_handed_out_as_copies(monkeypatch) -> None:
    unpatched(monkeypatch)
    parser, calls = OverridesParser.create(), list[str]()
    texts = ["a=1", "a=1,2", "+b.c='x y'", "~d", "a=range(1,4)", "e={f: [1, null]}", "a=choice(x,y)", "g@h=i", "a=1"]
    expected = parser.parse_overrides(texts)
    monkeypatch.setattr(OverridesParser, "parse_rule", lambda *given: (calls.append(given[1]), RULE(*given))[1])
    read_once(monkeypatch)
    for _ in range(2):
        parsed = parser.parse_overrides(texts)
        assert parsed == expected
        parsed[0].key_or_group = "other"
    assert calls == texts[:-1]
    for _ in range(2):
        with pytest.raises(OverrideParseException, match="no viable alternative"):
            parser.parse_overrides(["a=["])


def nodes(own: Any, path: str = "") -> Iterator[tuple[Any, ...]]:
    """Path, types, flags and value of each node."""
    content, about = own.__dict__["_content"] if OmegaConf.is_config(own) else own._val, own._metadata
    whole = isinstance(content, dict | list)
    yield path, type(own), about.ref_type, about.object_type, about.optional, about.flags, None if whole else content
    if whole:
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            assert value._parent is own
            yield from nodes(value, f"{path}.{key}")


@pytest.mark.parametrize("typed", [["+experiment=figure3", "size=tiny"], ["hydra/launcher=joblib", "hydra.verbose=1"]])
@pytest.mark.usefixtures("hydra")
def test_what_is_merged_after_hydras_own_has_the_types_and_flags_of_what_is_merged_at_once(
    typed: list[str], monkeypatch
) -> None:
    unpatched(monkeypatch)
    expected = list(nodes(compose("config", typed, return_hydra_config=True)))
    read_once(monkeypatch)
    for _ in range(2):
        assert list(nodes(compose("config", typed, return_hydra_config=True))) == expected


def test_a_schema_that_is_stored_anew_is_read_anew(hydra: Hydra, monkeypatch) -> None:
    unpatched(monkeypatch)
    read_once(monkeypatch)
    store = ConfigStore.instance()
    monkeypatch.setattr(store, "repo", dict(store.repo))
    for number in (1, 2):
        store.store(name="own_schema", node={"number": number})
        read = hydra.config_loader.repository.load_config("own_schema")
        assert read.config.number == number
        read.config.number = 3


@pytest.mark.usefixtures("hydra")
def test_what_choices_give_is_found_and_merged_once_and_values_are_set_each_time(monkeypatch) -> None:
    typed = ["+experiment=forms", "size=tiny"]
    unpatched(monkeypatch)
    expected = [OmegaConf.to_yaml(compose("config", [*typed, value])) for value in ("seed=1", "forms.augment=noise")]
    calls: list[str] = []
    monkeypatch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list",
                        lambda *given: (calls.append("merged"), MERGE(*given))[1])  # fmt: skip
    monkeypatch.setattr(defaults_list, "_create_defaults_list",
                        lambda *given, **named: (calls.append("found"), CHOOSE(*given, **named))[1])  # fmt: skip
    read_once(monkeypatch)
    made = [OmegaConf.to_yaml(compose("config", [*typed, value])) for value in ("seed=1", "forms.augment=noise")]
    assert made == expected
    assert calls == ["found", "merged", "merged"]  # Hydra's own files, then all
    assert compose("config", [*typed, "detector=components"]).detector != compose("config", typed).detector
    assert calls[3:] == ["found", "merged"]
    for wrong, said in (("seed=one", "Error merging override seed=one"), ("sed=1", "Could not override 'sed'")):
        with pytest.raises(Exception, match=said):
            compose("config", [*typed, wrong])


def test_a_file_of_another_folder_is_read_again(tmp_path: Path) -> None:
    GlobalHydra.instance().clear()
    for number in (1, 2):
        (tmp_path / "own.yaml").write_text(f"number: {number}\n", encoding="utf-8")
        with initialize_config_dir(str(tmp_path), version_base="1.3"):
            assert compose("own").number == number
