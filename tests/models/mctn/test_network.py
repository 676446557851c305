"""The network of an arm: what arms have in common, what must not matter, and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from mctn_problems import WIDTHS, network, samples
from models.mctn import network as module
from models.mctn.arms import ARMS, plan_of
from models.mctn.network import Architecture, SentimentNetwork, Teacher, Translation
from models.mctn.objective import Learning, SentimentObjective, Weights, measure, translation_loss
from models.mctn.samples import Samples
from models.sequence.packing import Padded

ALL = Weights().terms
ROWS = torch.arange(12)


def inputs_of(own: Samples, letters: str = "tva") -> dict[str, Padded]:
    return own.pick(torch.arange(own.count), letters)


def longer(padded: Padded, more: int) -> Padded:
    return Padded(torch.nn.functional.pad(padded.values, (0, 0, 0, more)), padded.lengths)


def with_weights_of(model: SentimentNetwork, other: SentimentNetwork) -> None:
    """Gives the model the weights of the other by name."""
    model.load_state_dict({**model.state_dict(), **other.state_dict()})


@pytest.mark.parametrize("arm", ARMS)
def test_padding_changes_nothing(arm: str) -> None:
    """Of source, targets and all losses; and no absent step has a gradient."""
    model, own = network(arm), samples(missing=[2])
    if "a" in plan_of(arm).read or "v" in plan_of(arm).read:
        own = samples()
    short = {name: Padded(part.values.requires_grad_(), part.lengths) for name, part in inputs_of(own).items()}
    first = model(short, terms=ALL)
    second = model({name: longer(part, 2 + place) for place, (name, part) in enumerate(short.items())}, terms=ALL)
    torch.testing.assert_close(first.outputs, second.outputs, rtol=0, atol=1e-12)
    whole = first.outputs.square().sum()
    for one, other in zip(first.translations, second.translations, strict=True):
        torch.testing.assert_close(translation_loss(one).mean, translation_loss(other).mean, rtol=0, atol=1e-12)
        whole = whole + translation_loss(one).total
    used = [part for name, part in short.items() if name in plan_of(arm).letters]
    for part, gradient in zip(used, torch.autograd.grad(whole, [part.values for part in used]), strict=True):
        assert not gradient[~part.present].any()
        assert gradient.any()


@pytest.mark.parametrize(
    "arm", ["cyclic-t-v-a", "simple-t-v", "bothways-t-v", "double-t-v-a", "concat-ta-tv", "paired-t-av", "none-tva"]
)
@pytest.mark.parametrize("share", ["padded", "core", "none"])
def test_a_prediction_knows_neither_neighbours_nor_its_place(arm: str, share: Any) -> None:
    model, own = network(arm, share=share), samples()
    whole = measure(model, own, terms=ALL).outputs
    for rows in (ROWS.flip(0), torch.tensor([5]), torch.tensor([7, 5, 0])):
        part = Samples({name: stream.take(rows) for name, stream in own.streams.items()})
        torch.testing.assert_close(measure(model, part, terms=ALL).outputs, whole[rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("arm", ARMS)
def test_predictions_look_at_what_is_read_alone(arm: str) -> None:
    model, own = network(arm), samples()
    read = plan_of(arm).read
    whole = model(inputs_of(own), terms=ALL).outputs
    assert torch.equal(model(inputs_of(own, read)).outputs, whole)
    spoilt = {
        name: part if name in read else Padded(part.values * torch.nan, part.lengths)
        for name, part in inputs_of(own).items()
    }
    assert torch.equal(model(spoilt).outputs, whole)


@pytest.mark.parametrize(("arm", "same"), [("cyclic-t-v", True), ("bothways-t-v", False)])
def test_the_way_back_never_reads_the_truth_though_decoders_are_told_it(arm: str, same: bool) -> None:
    """The translation there is of what was told; that from which a cycle is read is the model's own."""
    model, inputs = network(arm, feedback="teacher"), inputs_of(samples())
    other = inputs | {"v": Padded(inputs["v"].values * 2, inputs["v"].lengths)}
    first, second = (
        {each.term: each.values for each in model(own, terms=ALL, teacher=Teacher(1.0, torch.Generator())).translations}
        for own in (inputs, other)
    )
    assert not torch.equal(first["translation"], second["translation"])
    assert torch.equal(first["cycle"], second["cycle"]) is same
    free = {each.term: each.values for each in model(inputs, terms=ALL).translations}
    assert not torch.equal(free["translation"], first["translation"])


def test_cyclic_from_the_true_target_is_bothways(monkeypatch: pytest.MonkeyPatch) -> None:
    true = module.translated

    def told(*arguments: Any) -> Translation:
        found = true(*arguments)
        return found._replace(values=found.true.sequences.values) if found.term == "translation" else found

    own = inputs_of(samples(missing=[2]))
    expected = network("bothways-t-v")(own, terms=ALL)
    differs = network("cyclic-t-v")(own, terms=ALL)
    monkeypatch.setattr(module, "translated", told)
    found = network("cyclic-t-v")(own, terms=ALL)
    assert torch.equal(found.outputs, expected.outputs)
    torch.testing.assert_close(found.translations[1].values, expected.translations[1].values, rtol=0, atol=1e-12)
    assert (differs.translations[1].values - expected.translations[1].values).abs().max() > 1e-3


