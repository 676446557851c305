"""What a system says of its trained models, so that they are kept, logged for MLflow and served."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from mlflow.models import ModelSignature

EXAMPLE = "example.csv"  # rows of data beside the saved parameters
REQUIREMENTS = ("mlflow", "torch", "numpy", "pandas")  # of the package `models` and of what serves it


@dataclass(frozen=True)
class Servable:
    """What MLflow makes a model of; the package `models` travels with it in any case.

    code: a file that ends with `mlflow.models.set_model(…)`; it travels with the model and imports `packages` at most.
    parameters: the folder of the saved parameters; the code finds it as `context.artifacts["parameters"]`.
    signature: columns and parameters of a request, from which the strict server takes the parameters that it lets in.
    example: input that the model takes, alone or as (input, parameters).
    requirements: installed packages, as "name==version".
    metadata: what is read of a logged model without loading it.
    model_config: settings of the served model that whoever loads it may change.
    packages: of this project that travel with the model.
    silent: warnings that are not shown while the model answers its example: they are of that example alone.
    """

    code: Path
    parameters: Path
    signature: ModelSignature
    example: Any
    requirements: Sequence[str]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    model_config: Mapping[str, Any] = field(default_factory=dict)
    packages: Sequence[str] = ("models",)
    silent: Sequence[type[Warning]] = ()


@dataclass(frozen=True)
class TrainedModel:
    """A trained model as its recipe hands it over to be kept.

    save: writes its parameters into an empty folder, as plain files. servable: tells what MLflow makes of such a
    folder, with `EXAMPLE` in it: what `System.servable` names. example: some rows of data. error: the metric on the
    validation part by which the best model of a multirun is chosen.
    """

    save: Callable[[Path], None]
    servable: Callable[[Path], Servable]
    example: pd.DataFrame
    error: float

    def write(self, folder: Path) -> None:
        """Writes the parameters and the example into an existing folder."""
        self.save(folder)
        self.example.to_csv(folder / EXAMPLE, index=False)


def pinned(own: Iterable[str] = ()) -> list[str]:
    """Returns what any served model needs, with its version, and the lines in `own` that are not among it. The build
    suffix of torch ("+cpu") is left off, as an index need not have it."""
    ours = [f"{name}=={version(name).split('+')[0]}" for name in REQUIREMENTS]
    return [*ours, *(line for line in own if line not in ours)]
