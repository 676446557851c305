"""Setting up .venv and making result pages, with a stand-in for Python that says much and, if told to, fails."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict

from pipeline.host.paths import PACKAGE, conf_folder
from pipeline.settings.composition import register_resolvers
from pipeline.settings.schema import register_schemas
from pipeline.settings.swept import with_swept_settings
from pipeline.systems.registry import checked, resolvers, schemas

ROOT = PACKAGE.parent.parent
PYTHON = """#!/bin/sh
case "$1 $2" in
  "-m venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  "-m pip") echo "Collecting $*"; echo "keeps bytecode: ${PYTHONDONTWRITEBYTECODE:-yes}"
    case "$*" in *"-e "*) echo "pip's complaint" >&2; exit "${PIP_STATUS:-0}" ;; esac ;;
  "-m pipeline.export") mkdir -p "$4/$3"; for file in claims.csv failures.csv failures.svg paired.csv seconds.csv
    do echo "$3" > "$4/$3/$file"; done ;;
esac
case "$2" in pipeline*) printf '%s\n' "$@" end >> said ;; esac
"""


def make(folder: Path, target: str, *, status: int) -> subprocess.CompletedProcess[str]:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / name, folder / name)
    python = folder / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    command = ["make", "--no-print-directory", f"PYTHON={python}", target, "ARGS=resume=true"]
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "PIP_STATUS": str(status), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("target", "extra"),
    [(".venv/.installed", "dev"), (".venv/.docs_installed", "docs"), (".venv/.types_installed", "types")],
)
def test_pip_is_silent_where_it_succeeds(target: str, extra: str, tmp_path: Path) -> None:
    result = make(tmp_path, target, status=0)
    assert result.returncode == 0, result.stderr
    assert "Collecting" not in result.stdout + result.stderr
    assert "setting up .venv, once" in result.stdout
    assert (tmp_path / target).is_file()
    *upgrade, own, keeps, complaint = (tmp_path / ".venv" / "pip.log").read_text().splitlines()
    assert len(upgrade) == (2 if extra == "dev" else 0)
    assert re.fullmatch(rf"Collecting .* -e \.\[{extra}\]", own)
    assert keeps == "keeps bytecode: yes"
    assert complaint == "pip's complaint"


def test_the_pip_that_is_pinned_comes_first(tmp_path: Path) -> None:
    assert make(tmp_path, ".venv/.installed", status=0).returncode == 0
    assert (tmp_path / ".venv" / "pip.log").read_text().splitlines()[0].endswith("-c constraints.txt --upgrade pip")
    assert re.search(r"^pip==\d", (ROOT / "constraints.txt").read_text(), re.M)


def test_pip_is_heard_where_it_fails(tmp_path: Path) -> None:
    result = make(tmp_path, ".venv/.installed", status=3)
    assert result.returncode != 0
    assert re.search(r"^Collecting -m pip install .* -e \.\[dev\]$", result.stderr, re.M)
    assert "pip's complaint" in result.stderr
    assert not (tmp_path / ".venv" / ".installed").exists()


RESULTS = ROOT / "docs" / "results"
KERNEL_PAGES = sorted(path for path in RESULTS.glob("*.md") if path.stem.startswith(("ssgp", "theory")))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """The folder in which `make results` was run, and the words of each call of Python, without `python`."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "docs" / "results" / "trace").mkdir(parents=True)
    result = make(folder, "results", status=0)
    assert result.returncode == 0, result.stderr
    said = (folder / "said").read_text().split("end\n")
    return folder, [call.splitlines() for call in said]


def commands_in(text: str) -> list[list[str]]:
    """The words of each command that stands in a page by itself, without `python` and `resume=`, in the order of the
    alphabet."""
    lines = re.findall(r"^ {4,}python (-m pipeline .*run_name=.*)$", text.replace("\\\n", ""), re.M)
    return [sorted(word for word in shlex.split(line) if not word.startswith("resume=")) for line in lines]


def test_every_page_of_the_kernel_side_is_made_by_its_command(results: tuple[Path, list[list[str]]]) -> None:
    calls = [sorted(set(call) - {"resume=true"}) for call in results[1]]
    pages = [*KERNEL_PAGES, *(ROOT / "docs" / f"{name}.md" for name in ("ssgp", "results-ssgp", "theory", "trace"))]
    commands = [command for path in pages for command in commands_in(path.read_text())]
    assert len(commands) > len(KERNEL_PAGES) > 7
    assert [command for command in commands if command not in calls] == []
    exported = [call[2] for call in results[1] if call[1:2] == ["pipeline.export"] and call[3:] == ["docs/results"]]
    assert {page.stem for page in KERNEL_PAGES} <= set(exported)


def test_files_of_traces_come_from_their_runs(results: tuple[Path, list[list[str]]]) -> None:
    made = {path.name: path.read_text().strip() for path in (results[0] / "docs" / "results" / "trace").iterdir()}
    assert set(made) == {path.name for path in (RESULTS / "trace").iterdir()}
    runs = {name: f"trace-{name.rpartition('-')[0]}" + "-timed" * name.endswith("-seconds.csv") for name in made}
    assert made == runs


