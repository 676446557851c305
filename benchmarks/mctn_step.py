"""Loss and gradient of an encoder, a decoder and a cyclic step of MCTN beside packed sequences and repeated states.

The other forms are those of tutorials and common ports: `pack_padded_sequence` around a bidirectional `nn.LSTM`, and a
decoder that repeats its state for each step of the memory, joins the two, and makes one vector after the other.

    python benchmarks/mctn_step.py --threads 1
"""

from __future__ import annotations

from typing import Any

import torch
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn

from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.objective import Learning, SentimentObjective, Weights
from models.mctn.samples import Samples, Stream
from models.runtime.objective import descend
from models.sequence.packing import Packed, Padded
from models.sequence.recurrent import AttentionDecoder, BidirectionalLSTM, Decoded

BATCH, LEAST, STEPS, UNITS = 32, 8, 20, 32
WIDTHS = {"t": 40, "v": 8}
UTTERANCES, VOCABULARY, SPOKEN = 1284, 3000, {"t": 256, "a": 73}  # an epoch of MOSI: words, one vector of audio
TYPICAL, SPREAD, LONGEST = 10, 0.7, 114  # words of an utterance: median, deviation of the logarithm, most
LIMIT = 1.2  # seconds that an epoch of MOSI may take on one core


def stream(count: int, least: int, most: int, width: int, device: torch.device) -> Stream:
    """Random sequences with lengths from `least` to `most`."""
    generator = torch.Generator().manual_seed(width)
    lengths = torch.randint(least, most + 1, (count,), generator=generator)
    values = torch.randn(int(lengths.sum()), width, generator=generator)
    return Stream(Packed(values.to(device), lengths.to(device)))


def samples(device: torch.device) -> Samples:
    """A batch of two modalities, with scores."""
    streams = {name: stream(BATCH, LEAST, STEPS, width, device) for name, width in WIDTHS.items()}
    return Samples(streams, torch.randn(BATCH, generator=torch.Generator().manual_seed(0)).to(device))


def spoken(device: torch.device) -> Stream:
    """Utterances of as many words as those of MOSI have, each word the row of a table of vectors."""
    generator = torch.Generator().manual_seed(0)
    drawn = TYPICAL * torch.randn(UTTERANCES, generator=generator).mul(SPREAD).exp()
    lengths = drawn.round().clamp(1, LONGEST).long()
    lengths[0] = LONGEST
    words = torch.randint(VOCABULARY, (int(lengths.sum()), 1), generator=generator).float()
    table = torch.randn(VOCABULARY, SPOKEN["t"], generator=generator)
    return Stream(Packed(words.to(device), lengths.to(device)), table.to(device))


def utterances(device: torch.device) -> Samples:
    """Samples of the sizes of MOSI."""
    streams = {"t": spoken(device), "a": stream(UTTERANCES, 1, 1, SPOKEN["a"], device)}
    return Samples(streams, torch.randn(UTTERANCES, generator=torch.Generator().manual_seed(0)).to(device))


class PackedEncoder(nn.Module):
    """A bidirectional LSTM over packed sequences, its directions added, with the weights of ours."""

    def __init__(self, ours: BidirectionalLSTM) -> None:
        super().__init__()
        forwards, backwards = ours.forwards[0], ours.backwards[0]
        sizes: Any = forwards
        self.lstm = nn.LSTM(sizes.input_size, sizes.hidden_size, batch_first=True, bidirectional=True)
        back = {f"{name}_reverse": value for name, value in backwards.state_dict().items()}
        self.lstm.load_state_dict(forwards.state_dict() | back)
        self.to(next(ours.parameters()))

    def forward(self, sequences: Padded) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            sequences.values, sequences.lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        steps = sequences.values.shape[1]
        found, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=steps)
        ahead, back = found.chunk(2, 2)
        return ahead + back


class RepeatDecoder(nn.Module):
    """The decoder step by step, scores from the state repeated beside the memory, with the weights of ours."""

    def __init__(self, ours: AttentionDecoder) -> None:
        super().__init__()
        units, memory = ours.units, ours.key.in_features
        self.attention, self.energy = nn.Linear(units + memory, units), nn.Linear(units, 1, bias=False)
        self.cell = nn.LSTMCell(memory + ours.fed, units)
        own: Any = ours
        order = torch.cat(
            [torch.arange(2 * units), torch.arange(3 * units, 4 * units), torch.arange(2 * units, 3 * units)]
        )
        with torch.no_grad():
            self.attention.weight.copy_(torch.cat([own.query.weight, own.key.weight], 1))
            self.attention.bias.copy_(own.query.bias)
            self.energy.weight.copy_(own.energy.weight)
            self.cell.weight_hh.copy_(own.gates.weight[order, :units])
            self.cell.weight_ih.copy_(torch.cat([own.gates.weight[:, units:], own.feed.weight], 1)[order])
            self.cell.bias_ih.copy_(own.gates.bias[order])
            self.cell.bias_hh.zero_()
        self.to(own.gates.weight)

    def forward(
        self, memory: Tensor, present: Tensor, *, steps: int, read: Any, feed: Tensor, told: object = None
    ) -> Decoded:
        if told is not None:
            raise ValueError("this form feeds back predictions alone")
        state = cell = memory.new_zeros(len(memory), self.cell.hidden_size)
        before, found, attention = memory.new_zeros(len(memory), feed.shape[1]), [], []
        for _ in range(steps):
            repeated = state.unsqueeze(1).repeat(1, memory.shape[1], 1)
            scores = self.energy(torch.tanh(self.attention(torch.cat([repeated, memory], 2)))).squeeze(2)
            attention.append(scores.masked_fill(~present, -torch.inf).softmax(1))
            context = torch.bmm(attention[-1].unsqueeze(1), memory).squeeze(1)
            state, cell = self.cell(torch.cat([context, before @ feed.T], 1), (state, cell))
            before = nn.functional.linear(torch.cat([state, context], 1), read.weight, read.bias)
            found.append(before)
        return Decoded(torch.stack(found, 1), torch.stack(attention, 1))


