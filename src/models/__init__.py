"""Forecasting, Gaussian processes, sentiment, translation, documents and traces as a library.

Tensors and masks go in, tensors come out. The estimators, in scikit-learn's manners, are here by name; each is imported
when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.baselines.estimators import (
        EchoStateForecaster,
        GRUForecaster,
        KalmanForecaster,
        LastValueForecaster,
        LSTMForecaster,
        MinGRUForecaster,
        NoStateForecaster,
        SeasonalNaiveForecaster,
        VARForecaster,
    )
    from models.documents.reader import DocumentReader
    from models.experts.translator import Translator
    from models.features.transformer import RandomFeatures
    from models.mctn.reader import SentimentReader
    from models.psrnn.estimator import FactorisedPSRNNForecaster, PSRNNForecaster
    from models.ssgp.regressor import SSGPRegressor
    from models.trace.diagonal import estimate_diagonal
    from models.trace.estimate import estimate_trace
    from models.trace.logdet import estimate_logdet

__all__ = [
    "DocumentReader",
    "EchoStateForecaster",
    "FactorisedPSRNNForecaster",
    "GRUForecaster",
    "KalmanForecaster",
    "LSTMForecaster",
    "LastValueForecaster",
    "MinGRUForecaster",
    "NoStateForecaster",
    "PSRNNForecaster",
    "RandomFeatures",
    "SSGPRegressor",
    "SeasonalNaiveForecaster",
    "SentimentReader",
    "Translator",
    "VARForecaster",
    "estimate_diagonal",
    "estimate_logdet",
    "estimate_trace",
]

_MODULES = {
    "models.documents.reader": ("DocumentReader",),
    "models.experts.translator": ("Translator",),
    "models.features.transformer": ("RandomFeatures",),
    "models.mctn.reader": ("SentimentReader",),
    "models.ssgp.regressor": ("SSGPRegressor",),
    "models.psrnn.estimator": ("PSRNNForecaster", "FactorisedPSRNNForecaster"),
    "models.trace.diagonal": ("estimate_diagonal",),
    "models.trace.estimate": ("estimate_trace",),
    "models.trace.logdet": ("estimate_logdet",),
    "models.baselines.estimators": (
        "EchoStateForecaster", "GRUForecaster", "KalmanForecaster", "LSTMForecaster", "LastValueForecaster",
        "MinGRUForecaster", "NoStateForecaster", "SeasonalNaiveForecaster", "VARForecaster",
    ),
}  # fmt: skip
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
