"""Models of one's own: saved with their source, loaded where it is not on the path, refused with what to do."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from models.baselines.persistence import Persistence
from models.forecasting.extensions import baggage, check_class, imports_of
from models.forecasting.forecaster import ARCHITECTURE, Forecaster, load_forecaster, save_forecaster

HELPER = "def oldest(state):\n    return state[:, 0]\n"
MODEL = """
import collections
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from {helper} import oldest

if TYPE_CHECKING:
    import pandas


class Seasonal(nn.Module):
    def __init__(self, *, dimension, season):
        super().__init__()
        self.architecture = {{"dimension": dimension, "season": season}}
        self.register_buffer("origin", torch.zeros(season, dimension))

    def initial_state(self, batch):
        return (self.origin.expand(batch, -1, -1),)

    def predict(self, state):
        return oldest(state[0])

    def update(self, state, observation):
        return (torch.cat([state[0][:, 1:], observation.unsqueeze(1)], 1),)


def figure():
    import data.tables.sequences
    import not_there_at_all
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with `seasonal_things`, which imports `seasonal_helpers`."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "seasonal_things.py").write_text(MODEL.format(helper="seasonal_helpers"))
    (folder / "seasonal_helpers.py").write_text(HELPER)
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    importlib.invalidate_caches()
    yield folder
    for name in set(sys.modules) - before:
        del sys.modules[name]


