"""What models of points learn from: projections, and an autoencoder that runs share."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from models.ssgp.autoencoder_fit import Training
from oracles import train_autoencoder
from pipeline.host.errors import PipelineError
from pipeline.job import checkpoint
from pipeline.job.curve import EpochRow
from pipeline.systems.ssgp import inputs as inputs_module
from pipeline.systems.ssgp.config import AutoencoderConfig
from pipeline.systems.ssgp.inputs import (
    autoencoder_in,
    explained,
    fit_autoencoder,
    mark_of,
    principal_directions,
    refuse_taken_back,
)

OWN = AutoencoderConfig(components=3, latent=2, alpha=8.0, beta=1.2, steps=9, batch_size=16, learning_rate=0.01)


def fifty_rows() -> torch.Tensor:
    return torch.randn(50, 3, generator=torch.Generator().manual_seed(0))


def test_what_is_explained_of_the_inputs() -> None:
    x = torch.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 4.0]])
    assert explained(x, x) == 1
    assert explained(x, x.mean(0).expand_as(x)) == 0
    assert explained(x, x - 1) == pytest.approx(1 - 6 / 14)


def test_principal_directions_are_those_of_largest_variance_with_fixed_signs() -> None:
    inputs = fifty_rows() * torch.tensor([1.0, 9.0, 4.0])
    found = principal_directions(inputs - inputs.mean(0), 2)
    assert found.shape == (3, 2)
    assert found.abs().argmax(0).tolist() == [1, 2]
    assert bool((found.gather(0, found.abs().argmax(0, keepdim=True)) > 0).all())


def test_an_autoencoder_is_trained_as_python_trains_it() -> None:
    training = Training(OWN.steps, OWN.batch_size, OWN.learning_rate, OWN.alpha, OWN.beta)
    expected = train_autoencoder(fifty_rows(), latent=2, components=3, training=training, seed=5)
    found = fit_autoencoder(fifty_rows(), OWN, seed=5)
    for one, other in zip(found.state_dict().values(), expected.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_an_autoencoder_is_trained_once_and_found_aloud(tmp_path: Path, monkeypatch, capsys) -> None:
    first = autoencoder_in(tmp_path, fifty_rows(), OWN, 5)
    assert "found" not in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["trained.npz"]
    monkeypatch.setattr(inputs_module, "fit_autoencoder", lambda *_, **__: pytest.fail("trained twice"))
    second = autoencoder_in(tmp_path, fifty_rows(), OWN, 5)
    assert f"autoencoder of seed 5: found, trained before ({tmp_path})" in capsys.readouterr().out
    assert torch.equal(first.reconfigure(fifty_rows()), second.reconfigure(fifty_rows()))


def test_an_autoencoder_that_was_cut_short_goes_on_to_the_same_numbers(tmp_path: Path, monkeypatch) -> None:
    whole = fit_autoencoder(fifty_rows(), OWN, seed=5)
    monkeypatch.setattr(inputs_module, "CHECKPOINT_STEPS", 4)
    saves, save = [], checkpoint.save

    def killed(*arguments: object) -> None:
        save(*arguments)  # pyright: ignore[reportArgumentType]
        saves.append(1)
        if len(saves) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        autoencoder_in(tmp_path, fifty_rows(), OWN, 5)
    again = autoencoder_in(tmp_path, fifty_rows(), OWN, 5)
    assert torch.equal(again.reconfigure(fifty_rows()), whole.reconfigure(fifty_rows()))


def test_each_matter_of_an_autoencoder_names_another_one() -> None:
    rows = fifty_rows()
    other = AutoencoderConfig(**{**vars(OWN), "steps": 10})
    marks = {mark_of(rows, OWN, 5), mark_of(rows, OWN, 6), mark_of(rows, other, 5), mark_of(rows + 1, OWN, 5)}
    assert len(marks) == 4
    assert mark_of(fifty_rows(), OWN, 5) in marks


def test_an_autoencoder_of_another_number_of_threads_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = list[str]()
    for threads in (1, 2, 1):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        marks.append(mark_of(fifty_rows(), OWN, 5))
    assert marks[0] == marks[2] != marks[1]


def test_a_file_of_another_autoencoder_is_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "trained.npz", {"weight": torch.zeros(2)}, {})
    with pytest.raises(PipelineError, match=r"trained\.npz is a checkpoint of another model"):
        autoencoder_in(tmp_path, fifty_rows(), OWN, 5)


def test_an_autoencoder_whose_gradient_is_not_finite_is_refused() -> None:
    row = EpochRow(1, 4, {}, 0.1, accepted=False)
    with pytest.raises(ValueError, match="gradient is not finite at step 4; lower its learning rate"):
        refuse_taken_back(row)
