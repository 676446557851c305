"""Losses of arms: which arms are the same when a weight is 0, shuffled targets, what is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score

from mctn_problems import network, samples
from models.mctn.network import SentimentNetwork
from models.mctn.objective import Batch, Learning, SentimentObjective, Weights, attention_of, measure
from models.mctn.samples import Samples, dropped, without
from models.mctn.training import Training, train

ROWS = torch.arange(12)
SHORT = Training(epochs=2, learning_rate=0.01, clip=1.0, patience=5)


def trained(arm: str, weights: Weights, **own: Any) -> tuple[list[tuple[float, float]], torch.Tensor]:
    """The curve, and the predictions at its end."""
    model = network(arm, dropout=0.2, **own)
    objective = SentimentObjective(model, samples(), weights=weights, learning=Learning(5))
    curve = train(objective, samples(), SHORT, seed=0)
    return curve, measure(model, samples(), terms=frozenset()).outputs


def test_without_translation_a_cyclic_arm_is_none_step_for_step() -> None:
    expected, outputs = trained("none-t", Weights())
    for arm in ("cyclic-t-a", "simple-t-v", "bothways-t-v", "paired-t-av"):
        curve, own = trained(arm, Weights(0, 0, 0))
        assert curve == expected
        assert torch.equal(own, outputs)
    differs, _ = trained("cyclic-t-a", Weights(0.1, 0, 0))
    assert differs != expected


@pytest.mark.parametrize("share", ["padded", "core", "none"])
def test_without_the_way_back_a_cyclic_arm_is_simple_step_for_step(share: Any) -> None:
    for rest in ("t-v", "t-v-a"):
        expected, outputs = trained(f"simple-{rest}", Weights(2, 3, 4), share=share)
        curve, own = trained(f"cyclic-{rest}", Weights(2, 0, 4), share=share)
        assert curve == expected
        assert torch.equal(own, outputs)
        assert trained(f"cyclic-{rest}", Weights(2, 3, 4), share=share)[0] != expected


def test_told_at_no_step_teacher_forcing_is_prediction() -> None:
    def losses(feedback: Any, teacher: float) -> list[float]:
        model = network("cyclic-t-v", feedback=feedback)
        objective = SentimentObjective(model, samples(), weights=Weights(), learning=Learning(5, teacher))
        return [
            float(objective.loss(each).mean.detach()) for each in objective.batches(torch.Generator().manual_seed(0))
        ]

    assert losses("teacher", 0.0) == pytest.approx(losses("prediction", 1.0), rel=1e-12)
    assert losses("teacher", 1.0) != pytest.approx(losses("prediction", 1.0), rel=1e-6)


def test_the_loss_is_the_weighted_sum_of_what_is_measured() -> None:
    model = network("cyclic-t-v-a")
    objective = SentimentObjective(model, samples(), weights=Weights(2, 3, 4), learning=Learning(12))
    (batch,) = objective.batches(torch.Generator().manual_seed(0))
    found = measure(model, samples(), terms=objective.terms, batch_size=5)
    assert set(found.losses) == {"prediction", "translation", "cycle", "second"}
    assert set(found.explained) == {"translation v", "cycle t", "second a"}
    expected = sum(
        weight * found.losses[name] for name, weight in
        {"prediction": 1, "translation": 2, "cycle": 3, "second": 4}.items()
    )  # fmt: skip
    assert float(objective.loss(batch).mean.detach()) == pytest.approx(expected, rel=1e-10)
    assert found.encodings.shape == (12, 4)


def test_classes_are_learned_by_cross_entropy() -> None:
    model, own = network("none-t", outputs=3), samples()
    labels = torch.arange(12) % 3
    found = measure(model, Samples(own.streams, labels), terms=frozenset())
    torch.testing.assert_close(found.outputs.sum(1), torch.ones(12, dtype=torch.float64))
    expected = -found.outputs[torch.arange(12), labels].log().mean()
    assert found.losses["prediction"] == pytest.approx(float(expected), rel=1e-10)


def test_the_penalty_is_that_of_the_last_map() -> None:
    model, own = network("cyclic-t-v"), samples()
    plain, penal = (
        SentimentObjective(model, own, weights=Weights(), learning=Learning(12, l2=share)) for share in (0.0, 0.01)
    )
    (batch,) = plain.batches(torch.Generator().manual_seed(0))
    last = model.readout.affine.weight
    difference = penal.loss(batch).mean - plain.loss(batch).mean
    torch.testing.assert_close(difference, 0.01 * last.square().sum())
    (gradient,) = torch.autograd.grad(difference, [last])
    torch.testing.assert_close(gradient, 0.02 * last)


def test_shuffled_targets_are_those_of_other_samples() -> None:
    own = samples()
    model = network("shuffled-t-v")
    objective = SentimentObjective(
        model, own, weights=Weights(), learning=Learning(12), shuffle=torch.Generator().manual_seed(0)
    )
    video, moved = (part.streams["v"].steps.unpack() for part in (own, objective.samples))
    assert torch.equal(objective.samples.streams["t"].steps.values, own.streams["t"].steps.values)
    found = [next(i for i, one in enumerate(video) if one.equal(each)) for each in moved]
    assert sorted(found) == list(range(12)) != found
    cyclic = SentimentObjective(
        network("cyclic-t-v"), own, weights=Weights(), learning=Learning(12), shuffle=torch.Generator()
    )
    assert cyclic.samples is own


def test_explained_by_feature_beside_the_joint_one() -> None:
    model, own = network("cyclic-t-v-a"), samples(missing=[2])
    found = measure(model, own, terms=Weights().terms, batch_size=5)
    assert {name: len(each) for name, each in found.by_feature.items()} == {
        "translation v": 3,
        "cycle t": 4,
        "second a": 2,
    }
    true, translated = (torch.cat(each).numpy() for each in zip(*pairs_of(model, own), strict=True))
    assert found.explained["translation v"] == pytest.approx(
        r2_score(true, translated, multioutput="variance_weighted")
    )
    np.testing.assert_allclose(
        found.by_feature["translation v"], r2_score(true, translated, multioutput="raw_values"), rtol=1e-9
    )


def pairs_of(model: SentimentNetwork, own: Samples) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """True and translated video of each sample that has some, one at a time."""
    found = list[tuple[torch.Tensor, torch.Tensor]]()
    for row in range(own.count):
        first = model(own.pick(torch.tensor([row]), "tva"), terms=frozenset({"translation"})).translations[0]
        length = int(first.true.sequences.lengths)
        found.append((first.true.sequences.values[0, :length], first.values[0, :length].detach()))
    return found


def test_attention_is_over_the_steps_of_each_sample() -> None:
    model, own, rows = network("cyclic-t-v"), samples(missing=[2]), torch.tensor([4, 2, 7])
    maps = attention_of(model, own, rows)
    lengths = own.streams["t"].steps.lengths[rows].tolist()
    assert [each.shape for each in maps] == [(lengths[0], lengths[0]), (0, lengths[1]), (lengths[2], lengths[2])]
    for each in maps:
        np.testing.assert_allclose(each.sum(1), 1, rtol=1e-12)
    with pytest.raises(ValueError, match="arm none-t does not translate"):
        attention_of(network("none-t"), own, rows)


@pytest.mark.parametrize("arm", ["none-tva", "double-t-v", "concat-ta-tv"])
def test_modalities_are_dropped_while_learning_alone(arm: str) -> None:
    """By the batch's own seed: the same batch drops the same, and without modality dropout the seed does nothing."""
    model, own = network(arm), samples()
    objective = SentimentObjective(model, own, weights=Weights(), learning=Learning(12, modality_dropout=0.5))
    whole = SentimentObjective(model, own, weights=Weights(), learning=Learning(12))
    losses = [
        [float(each.loss(batch).mean.detach()) for batch in (Batch(ROWS, 1), Batch(ROWS, 1), Batch(ROWS, 2))]
        for each in (objective, whole)
    ]
    assert losses[0][0] == losses[0][1] != losses[0][2]
    assert losses[1][0] == losses[1][2] not in losses[0]


