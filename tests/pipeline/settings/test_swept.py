"""Settings of a section that a multirun sweeps over: composed where Hydra alone would refuse them."""

from __future__ import annotations

import pytest
from hydra.errors import HydraException

from pipeline.host.paths import conf_folder
from pipeline.settings.swept import with_swept_settings
from pipeline.settings.unknown import not_a_setting, settings_of_choices

TINY = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "refine=none", "evaluate.orders=[]")


@pytest.mark.parametrize(
    ("typed", "passed"),
    [
        (["-m", "model=lstm,gru", "model.units=8"], ["-m", "model=lstm,gru", "++model.units=8"]),
        (["data.path=null", "data=choice(table,mocap)"], ["++data.path=null", "data=choice(table,mocap)"]),
        (["model=lstm,gru", "+model.units=8"], ["model=lstm,gru", "++model.units=8"]),
        (["model=lstm,gru", "model.units=8,16", "~model.x"], ["model=lstm,gru", "model.units=8,16", "~model.x"]),
        (["model=lstm", "model.units=8", "seed=0,1"], ["model=lstm", "model.units=8", "seed=0,1"]),
        (["+data@pretrain_on=a,b", "data.path=x"], ["+data@pretrain_on=a,b", "data.path=x"]),
        (["+data@pretrain_on=a,b", "pretrain_on.path=x"], ["+data@pretrain_on=a,b", "++pretrain_on.path=x"]),
        (["--cfg", "job", "--config-dir=x"], ["--cfg", "job", "--config-dir=x"]),
    ],
)  # fmt: skip
def test_only_settings_of_what_is_swept_are_forced(typed: list[str], passed: list[str]) -> None:
    assert with_swept_settings(typed) == passed


def test_what_cannot_be_parsed_is_refused() -> None:
    with pytest.raises(HydraException, match=r"no viable alternative at input '\[8'"):
        with_swept_settings(["model=lstm,gru", "model.units=[8"])


@pytest.mark.parametrize("group", sorted(folder.name for folder in conf_folder().iterdir() if folder.is_dir()))
def test_the_settings_of_every_choice_of_a_group_are_found(group: str) -> None:
    assert settings_of_choices(group).keys() == {file.stem for file in (conf_folder() / group).glob("*.yaml")}


def test_a_file_placed_inside_a_section_gives_its_settings_there() -> None:
    layers = settings_of_choices("attention")["layers"]
    assert {"per_layer", "patterns", "patterns.distance", "patterns.distance.neighbours"} <= layers
    assert "neighbours" not in layers


def test_a_mistyped_setting_of_attention_is_told_in_a_line(run_pipeline) -> None:
    error = run_pipeline("recipe=documents", "size=tiny", "tracking=off", "attention.windo=3").error
    assert error.startswith("error: attention.windo is not a setting of the attention chosen; ")
    assert error.endswith("; did you mean attention.window?")
    told = not_a_setting("attention.global_tokens", ["attention=layers"])
    assert told.startswith("attention.global_tokens is not a setting of attention=layers; distance, ")


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_models_are_swept_with_a_setting_that_the_default_model_lacks(run_pipeline, client) -> None:
    kept = ("tracking.detail=summary", "tracking.log_model=false")
    result = run_pipeline("-m", *TINY, *kept, "model=lstm,kalman", "model.units=4")
    assert "job 1 failed: model.units is not a setting of models.baselines.kalman.KalmanFilter; it takes" in result.err
    (experiment,) = (e for e in client.search_experiments() if e.name == "mocap")
    finished = client.search_runs([experiment.experiment_id], "attributes.status = 'FINISHED'")
    assert [run.data.tags["model"] for run in finished] == ["lstm"]
    assert finished[0].data.params["model.units"] == "4"


LACKED = (*TINY, "tracking=off", "model=lstm,kalman", "model.units=4,8")


@pytest.mark.parametrize(
    "typed",
    [("-m", *LACKED), (*LACKED[:3], "--multirun", *LACKED[3:]), (*LACKED, "-m")],
    ids=["front", "middle", "end"],
)
def test_swept_values_that_a_model_lacks_are_refused_before_the_first_job(typed: tuple[str, ...], run_pipeline) -> None:
    """The place of `-m` does not matter."""
    error = run_pipeline(*typed).error
    assert error == f"error: {not_a_setting('model.units', ['model=lstm,kalman'])}"
    assert "sweep those that lack it by themselves" in error
    assert "not a setting of the model chosen; echo_state, gru, lstm and min_gru have it; see" in error


def test_a_setting_that_a_typed_choice_lacks_names_it_and_says_nothing_of_sweeps(run_pipeline) -> None:
    forms = ("recipe=forms", "size=tiny", "tracking=off")
    error = run_pipeline(*forms, "detector=r_fcn", "detector=east", "detector.bins=3").error
    assert "detector.bins is not a setting of detector=east; " in error
    assert "r_fcn" in error
    assert "sweep" not in error
    left = run_pipeline(*forms, "recogniser.bins=3").error
    assert "recogniser.bins is not a setting of the recogniser chosen; see python -m pipeline --cfg job" in left
    assert "sweep those that lack it by themselves" in left  # an experiment may sweep it


def test_choices_that_have_a_setting_are_told_where_they_are_few() -> None:
    assert "; composed_forms, dhsd and dhsd_parts have it; " in not_a_setting("data.ink")  # the last begins with dhsd
    assert "chosen; crnn has it; " in not_a_setting("recogniser.language.order")
    assert " have it" not in not_a_setting("data.source")
    assert " it;" not in not_a_setting("data.nowhere")


def test_only_a_setting_of_the_typed_choice_is_suggested() -> None:
    assert "did you mean" not in not_a_setting("data.variabels", ["data=table"])
    assert not_a_setting("data.variabels", ["data=lorenz96"]).endswith("; did you mean data.variables?")
    assert not_a_setting("data.variabels", ["data=table,lorenz96"]).endswith("; did you mean data.variables?")
    assert not_a_setting("data.colums", ["data=table"]).endswith("; did you mean data.columns?")


@pytest.mark.parametrize(
    ("arguments", "key", "beside", "meant"),
    [
        (["recipe=experts"], "fit.update", "updates", "fit.updates"),
        (["recipe=forms", "size=tiny"], "fit.batches", "weight_decay", "fit.batch"),
        (["+experiment=experts"], "fit.warmpu", "smoothing", "fit.warmup"),
        (["+experiment=mocap"], "features.cuont", "bandwidth", "features.count"),
        (["recipe=ssgp", "--config-dir=mine"], "features.cuont", "count", "features.count"),
    ],
)
def test_settings_beside_a_wrong_one_are_those_of_the_recipe_that_runs(
    arguments: list[str], key: str, beside: str, meant: str
) -> None:
    told = not_a_setting(key, arguments)
    assert f" {beside}" in told
    assert told.endswith(f"; did you mean {meant}?")
    assert " l2" not in told


@pytest.mark.parametrize("arguments", [[], ["recipe=experts,forms"], ["+experiment=experts,forms"]])
def test_recipes_with_unlike_settings_name_none_of_them(arguments: list[str]) -> None:
    assert not_a_setting("fit.l2", arguments).startswith("fit.l2 is not a setting; see python -m pipeline --cfg job")
