"""Samplers, kernels and bandwidths by name: those of the configuration, and refusals in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from models.features.bandwidth import BandwidthRule
from models.features.kernels import Matern
from models.features.names import KERNELS, SAMPLERS, UNNUMBERED_RULES, kernel_of, rule_of, sampler_of
from models.features.samplers import Hadamard
from models.runtime.parameters import not_negative, number, one_of, whole_number, yes_or_no

CONF = Path(__file__).parents[3] / "conf"


@pytest.mark.parametrize(("group", "names", "of"), [("sampler", SAMPLERS, sampler_of), ("kernel", KERNELS, kernel_of)])
def test_a_name_means_what_it_means_in_the_configuration(group: str, names: Any, of: Any) -> None:
    files = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (CONF / group).glob("*.yaml")}
    assert set(files) == set(names)
    for name, section in files.items():
        made = of(name)
        assert f"{type(made).__module__}.{type(made).__name__}" == section.pop("_target_")
        assert {key: getattr(made, key) for key in section} == section


def test_objects_and_numbers_are_taken_as_they_are() -> None:
    for of, given in ((sampler_of, Hadamard(blocks=2)), (kernel_of, Matern(smoothness=2.5))):
        assert of(given) is given
    assert rule_of(BandwidthRule("percentile", percentile=20)) == BandwidthRule("percentile", percentile=20)
    assert [rule_of(name).rule for name in UNNUMBERED_RULES] == list(UNNUMBERED_RULES)
    assert rule_of(np.float32(0.5)) == BandwidthRule("fixed", value=0.5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sampler_of("orthogonl"), ValueError, "sampler must be one of orthogonal, iid, hadamard, stratified"),
        (lambda: sampler_of(3), TypeError, "sampler must be one of orthogonal, .*, got 3"),
        (lambda: kernel_of(Matern), TypeError, "kernel must be one of gaussian, laplacian, laplacian_l1, matern"),
        (lambda: rule_of("fixed"), ValueError, "bandwidth must be one of median_pairs, median_neighbours, got 'fixed'"),
        (lambda: rule_of(-1), ValueError, "bandwidth must be a number above 0, got -1"),
        (lambda: rule_of(None), TypeError, "bandwidth must be a number above 0, got None"),
        (lambda: whole_number("count", 2.0), TypeError, "count must be a whole number of at least 1, got 2.0"),
        (lambda: whole_number("count", np.float64(2)), TypeError, r"count must be .*, got np\.float64\(2\.0\)$"),
        (lambda: whole_number("count", np.array(2)), TypeError, r"got array\(2\); give a plain number in place"),
        (lambda: not_negative("clip", np.array(2)), TypeError, r"got array\(2\); give a plain number in place"),
        (lambda: whole_number("count", True), TypeError, "count must be a whole number of at least 1, got True"),
        (lambda: whole_number("count", 0), ValueError, "count must be a whole number of at least 1, got 0"),
        (lambda: whole_number("count", 9, most=8), ValueError, "count must be at most 8, got 9"),
        (lambda: number("share", 2.0, below=1), ValueError, "share must be a number above 0 and below 1, got 2.0"),
        (lambda: number("share", float("nan")), ValueError, "share must be a number above 0, got nan"),
        (lambda: number("share", float("inf")), ValueError, "share must be a number above 0 and finite, got inf"),
        (lambda: one_of("name", "c", ("a", "b")), ValueError, "name must be one of a, b, got 'c'"),
        (lambda: yes_or_no("trained", 1), TypeError, "trained must be True or False, got 1"),
    ],
)
def test_anything_else_is_refused_in_one_line(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)