def test_a_dropped_modality_has_no_step_and_one_is_left() -> None:
    inputs = samples(200, missing=[2]).pick(torch.arange(200), "tva")
    found = dropped(inputs, 0.5, torch.Generator().manual_seed(0))
    kept = torch.stack([found[name].lengths > 0 for name in "tva"])
    assert kept[:, 2].tolist() == [True, False, False]
    assert kept.any(0).all()
    assert 0.5 < kept.double().mean() < 0.65  # (1 − p) + p³, and once in 200 samples two that were never there
    for (name, part), own in zip(found.items(), kept, strict=True):
        assert torch.equal(part.values[own], inputs[name].values[own])
        assert not part.values[~own].any()


def test_samples_without_modalities_are_read_as_if_these_were_of_no_step() -> None:
    own = samples()
    left = without(own, "va")
    assert [int(left.streams[name].steps.lengths.sum()) > 0 for name in "tva"] == [True, False, False]
    for arm, same in (("cyclic-t-v-a", True), ("none-tva", False)):
        one, other = (measure(network(arm), each, terms=frozenset()).outputs for each in (own, left))
        assert torch.equal(one, other) is same
        assert bool(other.isfinite().all())


@pytest.mark.parametrize("arm", ["cyclic-v-a", "simple-v-t-a"])
def test_samples_without_a_step_to_read_count_for_nothing_where_it_is_measured(arm: str) -> None:
    own, model = samples(missing=[2, 9]), network(arm)
    rows = torch.tensor([row for row in range(12) if row not in (2, 9)])
    labels = own.labels
    assert labels is not None
    others = Samples({name: stream.take(rows) for name, stream in own.streams.items()}, labels[rows])
    found, left = (measure(model, each, terms=Weights().terms) for each in (own, others))
    assert found.outputs[[2, 9]].isnan().all()
    assert found.encodings[[2, 9]].isnan().all()
    torch.testing.assert_close(found.outputs[rows], left.outputs, rtol=0, atol=1e-12)
    assert found.losses == pytest.approx(left.losses, rel=1e-12)
    assert found.explained == pytest.approx(left.explained, rel=1e-9)
    nothing = measure(network("none-v", outputs=3), without(own, "v"), terms=frozenset())
    assert nothing.outputs.shape == (12, 3)
    assert nothing.outputs.isnan().all()
    assert nothing.losses == {}


