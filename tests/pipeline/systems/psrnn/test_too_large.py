"""Sizes that cannot work are refused, or said, before anything is computed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pipeline.host.errors import PipelineError
from pipeline.host.memory import limit_in, machine_memory, memory_of
from pipeline.systems.psrnn.too_large import refuse_too_large

GIGABYTE = 10**9


@pytest.mark.parametrize(
    ("count", "projection", "memory", "message"),
    [
        (
            2000, None, 25 * GIGABYTE,
            "features.count=2000: the update tensor has (2·2000)³ numbers, 512 GB in double precision, of 25 GB of "
            "memory; take features.count=535 or fewer, or features.projection=40",
        ),
        (
            4000, 3000, 25 * GIGABYTE,
            "features.projection=3000: the update tensor has 3000³ numbers, 216 GB in double precision, of 25 GB of "
            "memory; take features.projection=1070 or less",
        ),
        (
            100_000, 40, 25 * GIGABYTE,
            "features.count=100000: a moment of its features has (2·100000)² numbers, 320 GB in double precision, of "
            "25 GB of memory; take features.count=8835 or fewer, with features.projection=40",
        ),
    ],
)  # fmt: skip
def test_what_no_memory_holds_is_refused_with_what_fits(
    count: int, projection: int | None, memory: int, message: str
) -> None:
    with pytest.raises(PipelineError, match=f"^{re.escape(message)}$"):
        refuse_too_large(SimpleNamespace(count=count, projection=projection), memory)


@pytest.mark.parametrize("memory", [2 * GIGABYTE, 40 * GIGABYTE, 500 * GIGABYTE])
@pytest.mark.parametrize(("count", "projection"), [(10**4, None), (10**4, 9000), (10**6, 40)])
def test_what_is_advised_is_accepted_and_fits_at_its_peak(count: int, projection: int | None, memory: int) -> None:
    asked = {"count": count, "projection": projection}
    with pytest.raises(PipelineError) as caught:
        refuse_too_large(SimpleNamespace(**asked), memory)
    for way in str(caught.value).partition("; take ")[2].split(", or "):
        advised = {key: int(number) for key, number in re.findall(r"features\.(count|projection)=(\d+)", way)}
        assert advised
        features = SimpleNamespace(**{**asked, **advised})
        refuse_too_large(features, memory)
        assert 20 * (features.projection or 2 * features.count) ** 3 <= memory


@pytest.mark.parametrize(
    ("count", "projection", "memory"), [(2000, 40, GIGABYTE), (20, None, GIGABYTE), (9999, None, None)]
)
def test_what_fits_or_cannot_be_judged_is_let_through(count: int, projection: int | None, memory: int | None) -> None:
    refuse_too_large(SimpleNamespace(count=count, projection=projection), memory)


def test_a_container_has_the_memory_of_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "most").write_text("max\n")
    (tmp_path / "some").write_text("123456\n")
    assert [limit_in(tmp_path / name) for name in ("most", "some", "none")] == [None, 123456, None]
    monkeypatch.setattr("pipeline.host.memory.LIMITS", (str(tmp_path / "most"),))
    whole = machine_memory()
    assert whole is not None
    assert whole > 2**28
    monkeypatch.setattr("pipeline.host.memory.LIMITS", (str(tmp_path / "some"), str(tmp_path / "none")))
    assert machine_memory() == memory_of("cpu") == 123456


def test_a_run_that_cannot_fit_ends_before_it_loads(run_pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.systems.psrnn.recipe.load_stage", lambda *_, **__: pytest.fail("data were loaded"))
    monkeypatch.setattr("pipeline.host.memory.machine_memory", lambda: 25 * GIGABYTE)
    quick = ("data.source=stand_in", "tracking=off", "device=cpu", "features.count=2000")
    for model in ("psrnn", "psrnn_cp"):
        assert "has (2·2000)³ numbers, 512 GB" in run_pipeline(*quick, f"model={model}").error


def test_horizons_beyond_the_test_part_are_named_before_training(
    run_pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test part has 40 steps, of which the first 4 are not scored."""
    waves = np.sin(np.arange(200) / 3) + 0.1 * np.random.default_rng(0).normal(size=200)
    pd.DataFrame({"x": waves}).to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr("pipeline.systems.psrnn.recipe.first_model", lambda *_: pytest.fail("a model was trained"))
    quick = ("data=table", f"data.path={tmp_path / 't.csv'}", "readout=linear", "tracking=off")
    said = r"for 37, 100000, so .* \(the longest possible is 36\); 'evaluate\.horizons=\[1,5,36\]' asks for just these$"
    with (
        pytest.warns(UserWarning, match=said),
        pytest.raises(pytest.fail.Exception, match="a model was trained"),
    ):
        run_pipeline(*quick, "evaluate.horizons=[1,5,36,37,100000]")
