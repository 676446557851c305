"""What a process that is forked from the server of `warm_processes` need not do any more: the imports of a run, the
schemas of all recipes, what the first composition prepares for the others, and of which package each module is, which
is asked when a model is logged."""

from __future__ import annotations

import gc
import importlib
import warnings

import pytest
from hydra import compose, initialize_config_dir
from mlflow.utils import requirements_utils

from composed_once import compose_once, read_once
from models.forecasting import extensions
from pipeline.host.paths import conf_folder
from pipeline.systems.registry import prepare_composition

for name in (
    "pipeline.systems.psrnn.recipe", "pipeline.systems.psrnn.figures", "pipeline.systems.psrnn.servable",
    "pipeline.__main__", "pipeline.tracking.database", "pipeline.tracking.model", "data.mocap.load",
    "torch._dynamo", "pandas.io.formats.csvs", "scipy.stats", "matplotlib.backends.backend_svg", "git",
    "mlflow.pyfunc.scoring_server", "mlflow.store.tracking.sqlalchemy_workspace_store",
    "sqlalchemy.dialects.sqlite", "alembic.command", "ipykernel.kernelapp", "rank_work",
):  # fmt: skip
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module(name)

read_once(pytest.MonkeyPatch())
compose_once(pytest.MonkeyPatch())
prepare_composition()
with initialize_config_dir(str(conf_folder()), version_base="1.3"):
    compose("config", ["+experiment=mocap", "size=tiny"])
requirements_utils._init_modules_to_packages_map()
extensions._distributions()
gc.collect()
gc.freeze()  # so that a forked process neither goes through these objects nor copies them