def network(arm: str, widths: dict[str, int], device: torch.device) -> SentimentNetwork:
    return SentimentNetwork(Architecture(arm, widths, units=UNITS), seed=0).to(device)


def written_out(model: SentimentNetwork) -> SentimentNetwork:
    """The same network with the other forms in it."""
    other: Any = SentimentNetwork(model.architecture, seed=0).to(model.scale)
    other.load_state_dict(model.state_dict())
    other.there.encoder = PackedEncoder(model.there.encoder)
    other.there.decoder = RepeatDecoder(model.there.decoder)
    return other


def encoders(device: torch.device) -> dict[str, Form]:
    padded, ours = samples(device).streams["t"].pick(torch.arange(BATCH)), BidirectionalLSTM(WIDTHS["t"], UNITS)
    ours.to(device)
    packed = PackedEncoder(ours)
    unmasked = nn.LSTM(WIDTHS["t"], UNITS, batch_first=True, bidirectional=True).to(device)

    def of(encoder: nn.Module, run: Any) -> Form:
        return lambda: torch.autograd.grad(run(encoder).square().sum(), list(encoder.parameters()))

    return {
        "ours": of(ours, lambda encoder: encoder(padded)),
        "packed nn.LSTM": of(packed, lambda encoder: encoder(padded)),
        "nn.LSTM that reads the padding": of(unmasked, lambda encoder: encoder(padded.values)[0]),
    }


def decoders(device: torch.device) -> dict[str, Form]:
    generator = torch.Generator().manual_seed(0)
    memory = torch.randn(BATCH, STEPS, UNITS, generator=generator).to(device).requires_grad_()
    present = samples(device).streams["t"].pick(torch.arange(BATCH)).present
    read, feed = nn.Linear(2 * UNITS, WIDTHS["v"]).to(device), nn.Linear(WIDTHS["v"], UNITS, bias=False).to(device)
    ours = AttentionDecoder(UNITS, UNITS, fed=UNITS).to(device)
    forms: dict[str, nn.Module] = {
        "ours": ours,
        "scores by product": AttentionDecoder(UNITS, UNITS, fed=UNITS, score="dot").to(device),
        "state repeated, step by step": RepeatDecoder(ours),
    }

    def of(decoder: nn.Module) -> Form:
        parameters = [memory, *decoder.parameters(), *read.parameters(), *feed.parameters()]

        def form() -> object:
            found = decoder(memory, present, steps=STEPS, read=read, feed=feed.weight).values
            return torch.autograd.grad(found.square().sum(), parameters)

        return form

    return {name: of(decoder) for name, decoder in forms.items()}


def step_of(model: SentimentNetwork, own: Samples) -> Tensor:
    """The mean loss of one batch of all samples."""
    objective = SentimentObjective(model, own, weights=Weights(), learning=Learning(BATCH))
    (batch,) = objective.batches(torch.Generator().manual_seed(0))
    return objective.loss(batch).mean


def cyclic_steps(device: torch.device) -> dict[str, Form]:
    model, own = network("cyclic-t-v", WIDTHS, device), samples(device)
    forms = {"ours": model, "packed nn.LSTM, state repeated": written_out(model)}

    def of(model: SentimentNetwork) -> Form:
        return lambda: torch.autograd.grad(step_of(model, own), list(model.parameters()), allow_unused=True)

    return {name: of(each) for name, each in forms.items()}


def epochs(device: torch.device) -> dict[str, Form]:
    model, own = network("cyclic-t-a", SPOKEN, device), utterances(device)
    objective = SentimentObjective(model, own, weights=Weights(), learning=Learning(BATCH))
    optimizer, generator = torch.optim.Adam(objective.parameters(), lr=1e-4), torch.Generator().manual_seed(0)
    return {"ours": lambda: descend(objective, optimizer, generator=generator)}


def check(device: torch.device) -> None:
    """Both forms of a cyclic step have the same loss, and the same gradient of what leads into and out of them."""
    model, own = network("cyclic-t-v", WIDTHS, device).double(), samples(device)
    own = Samples(
        {name: Stream(Packed(each.steps.values.double(), each.steps.lengths)) for name, each in own.streams.items()},
        own.labels,
    )
    losses = [step_of(each, own) for each in (model, written_out(model))]
    torch.testing.assert_close(*losses)
    found, expected = (
        torch.autograd.grad(step_of(each, own), list(each.there.into.parameters()))
        for each in (model, written_out(model))
    )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def measure(machine: Machine, budget: float) -> list[Row]:
    device = machine.device
    check(device)
    size = f"batch {BATCH}, {LEAST} to {STEPS} steps, {UNITS} units"
    spots = {
        "bidirectional encoder": (size, encoders(device)),
        "attention decoder": (size, decoders(device)),
        "cyclic step of MCTN": (size, cyclic_steps(device)),
        "epoch of MCTN": (f"{UTTERANCES} utterances, {TYPICAL} words at the median, {LONGEST} at most", epochs(device)),
    }
    rows = list[Row]()
    for spot, (own, forms) in spots.items():
        rows += compare(spot, own, forms, machine=machine, budget=budget)
    last = rows[-1]
    limit = Row(spot=last.spot, size=last.size, form="the limit on one core", seconds=LIMIT, ratio=LIMIT / last.seconds)
    return [*rows, limit]


if __name__ == "__main__":
    run("encoder, decoder and a cyclic step beside packed sequences and repeated states", measure)
