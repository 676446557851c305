"""Labels of utterances: what they are taken for, and numbers that are written in several ways."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from data.base import DataError
from data.multimodal.labels import label_numbers
from data.multimodal.table import load_utterances
from data.utterances import Utterances

Load = Callable[..., Utterances]


def texts(count: int) -> pd.DataFrame:
    return pd.DataFrame({"text": [f"film{' really' * i}" for i in range(count)]})


@pytest.mark.parametrize(
    ("labels", "kind", "expected"),
    [
        (["yes", "no"] * 5, "auto", ("class", ("no", "yes"), [1, 0])),
        (["yes", "no"] * 5, "binary", ("binary", ("no", "yes"), [1, 0])),
        ([1, 0] * 5, "auto", ("binary", ("0", "1"), [1, 0])),
        ([1, 0] * 5, "score", ("score", (), [1.0, 0.0])),
        ([2, 10] * 5, "class", ("class", ("2", "10"), [0, 1])),
        (["1st", 2] * 5, "auto", ("class", ("1st", "2"), [0, 1])),
        ([2, 10] * 5, "auto", ("score", (), [2.0, 10.0])),
        (["01", "1"] * 5, "class", ("class", ("01", "1"), [0, 1])),
        (["1", "0", "1.0", "0", "01"] * 2, "binary", ("binary", ("0", "1"), [1, 0, 1, 0, 1])),
        (["1.0", "0", "1", "0.0"] * 3, "auto", ("binary", ("0", "1.0"), [1, 0, 1, 0])),
        (["TRUE", "False", "True", "FALSE"] * 3, "auto", ("binary", ("False", "TRUE"), [1, 0, 1, 0])),
        (["true", "FALSE", "True"] * 4, "binary", ("binary", ("FALSE", "true"), [1, 0, 1])),
        (["true", "True"] * 5, "class", ("class", ("True", "true"), [1, 0])),
        (["1.0", "1"] * 5, "class", ("class", ("1", "1.0"), [1, 0])),
        (["01", "2"] * 5, "auto", ("score", (), [1.0, 2.0])),
        (["0.1234567890123456789", "2e-7"] * 5, "auto", ("score", (), [0.1234567890123456789, 2e-7])),
        ([True, False] * 5, "auto", ("binary", ("False", "True"), [1, 0])),
    ],
)
def test_labels_are_taken_for_what_they_are(load: Load, labels, kind, expected) -> None:
    data = load(texts(len(labels)).assign(label=labels), labels=kind)
    assert (data.label_kind, data.classes) == expected[:2]
    for part in data.parts.values():
        assert part.labels.tolist() == [expected[2][(int(name) - 1) % len(expected[2])] for name in part.names]


@pytest.mark.parametrize(("labels", "kind", "names"), [
    (["01", "1"], "class", ("01", "1")), ([10, 2], "class", ("2", "10")), ([True, False], "auto", ("False", "True")),
])  # fmt: skip
def test_labels_of_a_file_with_types_are_as_it_has_them(labels: list, kind: str, names: tuple, tmp_path: Path) -> None:
    file = tmp_path / "mine.parquet"
    texts(10).assign(label=labels * 5).to_parquet(file)
    assert load_utterances(path=str(file), words="own", labels=kind).classes == names


@pytest.mark.parametrize(("shift", "found"), [(0, {0.0, 1.0}), (1, {1.0, 2.0})])
def test_a_number_of_a_sample_may_be_written_in_two_ways(load: Load, shift: int, found: set[float]) -> None:
    rows = range(40)
    labels = [f"{row // 2 % 2 + shift}{'.0' * (row % 2)}" for row in rows]
    data = load(pd.DataFrame({"sample": [f"s{row // 2}" for row in rows], "a_x": rows, "label": labels}))
    assert set(data.train.labels.tolist()) == found


@pytest.mark.parametrize("label", ["0", "1.0", "true"])
def test_binary_labels_that_are_one_number_are_refused(load: Load, label: str) -> None:
    with pytest.raises(DataError, match=rf"column 'label' has 1 values \({label}\); binary labels have two$"):
        load(texts(10).assign(label=[label, label.upper()] * 5), labels="binary")


def test_labels_are_made_numbers_once_for_each_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()
    monkeypatch.setattr("data.multimodal.labels.with_point", lambda text: made.append(text) or text.replace(",", "."))
    column = pd.Series(["0,1", "2,5", "word"] * 20)
    assert label_numbers(column, ",")[:2].tolist() == [0.1, 2.5]
    assert made == ["0,1", "2,5"]
