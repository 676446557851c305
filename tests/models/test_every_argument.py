"""Every argument of every estimator, found by its signature: what makes no sense ends in one line that names it, and
what was fitted stays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import models
from models import RandomFeatures, SSGPRegressor, VARForecaster, estimate_diagonal, estimate_logdet, estimate_trace

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")

ROWS = np.random.default_rng(0).normal(size=(60, 2)).cumsum(0)
TARGETS = np.sin(ROWS[:, 0])
FORECASTERS = [name for name in models.__all__ if name.endswith("Forecaster")]
NONSENSE = [float("nan"), -1, -np.inf, 1j, {1}, object()]  # for every argument
GOOD = {
    "horizon": 2, "X": ROWS, "y": TARGETS, "new_rows": ROWS, "coverage": 0.5, "matrix": np.diag(np.arange(1.0, 6)),
}  # fmt: skip
METHODS = [
    (VARForecaster, ("fit", "update", "predict_one_step", "score"), ("y",)),
    (VARForecaster, ("predict", "predict_interval", "backtest", "plot", "save", "load"), ()),
    (RandomFeatures, ("fit", "transform", "get_feature_names_out"), ("y",)),
    (SSGPRegressor, ("fit", "partial_fit", "predict", "score", "sample_y", "save", "load"), ()),
]  # methods, and what they take for scikit-learn's sake and leave aside


def refused(ask: Callable[[], Any], name: str, value: Any) -> None:
    """Raises AssertionError unless the question ends in one short line that names the argument."""
    with pytest.raises((TypeError, ValueError), match=rf"\b{name}\b") as said:
        ask()
    assert "\n" not in str(said.value)
    assert len(str(said.value)) < 250, (name, value)


def arguments(asked: Callable[..., Any], aside: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yields each argument with each value that makes no sense, and with it others that do."""
    parameters = inspect.signature(asked).parameters
    good = {name: GOOD[name] for name, one in parameters.items() if one.default is one.empty and name in GOOD}
    for name in parameters:
        for value in NONSENSE if name not in aside else ():
            yield name, value, {**good, name: value}


def fitted(kind: Any) -> Any:
    if kind is SSGPRegressor:
        return kind(count=3, iterations=2).fit(ROWS, TARGETS)
    return kind(**({"orders": 2, "validation": 0.3} if kind is VARForecaster else {"count": 3})).fit(ROWS)


@pytest.mark.parametrize("name", [*FORECASTERS, "SSGPRegressor", "RandomFeatures"])
def test_every_parameter_is_checked(name: str) -> None:
    kind = getattr(models, name)
    data = (ROWS, TARGETS) if kind is SSGPRegressor else (ROWS,)
    base = {"season": 3} if name == "SeasonalNaiveForecaster" else {}
    for parameter, value, given in arguments(kind):
        refused(lambda given=given: kind(**{**base, **given}).fit(*data), parameter, value)


@pytest.mark.parametrize(("kind", "methods", "aside"), METHODS)
def test_every_argument_of_a_method_is_checked(kind: Any, methods: tuple[str, ...], aside: tuple[str, ...]) -> None:
    own = fitted(kind)
    ask = own.predict if kind is SSGPRegressor else own.transform if kind is RandomFeatures else own.predict_one_step
    before = ask(ROWS)
    for method in methods:
        for name, value, given in arguments(getattr(own, method), aside):
            refused(lambda method=method, given=given: getattr(own, method)(**given), name, value)
    np.testing.assert_array_equal(ask(ROWS), before)


@pytest.mark.parametrize("estimate", [estimate_trace, estimate_logdet, estimate_diagonal])
def test_every_argument_of_an_estimate_is_checked(estimate: Any) -> None:
    for name, value, given in arguments(estimate):
        refused(lambda given=given: estimate(**given), name, value)
