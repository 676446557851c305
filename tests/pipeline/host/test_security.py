"""What nobody may do by a setting, and what no line of our code may do."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.host.errors import PipelineError
from pipeline.host.paths import PACKAGE
from pipeline.settings.build import build, check_section

ROOT = PACKAGE.parent.parent
TINY = ("+experiment=mocap", "size=tiny", "data.source=stand_in", "tracking=off")
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
UNPACKERS = {"extract", "extractall", "unpack_archive"}  # members are read in memory, by `extractfile` or `open`


def sources() -> list[Path]:
    folders = ("src", "examples", "benchmarks", "docs/extensions")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(found) > 60
    return found


def dotted(node: ast.expr) -> str:
    """The name by which something is reached, as `np.load`; what is no name is left out."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def sins(code: str) -> list[str]:
    """What `code` does that it may not: pickles, unsafe YAML, archives unpacked to disk, shells, durations by the clock
    on the wall."""
    nodes = list(ast.walk(ast.parse(code)))
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imports += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    found = [name for name in imports if name.split(".")[0] in PICKLES]
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        name = dotted(call.func)
        given = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg in ("allow_pickle", "shell")}
        if name in ("np.load", "np.save", "np.savez", "np.savez_compressed") and given.get("allow_pickle") != "False":
            found.append(f"{name} without allow_pickle=False")
        if name.rpartition(".")[2] in UNPACKERS or re.fullmatch(r"torch\.(load|save)|.*\.(read|to)_pickle", name):
            found.append(name)
        if name.startswith("yaml.") and not name.startswith("yaml.safe_"):
            found.append(name)
        if given.get("shell", "False") != "False" or name in ("os.system", "os.popen", "eval", "exec"):
            found.append(f"{name} runs what it is given")
        if re.search(r"datetime\.(now|utcnow|today)$", name):
            found.append(name)
    return found


def test_no_source_does_what_it_may_not() -> None:
    found = {str(path): sins(path.read_text(encoding="utf-8")) for path in sources()}
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from joblib import load",
        "np.load(path)",
        "np.savez(path, a=a)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
        "torch.save(model, path)",
        "pd.read_pickle(path)",
        "yaml.load(text)",
        "archive.extract(member, folder)",
        "archive.extractall(folder)",
        "shutil.unpack_archive(path, folder)",
        "subprocess.run(command, shell=True)",
        "os.system(command)",
        "eval(setting)",
        "datetime.now()",
    ],
)
def test_each_of_these_would_be_found(code: str) -> None:
    assert len(sins(code)) == 1


def places_of(pattern: str) -> list[str]:
    return [path.name for path in sources() if re.search(pattern, path.read_text(encoding="utf-8"))]


def test_one_file_instantiates_and_one_reads_the_clock_on_the_wall() -> None:
    assert places_of(r"\binstantiate\(") == ["build.py"]
    assert places_of(r"\btime\.time\(") == ["run.py"]  # the time stamp of a metric, never a difference


def test_ruff_refuses_unsafe_code() -> None:
    if find_spec("ruff") is None:
        pytest.skip("ruff is not installed; pip install -e '.[dev]' installs it")
    code = "import os\nimport pickle\nimport subprocess\n\n\ndef run(command, file):\n    os.system(command)\n"
    code += "    subprocess.run(command, shell=True, check=True)\n    return pickle.load(file)\n"
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--output-format",
        "json",
        "--stdin-filename",
        "src/pipeline/x.py",
    ]
    result = subprocess.run([*command, "-"], input=code, capture_output=True, text=True, cwd=ROOT, check=False)
    assert {found["code"] for found in json.loads(result.stdout)} >= {"S301", "S602", "S605"}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("kernel._target_=subprocess.run", r"kernel\._target_=subprocess\.run is not allowed; put its package into"),
        (
            "data._target_=data.files.download.os.system",
            r"data\._target_=data\.files\.download\.os\.system is not allowed: it is no",
        ),
        (
            "model._target_=models.forecasting.recurrent.torch.load",
            r"model\._target_=.*torch\.load is not allowed: it is no class",
        ),
        ("+data.seed={_target_:os.getpid}", r"data\.seed\._target_=os\.getpid is not allowed; put its package into"),
        ("data.root={a:[{_target_:os.getpid}]}", r"data\.root\.a\.0\._target_=os\.getpid is not allowed"),
        ("+kernel._partial_=true", r"kernel\._partial_ is not a setting of models\.features\.kernels\.Gaussian"),
        (
            "extensions=[subprocess]",
            "extensions: 'subprocess' is a module of Python itself; name a package of your own",
        ),
    ],
)
def test_targets_are_ours_or_the_extensions(argument: str, message: str, run_pipeline) -> None:
    error = run_pipeline(*TINY, argument).error
    assert re.search(message, error), error


def test_what_is_nested_may_be_of_ours_or_of_an_extension() -> None:
    node = {
        "_target_": "data.tables.sequences.load_table",
        "units": {"x": {"_target_": "data.files.download.data_root", "root": "a"}},
    }
    check_section("data", node, [])
    node["units"]["x"]["rooot"] = "b"  # type: ignore[index]
    with pytest.raises(PipelineError, match=r"data\.units\.x\.rooot is not a setting of .*\.download\.data_root"):
        check_section("data", node, [])


def test_nothing_runs_before_it_is_checked(tmp_path: Path) -> None:
    inner = {"_target_": "pathlib.Path.touch", "self": str(tmp_path / "made")}
    with pytest.raises(PipelineError, match=r"data\.units\._target_=pathlib\.Path\.touch is not allowed"):
        build("data", {"_target_": "data.tables.sequences.load_table", "units": inner}, [])
    assert list(tmp_path.iterdir()) == []


def test_a_value_that_looks_like_a_command_is_text(run_pipeline, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    value = "'$(touch made); `touch made`'"
    assert "there is no such file" in run_pipeline("data=table", f"data.path={value}", "tracking=off").error
    assert not (tmp_path / "made").exists()