def test_without_sharing_there_are_twice_the_weights() -> None:
    """Those of a model that translates there alone, with streams of equal widths; the core shares what is recurrent."""

    def weights(arm: str, share: Any) -> int:
        model = network(arm, widths={"t": 3, "v": 3}, share=share)
        return sum(p.numel() for part in (model.there, model.back) if part for p in part.parameters())

    apart, core = network("cyclic-t-v", share="none"), network("cyclic-t-v")
    assert weights("cyclic-t-v", "none") == 2 * weights("simple-t-v", "core")
    shared = sum(p.numel() for part in (core.there.encoder, core.there.decoder) for p in part.parameters())
    assert apart.back is not None
    assert [p.shape for p in apart.there.encoder.parameters()] == [p.shape for p in apart.back.encoder.parameters()]
    assert weights("cyclic-t-v", "none") - weights("cyclic-t-v", "core") == shared


def test_padding_of_equal_widths_is_the_core_with_identity_maps() -> None:
    """Widths are those of the units, so that the maps into encoder and decoder can be the identity."""
    widths = {"t": 4, "v": 4}
    padded = network("cyclic-t-v", widths=widths, share="padded")
    core = network("cyclic-t-v", widths=widths)
    state = {name: value for name, value in padded.state_dict().items() if ".out." not in name}
    core.load_state_dict({**core.state_dict(), **state})
    with torch.no_grad():
        for stream in "tv":
            out: Any = core.there.out[stream]
            out.load_state_dict(padded.there.out["all"].state_dict())
            into: Any = core.there.into[stream]
            into.weight.copy_(torch.eye(4))
            into.bias.zero_()
            feed: Any = core.there.feed[stream]
            feed.weight.copy_(torch.eye(4))
    own = samples()
    own = Samples({"t": own.streams["t"], "v": own.streams["t"].take(ROWS.flip(0))})
    one, other = (model(inputs_of(own, "tv"), terms=ALL) for model in (padded, core))
    torch.testing.assert_close(one.outputs, other.outputs, rtol=0, atol=1e-12)
    for found, expected in zip(one.translations, other.translations, strict=True):
        torch.testing.assert_close(found.values, expected.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("share", ["padded", "core", "none"])
@pytest.mark.parametrize("feedback", ["none", "prediction", "teacher"])
def test_the_gradient_is_that_of_finite_differences(share: Any, feedback: Any) -> None:
    model, own = network("cyclic-t-v-a", share=share, feedback=feedback), samples(missing=[2])
    objective = SentimentObjective(model, own, weights=Weights(2, 3, 4), learning=Learning(12, 0.5))
    (batch,) = objective.batches(torch.Generator().manual_seed(0))
    parameters = list(model.parameters())
    generator = torch.Generator().manual_seed(1)
    along = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in parameters]

    def at(step: float) -> Tensor:
        with torch.no_grad():
            for parameter, part in zip(parameters, along, strict=True):
                parameter += step * part
        found = objective.loss(batch).total
        with torch.no_grad():
            for parameter, part in zip(parameters, along, strict=True):
                parameter -= step * part
        return found

    gradients = torch.autograd.grad(objective.loss(batch).total, parameters, materialize_grads=True)
    slope = sum((g * part).sum() for g, part in zip(gradients, along, strict=True))
    torch.testing.assert_close(slope, ((at(1e-5) - at(-1e-5)) / 2e-5).detach(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", ["cyclic", "simple", "bothways", "double"])
def test_a_sample_without_targets_teaches_prediction_alone(kind: str) -> None:
    model, own, lacking = network(f"{kind}-t-v"), samples(), samples(missing=[2])
    rows = ROWS[ROWS != 2]
    without = Samples({name: stream.take(rows) for name, stream in own.streams.items()})
    found, expected = (measure(model, part, terms=ALL).losses for part in (lacking, without))
    assert set(expected) == ({"translation", "cycle"} if kind in ("cyclic", "bothways") else {"translation"})
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def test_scores_begin_at_the_median_and_are_measured_in_deviations() -> None:
    model = network("none-t")
    inputs = inputs_of(samples(), "t")
    before = model(inputs).outputs
    model.centre_on(torch.tensor([1.0, 2.0, 9.0]))
    scale = torch.tensor([1.0, 2.0, 9.0], dtype=torch.float64).std(correction=0)
    torch.testing.assert_close(model(inputs).outputs, 2 + scale * before)


def test_parameters_at_test_are_those_of_encoder_and_readout() -> None:
    single = network("none-t").parameters_at_test()
    assert single == sum(parameter.numel() for parameter in network("none-t").parameters())
    cyclic = network("cyclic-t-a")
    assert cyclic.parameters_at_test() == single < sum(parameter.numel() for parameter in cyclic.parameters())
    assert network("double-t-a").parameters_at_test() > single


def test_the_global_generator_is_left_as_it_was() -> None:
    before = torch.get_rng_state()
    network("cyclic-t-v-a")
    assert torch.equal(torch.get_rng_state(), before)


def test_architectures_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="arm cyclic-t-a needs modality a, and there are t, v"):
        Architecture("cyclic-t-a", {"t": 1, "v": 1})
    with pytest.raises(ValueError, match="share must be one of padded, core, none, got 'all'"):
        Architecture("none-t", WIDTHS, share="all")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="feedback must be one of none, prediction, teacher, got 'truth'"):
        Architecture("none-t", WIDTHS, feedback="truth")  # pyright: ignore[reportArgumentType]
