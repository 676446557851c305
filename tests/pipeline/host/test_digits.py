"""Numbers of tables have the digits that double precision is sure of."""

import numpy as np
import pandas as pd

from pipeline.host.digits import with_sure_digits


def test_columns_are_written_without_the_digits_of_rounding() -> None:
    values = [36.300000000000004, 0.1 + 0.2, 1 / 3, 1e-300, -np.inf, np.nan]
    frame = pd.DataFrame({"time": values, "x": values, "y": range(6)})
    written = with_sure_digits(frame, ["x", "y"]).to_csv(index=False, header=False)
    assert written.splitlines() == [
        "36.300000000000004,36.3,0.0",
        "0.30000000000000004,0.3,1.0",
        "0.3333333333333333,0.333333333333333,2.0",
        "1e-300,1e-300,3.0",
        "-inf,-inf,4.0",
        ",,5.0",
    ]
    assert with_sure_digits(frame.iloc[:0], ["x"]).empty


def test_a_column_of_single_precision_keeps_its_digits() -> None:
    frame = pd.DataFrame({"x": np.array([-0.6390157, 36.3], np.float32)})
    assert with_sure_digits(frame, ["x"]).to_csv(index=False, header=False).splitlines() == ["-0.6390157", "36.3"]