def test_the_pages_that_were_never_made_are_named(results: tuple[Path, list[list[str]]]) -> None:
    exported = {call[2] for call in results[1] if call[1:2] == ["pipeline.export"] and call[3:] == ["docs/results"]}
    text = (ROOT / "docs" / "results-rules.md").read_text()
    (sentence,) = re.findall(r"were never made:\n(.*?)\. A page's tables", text, re.DOTALL)
    assert set(re.findall(r"`([\w-]+)`", sentence)) == {
        name for name in exported if not (RESULTS / f"{name}.md").exists()
    }


def test_the_committed_pages_of_earlier_settings_are_made_by_their_commands(
    results: tuple[Path, list[list[str]]],
) -> None:
    calls = [sorted(set(call) - {"resume=true"}) for call in results[1]]
    ahead = [command for command in commands_in((ROOT / "docs" / "results-earlier.md").read_text())
             if any(word.startswith("run_name=ahead-") for word in command)]  # fmt: skip
    assert len(ahead) == 2
    assert [command for command in ahead if command not in calls] == []


@pytest.fixture(scope="module")
def loader():
    """Hydra's loader of configurations, which reads each file once."""
    read, load = {}, FileConfigSource.load_config

    def read_once(source: FileConfigSource, path: str) -> ConfigResult:
        if (source.path, path) not in read:
            read[source.path, path] = load(source, path)
        return deepcopy(read[source.path, path])

    register_schemas(schemas())
    register_resolvers(resolvers())
    GlobalHydra.instance().clear()
    with pytest.MonkeyPatch.context() as patch, initialize_config_dir(str(conf_folder()), version_base="1.3"):
        patch.setattr(FileConfigSource, "load_config", read_once)
        yield GlobalHydra.instance().config_loader()
    GlobalHydra.instance().clear()


PARTS = 4  # of the commands, which are tested by themselves
NOT_COMPOSED = {"seed", "contender"}  # any number; and files of which each is composed in a test of its own


def swept_values(swept: DictConfig) -> dict[str, list[str]]:
    """Returns the overrides of all jobs of a sweep by their key, each once."""
    params = [f"{key}={value}" for key, value in (swept.hydra.sweeper.params or {}).items()]
    parsed = OverridesParser.create().parse_overrides([*params, *swept.hydra.overrides.task])
    found: dict[str, dict[str, None]] = {}
    for word in chain.from_iterable(chain.from_iterable(BasicSweeper.split_arguments(parsed, None))):
        found.setdefault(word.partition("=")[0], {})[word] = None
    return {key: list(words) for key, words in found.items()}


def covering_jobs(values: dict[str, list[str]], seen: set[str]) -> Iterator[list[str]]:
    """Yields jobs of a sweep, one at least, with every value of every key that is not among those seen."""
    new = {key: [word for word in words if word not in seen] for key, words in values.items()}
    count = max(len(words) for key, words in new.items() if key not in NOT_COMPOSED)
    for place in range(max(1, count)):
        yield [(new[key] or words)[place % len(new[key] or words)] for key, words in values.items()]


def check_contenders(words: list[str]) -> None:
    missing = [word for word in words if not (conf_folder() / f"{word.replace('=', '/', 1)}.yaml").is_file()]
    assert missing == []


@pytest.mark.parametrize("part", range(PARTS))
def test_every_command_of_the_results_can_be_composed(part: int, results: tuple[Path, list[list[str]]], loader) -> None:
    commands = [call[2:] for call in results[1] if call[:2] == ["-m", "pipeline"]]
    assert len(commands) > 80
    seen: set[str] = set()
    for words in commands[part * len(commands) // PARTS : (part + 1) * len(commands) // PARTS]:
        typed = with_swept_settings([word for word in words if word != "resume=true"])
        swept = loader.load_configuration("config", typed, RunMode.MULTIRUN, validate_sweep_overrides=False)
        values = swept_values(swept)
        check_contenders(values.get("contender", []))
        for job in covering_jobs(values, seen):
            settings = loader.load_sweep_config(swept, job)
            with open_dict(settings):
                del settings["hydra"]
            checked(settings)
        seen.update(chain.from_iterable(values.values()))


def test_a_typo_behind_a_comma_is_found(loader) -> None:
    typed = ["+experiment=beyond", "contender=swimmer/psrnn,swimmer/lsmt", "features.count=5,many", "sampler=iid,odi"]
    swept = loader.load_configuration("config", typed, RunMode.MULTIRUN, validate_sweep_overrides=False)
    values = swept_values(swept)
    with pytest.raises(AssertionError, match="contender=swimmer/lsmt"):
        check_contenders(values["contender"])
    jobs = list(covering_jobs(values, {"sampler=iid"}))
    assert {word for job in jobs for word in job} >= {"features.count=5", "features.count=many", "sampler=odi"}
    assert len(jobs) == 2
