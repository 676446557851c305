"""What tells jobs apart, and what a multirun refuses before its first job."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from logged import table
from pipeline.compare.arms import (
    arm_of,
    base,
    given,
    plain,
    settings_in,
    short,
    swept_values,
    varied,
    varied_settings,
)
from pipeline.compare.summary import aligned
from pipeline.host.errors import PipelineError
from pipeline.multirun import checks
from pipeline.systems.psrnn.comparison import FORECASTS

TINY = ("size=tiny", "data.source=stand_in", "refine=none", "evaluate.orders=[]", "tracking.detail=summary")
PAIR = ("compare.baseline=iid", "compare.challenger=orthogonal")


def parent_of(client):
    found = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = [run for run in found if run.data.tags.get("multirun") == "parent"]
    return parent, [run for run in found if run is not parent]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("contender", "mocap/psrnn", "psrnn"), ("data.path", "a/b.csv", "a/b.csv"), ("readout.lags", 4, "4"),
        ("refine.learning_rate", "0.50", "0.5"), ("refine.learning_rate", 1.0, "1"), ("x", "'quoted'", "quoted"),
        ("seed", 2**60, str(2**60)),
    ],
)  # fmt: skip
def test_values_read_alike_however_they_are_typed(key: str, value: object, text: str) -> None:
    assert plain(key, value) == text or float(plain(key, value)) == float(text)


def test_overrides_by_key() -> None:
    typed = ["seed=range(3)", "+experiment=mocap", "sampler=iid,orthogonal", "~tracking.x", "data.path='a b.csv'"]
    assert swept_values(typed) == {
        "seed": ["0", "1", "2"], "experiment": ["mocap"], "sampler": ["iid", "orthogonal"], "data.path": ["a b.csv"],
    }  # fmt: skip
    assert swept_values(["data=funsd", "+data@pretrain_on=kleister_nda,funsd"]) == {
        "data": ["funsd"], "data@pretrain_on": ["kleister_nda", "funsd"],
    }  # fmt: skip
    assert given(["contender=mocap/lstm", "++refine.learning_rate=1.0"]) == {
        "contender": "lstm", "refine.learning_rate": "1",
    }  # fmt: skip


def test_the_arm_is_any_key() -> None:
    choices = {"model": "psrnn", "sampler": "iid", "kernel": "matern", "contender": None}
    settings = {"readout": {"lags": 4}, "refine": {"learning_rate": 0.5}, "update": "bayes"}
    keys = (None, "kernel", "readout.lags", "refine.learning_rate", "update")
    assert [arm_of(key, choices, settings, FORECASTS) for key in keys] == ["iid", "matern", "4", "0.5", "bayes"]
    assert arm_of(None, choices | {"contender": "mocap/psrnn"}, settings, FORECASTS) == "psrnn"
    assert arm_of(None, choices | {"model": "lstm"}, settings, FORECASTS) == "lstm"
    for unknown in ("readout.lag", "readout", "contender"):
        with pytest.raises(PipelineError, match=f"compare.arm={unknown} is no group or setting that has a value"):
            arm_of(unknown, choices, settings, FORECASTS)


def test_what_else_was_varied() -> None:
    jobs = [
        {"sampler": sampler, "kernel": kernel, "seed": seed, "features.count": "5", "refine": "none", "resume": seed}
        for sampler in ("iid", "orthogonal") for kernel in ("gaussian", "matern") for seed in ("0", "1")
    ]  # fmt: skip
    assert (
        varied(jobs, ["walk"] * 8, None, "count", FORECASTS)
        == ["kernel=gaussian"] * 2 + ["kernel=matern"] * 2 + ["kernel=gaussian"] * 2 + ["kernel=matern"] * 2
    )
    assert varied(jobs, ["walk"] * 8, "kernel", "count", FORECASTS) == ["sampler=iid"] * 4 + ["sampler=orthogonal"] * 4
    assert varied(jobs[:2], ["walk"] * 2, None, "count", FORECASTS) == ["", ""]
    assert varied([], [], None, "count", FORECASTS) == []
    counts = [{"features.count": "5"}, {"features.count": "10"}]
    assert varied(counts, ["walk"] * 2, None, "count", FORECASTS) == ["", ""]
    assert varied(counts, ["walk"] * 2, None, "contenders", FORECASTS) == ["features.count=5", "features.count=10"]
    paths = [{"data.path": "a.csv"}, {"data.path": "b.csv"}]
    assert varied(paths, ["a", "b"], None, "count", FORECASTS) == ["", ""], "the name of the data set tells it"


def test_tables_on_a_terminal() -> None:
    text = "words\n\n| a | long name |\n|---|---|\n| x |  |\n| yyy | > 1 |\n\nend"
    assert aligned(text) == "words\n\na    long name\nx\nyyy  > 1\n\nend"


REFUSED = [
    (("sampler=iid,sobol", *PAIR), "compare.challenger=orthogonal: no job of this sweep has that arm; there are"),
    (("kernel=gaussian,matern", "compare.arm=kernel", "compare.baseline=gauss"), "compare.baseline=gauss: no job of"),
    (("seed=0,1", "compare.arm=readout.lag"), "compare.arm=readout.lag is no group or setting"),
    (("seed=0,1", "compare.arm=seed"), "compare.arm=seed: arms are compared on the same data"),
    (("sampler=iid,orthogonal", "compare.baseline=iid", "compare.challenger=iid"), "are both iid; name two arms"),
    (("kernel=gaussian,matren",), "kernel=matren is unknown; choose one of gaussian, laplacian, laplacian_l1, matern,"),
    (("data=mocap,swimmer", "tracking.register=x"), "tracking.register=x: the jobs run on different data (mocap,"),
    (("recipe=trace", "matrix.size=40,60", "tracking.register=x"), "tracking.register=x: recipe=trace makes no model"),
    (("refine.epochs=5,7", "compare.arm=refine.epochs", "compare.baseline=5"), "there are 2"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_a_sweep_that_cannot_end_well_is_refused_before_its_first_job(
    arguments: tuple[str, ...], message: str, run_pipeline, client
) -> None:
    result = run_pipeline("-m", "size=tiny", *arguments)
    assert message in result.error
    assert "load …" not in result.out
    assert client.search_runs([e.experiment_id for e in client.search_experiments()]) == []


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (PAIR, "compare.baseline=iid, compare.challenger=orthogonal"),
        (("compare.challenger=orthogonal",), "compare.challenger=orthogonal"),
        (("compare.figure=contenders",), "compare.figure=contenders"),
    ],
)
def test_ratios_of_what_is_better_when_higher_are_refused_before_the_first_job(
    arguments: tuple[str, ...], asked: str, run_pipeline, monkeypatch
) -> None:
    higher = replace(checks.system("psrnn"), comparison=replace(FORECASTS, higher_is_better=True))
    monkeypatch.setattr(checks, "system", lambda _: higher)
    result = run_pipeline("-m", "size=tiny", "sampler=iid,orthogonal", *arguments)
    assert f"{asked}: pairs are compared by the ratio of their errors, and evaluate/test_mse is none" in result.error
    assert "load …" not in result.out


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_a_sweep_over_kernels_ends_with_a_table_for_each(run_pipeline, client) -> None:
    swept = ("kernel=gaussian,matern", "sampler=iid,orthogonal", "features.count=2,3")
    result = run_pipeline("-m", *TINY, *swept, *PAIR, "tracking.register=walks")
    assert result.status == 0, result.err
    assert "could not" not in result.err
    parent, children = parent_of(client)
    assert (parent.info.status, len(children)) == ("FINISHED", 8)
    paired = table(parent, "paired.csv")
    assert paired[["data", "varied", "count", "pairs"]].to_numpy().tolist() == [
        ["mocap", f"kernel={kernel}", count, 1] for kernel in ("gaussian", "matern") for count in (2, 3)
    ]
    errors = table(parent, "jobs.csv").set_index(["kernel", "arm", "count"])["test_mse"]
    ratio = errors["matern", "orthogonal", 3] / errors["matern", "iid", 3]
    assert paired["ratio"].iloc[3] == pytest.approx(ratio)
    assert table(parent, "claims.csv")["varied"].tolist() == ["kernel=gaussian", "kernel=matern"]
    assert len(table(parent, "by_arm_and_count.csv")) == 8
    best = min(children, key=lambda child: float(child.data.tags["validation_mse"]))
    assert parent.data.tags["best.registered"] == "models:/walks/1"
    last = result.out[result.out.index("8 jobs, 0 failed") :].splitlines()
    assert last[1].startswith(f"best on mocap: {best.info.run_name}, validation error ")
    model = f"runs:/{best.info.run_id}/model"
    assert last[2] == f"predict: python -m pipeline recipe=predict model={model} data.path=new.csv"
    assert last[3].startswith("size: it has limits, so the numbers of this run may not say how good a model is")
    assert parent.info.run_id in last[4]
    assert last[5].startswith("look: make ui")
    assert "\nmocap, kernel=matern    orthogonal better than iid  2  " in result.out


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_the_best_model_is_registered_though_the_summary_fails(run_pipeline, client, monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("no room for a figure")

    monkeypatch.setattr("pipeline.multirun.parent.summarise", broken)
    with pytest.warns(UserWarning, match="the jobs ran, but their summary could not be made: no room for a figure"):
        run_pipeline("-m", *TINY, "features.count=2", "seed=0,1", "tracking.register=walks")
    parent, _ = parent_of(client)
    assert parent.info.status == "FAILED"
    assert parent.data.tags["best.registered"] == "models:/walks/1"
    assert "best/validation_mse" in parent.data.metrics
    assert client.get_model_version_by_alias("walks", "best").run_id == parent.data.tags["best.run"]


@pytest.mark.filterwarnings("ignore:this model is no better")
def test_arms_of_a_setting_are_compared(run_pipeline, client) -> None:
    arms = (
        "readout=skip",
        "readout.lags=1,2",
        "compare.arm=readout.lags",
        "compare.baseline=1",
        "compare.challenger=2",
    )
    assert run_pipeline("-m", *TINY, "features.count=2", "update=paper,bayes", *arms).status == 0
    parent, _ = parent_of(client)
    paired = table(parent, "paired.csv")
    assert paired[["varied", "pairs"]].to_numpy().tolist() == [["update=bayes", 1], ["update=paper", 1]]


def test_settings_that_were_varied_are_told_apart_again() -> None:
    assert settings_in("data.languages=[de, fr], fit.epochs=2, a/b@c=d") == [
        "data.languages=[de, fr]", "fit.epochs=2", "a/b@c=d"
    ]  # fmt: skip
    assert settings_in("") == []


def test_jobs_of_a_table_have_the_settings_that_its_column_names_if_it_has_one() -> None:
    jobs = pd.DataFrame({"arm": ["a", "b", "c"]}, index=[2, 0, 1])
    assert varied_settings(jobs) == [[], [], []]
    jobs["varied"] = ["fit.epochs=2, a/b@c=d", "", float("nan")]
    assert varied_settings(jobs) == [["fit.epochs=2", "a/b@c=d"], [], []]


def test_a_label_is_an_arm_or_data_and_their_settings_in_short() -> None:
    assert short("experts.top=1") == "top=1"
    assert short("data=waves") == "data=waves"
    assert [base(label) for label in ("none-t share=core units=8", "mosi, data.fold=1", "mosi")] == [
        "none-t", "mosi", "mosi"
    ]  # fmt: skip
