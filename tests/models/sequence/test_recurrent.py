"""The encoder against packed LSTMs, the decoder against a loop of scalars, gradients against finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.sequence.masks import present_steps
from models.sequence.packing import Padded
from models.sequence.recurrent import (
    AttentionDecoder,
    BidirectionalGRU,
    BidirectionalLSTM,
    ReversedByLength,
    TeacherForcing,
)

LENGTHS = torch.tensor([5, 2, 1, 0])
CLOSE = {torch.float64: 1e-10, torch.float32: 1e-5}


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=chance(seed), dtype=torch.float64)


def drawn(module: Any) -> Any:
    """In double precision, with weights large enough for all terms to matter."""
    module.double()
    with torch.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(0.7 * normal(*parameter.shape, seed=place))
    return module


def some_sequences(width: int = 3) -> Padded:
    values = normal(4, 5, width, seed=9)
    return Padded(values.masked_fill(~present_steps(LENGTHS, 5).unsqueeze(-1), 0), LENGTHS)


def by_packing(encoder: BidirectionalLSTM, sequences: Padded) -> Tensor:
    """The same states by a bidirectional `nn.LSTM` or `nn.GRU` over packed sequences, which have to be there."""
    values, lengths = sequences
    for forwards, backwards in zip(encoder.forwards, encoder.backwards, strict=True):
        assert isinstance(forwards, encoder.cell)
        both = encoder.cell(values.shape[2], forwards.hidden_size, batch_first=True, bidirectional=True).double()
        ahead = dict(forwards.named_parameters())
        back = {f"{name}_reverse": value for name, value in backwards.named_parameters()}
        both.load_state_dict(ahead | back)
        packed = nn.utils.rnn.pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
        values = nn.utils.rnn.pad_packed_sequence(both(packed)[0], batch_first=True)[0]
        if not encoder.joined:
            values = sum(values.chunk(2, 2))
    return values


@pytest.mark.parametrize("kind", [BidirectionalLSTM, BidirectionalGRU])
@pytest.mark.parametrize("directions", ["added", "joined"])
@pytest.mark.parametrize("layers", [1, 2])
def test_reversed_by_length_is_packed(kind: type[BidirectionalLSTM], directions: Any, layers: int) -> None:
    encoder = drawn(kind(3, 4, layers=layers, directions=directions))
    sequences = Padded(*(part[:3] for part in some_sequences()))
    torch.testing.assert_close(encoder(sequences), by_packing(encoder, sequences), rtol=0, atol=1e-12)
    in_single = encoder.float()(Padded(sequences.values.float(), sequences.lengths))
    torch.testing.assert_close(in_single.double(), by_packing(encoder.double(), sequences), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", [BidirectionalLSTM, BidirectionalGRU])
def test_residual_states_are_added_to_what_a_layer_reads(kind: type[BidirectionalLSTM]) -> None:
    encoder, sequences = drawn(kind(4, 4, layers=2, residual=True)), some_sequences(width=4)
    first, second = (drawn(kind(4, 4)) for _ in range(2))
    for place, layer in enumerate((first, second)):
        layer.forwards[0].load_state_dict(encoder.forwards[place].state_dict())
        layer.backwards[0].load_state_dict(encoder.backwards[place].state_dict())
    once = sequences.values + first(sequences)
    torch.testing.assert_close(encoder(sequences), once + second(Padded(once, LENGTHS)), rtol=0, atol=1e-12)
    assert not encoder(sequences)[~sequences.present].any()
    with pytest.raises(ValueError, match="residual states need as many inputs, 8; got 4"):
        kind(4, 4, directions="joined", residual=True)


def test_reversal_twice_is_nothing() -> None:
    values = some_sequences().values
    reversal = ReversedByLength.of(LENGTHS, 5)
    assert torch.equal(reversal.apply(values)[0], values[0].flip(0))
    assert torch.equal(reversal.apply(reversal.apply(values)), values)


def test_more_padding_changes_nothing_and_absent_steps_have_no_gradient() -> None:
    encoder = drawn(BidirectionalLSTM(3, 4, layers=2))
    short = some_sequences()
    long = Padded(torch.cat([short.values, torch.zeros(4, 3, 3, dtype=torch.float64)], 1).requires_grad_(), LENGTHS)
    states = encoder(long)
    torch.testing.assert_close(states[:, :5], encoder(short), rtol=0, atol=1e-12)
    assert not states[:, 5:].any()
    (gradient,) = torch.autograd.grad(states.square().sum(), long.values)
    assert not gradient[~long.present].any()
    assert gradient[long.present].all()


def made(score: Any, *, fed: int, memory: int = 3) -> tuple[AttentionDecoder, nn.Linear, Tensor | None]:
    decoder = drawn(AttentionDecoder(memory, 4, fed=fed, score=score))
    feed = nn.Parameter(0.7 * normal(fed, 2, seed=7)) if fed else None
    return decoder, drawn(nn.Linear(4 + memory, 2)), feed


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def affine(linear: nn.Linear, x: list[float]) -> list[float]:
    bias = [0.0] * linear.out_features if linear.bias is None else linear.bias.tolist()
    rows = zip(linear.weight.tolist(), bias, strict=True)
    return [b + sum(w * e for w, e in zip(row, x, strict=True)) for row, b in rows]


def times(matrix: Tensor, x: list[float]) -> list[float]:
    return [sum(w * e for w, e in zip(row, x, strict=True)) for row in matrix.tolist()]


def one_score(decoder: AttentionDecoder, memory: list[float], state: list[float]) -> float:
    key, query = affine(decoder.key, memory), affine(decoder.query, state)
    if decoder.energy is None:
        return sum(k * q for k, q in zip(key, query, strict=True)) / math.sqrt(decoder.units)
    energy = decoder.energy.weight[0].tolist()
    return sum(v * math.tanh(k + q) for v, k, q in zip(energy, key, query, strict=True))


def written_out(
    decoder: AttentionDecoder, read: nn.Linear, feed: Tensor | None, memory: list[list[float]], told: list[Any]
) -> list[list[float]]:
    """The decoder as its docstring has it, for one sequence, number by number. told: the true vector before each
    step, None where the prediction is fed back."""
    units, width = decoder.units, len(memory[0]) if memory else decoder.key.in_features
    state, cell, before, found = [0.0] * units, [0.0] * units, [0.0] * read.out_features, []
    for step, truth in enumerate(told):
        scores = [one_score(decoder, each, state) for each in memory]
        shares = [math.exp(score) / sum(map(math.exp, scores)) for score in scores]
        context = [sum(share * each[i] for share, each in zip(shares, memory, strict=True)) for i in range(width)]
        x = affine(decoder.gates, state + context)
        if feed is not None and decoder.feed is not None and step:
            added = affine(decoder.feed, times(feed, before if truth is None else truth))
            x = [own + other for own, other in zip(x, added, strict=True)]
        i, f, o, n = (x[part * units : (part + 1) * units] for part in range(4))
        cell = [sigmoid(f[k]) * cell[k] + sigmoid(i[k]) * math.tanh(n[k]) for k in range(units)]
        state = [sigmoid(o[k]) * math.tanh(cell[k]) for k in range(units)]
        before = affine(read, state + context)
        found.append(before)
    return found


@pytest.mark.parametrize("score", ["additive", "dot"])
@pytest.mark.parametrize("feedback", ["none", "prediction", "teacher"])
@pytest.mark.parametrize("dtype", CLOSE)
def test_the_decoder_is_the_loop_written_out(score: Any, feedback: str, dtype: torch.dtype) -> None:
    decoder, read, feed = made(score, fed=0 if feedback == "none" else 3)
    sequences, truth = some_sequences(), normal(4, 6, 2, seed=5)
    steps = torch.rand(4, 6, generator=chance(1)) < 0.5
    told = TeacherForcing(truth.to(dtype), steps) if feedback == "teacher" else None
    lists = [
        [truth[row, step - 1].tolist() if told and step and steps[row, step] else None for step in range(6)]
        for row in range(4)
    ]
    memories = [sequences.values[row, :length].tolist() for row, length in enumerate(LENGTHS.tolist())]
    expected = [written_out(decoder, read, feed, own, each) for own, each in zip(memories, lists, strict=True)]
    decoder.to(dtype), read.to(dtype)
    feed = None if feed is None else feed.to(dtype)
    found = decoder(sequences.values.to(dtype), sequences.present, steps=6, read=read, feed=feed, told=told)
    limit = CLOSE[dtype]
    torch.testing.assert_close(
        found.values.double(), torch.tensor(expected, dtype=torch.float64), rtol=limit, atol=limit
    )


@pytest.mark.parametrize("score", ["additive", "dot"])
@pytest.mark.parametrize("feedback", ["none", "prediction", "teacher"])
def test_the_gradient_along_the_recursion_is_that_of_finite_differences(score: Any, feedback: str) -> None:
    decoder, read, feed = made(score, fed=0 if feedback == "none" else 3)
    truth = TeacherForcing(normal(4, 3, 2, seed=5), torch.rand(4, 3, generator=chance(1)) < 0.5)
    told = truth if feedback == "teacher" else None
    parameters = [*decoder.parameters(), *read.parameters(), *([feed] if feed is not None else [])]
    sequences = some_sequences()
    memory, present = sequences.values[:, :3].clone().requires_grad_(), sequences.present[:, :3]

    def decoded(memory: Tensor, *_: Tensor) -> Tensor:
        return decoder(memory, present, steps=3, read=read, feed=feed, told=told).values

    assert torch.autograd.gradcheck(decoded, (memory, *parameters), fast_mode=True)


def test_a_second_derivative_of_the_decoder_is_refused_and_not_wrong() -> None:
    decoder, read, _ = made("additive", fed=0)
    memory, present = some_sequences()[0][:, :3], some_sequences().present[:, :3]
    found = decoder(memory, present, steps=3, read=read).values.square().sum()
    with pytest.raises(RuntimeError, match="cannot be differentiated once more; take the steps by operations of torch"):
        torch.autograd.grad(found, [decoder.gates.weight], create_graph=True)


def test_the_gradient_of_the_encoder_is_that_of_finite_differences() -> None:
    encoder = drawn(BidirectionalLSTM(2, 2))
    sequences = some_sequences(2)
    values = sequences.values.clone().requires_grad_()

    def encoded(values: Tensor, *_: Tensor) -> Tensor:
        return encoder(Padded(values, LENGTHS))

    assert torch.autograd.gradcheck(encoded, (values, *encoder.parameters()), fast_mode=True)


def test_attention_over_one_step_is_that_step() -> None:
    decoder, read, feed = made("additive", fed=3)
    memory, present = normal(2, 4, 3), present_steps(torch.tensor([1, 1]), 4)
    found = decoder(memory, present, steps=5, read=read, feed=feed)
    assert torch.equal(found.attention[..., 0], torch.ones(2, 5, dtype=torch.float64))
    assert not found.attention[..., 1:].any()
    alone = decoder(memory[:, :1], present[:, :1], steps=5, read=read, feed=feed)
    torch.testing.assert_close(found.values, alone.values, rtol=0, atol=1e-12)


def test_told_nothing_is_the_prediction_fed_back_and_told_all_is_the_truth() -> None:
    decoder, read, feed = made("additive", fed=3)
    sequences, truth = some_sequences(), normal(4, 6, 2, seed=5)

    def values(told: TeacherForcing | None) -> Tensor:
        return decoder(sequences.values, sequences.present, steps=6, read=read, feed=feed, told=told).values

    own = values(None)
    torch.testing.assert_close(
        values(TeacherForcing(truth, torch.zeros(4, 6, dtype=torch.bool))), own, rtol=0, atol=1e-12
    )
    everywhere = torch.ones(4, 6, dtype=torch.bool)
    torch.testing.assert_close(values(TeacherForcing(own.detach(), everywhere)), own, rtol=0, atol=1e-12)
    changed = values(TeacherForcing(truth, everywhere))
    torch.testing.assert_close(changed[:, 0], own[:, 0], rtol=0, atol=1e-12)
    assert (changed[:, 1:] - own[:, 1:]).abs().amin() > 1e-6


def test_decoded_vectors_know_neither_padding_nor_neighbours() -> None:
    decoder, read, feed = made("additive", fed=3)
    sequences = some_sequences()
    whole = decoder(sequences.values, sequences.present, steps=4, read=read, feed=feed).values
    for row, length in enumerate(LENGTHS.tolist()):
        own = sequences.values[row : row + 1, : max(1, length)]
        alone = decoder(own, sequences.present[row : row + 1, : max(1, length)], steps=4, read=read, feed=feed).values
        torch.testing.assert_close(whole[row], alone[0], rtol=0, atol=1e-12)


def test_absent_steps_of_memory_have_no_gradient() -> None:
    decoder, read, feed = made("dot", fed=3)
    sequences = some_sequences()
    memory = sequences.values.clone().requires_grad_()
    found = decoder(memory, sequences.present, steps=4, read=read, feed=feed)
    (gradient,) = torch.autograd.grad(found.values.square().sum(), memory)
    assert not gradient[~sequences.present].any()
    assert gradient[sequences.present].all()


def test_what_makes_no_sense_is_refused() -> None:
    decoder, read, _ = made("additive", fed=0)
    present, memory = torch.ones(1, 2, dtype=torch.bool), normal(1, 2, 3)
    with pytest.raises(ValueError, match="a decoder without feedback cannot be told its sequence"):
        decoder(
            memory,
            present,
            steps=1,
            read=read,
            told=TeacherForcing(normal(1, 1, 2), torch.ones(1, 1, dtype=torch.bool)),
        )
    with pytest.raises(ValueError, match="at least one step, got 0"):
        decoder(memory, present, steps=0, read=read)
    with pytest.raises(ValueError, match="score must be additive or dot, got 'sum'"):
        AttentionDecoder(3, 4, score="sum")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="directions must be added or joined, got 'both'"):
        BidirectionalLSTM(3, 4, directions="both")  # pyright: ignore[reportArgumentType]