def forget(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As in another process, started elsewhere: neither imported nor on the path."""
    for name in ("seasonal_things", "seasonal_helpers", "seasonal_package", "seasonal_package.inside"):
        sys.modules.pop(name, None)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(folder)])


def forecaster(module: str = "seasonal_things") -> Forecaster:
    model = importlib.import_module(module).Seasonal(dimension=2, season=3)
    one = torch.ones(2, dtype=torch.float64)
    return Forecaster(model.double(), mean=one, scale=2 * one, feature_names=("a", "b"))


def series() -> np.ndarray:
    return np.arange(16.0).reshape(8, 2)


def test_the_source_travels_with_what_it_imports(own: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "saved").mkdir()
    save_forecaster(forecaster(), tmp_path / "saved")
    copied = {path.name for path in (tmp_path / "saved" / "code").iterdir()}
    assert copied == {"seasonal_things.py", "seasonal_helpers.py"}
    (requirement,) = json.loads((tmp_path / "saved" / ARCHITECTURE).read_text())["requirements"]
    assert requirement == f"pytest=={pytest.__version__}"
    forget(monkeypatch, own)
    loaded = load_forecaster(tmp_path / "saved", extensions=["seasonal_things"])
    assert np.array_equal(loaded.forecast(series(), 2), series()[5:7])
    assert Path(sys.modules["seasonal_helpers"].__file__ or "").parent == tmp_path / "saved" / "code"
    assert not list((tmp_path / "saved").rglob("__pycache__"))


def test_a_plain_folder_runs_nothing(own: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "saved").mkdir()
    save_forecaster(forecaster(), tmp_path / "saved")
    forget(monkeypatch, own)
    mark = tmp_path / "ran"
    for name in ("seasonal_things.py", "numpy.py", "models.py", "__init__.py"):
        (tmp_path / "saved" / "code" / name).write_text(f"open({str(mark)!r}, 'w')\n")
    for extensions in ((), ("another",), ("models",)):
        with pytest.raises(ValueError, match=r"not a model of this project; extensions=\['seasonal_things'\] runs the"):
            load_forecaster(tmp_path / "saved", extensions=extensions)
    assert not mark.exists()
    assert "seasonal_things" not in sys.modules


@pytest.mark.parametrize(
    "name",
    [
        "models.forecasting.forecaster.Path",  # imported there, defined elsewhere
        "models.trace.parallel.ProcessPoolExecutor",
        "models.forecasting.fitting.Problem",  # no model
        "models.forecasting.forecaster.load_forecaster",  # no class
        "models.psrnn.cell.Nothing",
        "models.not_there.PSRNN",
        "torch.nn.Linear",
        "os.system",
        "PSRNN",
        "",
    ],
)
def test_names_that_a_hostile_folder_could_give(name: str, tmp_path: Path) -> None:
    model = Forecaster(Persistence(dimension=2), mean=torch.zeros(2), scale=torch.ones(2), feature_names=("a", "b"))
    save_forecaster(model, tmp_path)
    description = json.loads((tmp_path / ARCHITECTURE).read_text())
    (tmp_path / ARCHITECTURE).write_text(json.dumps({**description, "class": name, "architecture": {}}))
    with pytest.raises(ValueError, match=r"is no model|not a model of this project|cannot be imported"):
        load_forecaster(tmp_path)


def test_another_source_of_the_same_name_is_refused(own: Path, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    save_forecaster(forecaster(), tmp_path / "saved")
    load_forecaster(tmp_path / "saved", extensions=["seasonal_things"])  # imported from elsewhere, the same source
    travelled = tmp_path / "saved" / "code" / "seasonal_helpers.py"
    travelled.write_text(HELPER.replace("0", "1"))
    with pytest.raises(
        ValueError, match=r"another seasonal_helpers than the one that travelled .* in a process of its"
    ):
        load_forecaster(tmp_path / "saved", extensions=["seasonal_things"])
    assert own.is_dir()


def test_packages_travel_whole(own: Path, tmp_path: Path, monkeypatch) -> None:
    package = own / "seasonal_package"
    (package / "tables").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inside.py").write_text(MODEL.format(helper="seasonal_package.helpers"))
    (package / "helpers.py").write_text(HELPER)
    (package / "tables" / "small.csv").write_text("1\n")
    (package / ".hidden").write_text("")
    (tmp_path / "saved").mkdir()
    save_forecaster(forecaster("seasonal_package.inside"), tmp_path / "saved")
    code = tmp_path / "saved" / "code"
    copied = sorted(str(path.relative_to(code)) for path in code.rglob("*.*"))
    assert copied == [
        f"seasonal_package/{name}" for name in ("__init__.py", "helpers.py", "inside.py", "tables/small.csv")
    ]
    forget(monkeypatch, own)
    loaded = load_forecaster(tmp_path / "saved", extensions=["seasonal_package.inside"])
    assert np.array_equal(loaded.forecast(series(), 1), series()[5:6])
    monkeypatch.setattr("models.forecasting.extensions.MOST_BYTES", 10)
    with pytest.raises(ValueError, match=r"seasonal_package would travel with the model and has more than"):
        baggage(loaded.model)


def test_what_stays_behind_is_named(own: Path) -> None:
    (own / "seasonal_things.py").write_text("import data.base\n" + MODEL.format(helper="seasonal_helpers"))
    with pytest.raises(
        ValueError, match=r"seasonal_things.py imports data, which does not travel with a model; define"
    ):
        baggage(forecaster().model)
    assert imports_of(own / "seasonal_things.py", needed=False)[0][0] == "data"


class NoArchitecture(nn.Module):
    pass


class Unbuildable(nn.Module):
    def __init__(self, *, season: int) -> None:
        super().__init__()
        self.architecture = {"order": season}


class NotJson(nn.Module):
    def __init__(self, *, season: object = None) -> None:
        super().__init__()
        self.architecture = {"season": season}


def test_classes_that_could_not_be_built_again() -> None:
    class Inside(nn.Module):
        pass

    of_a_notebook = type("Mine", (nn.Module,), {"__module__": "__main__"})
    for model, message in (
        (NoArchitecture(), r"NoArchitecture has no architecture, .*; set self.architecture = \{…\} in its __init__"),
        (
            Unbuildable(season=2),
            r"Unbuildable\(\*\*architecture\) cannot be built: missing a required argument: 'season'",
        ),
        (NotJson(season=torch.zeros(2)), r"NotJson\(\*\*architecture\) cannot be built: .* not JSON serializable"),
        (Inside(), r"Inside is defined inside a class or function; define it at the top level of its module"),
        (of_a_notebook(), r"__main__.Mine cannot be imported elsewhere; define it in a file of its own"),
    ):
        with pytest.raises(ValueError, match=message):
            check_class(model)


def test_a_model_without_numbers_is_kept(tmp_path: Path, own: Path) -> None:
    text = MODEL.format(helper="seasonal_helpers").replace('self.register_buffer("origin", ', "self.origin = (")
    (own / "seasonal_things.py").write_text(text)
    first = forecaster()
    assert not first.model.state_dict()
    save_forecaster(first, tmp_path)
    loaded = load_forecaster(tmp_path, extensions=["seasonal_things"])
    assert np.array_equal(loaded.forecast(series(), 2), first.forecast(series(), 2))
