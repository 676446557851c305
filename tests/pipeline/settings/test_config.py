"""Every setting file composes and names something that can be built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf, open_dict

from data.base import DataError
from pipeline.host.errors import PipelineError
from pipeline.host.paths import conf_folder
from pipeline.settings.build import build, check_section, check_target
from pipeline.settings.composition import at_most, by_choice, contenders, fresh, register_resolvers, up_to
from pipeline.settings.own_table import refuse_missing_file
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.psrnn.config import PsrnnConfig
from pipeline.systems.registry import checked, prepare_composition

OPTIONS = sorted(
    (str(path.parent.relative_to(conf_folder())), path.stem)
    for path in conf_folder().glob("*/*.yaml")
    if path.parent.name not in ("recipe", "experiment", "contender", "reader", "budget")
)
# those of a PSRNN: recipes of other systems have sections of their own
EXPERIMENTS = sorted(
    path.stem
    for path in (conf_folder() / "experiment").glob("*.yaml")
    if not re.search("override /recipe: (?!tune)", path.read_text(encoding="utf-8"))
)
CONTENDERS = sorted(
    str(path.relative_to(conf_folder() / "contender").with_suffix(""))
    for path in (conf_folder() / "contender").rglob("*.yaml")
)
OF_POINTS = ("ssgp", "spectrum", "revisited", "pca", "rff", "svgp", "full_gp", "ridge", "vae_ridge")
POINTS = ("abalone", "gas_turbine", "points", "precipitation")  # tables of points, which recipe=ssgp takes
GRAPHS = ("roget", "condmat")
UTTERANCES = ("cycles", "mmmo", "mosi", "utterances")  # of several modalities, which recipe=mctn takes
PAIRS = ("ciphers", "mt_small", "text_pairs")  # of sentences, which recipe=experts takes
PAGES = ("documents_table", "funsd", "kleister_nda", "synthetic_documents")  # of words, which recipe=documents takes
SPACES = [path.stem for path in (conf_folder() / "space").glob("*.yaml")]  # of models, or parts of them
OF_SPACES = {**{name: [f"model={name}"] for name in SPACES}, "default": [], "network": ["model=lstm"]}
NEEDED = {
    **{("data", name): ["recipe=trace", f"problem={name}"] for name in GRAPHS},
    ("data", "matrix"): ["recipe=trace", f"data.path={__file__}"],
    **{("problem", path.stem): ["recipe=trace"] for path in (conf_folder() / "problem").glob("*.yaml")},
    ("problem", "own"): ["recipe=trace", "matrix.path=a.npz"],
    ("tracking", "server"): ["tracking.uri=http://127.0.0.1:5000"],
    ("kernel", "laplacian_l1"): ["sampler=iid"],
    **{("space", name): ["recipe=tune", "tracking.parent=x", *typed] for name, typed in OF_SPACES.items()},
    ("space", "readouts"): ["recipe=tune", "tracking.parent=x", "tune.space=[{key: seed, choices: [1]}]"],
    **{("data", name): ["recipe=ssgp"] for name in POINTS},
    **{("model", name): ["recipe=ssgp"] for name in OF_POINTS},
    **{("data", name): ["recipe=mctn"] for name in UTTERANCES},
    **{("data", name): ["recipe=experts"] for name in PAIRS},
    **{("data", name): ["recipe=documents"] for name in PAGES},
    **{
        (group, path.stem): ["recipe=documents"]
        for group in ("attention", "encoder")
        for path in (conf_folder() / group).glob("*.yaml")
    },
    ("data", "composed_forms"): ["recipe=forms"],
    ("data", "forms_folder"): ["recipe=forms", f"data.path={__file__}"],
    **{
        ("data", name): ["recipe=forms", "forms.stage=recognition"] for name in ("composed_words", "dhsd", "dhsd_parts")
    },
    ("data", "words_folder"): ["recipe=forms", "forms.stage=recognition", f"data.path={__file__}"],
    **{
        ("recogniser", path.stem): ["recipe=forms", "forms.stage=recognition", "data=dhsd_parts"]
        for path in (conf_folder() / "recogniser").glob("*.yaml")
    },
    **{
        ("detector", path.stem): ["recipe=forms", "forms.scored=words"]
        for path in (conf_folder() / "detector").glob("*.yaml")
    },
    ("reader", "convolve_attend_spell"): ["recipe=forms", "forms.stage=pipeline"],
    ("reader", "two_phase"): ["recipe=forms"],
    ("refiner", "none"): ["recipe=forms"],
    ("refiner", "gan"): ["recipe=forms", "forms.stage=recognition", "data=dhsd", "data.ink=both"],
    ("data", "documents_table"): ["recipe=documents", f"data.path={__file__}"],
    ("data", "text_pairs"): ["recipe=experts", f"data.path={__file__}"],
    ("data", "utterances"): ["recipe=mctn", f"data.path={__file__}"],
    ("data", "table"): [f"data.path={__file__}"],  # a file that is there; it is not read
    ("data", "points"): ["recipe=ssgp", f"data.path={__file__}"],
    ("attention", "layers"): [
        "recipe=documents",
        "attention.per_layer=[sliding_window,distance]",
    ],
}


@pytest.fixture(autouse=True)
def composer():
    prepare_composition()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        yield


def test_the_options_are_found() -> None:
    groups = {group for group, _ in OPTIONS}
    assert groups >= {
        "data",
        "kernel",
        "sampler",
        "initialise",
        "model",
        "readout",
        "refine",
        "evaluate",
        "tracking",
        "size",
    }
    assert len(OPTIONS) >= 25


@pytest.mark.parametrize("recipe", sorted(path.stem for path in (conf_folder() / "recipe").glob("*.yaml")))
def test_what_a_recipe_says_stands(recipe: str) -> None:
    """`config.yaml` comes after the recipe, so that what it says of the same setting would win."""
    own = OmegaConf.load(conf_folder() / "recipe" / f"{recipe}.yaml")
    composed = compose("config", [f"recipe={recipe}"])
    plain = {key: value for key, value in own.items() if isinstance(value, str | int | float)}
    assert {key: composed[key] for key in plain} == plain


@pytest.mark.parametrize(("group", "option"), [pair for pair in OPTIONS if pair != ("data", "new")])
def test_every_option_composes_and_its_target_takes_its_keys(group: str, option: str) -> None:
    settings = checked(compose("config", [f"{group}={option}", *NEEDED.get((group, option), [])]))
    assert settings.recipe in ("documents", "experts", "forms", "mctn", "psrnn", "ssgp", "trace", "tune")
    section = getattr(settings, group, None)  # `space` is no section: it says what is drawn
    if isinstance(section, dict) and "_target_" in section:
        check_target(group, section, [])
        if group in ("kernel", "sampler"):
            assert type(build(group, section, [])).__name__ == section["_target_"].rpartition(".")[2]


@pytest.mark.parametrize("option", UTTERANCES)
@pytest.mark.parametrize("recipe", ["psrnn", "ssgp"])
def test_utterances_compose_and_are_refused_before_they_are_loaded(option: str, recipe: str) -> None:
    config = compose("config", [f"recipe={recipe}", f"data={option}"])
    check_section("data", OmegaConf.to_container(config.data), [])  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match=rf"gives utterances; recipe={recipe} takes "):
        checked(config)


def test_a_table_of_utterances_that_is_not_there_is_named_before_any_work() -> None:
    section = compose("config", ["recipe=psrnn", "data=utterances", "data.path=nowhere.csv"]).data
    with pytest.raises(DataError, match=r"nowhere\.csv: there is no such file; give data\.path=FILE"):
        refuse_missing_file(OmegaConf.to_container(section))


@pytest.mark.parametrize("option", PAIRS)
@pytest.mark.parametrize("recipe", ["psrnn", "ssgp"])
def test_sentence_pairs_compose_and_are_refused_before_they_are_loaded(option: str, recipe: str) -> None:
    config = compose("config", [f"recipe={recipe}", f"data={option}"])
    check_section("data", OmegaConf.to_container(config.data), [])  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match=rf"gives pairs of texts; recipe={recipe} takes "):
        checked(config)


def test_a_table_of_sentence_pairs_that_is_not_there_is_named_before_any_work() -> None:
    section = compose("config", ["recipe=psrnn", "data=text_pairs", "data.path=nowhere.csv"]).data
    with pytest.raises(DataError, match=r"nowhere\.csv: there is no such file; give data\.path=FILE"):
        refuse_missing_file(OmegaConf.to_container(section))


@pytest.mark.parametrize(
    ("choice", "name"),
    [("data=documents_table", "data"), ("+data@pretrain_on=documents_table", "pretrain_on")],
)
def test_a_table_of_documents_that_is_not_there_is_named_before_any_work(choice: str, name: str) -> None:
    config = compose("config", ["recipe=documents", choice, f"{name}.path=nowhere.csv"])
    with pytest.raises(DataError, match=rf"nowhere\.csv: there is no such file; give {name}\.path=FILE"):
        checked(config)


@pytest.mark.parametrize(
    ("stage", "choice"),
    [("segmentation", "forms_folder"), ("recognition", "words_folder")],
)
def test_a_table_of_forms_that_is_not_there_is_named_before_any_work(stage: str, choice: str) -> None:
    config = compose("config", ["recipe=forms", f"forms.stage={stage}", f"data={choice}", "data.path=nowhere.csv"])
    with pytest.raises(DataError, match=r"nowhere\.csv: there is no such file; give data\.path=FILE"):
        checked(config)


@pytest.mark.parametrize("name", [own for own in CONTENDERS if own.startswith("ink/")])
def test_every_ink_that_is_learned_from_composes(name: str) -> None:
    given = ["recipe=forms", "forms.stage=recognition", "data=dhsd", f"+contender={name}"]
    settings = checked(compose("config", given))
    ink = {"ink/refined": "synthetic"}.get(name, name.removeprefix("ink/"))
    assert (settings.data["ink"], settings.refiner is not None) == (ink, name == "ink/refined")


@pytest.mark.parametrize("contender", [own for own in CONTENDERS if not own.startswith("ink/")])
def test_every_contender_composes_and_names_its_data_and_model(contender: str) -> None:
    folder, _, name = contender.rpartition("/")
    of_points = (folder or name) in OF_POINTS
    recipe = ["recipe=ssgp"] if of_points else []
    config = compose("config", [*recipe, f"+contender={contender}"], return_hydra_config=True)
    choices = config.hydra.runtime.choices
    if of_points:
        assert choices.model == (folder or name)
        assert not folder or folder == "rff" or choices.sampler == name
    elif folder in ("projected", "equal_size"):
        assert name.startswith(f"{choices.data}_")
    elif folder == "walking":  # the same data and model, from the paper's settings to the best
        assert (choices.data, choices.model) == ("mocap", "psrnn")
    elif not folder.startswith("refined"):
        # what a search with equal effort chose, its readout without the state, and its state beneath another readout
        assert choices.data == re.sub("_(effort|state|linear|readout)$", "", folder)
        stateless = folder == "ett" and choices.model == "no_state"  # of which there are several readouts
        assert stateless or name in (choices.model, f"{choices.model}_{choices.readout}")
    with open_dict(config):
        config.pop("hydra")
    settings = checked(config)
    check_target("model", settings.model, [])
    check_target("data", settings.data, [])


@pytest.mark.parametrize("data", ["mocap", "swimmer", "handwriting"])
def test_the_readout_without_a_state_is_that_of_the_psrnn(data: str) -> None:
    both = (f"{data}_effort/psrnn", f"{data}_state/no_state_kernel")
    states, readouts = zip(*((own.model, own.readout) for own in (
        compose("config", [f"+contender={name}"]) for name in both)), strict=True)  # fmt: skip
    assert readouts[0] == readouts[1]
    assert states[0] != states[1]


@pytest.mark.parametrize(("data", "whose"), [("mocap", "no_state"), ("swimmer", "var"), ("handwriting", "no_state")])
def test_models_beneath_one_readout_differ_from_those_with_equal_effort_in_that_alone(data: str, whose: str) -> None:
    shared = compose("config", [f"+contender={data}_effort/{whose}"]).readout
    models = [own.removeprefix(f"{data}_effort/") for own in CONTENDERS if own.startswith(f"{data}_effort/")]
    for model in set(models) - {"no_state"}:
        chosen, both = (compose("config", [f"+contender={data}_{kind}/{model}"]) for kind in ("effort", "readout"))
        assert both.readout == shared
        assert {**both, "readout": None} == {**chosen, "readout": None}
        assert (chosen.readout == shared) == (model == whose)
    stateless = compose("config", [f"+contender={data}_readout/no_state_kernel"])
    assert stateless.readout == shared
    assert stateless.model == compose("config", [f"+contender={data}_effort/no_state"]).model


@pytest.mark.parametrize(("folder", "update", "ridge"), [("refined", "paper", 0.01), ("refined_bayes", "bayes", 0.1)])
def test_a_contender_wins_over_its_experiment(folder: str, update: str, ridge: float) -> None:
    settings = checked(compose("config", ["+experiment=figure4", f"contender={folder}/iid"]))
    assert isinstance(settings, PsrnnConfig)
    assert (settings.update, settings.initialise.ridge) == (update, ridge)


def test_predict_composes() -> None:
    settings = checked(compose("config", ["recipe=predict", "model.uri=runs:/a/model", f"data.path={__file__}"]))
    assert isinstance(settings, PredictConfig)
    with pytest.raises(PipelineError, match=r"data\.path has no value; give data\.path=… on the command line"):
        checked(compose("config", ["recipe=predict", "model.uri=runs:/a/model"]))
    with pytest.raises(PipelineError, match=r"model\.uri has no value; give model=runs:/RUN_ID/model on the command"):
        checked(compose("config", ["recipe=predict", f"data.path={__file__}"]))
    both = r"^data\.path and model\.uri have no value; give data\.path=… model=runs:/RUN_ID/model on the command line$"
    for typed in ([], ["model.uri="]):
        with pytest.raises(PipelineError, match=both):
            checked(compose("config", ["recipe=predict", *typed]))
    for empty in ("", " "):
        with pytest.raises(PipelineError, match=r"^model is empty; give model=runs:/RUN_ID/model, as a training run"):
            checked(compose("config", ["recipe=predict", f"model.uri='{empty}'", f"data.path={__file__}"]))


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_tiny_wins_over_every_experiment(experiment: str) -> None:
    settings = checked(compose("config", [f"+experiment={experiment}", "size=tiny", "refine.epochs=500"]))
    assert settings.features.count == 10
    assert settings.refine.epochs == 2
    whole = checked(compose("config", [f"+experiment={experiment}"]))
    assert whole.features.count > 8


def test_tiny_lowers_lists_too() -> None:
    asked = ["recipe=ssgp", "stream.rows=[50,500]"]
    whole, tiny = (checked(compose("config", [*asked, *more])) for more in ([], ["size=tiny"]))
    assert (whole.features.count, whole.ssgp.iterations, whole.stream.rows) == (64, 150, [50, 500])
    assert (tiny.features.count, tiny.ssgp.iterations, tiny.stream.rows) == (10, 2, [50, 100])


def test_the_sweeps_of_experiments_follow_size() -> None:
    assert (at_most(20, None), at_most(20, 2), at_most(1, 2)) == (20, 2, 1)
    assert (fresh(10, 20, None), fresh(10, 20, 2)) == (30, 12)
    assert (up_to([5, 10, 20], None), up_to([5, 10, 20], 10)) == ("5,10,20", "5,10")
    assert up_to([16, 32], 10) == "10"


def test_the_contenders_of_a_sweep_are_those_of_conf_and_of_a_folder_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "contender" / "mocap" / "mine.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("# @package _global_\n")
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        assert contenders(["mocap"]).split(",")[0] == "mocap/echo_state"
        assert len(contenders(["mocap", "swimmer"]).split(",")) == 2 * 15
        with pytest.raises(PipelineError, match=r"^contenders=mocab is unknown; .*; did you mean mocap\?$"):
            contenders(["mocab"])
    with initialize_config_dir(str(tmp_path), version_base="1.3"):
        assert contenders(["mocap"]) == "mocap/mine"


def test_a_choice_of_a_sweep_has_settings_of_its_own() -> None:
    assert [by_choice(arm, {"none-t": 0.01}, 0.003) for arm in ("none-t", "cyclic-t-v")] == [0.01, 0.003]
    register_resolvers()
    for arm, dropout in (("none-t", 0.3), ("cyclic-t-v", 0.0)):
        settings = checked(compose("config", ["+experiment=mctn_synthetic", "data.link=true", f"mctn.arm={arm}"]))
        assert settings.mctn.dropout == dropout
        assert settings.mctn.weights.second == settings.mctn.weights.translation == 160


READERS = [
    path.stem for path in sorted((conf_folder() / "reader").glob("*.yaml"))
    if path.stem not in ("two_phase", "convolve_attend_spell")  # of forms
]  # fmt: skip


@pytest.mark.parametrize("reader", [name for name in READERS if not name.startswith("near_")])
def test_a_reader_says_what_it_is(reader: str) -> None:
    register_resolvers()
    settings = checked(compose("config", ["+experiment=documents_classes", f"reader={reader}"]))
    own, cut = settings.documents, "512" in reader
    assert own.layout == reader.partition("_")[0]
    assert (own.max_length, own.overflow) == ((512, "cut") if cut else (4096, "chunk"))
    kinds = ("full", "distance", "sliding window", "window + random", "spatial window")
    assert own.variant.startswith("full 512" if cut else kinds)
    assert settings.encoder.width == (384 if "large" in reader else 128)


NEAR = ("full", "sliding_window", "window_random", "distance", "distance_window", "literal")


def test_readers_of_short_pages_are_those_of_long_ones_that_see_less() -> None:
    register_resolvers()
    assert {path.stem for path in (conf_folder() / "reader").glob("near_*.yaml")} == {f"near_{name}" for name in NEAR}
    for name in NEAR:
        near, long = (checked(compose("config", ["+experiment=documents_cue", f"reader={kind}_{name}"]))
                      for kind in ("near", "boxes"))  # fmt: skip
        assert (near.documents.layout, near.documents.variant) == ("boxes", long.documents.variant)
        assert near.encoder.width == 64
        assert near.attention.keys() == long.attention.keys()
        smaller = {key: (near.attention[key], value) for key, value in long.attention.items()
                   if near.attention[key] != value}  # fmt: skip
        assert all(0 < few < many for few, many in smaller.values())
        assert bool(smaller) is (name != "full")


@pytest.mark.parametrize("reader", READERS)
def test_an_attention_that_is_not_that_of_the_reader_is_refused(reader: str) -> None:
    register_resolvers()
    asked = ["+experiment=documents_funsd", f"reader={reader}"]
    checked(compose("config", asked))
    other = "window_random" if "full" in reader else "full"
    near = reader.startswith("near_") and reader != "near_full"
    sizes = near or reader == "boxes_spatial_window"  # has sizes of its own, which another attention does not have
    said = (
        r"attention\.\w+ is not a setting of"
        if sizes
        else r"is called .* by its reader=, and its attention is (Full|W)"
    )
    with pytest.raises(PipelineError, match=said):
        checked(compose("config", [*asked, f"attention={other}"]))


@pytest.mark.parametrize("experiment", ["experts", "experts_all", "experts_fewshot"])
def test_a_budget_wins_over_its_experiment(experiment: str) -> None:
    register_resolvers()
    asked = [f"+experiment={experiment}", "+budget=two_cores"]
    whole, small = (compose("config", asked[:count], return_hydra_config=True) for count in (1, 2))
    arms, all_arms = ({**config.hydra.sweeper.params, "seed": None} for config in (small, whole))
    assert arms == all_arms
    assert small.fit.epochs * small.fit.updates == 1200 <= whole.fit.epochs * whole.fit.updates / 2
    settings = checked(compose("config", asked))
    assert (settings.decode.beam, settings.fewshot.epochs) == (1, 10)


def test_adapters_of_a_layer_are_two_three_four_or_one_a_task() -> None:
    register_resolvers()
    config = compose("config", ["+experiment=experts_routing"], return_hydra_config=True)
    swept = config.hydra.sweeper.params["experts.variant"].split(",")
    counts = {}
    for variant in (name for name in swept if name.startswith("adapters-") or name == "token+dynamic"):
        own = compose("config", ["+experiment=experts_routing", f"experts.variant={variant}"])
        assert own.experts.arm == "token+dynamic"
        counts[variant] = own.adapter.count
    assert counts == {"token+dynamic": None, "adapters-2": 2, "adapters-4": 4, "adapters-all": 8}


@pytest.mark.parametrize("kind", ["dynamic", "shared"])
def test_new_tasks_are_learned_by_embeddings_and_gates_with_both_kinds_of_adapters(kind: str) -> None:
    register_resolvers()
    asked = ["+experiment=experts_fewshot", f"experts.variant={kind}-gates"]
    own = compose("config", asked, return_hydra_config=True)
    assert f"{kind}-gates" in own.hydra.sweeper.params["experts.variant"].split(",")
    assert (own.experts.arm, own.fewshot.adapt) == (f"token+{kind}", "tasks+gates")


def test_caps_only_lower() -> None:
    settings = checked(compose("config", ["size=tiny", "features.count=3", "refine=none"]))
    assert (settings.features.count, settings.features.projection, settings.refine.epochs) == (3, None, 0)


def test_caps_lower_an_experiment_too() -> None:
    settings = checked(compose("config", ["+contender=mocap/psrnn", "size=tiny"]))
    assert (settings.features.count, settings.features.projection, settings.refine.epochs) == (10, 10, 2)


def test_the_root_seed_changes_neither_data_nor_split() -> None:
    def dataset(*overrides: str):
        settings = checked(compose("config", ["data.source=stand_in", "data.steps=20", *overrides]))
        return build("data", settings.data, [])

    assert dataset("seed=0").checksum == dataset("seed=1").checksum
    assert dataset("data.seed=1").checksum != dataset("data.seed=0").checksum


def test_every_key_of_the_schema_is_set_in_conf() -> None:
    assert not OmegaConf.missing_keys(compose("config", []))
    assert Path(conf_folder() / "config.yaml").is_file()
