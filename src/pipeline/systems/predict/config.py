"""The settings of `recipe=predict`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from omegaconf import MISSING

from pipeline.host.errors import PipelineError
from pipeline.settings.fields import setting
from pipeline.settings.messages import of_section
from pipeline.settings.schema import CommonConfig
from pipeline.systems.registry import System


@dataclass
class NewDataConfig:
    path: str = MISSING
    group: str | None = None
    time: str | None = None
    delimiter: str | None = None
    decimal: str = "point"


@dataclass
class ModelUriConfig:
    uri: str = MISSING


@dataclass
class PredictConfig(CommonConfig):
    """Holds the settings of `recipe=predict`."""

    TYPED: ClassVar[dict[str, str]] = {"model.uri": "model=runs:/RUN_ID/model"}

    data: NewDataConfig = field(default_factory=NewDataConfig)
    model: ModelUriConfig = field(default_factory=ModelUriConfig)
    horizon: int = setting(0, at_least=0)
    interval: float = setting(0.0, at_least=0, below=1, said_below="below 1, as 0.9 is")
    beam: int | None = setting(None, at_least=1, at_most=8)
    least_score: float | None = setting(None, above=0, at_most=1)
    vocabulary: bool = False
    output: str | None = None


def check(settings: PredictConfig) -> None:
    """Raises, before the model is looked for, PipelineError where no model or no file is named, and DataError where
    there is no file to predict, nor a folder."""
    from data.files.table_files import existing_file

    if not settings.model.uri.strip():
        raise PipelineError("model is empty; give model=runs:/RUN_ID/model, as a training run printed it")
    if not settings.data.path.strip():
        raise PipelineError("data.path is empty; give data.path=FILE, the file to predict, or a folder of images")
    if not Path(settings.data.path).expanduser().is_dir():
        with of_section("data"):
            existing_file(settings.data.path)


SYSTEM = System(
    settings=PredictConfig,
    entry="pipeline.systems.predict.recipe:predict",
    check="pipeline.systems.predict.config:check",
    tracked=False,
    shorthands=(("model", "model.uri"),),
)
