"""What a server answers to a request that a model cannot read."""

from __future__ import annotations

import json

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST

from models.runtime.scoring_server import bad_request
from pipeline.systems.ssgp import served


@pytest.mark.parametrize("refused", [bad_request(MlflowException, BAD_REQUEST), served.BadRequest])
def test_a_bad_request_is_answered_by_its_reason_alone(refused: type[ValueError]) -> None:
    with pytest.raises(MlflowException, match="there are no rows") as caught:
        raise refused("there are no rows")
    assert isinstance(caught.value, ValueError)
    assert caught.value.get_http_status_code() == 400
    told = {"error_code": "BAD_REQUEST", "message": "there are no rows"}
    assert json.loads(caught.value.serialize_as_json()) == told