def test_samples_that_make_no_sense_are_refused() -> None:
    own, model = samples(), network("none-v")
    with pytest.raises(ValueError, match="samples to learn from need labels"):
        SentimentObjective(model, Samples(own.streams), weights=Weights(), learning=Learning(5))
    with pytest.raises(ValueError, match="sample 2 has no step of what is read; leave it out"):
        SentimentObjective(model, samples(missing=[2]), weights=Weights(), learning=Learning(5))
    with pytest.raises(ValueError, match="the weight of cycle must be a number of 0 or more, got -1"):
        SentimentObjective(model, own, weights=Weights(cycle=-1), learning=Learning(5))
    with pytest.raises(ValueError, match="l2 must be a number of 0 or more, got -1"):
        SentimentObjective(model, own, weights=Weights(), learning=Learning(5, l2=-1))
    with pytest.raises(ValueError, match="teacher_forcing must be a number from 0 to 1, got 2"):
        SentimentObjective(model, own, weights=Weights(), learning=Learning(5, 2))


def test_a_loss_that_is_not_finite_is_said() -> None:
    model, own = network("none-t"), samples()
    labels = own.labels
    assert labels is not None
    objective = SentimentObjective(
        model, Samples(own.streams, labels * torch.inf), weights=Weights(), learning=Learning(5)
    )
    with pytest.raises(ValueError, match="the loss of epoch 1 is not finite; lower learning_rate"):
        train(objective, None, SHORT, seed=0)
