"""A Gaussian process fitted to a table: SSGPRegressor beside scikit-learn's exact one, seconds and test errors.

python benchmarks/gp_regression.py --threads 1
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from side_by_side import Form, Machine, Row, compare, run
from sklearn.exceptions import ConvergenceWarning

from models import SSGPRegressor

ROWS, TEST_ROWS = 3000, 2000
STREAMED, CHUNK = 1_000_000, 10_000  # rows of the streamed fit, and of each of its calls


class Table(NamedTuple):
    """Inputs (row, input) and targets (row,), of training and of test rows."""

    inputs: np.ndarray
    targets: np.ndarray
    new: np.ndarray
    truth: np.ndarray


def friedman(rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The first function of Friedman 1991, of five inputs, with noise of variance 1."""
    x = generator.uniform(size=(rows, 5))
    function = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, function + generator.normal(size=rows)


def waves(rows: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A function of four inputs that goes up and down several times along each, with noise of deviation 0.2."""
    x = generator.normal(size=(rows, 4))
    function = np.sin(2 * x[:, 0]) + np.cos(1.5 * x[:, 1]) * x[:, 2] + 0.5 * np.tanh(x[:, 3])
    return x, function + 0.2 * generator.normal(size=rows)


FUNCTIONS = {"friedman": friedman, "waves": waves}


def table_of(name: str) -> Table:
    inputs, targets = FUNCTIONS[name](ROWS + TEST_ROWS, np.random.default_rng(0))
    return Table(inputs[:ROWS], targets[:ROWS], inputs[ROWS:], targets[ROWS:])


def exact(inputs: int) -> Any:
    """The exact process on standardised inputs: a length-scale each, variances of function and noise, one start."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scales: Any = np.full(inputs, 2.0)
    kernel = ConstantKernel(1.0) * RBF(scales) + WhiteKernel(0.25)
    return make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))


def regressors(inputs: int) -> dict[str, Any]:
    trained = SSGPRegressor(100, train_frequencies=True)
    made = {"ours, SSGPRegressor()": SSGPRegressor(), "SSGPRegressor(100, train_frequencies=True)": trained}
    if find_spec("sklearn"):
        made["scikit-learn GaussianProcessRegressor"] = exact(inputs)
    return made


def fit(regressor: Any, table: Table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a length-scale of an input that says little has no end
        regressor.fit(table.inputs, table.targets)


def error_of(regressor: Any, table: Table) -> float:
    return float(np.sqrt(np.mean((regressor.predict(table.new) - table.truth) ** 2)))


def with_errors(rows: list[Row], fitted: Mapping[str, Any], table: Table) -> list[Row]:
    return [replace(row, form=f"{row.form}: test RMSE {error_of(fitted[row.form], table):.4f}") for row in rows]


def fits(machine: Machine, budget: float) -> list[Row]:
    """Fits with all hyper-parameters; the exact process takes minutes, and is fitted once."""
    rows = []
    for name in FUNCTIONS:
        table = table_of(name)
        fitted = regressors(table.inputs.shape[1])
        forms: dict[str, Form] = {form: lambda one=one, table=table: fit(one, table) for form, one in fitted.items()}
        found = compare("gp regression", f"{name}, {ROWS} rows", forms, machine=machine, budget=budget)
        rows += with_errors(found, fitted, table)
    return rows


def stream() -> None:
    """A fit to rows that come in chunks; their generation counts too."""
    generator, regressor = np.random.default_rng(1), SSGPRegressor()
    for start in range(0, STREAMED, CHUNK):
        regressor.partial_fit(*friedman(min(CHUNK, STREAMED - start), generator))


def streams(machine: Machine, budget: float) -> list[Row]:
    return compare("gp regression", f"{STREAMED} rows by partial_fit", {"ours": stream}, machine=machine, budget=budget)


def measure(machine: Machine, budget: float) -> list[Row]:
    return fits(machine, budget) + streams(machine, budget)


if __name__ == "__main__":
    run("a Gaussian process fitted to a table", measure)
