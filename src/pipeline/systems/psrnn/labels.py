"""What forecasters are called in tables and figures."""

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
    "no_state": "no state",
    "no_difference": "no difference",
}
GROUPED = "grouped"
READOUTS = ("linear", "skip", GROUPED, "kernel")
NUMBERED = {"ar": "AR({})", "joined": "state + last {} observations"}


def name_of(method: Any) -> str:
    """Returns the name of a method of the group `model`, or the name of its class where the method has none, as one of
    a person's own may."""
    return getattr(method, "name", type(method).__name__)


def label(model: str) -> str:
    """Returns the words for a model's name: "ar2" is AR(2), "joined4" the state with the last 4 observations, and
    "psrnn_kernel" a PSRNN with that readout; another name (a sampler's) stays as it is."""
    own, _, readout = model.rpartition("_")
    if own in LABELS and readout in READOUTS:
        return f"{LABELS[own]} ({readout})"
    kind = model.rstrip("0123456789")
    number = model.removeprefix(kind)
    if number and kind in NUMBERED:
        return NUMBERED[kind].format(number)
    return LABELS.get(model, model)
