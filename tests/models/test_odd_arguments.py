"""Arguments and folders that make no sense: one line that names them, no endless work, and the model as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import LinearOperator

from models import (
    EchoStateForecaster,
    FactorisedPSRNNForecaster,
    GRUForecaster,
    LSTMForecaster,
    MinGRUForecaster,
    PSRNNForecaster,
    SSGPRegressor,
    VARForecaster,
    estimate_diagonal,
    estimate_logdet,
    estimate_trace,
)

pytestmark = pytest.mark.filterwarnings("ignore:on the validation part a naive forecast")

ROWS = np.random.default_rng(0).normal(size=(40, 2)).cumsum(0)
NESTED = [[1]]
FACTOR = np.random.default_rng(2).normal(size=(150, 150))
MATRIX = FACTOR @ FACTOR.T / 150 + np.eye(150)


@pytest.mark.parametrize("count", [10**9, 2**70])
@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [
        (PSRNNForecaster, "count", "10000"),
        (PSRNNForecaster, "delay", "100000"),
        (FactorisedPSRNNForecaster, "rank", "10000"),
        (LSTMForecaster, "units", "10000"),
        (GRUForecaster, "units", "10000"),
        (MinGRUForecaster, "units", "10000"),
        (EchoStateForecaster, "units", "10000"),
        (PSRNNForecaster, "epochs", r"1e\+06"),
        (LSTMForecaster, "epochs", r"1e\+06"),
    ],
)
def test_sizes_beyond_any_memory_are_refused_at_once(kind: Any, name: str, most: str, count: int) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be at most (1e\+05|{most}), got {count}$"):
        kind(**{name: count}).fit(ROWS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"traces": 3}, "traces must be a list of numbers above 0, got 3"),
        ({"traces": "fast"}, "traces must be a list of numbers above 0, got 'fast'"),
        ({"target": NESTED}, r"target must be the name of a column or a list of names, got \[\[1\]\]"),
        ({"covariates": [NESTED]}, "covariates must be the name of a column or a list of names"),
        ({"target": True}, "target must be the name of a column or a list of names, got True"),
        ({"target": np.array([True, False])}, "target must be the name of a column or a list of names"),
        ({"calendar": np.array(["hour"])}, 'calendar must be "auto" or a list'),
    ],
)
def test_lists_of_the_wrong_kind_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}"):
        PSRNNForecaster(**parameters).fit(ROWS)


def test_a_calendar_of_lists_is_refused() -> None:
    with pytest.raises(ValueError, match=r"calendar knows minute, hour, .*, got \[1\]"):
        PSRNNForecaster(calendar=NESTED).fit(ROWS)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda own: own.update(ROWS, refit="no"), "refit must be True or False, got 'no'"),
        (lambda own: own.plot(2, rows=1.5), "rows must be a whole number of at least 1, got 1.5"),
        (lambda own: own.plot(2, ax="left"), "ax must be the axes of matplotlib to draw into, got 'left'"),
    ],
)
def test_questions_of_the_wrong_kind_change_nothing(ask: Callable[[Any], Any], message: str) -> None:
    own = VARForecaster(orders=2).fit(ROWS)
    before = own.predict(3)
    with pytest.raises(TypeError, match=message):
        ask(own)
    np.testing.assert_array_equal(own.predict(3), before)
    assert not plt.get_fignums()


@pytest.mark.parametrize("kind", [VARForecaster, PSRNNForecaster])
def test_values_too_large_to_reckon_with_are_refused(kind: Any) -> None:
    own = kind(**({"orders": 2} if kind is VARForecaster else {"count": 3})).fit(ROWS)
    for ask, rows in ((own.score, ROWS * 1e300), (own.score, np.sign(ROWS) * 1.7e308)):
        with pytest.raises(ValueError, match=r"^X holds values too large to reckon with"):
            ask(rows)


def test_predictions_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^X holds values too large to reckon with"):
        VARForecaster(orders=2).fit(ROWS).predict_one_step(np.sign(ROWS) * 1.7e308)


def test_numbers_of_numpy_are_taken() -> None:
    own = VARForecaster(orders=2).fit(ROWS)
    three: Any = np.int64(3)
    found = own.backtest(ROWS, horizon=three, step=three, first=three)
    np.testing.assert_array_equal(found.forecast, own.backtest(ROWS, horizon=3, step=3, first=3).forecast)


@pytest.mark.parametrize(
    ("target", "forecast"),
    [
        (np.int64(0), [0]), ([np.int64(1)], [1]), (np.array([1, 0]), [1, 0]), (pd.RangeIndex(2), [0, 1]),
        (np.array("b"), ["b"]), (pd.Index(["b"]), ["b"]),
    ],
)  # fmt: skip
def test_names_of_columns_are_taken_as_pandas_and_numpy_have_them(
    target: Any, forecast: list[Any], tmp_path: Path
) -> None:
    table = pd.DataFrame(ROWS, columns=["a", "b"] if isinstance(forecast[0], str) else [0, 1])
    fitted = VARForecaster(orders=2, target=target).fit(table)
    ahead = fitted.predict(2)
    assert ahead.columns.tolist() == forecast
    fitted.save(tmp_path / "saved")
    pd.testing.assert_frame_equal(VARForecaster.load(tmp_path / "saved").predict(2), ahead)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


def without_an_entry(path: Path) -> None:
    saved = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(dict(list(saved.items())[1:])), encoding="utf-8")


SPOILT: list[tuple[str, Callable[[Path], Any]]] = [
    ("*.npz", cut_off),
    ("*.npz", lambda path: path.write_bytes(b"")),
    ("*.json", cut_off),
    ("*.json", lambda path: path.write_bytes(b"\x80\x04")),
    ("*.json", lambda path: path.write_text("[]")),
    ("*.json", without_an_entry),
]


@pytest.mark.parametrize(("files", "spoil"), SPOILT)
@pytest.mark.parametrize("kind", [VARForecaster, SSGPRegressor])
def test_a_folder_that_was_damaged_says_so_in_one_line(
    kind: Any, files: str, spoil: Callable[[Path], Any], tmp_path: Path
) -> None:
    fitted = {
        VARForecaster: lambda: VARForecaster(orders=2).fit(ROWS),
        SSGPRegressor: lambda: SSGPRegressor(count=3, iterations=2).fit(ROWS, ROWS[:, 0]),
    }[kind]()
    names = sorted(path.name for path in _saved(fitted, tmp_path / "whole").glob(files))
    assert names
    for place, name in enumerate(names):
        folder = _saved(fitted, tmp_path / str(place))
        spoil(folder / name)
        with pytest.raises(ValueError, match=r"save (it|the model) again$") as refused:
            kind.load(folder)
        assert "\n" not in str(refused.value)
        assert str(folder) in str(refused.value)


def _saved(fitted: Any, folder: Path) -> Path:
    fitted.save(folder)
    return folder


def operator(product: Callable[[np.ndarray], Any]) -> LinearOperator:
    return LinearOperator((150, 150), matvec=product, dtype=np.float64)  # pyright: ignore[reportCallIssue]


REFUSED: list[tuple[Any, str]] = [
    (operator(lambda v: v[:5]), "^the operator's matvec answers a vector of 150 numbers by 5; let it return 150$"),
    (operator(lambda v: v * 1j), "^the operator answers by complex128; real numbers are needed$"),
    (operator(lambda v: np.array(["a"] * len(v))), "^the operator answers by <U1; real numbers are needed$"),
    (operator(lambda v: 1 / 0), r"^the operator fails at a product with \(150, \d+\): division by zero; mend it$"),  # noqa: ARG005
    (np.ma.masked_array(MATRIX, MATRIX > 1), "^the matrix has masked entries; fill them"),
]


@pytest.mark.parametrize(("matrix", "message"), REFUSED)
@pytest.mark.parametrize("estimate", [estimate_trace, estimate_logdet, estimate_diagonal])
def test_matrices_that_answer_wrongly_are_refused(estimate: Any, matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(matrix)


@pytest.mark.parametrize(
    ("matrix", "scale"),
    [(MATRIX * 1e200, 1e200), (sp.csr_array(MATRIX * 1e200), 1e200), ((MATRIX * 1e30).astype(np.float32), 1e30)],
    ids=["dense", "sparse", "float32"],
)
@pytest.mark.parametrize("estimate", [estimate_trace, estimate_diagonal])
def test_entries_too_large_to_be_squared_are_scaled(estimate: Any, matrix: Any, scale: float) -> None:
    large = np.asarray(estimate(matrix, products=40).estimate, np.float64)
    alike = MATRIX.astype(matrix.dtype)
    np.testing.assert_allclose(large / scale, estimate(alike, products=40).estimate, rtol=1e-4)


def test_the_exact_trace_of_entries_too_large_is_scaled_too() -> None:
    found = estimate_trace(MATRIX[:8, :8] * 1e200)
    assert found.method == "exact"
    np.testing.assert_allclose(found.estimate, 1e200 * np.trace(MATRIX[:8, :8]))


@pytest.mark.parametrize(
    ("function", "answered"),
    [
        (lambda values: 3.0, "float"),  # noqa: ARG005
        (lambda values: None, "NoneType"),  # noqa: ARG005
        (lambda values: values[:1, :2], r"\(1, 2\) of torch.float64"),
        (lambda values: values * 1j, r"\(\d+, \d+\) of torch.complex128"),
    ],
)
def test_a_function_has_to_return_real_numbers(function: Callable[[torch.Tensor], Any], answered: str) -> None:
    with pytest.raises(ValueError, match=rf"^function answers a tensor \(.*\) of eigenvalues by {answered}; it has to"):
        estimate_trace(MATRIX, function=function)


def test_more_rows_than_memory_holds_are_refused() -> None:
    many: Any = LinearOperator((10**12, 10**12), matvec=lambda v: v, dtype=np.float64)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match=r"^the matrix must have at most 1e\+09 rows, got 1000000000000$"):
        estimate_trace(many)


def test_a_function_that_fails_is_told_of() -> None:
    with pytest.raises(
        ValueError, match=r"^function fails at a tensor \(.*\) of eigenvalues: division by zero; mend it$"
    ):
        estimate_trace(MATRIX, function=lambda values: values * (1 / 0))


def test_a_tensor_without_numbers_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^the matrix is a tensor on the device meta"):
        estimate_trace(torch.empty(3, 3, device="meta"))


@pytest.mark.parametrize("value", [np.array([1, 2]), None, NESTED])
def test_a_method_or_function_that_is_no_word_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^method=.* is unknown; choose one of auto, "):
        estimate_trace(MATRIX, method=value)
    with pytest.raises(ValueError, match=r"^function=.* is unknown; choose one of identity, "):
        estimate_trace(MATRIX, function=value)
