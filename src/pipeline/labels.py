"""What models are called in tables and figures."""

from __future__ import annotations

from typing import Any

LABELS = {
    "psrnn": "PSRNN",
    "psrnn_cp": "factorised PSRNN",
    "persistence": "last value",
    "last_value": "last value",
    "seasonal_naive": "seasonal naive",
    "var": "ridge VAR",
    "kalman": "Kalman filter",
    "echo_state": "echo state network",
    "lstm": "LSTM",
    "gru": "GRU",
    "min_gru": "minGRU",
}


def name_of(method: Any) -> str:
    """The name of a method of the group `model`; its class's where it says none, as one of a person's own may."""
    return getattr(method, "name", type(method).__name__)


def label(model: str) -> str:
    """The words for a model's name: "ar2" is AR(2), and another name (a sampler's) stays as it is."""
    order = model.removeprefix("ar")
    return f"AR({order})" if order.isdigit() else LABELS.get(model, model)
