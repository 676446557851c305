"""Wrong input: one line that says what to do, exit status not 0, no traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.core.override_parser.overrides_parser import OverridesParser

from data.base import Dataset
from pipeline.__main__ import with_shorthands
from pipeline.host.paths import PACKAGE
from pipeline.systems.registry import returned_by

TINY = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "tracking=off")


@pytest.mark.filterwarnings("ignore:.*counts? for nothing")
@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("features.count=0", "features.count=0 must be greater than 0"),
        ("evaluate.horizons=[0]", r"evaluate.horizons=\[0\] must be greater than 0"),
        ("evaluate.horizons=[]", "evaluate.horizons is empty"),
        ("refine.horizon=0", "refine.horizon=0 must be greater than 0"),
        ("refine.epochs=-1", "refine.epochs=-1 must be 0 or greater"),
        ("seed=4294967296", "seed=4294967296 must be at least 0 and less than 2³²"),
        ("readout.ridges=[1,-2]", "readout.ridges=.* must be greater than 0"),
        ("readout.state_ridges=[0]", "readout.state_ridges=.* must be greater than 0"),
        (
            "kernel=exponential",
            "kernel=exponential is unknown; choose one of gaussian, laplacian, laplacian_l1, matern",
        ),
        ("sampler=halton", "sampler=halton is unknown; choose one of hadamard, iid, near_orthogonal, orthogonal"),
        ("kernel=laplacian_l1", "use the sampler iid or the kernel laplacian"),
        ("update=kalman", "update=kalman is unknown; choose one of bayes, sign, whitened, paper"),
        ("refine.optimizer=lbfgs", "choose one of auto, kronecker, sgd, adam"),
        ("features.cuont=3", "features.cuont is not a setting"),
        ("+features.cuont=3", "features.cuont is not a setting"),
        ("+data.rooot=x", "data.rooot is not a setting of data.mocap.load.load_mocap; it takes: root, source, seed"),
        ("features.count=many", "error: features.count=many must be a whole number$"),
        ("evaluate.season=1.5", "error: evaluate.season=1.5 must be a whole number$"),
        ("evaluate.horizons=[1,2.5]", r"error: evaluate.horizons\[1\]=2.5 must be a whole number$"),
        ("evaluate.horizons=3", r"error: evaluate.horizons must be a list, as in evaluate.horizons=\[…\]$"),
        ("refine.learning_rate=fast", "error: refine.learning_rate=fast must be a number$"),
        ("seed=null", "error: seed must have a value, not null$"),
        ("kernel._target_=os.system", "kernel._target_=os.system is not allowed"),
        ("sampler._target_=models.features.samplers.Nothing", "sampler._target_=.*cannot be found"),
        ("extensions=[not_there]", "extensions: 'not_there' cannot be imported"),
        ("tracking.log_model=maybe", "tracking.log_model=maybe is unknown; choose one of true, best, false"),
        ("data.source=internet", "auto, cmu, stand_in"),
        ("device=cuda", "torch sees no GPU"),
        ("dtype=float16", "dtype=float16 is unknown; choose one of float64, float32, bfloat16"),
        ("features.bandwidth.rule=mean", "median_pairs"),
        ("model.window=60", "the longest sequence has 100 steps; a window of length 60 needs 121"),
        (
            "evaluate.first_step=100",
            "size.steps=100 leaves no step from evaluate.first_step=100 on; .* or a lower evaluate.first_step",
        ),
    ],
)
def test_settings(argument: str, message: str, run_pipeline) -> None:
    if argument == "device=cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    result = run_pipeline(*TINY, argument)
    assert re.search(message, result.error), result.error


def test_ridges_of_an_autoregression_are_above_0(run_pipeline) -> None:
    result = run_pipeline(*TINY, "model=var", "model.ridges=[0]")
    assert re.search(r"error: model.ridges=\[0\] must be greater than 0$", result.error), result.error


def test_a_contender_of_other_data(run_pipeline) -> None:
    error = run_pipeline("data=mocap", "size=tiny", "tracking=off", "+contender=swimmer/lstm").error
    assert "contender=swimmer/lstm was chosen for data=swimmer, not for data=mocap" in error


def test_kronecker_is_for_psrnns(run_pipeline) -> None:
    error = run_pipeline(*TINY, "model=lstm", "refine.optimizer=kronecker").error
    assert "refine.optimizer=kronecker is for model=psrnn and psrnn_cp; use refine.optimizer=adam" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TINY, "model=psrnn_cp", "model.rank=6"), "with model=psrnn_cp leave dtype out, or take float32"),
        ((*TINY, "model=lstm"), "with model=lstm leave dtype out, or take float32"),
        (("recipe=ssgp", "size=tiny", "tracking=off"), "recipe=ssgp has none, leave dtype out"),
        (("+experiment=theory", "size=tiny", "tracking=off"), "recipe=theory has none, leave dtype out"),
    ],
)
def test_bfloat16_is_for_psrnns(arguments: tuple[str, ...], message: str, run_pipeline) -> None:
    error = run_pipeline(*arguments, "dtype=bfloat16").error
    assert f"dtype=bfloat16 saves the update of model=psrnn in half the bytes; {message}" in error


def test_a_misspelt_key_in_an_experiment_file(run_pipeline, tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nfeatures:\n  cuont: 3\n")
    error = run_pipeline("--config-dir", str(tmp_path), "+experiment=mine", "size=tiny").error
    assert "cuont is not a setting; choose one of count, projection, bandwidth" in error


def test_real_recordings_are_never_replaced_when_they_are_asked_for(run_pipeline, monkeypatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    error = run_pipeline("+experiment=mocap", "data.source=cmu").error
    assert "cmu_mocap_walk" in error


def test_a_store_that_cannot_be_written(run_pipeline, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PIPELINE_MLRUNS", str(tmp_path / "file" / "mlruns"))
    assert "set PIPELINE_MLRUNS to a folder of yours" in run_pipeline(*TINY[:3]).error


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": [1.0] * 200}), "nothing varies"),
        (pd.DataFrame({"x": np.arange(200.0), "y": [np.nan] * 200}), "every cell is empty"),
        (pd.DataFrame({"x": [*np.arange(199.0), np.inf]}), "row 201: 'inf' is not a finite number"),
        (pd.DataFrame({"x": np.arange(8.0)}), "steps"),
        (
            pd.DataFrame({"x": np.where(np.arange(300) % 3 == 0, np.nan, np.arange(300.0) % 7)}),
            "observed steps in a row",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:evaluate.orders. training and validation part:UserWarning")
def test_tables(frame: pd.DataFrame, message: str, run_pipeline, tmp_path: Path) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run_pipeline("data=table", f"data.path={tmp_path / 't.csv'}", "tracking=off")
    assert message in result.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("data=table", "data.path=none.csv", "data.split=rows"),
            "data: none.csv: there is no such file; give data.path=FILE",
        ),
        (("data=table",), "data: a table needs a file (.csv, .tsv, .parquet or .npz); give data.path=FILE"),
        (
            ("recipe=ssgp", "data=points"),
            "data: a table needs a file (.csv, .tsv, .parquet or .npz); give data.path=FILE",
        ),
        (
            ("recipe=predict", "model=runs:/a/model", "data.path=none.csv"),
            "data: none.csv: there is no such file; give data.pa",
        ),
        (
            ("-m", "data=table", "data.path=none.csv", "seed=0,1"),
            "data: none.csv: there is no such file; give data.path=FILE",
        ),
        (
            ("-m", "data=table", f"data.path={__file__},none.csv"),
            "data: none.csv: there is no such file; give data.path=FILE",
        ),
        (
            ("-m", "data=table", f"data.path={__file__}", "data.path=no\\,ne.csv", "seed=0,1"),
            "data: no,ne.csv: there is no such file; give data.path=FILE",
        ),
        (
            ("-m", "data=table,mocap", "data.path='no ne.csv'"),
            "data: no ne.csv: there is no such file; give data.path=FILE",
        ),
        (
            (
                "-m",
                "recipe=documents",
                "data=synthetic_documents",
                "+data@pretrain_on=documents_table",
                "pretrain_on.path=none.csv",
                "seed=0,1",
            ),
            "pretrain_on: none.csv: there is no such file; give pretrain_on.path=FILE",
        ),
        (
            ("-m", "recipe=documents", "data=synthetic_documents", "+data@pretrain_on=kleister_nda,documents_table"),
            "pretrain_on: a table needs a file (.csv, .tsv, .parquet or .npz); give pretrain_on.path=FILE",
        ),
        (
            ("+experiment=tune", "data=swimmer,table"),
            "data: a table needs a file (.csv, .tsv, .parquet or .npz); give data.path=FILE",
        ),
    ],
)
def test_a_missing_file_is_said_before_any_work(
    arguments: tuple[str, ...], message: str, run_pipeline, client, store: Path, monkeypatch
) -> None:
    monkeypatch.setattr("pipeline.__main__.run", lambda *_: pytest.fail("the recipe began"))
    result = run_pipeline(*arguments)
    assert result.error.startswith(f"error: {message}"), result.error
    assert not [e for e in client.search_experiments() if client.search_runs([e.experiment_id])]
    assert not list(store.glob("hydra/*"))


def run_in(folder: Path, *arguments: str, module: str = "pipeline") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PIPELINE_MLRUNS": str(folder / "mlruns")}
    environment.pop("PYTHONPATH", None)
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("name", ["data.py", "models.py", "data/__init__.py", "models/__init__.py"])
def test_a_working_directory_that_hides_a_package(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    result = run_in(tmp_path, "+experiment=mocap")
    assert result.returncode == 1
    package = Path(name).parts[0].removesuffix(".py")
    hidden = f"hides this project's package {package!r}; rename it or start from another folder"
    assert result.stderr == f"error: {tmp_path / name} {hidden}\n"
    assert not result.stdout
    for module, arguments in (("pipeline.export", ["--from-files", "page"]), ("pipeline.serving", ["models:/a@best"])):
        again = run_in(tmp_path, *arguments, module=module)
        assert (again.returncode, again.stderr) == (1, result.stderr)


def test_a_package_of_our_name_is_refused_by_python_itself(tmp_path: Path) -> None:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").write_text("")
    result = run_in(tmp_path, "+experiment=mocap")
    assert result.returncode == 1
    assert result.stderr.endswith("'pipeline' is a package and cannot be directly executed\n")
    assert len(result.stderr.splitlines()) == 1


def test_folders_that_are_no_packages_hide_nothing(tmp_path: Path) -> None:
    for name in ("data", "models", "pipeline"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.csv").write_text("")
    result = run_in(tmp_path, "--cfg", "job")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("featrues.count=5", "featrues is not a setting; see python -m pipeline --cfg job; did you mean features?"),
        ("sampelr=iid", "did you mean sampler?"),
        ("+experimnt=mocap", "did you mean +experiment?"),
        ("+experiment=mocop", "choose one of beyond, .*; did you mean mocap?"),
        ("sampler=orthogonl", "choose one of hadamard, .*; did you mean orthogonal?"),
        ("refine.epoch=3", "choose one of epochs, .*; did you mean refine.epochs?"),
        ("features.bandwidth.rle=fixed", "did you mean features.bandwidth.rule?"),
        ("model.widnow=3", "did you mean model.window?"),
        ("+model.widnow=3", "it takes: window, history, future, delay; did you mean model.window?"),
        ("update=bays", "choose one of bayes, sign, whitened, paper; did you mean bayes?"),
        ("size=tny", "choose one of full, tiny; did you mean tiny?"),
    ],
)
def test_the_nearest_match_is_suggested(argument: str, message: str, run_pipeline) -> None:
    error = run_pipeline(argument).error
    assert re.search(message.replace("?", "[?]$").replace("+", "[+]"), error), error


def test_settings_that_do_not_exist_are_told_together(run_pipeline) -> None:
    typed = ("features.cuont=3", "refine.epoch=3", "sede=1", "+featrues.x=1", "size=tiny", "data.rooot=x", "seed=3")
    error = run_pipeline(*typed).error
    assert error.startswith("error: features.cuont is not a setting; choose one of count, ")
    assert error.endswith(
        "; did you mean features.count? Nor is refine.epoch; did you mean refine.epochs? Nor is sede; did you mean "
        "seed? Nor is featrues; did you mean features?"
    )
    good = (
        "+experiment=mocap",
        "model=lstm",
        "hydra.job.name=x",
        "hydra/launcher=basic",
        "evaluate.horizons=[1]",
        "model.units=8",
    )
    assert run_pipeline(*good, "zzzz=1", "zzzz.a=2", "yyyy=1").error == (
        "error: zzzz is not a setting; see python -m pipeline --cfg job; nor is yyyy"
    )


def test_a_setting_that_moved_is_told_beside_others_that_do_not_exist(run_pipeline) -> None:
    error = run_pipeline("recipe=ssgp", "features.cuont=3", "ssgp.counts=[5]").error
    assert "; did you mean features.count? ssgp.counts is not a setting any more: " in error
    assert "Nor is ssgp.counts" not in error


def test_a_setting_inside_a_section_of_a_choice_is_suggested_in_full(run_pipeline) -> None:
    for typed, meant in (("language.ordr=3", "language.order"), ("lnguage=null", "language")):
        error = run_pipeline("recipe=forms", "forms.stage=recognition", "recogniser=crnn", f"recogniser.{typed}").error
        assert error.endswith(f"; did you mean recogniser.{meant}?"), error


def test_nothing_is_suggested_where_nothing_is_near(run_pipeline) -> None:
    assert run_pipeline("zzzz=1").error == "error: zzzz is not a setting; see python -m pipeline --cfg job"
    assert run_pipeline("sampler=halton").error.endswith("stratified")


def test_settings_are_found_from_any_directory(tmp_path: Path) -> None:
    result = run_in(tmp_path, "--cfg", "job")
    assert result.returncode == 0
    assert "sampler:" in result.stdout


def test_help(run_pipeline) -> None:
    result = run_pipeline("--help")
    assert result.status == 0
    assert "sampler: hadamard, iid, near_orthogonal, orthogonal, sobol, stratified" in result.out
    assert "+experiment=mocap" in result.out


def test_extensions_from_outside(run_pipeline, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "my_samplers.py").write_text(
        "import torch\nfrom models.features.samplers import Sampler\n\n\n"
        "class Axes(Sampler):\n    orthogonal = False\n\n"
        "    def directions(self, count, dimension, *, generator):\n"
        "        return torch.eye(dimension, dtype=torch.float64)[torch.arange(count) % dimension]\n"
    )
    (tmp_path / "conf" / "sampler").mkdir(parents=True)
    (tmp_path / "conf" / "sampler" / "axes.yaml").write_text("_target_: my_samplers.Axes\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    base = ("--config-dir", str(tmp_path / "conf"), *TINY, "sampler=axes", "refine=none")
    assert "put its package into extensions" in run_pipeline(*base).error
    result = run_pipeline(*base, "extensions=[my_samplers]")
    assert result.status == 0, result.err
    assert "mocap-axes-gaussian" in result.out


def test_model_is_a_uri_only_for_predict() -> None:
    assert with_shorthands(["model=psrnn"]) == ["model=psrnn"]
    for uri in ("/tmp/it's mine/model", "/tmp/it\\'s\\", "C:\\models\\of mine"):
        (typed,) = with_shorthands(["recipe=predict", f"model={uri}"])[1:]
        assert OverridesParser.create().parse_override(typed).value() == uri
    assert with_shorthands(["recipe=predict", "model=runs:/a/model"]) == ["recipe=predict", "model.uri='runs:/a/model'"]


def test_wheel_holds_the_configuration(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="the wheel is built with hatchling, which is not installed")
    root = PACKAGE.parent.parent
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(root),
    ]
    subprocess.run(command, check=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"pipeline/conf/config.yaml", "data/base.py", "models/psrnn/cell.py", "pipeline/__main__.py"} <= names
    (folder,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
    entry_points, metadata = (
        zipfile.ZipFile(wheel).read(f"{folder}/{name}").decode() for name in ("entry_points.txt", "METADATA")
    )
    assert "opsrnn = pipeline.__main__:main" in entry_points
    assert "Author: the orthogonal-psrnn authors" in metadata
    assert "Classifier: Intended Audience :: Science/Research" in metadata
    assert "Keywords: " in metadata


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("recipe=ssgp", "model=lstm"),
            "model=lstm is no model of recipe=ssgp; recipe=ssgp takes model=full_gp, pca, revisited, rff, ridge, "
            "spectrum, ssgp, svgp, vae_ridge",
        ),
        (
            ("model=ridge",),
            "model=ridge is a model of recipe=ssgp; recipe=psrnn takes model=echo_state, gru, kalman, last_value, "
            "lstm, min_gru, no_state, psrnn, psrnn_cp, seasonal_naive, var",
        ),
        (
            ("data=abalone",),
            "data: data.regression.abalone.load gives a table of points; recipe=psrnn takes sequences: choose "
            "data=ecg, ett, handwriting, hopper, lorenz96, mocap, moving_mnist, swimmer, table",
        ),
        (
            ("recipe=ssgp", "data=mocap"),
            "data: data.mocap.load.load_mocap gives sequences; recipe=ssgp takes a table of points: choose "
            "data=abalone, gas_turbine, points, precipitation",
        ),
    ],
)
def test_data_and_models_that_do_not_fit_a_recipe_are_refused_before_they_are_loaded(
    arguments: tuple[str, ...], message: str, run_pipeline, monkeypatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr("pipeline.systems.psrnn.recipe.load_stage", lambda *_, **__: loaded.append("sequences"))
    monkeypatch.setattr("pipeline.systems.ssgp.recipe.load_points", lambda *_: loaded.append("points"))
    assert run_pipeline(*arguments, "size=tiny", "tracking=off").error == f"error: {message}"
    assert loaded == []


def test_a_loader_that_does_not_say_what_it_returns_is_judged_by_what_it_gives(
    run_pipeline, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "my_points.py").write_text(
        "from data.regression.abalone import load\n\n\n"
        "def load_mine():\n    return load(source='stand_in', points=20)\n"
    )
    (tmp_path / "conf" / "data").mkdir(parents=True)
    (tmp_path / "conf" / "data" / "mine.yaml").write_text("_target_: my_points.load_mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = ("--config-dir", str(tmp_path / "conf"), "extensions=[my_points]", "data=mine", "size=tiny", "tracking=off")
    error = run_pipeline(*own).error
    assert "is a table of points, not sequences; it goes with another recipe" in error


def test_a_loader_whose_record_is_known_to_type_checkers_alone_does_not_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loads_quietly.py").write_text(
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from data.base import Dataset\ndef load() -> Dataset: ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert returned_by("loads_quietly.load") is None
    assert returned_by("data.mocap.load.load_mocap") is Dataset


def test_sequences_that_are_cut_before_the_first_scored_step_are_refused_before_they_are_loaded(run_pipeline) -> None:
    result = run_pipeline("+experiment=mocap", "size=tiny", "evaluate.first_step=552")
    assert result.status == 1
    assert result.err.strip() == (
        "error: size.steps=100 leaves no step from evaluate.first_step=552 on; give size.steps=null, which keeps "
        "sequences whole, or a lower evaluate.first_step"
    )
