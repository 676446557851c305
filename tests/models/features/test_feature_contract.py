"""What every configured kernel and sampler must do, also those added later: the files themselves are collected."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from models.features.samplers import Hadamard, Iid, Orthogonal, Sampler, draw_frequencies
from models.features.variance_reduction import NearOrthogonal

CONF = Path(__file__).parents[3] / "conf"
KERNELS = sorted((CONF / "kernel").glob("*.yaml"))
SAMPLERS = sorted((CONF / "sampler").glob("*.yaml"))
ORTHOGONAL = (Orthogonal, Hadamard, NearOrthogonal)  # and what is one of them, as Stratified
SIZES = [(1, 1), (1, 5), (4, 1), (3, 3), (4, 4), (2, 7), (19, 5)]

every_kernel = pytest.mark.parametrize("kernel_file", KERNELS, ids=lambda path: path.stem)
every_sampler = pytest.mark.parametrize("sampler_file", SAMPLERS, ids=lambda path: path.stem)
every_size = pytest.mark.parametrize(("count", "dimension"), SIZES)


def build(path: Path) -> Any:
    options = yaml.safe_load(path.read_text(encoding="utf-8"))
    module, _, name = options.pop("_target_").rpartition(".")
    return getattr(importlib.import_module(module), name)(**options)


def draw(kernel: Any, sampler: Sampler, count: int, dimension: int, *, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return draw_frequencies(
        kernel=kernel, sampler=sampler, count=count, dimension=dimension, bandwidth=0.7, generator=generator
    )


def test_the_files_are_found() -> None:
    assert {path.stem for path in KERNELS} >= {"gaussian", "matern", "laplacian", "rational_quadratic", "laplacian_l1"}
    assert {path.stem for path in SAMPLERS} >= {
        "iid",
        "orthogonal",
        "hadamard",
        "stratified",
        "near_orthogonal",
        "sobol",
    }


@pytest.mark.parametrize("path", KERNELS + SAMPLERS, ids=lambda path: path.stem)
def test_files_begin_with_a_line_that_says_what_they_are(path: Path) -> None:
    first, second, *_ = path.read_text(encoding="utf-8").splitlines()
    assert first.startswith("# ")
    assert second.startswith("_target_: models.features.")


@every_kernel
@every_sampler
@every_size
def test_frequencies(kernel_file: Path, sampler_file: Path, count: int, dimension: int) -> None:
    kernel, sampler = build(kernel_file), build(sampler_file)
    if not kernel.isotropic and not isinstance(sampler, Iid):
        with pytest.raises(ValueError, match="is not isotropic"):
            draw(kernel, sampler, count, dimension, seed=0)
        return
    first, again, other = (draw(kernel, sampler, count, dimension, seed=seed) for seed in (0, 0, 1))
    assert first.shape == (count, dimension)
    assert first.dtype == torch.float64
    assert bool(first.isfinite().all())
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@every_sampler
@every_size
def test_directions(sampler_file: Path, count: int, dimension: int) -> None:
    sampler = build(sampler_file)
    directions = sampler.directions(count, dimension, generator=torch.Generator().manual_seed(0))
    assert directions.shape == (count, dimension)
    assert directions.dtype == torch.float64
    torch.testing.assert_close(directions.norm(dim=1), torch.ones(count, dtype=torch.float64), atol=1e-12, rtol=0)


@every_sampler
def test_orthogonal_samplers_give_an_orthogonal_block(sampler_file: Path) -> None:
    """At a power of two, where no sampler has to pad; the others must not be orthogonal by accident."""
    sampler = build(sampler_file)
    directions = sampler.directions(8, 8, generator=torch.Generator().manual_seed(0))
    products = directions @ directions.T - torch.eye(8, dtype=torch.float64)
    assert isinstance(sampler, ORTHOGONAL) == (float(products.abs().max()) < 1e-12)


@every_kernel
def test_kernels_are_one_at_distance_zero_and_smaller_beyond(kernel_file: Path) -> None:
    kernel = build(kernel_file)
    x = torch.tensor([0.0, 1.0], dtype=torch.float64)
    values = kernel.value(x if kernel.isotropic else x[:, None])
    assert values[0] == 1
    assert 0 < float(values[1]) < 1


@pytest.mark.parametrize("path", KERNELS + SAMPLERS, ids=lambda path: path.stem)
def test_a_misspelt_option_is_an_error(path: Path) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        type(build(path))(misspelt=1)


@every_sampler
def test_no_default_generator_is_used(sampler_file: Path) -> None:
    before = torch.random.get_rng_state()
    draw(build(CONF / "kernel" / "gaussian.yaml"), build(sampler_file), 5, 3, seed=0)
    assert torch.equal(before, torch.random.get_rng_state())
