"""A fitted process in its own units: against formulae by hand, through its files, and on bad input."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from models.features.kernels import Gaussian
from models.features.samplers import Orthogonal
from models.numerics.standardisation import Standardisation
from models.runtime.whole_folder import folder_written_whole
from models.ssgp.autoencoder_fit import Training
from models.ssgp.drawn import drawn_process, first_length_scale
from models.ssgp.linear import linear_gaussians
from models.ssgp.moments import BLOCK, in_blocks
from models.ssgp.predictor import ChangedInputs, Predictor, load_predictor, write_predictor
from oracles import train, train_autoencoder

NAMES = ("width", "height", "depth")
CHANGES = ("none", "projection", "autoencoder")


def rows_of(rows: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of unequal units, and a target of its own."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, 3, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 20.0, 0.1]) + 7
    scaled = (inputs - 7) / torch.tensor([1.0, 20.0, 0.1])
    noise = torch.randn(rows, generator=generator, dtype=torch.float64)
    return inputs, 100 + 30 * (scaled.sin().sum(1) + 0.2 * noise)


def change_of(kind: str, inputs: torch.Tensor) -> ChangedInputs | None:
    if kind == "none":
        return None
    if kind == "projection":
        projection = torch.linalg.qr(torch.randn(3, 2, generator=torch.Generator().manual_seed(3)).double()).Q
        return ChangedInputs(projection, Standardisation.of(inputs @ projection))
    training = Training(steps=5, batch_size=32, learning_rate=0.01, alpha=8.0, beta=1.2)
    model = train_autoencoder(inputs.float(), latent=2, components=3, training=training, seed=0)
    return ChangedInputs(model, Standardisation.of(model.reconfigure(inputs.float()).double()))


def fitted(kind: str = "none", *, linear: bool = False, rows: int = 120) -> Predictor:
    inputs, targets = rows_of(rows)
    of_inputs, of_target = Standardisation.of(inputs), Standardisation.of(targets)
    x, y = of_inputs.apply(inputs), of_target.apply(targets)
    change = change_of(kind, x)
    x = x if change is None else change.apply(x)
    if linear:
        return Predictor(of_inputs, of_target, linear_gaussians(x, y, [1e-3])[0], NAMES, "price", change)
    model = drawn_process(x, Gaussian(), Orthogonal(), count=20, seed=0)
    train(model, in_blocks(x, y), iterations=20, learning_rate=0.1)
    return Predictor(of_inputs, of_target, model.posterior(in_blocks(x, y)), NAMES, "price", change)


def test_predictions_are_in_the_targets_own_unit_with_the_noise_and_without() -> None:
    predictor = fitted()
    new, _ = rows_of(7, seed=1)
    scaled = (new - predictor.inputs.mean) / predictor.inputs.scale
    expected = predictor.process.predict(scaled)
    mean, deviation = predictor.predict(new.numpy())
    np.testing.assert_allclose(mean, predictor.target.mean + predictor.target.scale * expected.mean, rtol=1e-12)
    np.testing.assert_allclose(deviation, predictor.target.scale * expected.variance.sqrt(), rtol=1e-12)
    same, of_function = predictor.predict(new.numpy(), noise=False)
    np.testing.assert_allclose(mean, same, rtol=1e-12)
    noise = predictor.target.scale.square() * predictor.process.noise
    np.testing.assert_allclose(deviation**2 - of_function**2, noise.expand(7), rtol=1e-9)


def test_most_new_observations_lie_where_they_are_said_to() -> None:
    new, targets = rows_of(2000, seed=2)
    mean, deviation = fitted(rows=1000).predict(new.numpy())
    off = np.abs(targets.numpy() - mean) / deviation
    assert 0.92 < np.mean(off < 1.96) < 0.98
    assert np.sqrt(np.mean((targets.numpy() - mean) ** 2)) < 0.5 * targets.std().item()


def saved(predictor: Predictor, folder: Path) -> None:
    with folder_written_whole(folder) as partial:
        write_predictor(predictor, partial)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("linear", [False, True])
def test_what_is_loaded_predicts_the_same(kind: str, linear: bool, tmp_path: Path) -> None:
    predictor, (new, _) = fitted(kind, linear=linear), rows_of(9, seed=1)
    state = torch.random.get_rng_state()
    saved(predictor, tmp_path / "deeper" / "model")
    loaded = load_predictor(tmp_path / "deeper" / "model")
    assert torch.equal(torch.random.get_rng_state(), state)
    for one, other in zip(predictor.predict(new), loaded.predict(new), strict=True):
        assert one.dtype == np.float64
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert (loaded.input_names, loaded.target_name) == (NAMES, "price")
    assert sorted(path.name for path in tmp_path.glob("deeper/**/*")) == ["model", "predictor.json", "predictor.npz"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predictor, folder = fitted(linear=True), tmp_path / "model"

    def breaks(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", breaks)
        with pytest.raises(OSError, match="no space left"):
            saved(predictor, folder)
    assert list(tmp_path.iterdir()) == []
    saved(predictor, folder)
    with pytest.raises(FileExistsError, match="model is there already; name another folder, or remove it"):
        saved(predictor, folder)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds no saved model: predictor.json is not there"):
        load_predictor(tmp_path)
    (tmp_path / "predictor.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match=r"holds no saved model: predictor.npz is not there"):
        load_predictor(tmp_path)


def test_blocks_of_rows_are_joined_in_order() -> None:
    predictor = fitted(linear=True)
    new, _ = rows_of(2 * BLOCK + 3, seed=1)
    mean, deviation = predictor.predict(new)
    np.testing.assert_allclose(mean[-3:], predictor.predict(new[-3:])[0], rtol=1e-12)
    assert deviation.shape == (len(new),)


def test_a_table_goes_by_the_names_of_its_columns() -> None:
    predictor, (new, _) = fitted(), rows_of(4, seed=1)
    table = pd.DataFrame(new.numpy(), columns=list(NAMES)).assign(other="text")
    for one, other in zip(
        predictor.predict(new), predictor.predict(table[["depth", "other", *NAMES[:2]]]), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    with pytest.raises(ValueError, match="column height is missing; the model needs width, height, depth"):
        predictor.predict(table.drop(columns="height"))


def test_inputs_that_cannot_be_used_are_refused() -> None:
    predictor, (new, _) = fitted(linear=True), rows_of(4, seed=1)
    for wrong in (new[:, :2], new[0], new.unsqueeze(0)):
        with pytest.raises(ValueError, match=r"expected \(row, 3\) inputs width, height, depth, got shape"):
            predictor.predict(wrong)
    for value in (math.nan, math.inf):
        broken = new.clone()
        broken[2, 1] = value
        with pytest.raises(ValueError, match="row 2, column height: not a finite number; leave the row out"):
            predictor.predict(broken)


def test_linear_regression_says_nothing_of_its_function() -> None:
    predictor, (new, _) = fitted(linear=True), rows_of(4, seed=1)
    _, deviation = predictor.predict(new, noise=False)
    assert deviation.tolist() == [0.0] * 4


def test_the_first_length_scale_is_of_the_rows_and_one_where_none_differ() -> None:
    inputs = torch.tensor([[0.0], [3.0]], dtype=torch.float64)
    assert first_length_scale(inputs, seed=0) == 3.0
    assert first_length_scale(inputs[:1].expand(5, 1), seed=0) == 1.0
