"""Bodies of requests: what is read, and what is refused in one line."""

from __future__ import annotations

import json
import re

import pytest

from models.forecasting.request import decoded

NESTED = "[" * 5000 + "]" * 5000  # 10 kB
DEEP = "[" * 900 + "1" + "]" * 900  # that `json.loads` still reads
ARRAY = "must be an array (time, feature) or (sequence, time, feature), not"


def test_requests_are_read_as_they_are() -> None:
    for array in ([], [[]], [[1, 0.5, None]], [[[1, 2], [3, 4]], [[None, 1e3], [5, 6]]]):
        assert decoded(json.dumps({"inputs": array, "params": {"horizon": 3}})) == {
            "inputs": array,
            "params": {"horizon": 3},
        }
    assert decoded(b'{"instances": [[1]], "params": null}') == {"instances": [[1]], "params": None}
    assert str(decoded('{"inputs": [[NaN]]}')["inputs"][0][0]) == "nan"
    table = {"columns": ["a", "sequence"], "data": [[1, "x"], [True, "y"]]}  # of columns the model knows more
    assert decoded(json.dumps({"dataframe_split": table}))["dataframe_split"] == table


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f'{{"inputs": {NESTED}}}', "the body is nested too deep"),
        (f'{{"inputs": {DEEP}}}', "inputs[0][0] is nested too deep; an array has at most (sequence, time, feature)"),
        (f'{{"inputs": [[1]], "params": {{"horizon": {NESTED}}}}}', "the body is nested too deep"),
        (
            f'{{"inputs": [[1]], "params": {{"horizon": {DEEP}}}}}',
            "whole number: 0 (one-step predictions) or the steps",
        ),
        (f'{{"inputs": [[{"9" * 5000}]]}}', "the body is not JSON: a number has too many digits"),
        ("{not json", "the body is not JSON: Expecting property name"),
        (b"\xff\xfe{", "the body is not JSON: "),
        ("[1]", "the body must be an object with exactly one of dataframe_split"),
        ('{"inputs": [], "instances": []}', "exactly one of"),
        ('{"inputs": 3}', f"inputs {ARRAY} 3"),
        ('{"inputs": null}', f"inputs {ARRAY} null"),
        ('{"inputs": "\\ud800"}', f'inputs {ARRAY} "\\ud800"'),
        ('{"inputs": {"a": [1]}}', f"inputs {ARRAY} an object"),
        ('{"inputs": [[0.1, true]]}', "inputs[0][1]: true is not a number; a gap is null"),
        ('{"instances": [[[0.1], ["2"]]]}', 'instances[0][1][0]: "2" is not a number; a gap is null'),
        ('{"inputs": [[0.1, [1]]]}', "inputs[0][1]: a list is not a number"),
        ('{"inputs": [0.1, {}]}', "inputs[1]: an object is not a number"),
        ('{"inputs": [[1, 2], [1]]}', "inputs has rows of different lengths: inputs[0] has 2, inputs[1] has 1"),
        ('{"inputs": [[[1]], [[1], [2]]]}', "inputs[1] has 2; send them as dataframe_split with a column sequence"),
        ('{"inputs": [[1, 2], [[1], [2]]]}', "inputs has rows of different lengths"),
        ('{"dataframe_split": {"columns": ["a"], "data": [[1], [1, 2]]}}', "data[1] has 2 entries for 1 columns"),
        ('{"inputs": [[1]], "params": [5]}', "params must be an object, not a list"),
        ('{"inputs": [[1]], "params": false}', "params must be an object"),
        *(
            (
                f'{{"inputs": [[1]], "params": {{"horizon": {value}}}}}',
                f"params.horizon must be a whole number.*{value}",
            )
            for value in ("2.5", "2.0", '"3"', "true", "null", "-1", "NaN", "Infinity")
        ),
    ],
)
def test_what_is_refused(body: str | bytes, message: str) -> None:
    pattern = ".*".join(re.escape(part) for part in message.split(".*"))
    with pytest.raises(ValueError, match=pattern) as caught:
        decoded(body)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
