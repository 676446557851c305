"""The network of an arm: a level that translates, a second one on top of it, and what reads sentiment from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from models.mctn.arms import plan_of
from models.mctn.samples import Joined, joined
from models.mctn.translator import Shape, Translator
from models.runtime.seeding import drawn
from models.sequence.masks import masked_softmax
from models.sequence.packing import Padded
from models.sequence.recurrent import Feedback, Score, TeacherForcing

Share = Literal["padded", "core", "none"]
LEVEL = "e"  # the stream that a second level reads


@dataclass(frozen=True)
class Architecture:
    """Says what a network is made of.

    arm: a row of the tables, see `arms.plan_of`. widths: numbers of a step of each modality, by letter. outputs: 1 for
    scores, else the number of classes. units: of each recurrent layer. layers: of each encoder. share: "core" for maps
    into and out of each modality of their own with recurrent and attention weights for all, "padded" for one set of
    weights over vectors filled up with zeros to the widest, "none" for two models there and back. feedback: what a
    decoder is fed: its last "prediction", while training also the truth ("teacher"; a way back still reads what the
    model translates by itself), or "none". attention: its score.
    dropout: share of the numbers between layers and before the last map that are dropped while training.
    """

    arm: str
    widths: Mapping[str, int]
    outputs: int = 1
    units: int = 32
    layers: int = 1
    share: Share = "core"
    feedback: Feedback = "prediction"
    attention: Score = "additive"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, words in {"share": Share, "feedback": Feedback, "attention": Score}.items():
            if getattr(self, name) not in get_args(words):
                raise ValueError(f"{name} must be one of {', '.join(get_args(words))}, got {getattr(self, name)!r}")
        missing = [letter for letter in plan_of(self.arm).letters if letter not in self.widths]
        if missing:
            raise ValueError(f"arm {self.arm} needs modality {missing[0]}, and there are {', '.join(self.widths)}")


class Readout(nn.Module):
    """Reads outputs from an encoding E: h_ℓ = LSTM(E)_ℓ, a_ℓ = softmax_ℓ(tanh(wᵀ h_ℓ + b)), ŷ = A Σ_ℓ a_ℓ h_ℓ + c."""

    def __init__(self, width: int, units: int, outputs: int, *, dropout: float) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, units, batch_first=True)
        self.pool = nn.Linear(units, 1)
        self.dropout = nn.Dropout(dropout)
        self.affine = nn.Linear(units, outputs)

    def forward(self, encoding: Padded) -> Tensor:
        """Returns (sequence, output)."""
        states, _ = self.lstm(encoding.values)
        weights = masked_softmax(self.pool(states).squeeze(-1).tanh(), encoding.present)
        return self.affine(self.dropout(torch.einsum("nl,nlu->nu", weights, states)))


class Translation(NamedTuple):
    """Holds a translation beside the truth. term: "translation", "cycle" or "second", the loss it counts for. stream:
    letters of what it is a translation into. values (sequence, step, width). attention (sequence, step, step read).
    true: with its entries that count."""

    term: str
    stream: str
    values: Tensor
    attention: Tensor
    true: Joined


class Reading(NamedTuple):
    """Holds what a network finds: outputs, a score (sequence,) or logits (sequence, class); the encoding they are read
    from; translations."""

    outputs: Tensor
    encoding: Padded
    translations: tuple[Translation, ...]


class Teacher(NamedTuple):
    """Says at which share of steps decoders are told the truth, drawn from the generator."""

    rate: float
    generator: torch.Generator

    def forcing(self, true: Joined) -> TeacherForcing:
        """Returns what a decoder is told of a sequence."""
        values = true.sequences.values
        return TeacherForcing(
            values, (torch.rand(values.shape[:2], generator=self.generator) < self.rate).to(values.device)
        )


class SentimentNetwork(nn.Module):
    """Is the network of an architecture, with first weights that are drawn for each part from a generator of its own,
    so that arms that share a part begin with the same weights there."""

    centre: Tensor
    scale: Tensor

    def __init__(self, architecture: Architecture, *, seed: int) -> None:
        super().__init__()
        self.architecture, self.plan = architecture, plan_of(architecture.arm)
        own, plan = architecture, self.plan
        shape = Shape(own.units, own.layers, own.feedback != "none", own.attention, own.dropout, self._padded_width())
        there, back = self._roles()
        self.there = Translator(*there, shape, seed=seed, name="there")
        self.back = Translator(*back, shape, seed=seed, name="back") if back else None
        width = own.units * (2 if plan.back == "double" else 1)
        self.second = None
        if plan.second:
            last = {plan.second: self.width(plan.second)}
            self.second = Translator({LEVEL: width}, last, shape._replace(padded=None), seed=seed, name="second")
            width = own.units
        self.drop = nn.Dropout(own.dropout)
        with drawn(seed, "mctn/readout"):
            self.readout = Readout(width, own.units, own.outputs, dropout=own.dropout)
        self.register_buffer("centre", torch.zeros(()))
        self.register_buffer("scale", torch.ones(()))

    def width(self, stream: str) -> int:
        """Returns how many numbers a step of a stream has."""
        return sum(self.architecture.widths[letter] for letter in stream)

    def _padded_width(self) -> int | None:
        return max(map(self.width, self.plan.streams)) if self.architecture.share == "padded" else None

    def _roles(self) -> tuple[tuple[dict[str, int], dict[str, int]], tuple[dict[str, int], dict[str, int]] | None]:
        """Returns what the model there reads and writes, and, where there is one, the model back."""
        source = {self.plan.source: self.width(self.plan.source)}
        targets = {stream: self.width(stream) for stream in self.plan.targets}
        if not self.plan.back:
            return (source, targets), None
        if self.plan.back == "double" or self.architecture.share == "none":
            return (source, targets), (targets, source)
        return (source | targets, targets | source), None

    def centre_on(self, labels: Tensor) -> None:
        """Lets a score begin at the median of these labels, and be measured in their standard deviations."""
        self.centre.copy_(labels.double().quantile(0.5))
        spread = labels.double().std(correction=0)
        self.scale.copy_(spread if spread > 0 else torch.ones(()))

    def forward(
        self,
        inputs: Mapping[str, Padded],
        *,
        terms: frozenset[str] = frozenset(),
        teacher: Teacher | None = None,
        read: Mapping[str, Padded] | None = None,
    ) -> Reading:
        """Returns outputs, and the translations of these terms; without any, only what the plan reads is looked at.

        inputs: padded sequences by letter, in the units of training. teacher: tells decoders the truth while training.
        read: what is read in place of `inputs`, which translations are still to be like.
        """
        first, others = self._first_level(inputs if read is None else read)
        encoding = first if self.second is None else self.second.encode(LEVEL, first)
        outputs = self.readout(Padded(self.drop(encoding.values), encoding.lengths))
        if self.architecture.outputs == 1:
            outputs = self.centre + self.scale * outputs.squeeze(-1)
        found = tuple(self._translations(inputs, others, encoding, terms, teacher)) if terms else ()
        return Reading(outputs, encoding, found)

    def _first_level(self, inputs: Mapping[str, Padded]) -> tuple[Padded, tuple[Padded, ...]]:
        """Returns the encoding of the first level, and the encodings that it is made of."""
        own = self.there.encode(self.plan.source, self._stream(inputs, self.plan.source).sequences)
        if self.plan.back != "double" or self.back is None:
            return own, (own,)
        (target,) = self.plan.targets
        other = self.back.encode(target, self._stream(inputs, target).sequences)
        return joined([own, other]).sequences, (own, other)

    def _stream(self, inputs: Mapping[str, Padded], stream: str) -> Joined:
        return joined([inputs[letter] for letter in stream])

    def _translations(
        self, inputs: Mapping[str, Padded], parts: tuple[Padded, ...], encoding: Padded, terms: frozenset[str],
        teacher: Teacher | None,
    ) -> Iterator[Translation]:  # fmt: skip
        plan, back = self.plan, self.back or self.there
        for target in plan.targets if terms & {"translation", "cycle"} else ():
            true = self._stream(inputs, target)
            there = translated(self.there, parts[0], target, true, "translation", teacher)
            if "translation" in terms:
                yield there
            if plan.back == "double":
                yield translated(back, parts[1], plan.source, self._where(true, inputs), "translation", teacher)
            elif plan.back and "cycle" in terms:
                values = (
                    true.sequences.values if plan.back == "bothways" else self._own(there, parts[0], teacher).values
                )
                encoded = back.encode(target, Padded(values, true.sequences.lengths))
                yield translated(back, encoded, plan.source, self._where(true, inputs), "cycle", teacher)
        if plan.second and "second" in terms and self.second is not None:
            yield translated(self.second, encoding, plan.second, self._stream(inputs, plan.second), "second", teacher)

    def _own(self, there: Translation, encoding: Padded, teacher: Teacher | None) -> Translation:
        """Returns the model's own translation, from which the way back is read: where the decoder was told the truth it
        is made again without, as it would else be one of X^T."""
        if teacher is None:
            return there
        return translated(self.there, encoding, there.stream, there.true, "translation", None)

    def _where(self, target: Joined, inputs: Mapping[str, Padded]) -> Joined:
        """Returns the source; of samples without the target no entry counts."""
        source = self._stream(inputs, self.plan.source)
        return Joined(source.sequences, source.entries & (target.sequences.lengths > 0).view(-1, 1, 1))

    def parameters_at_test(self) -> int:
        """Returns how many numbers the parts have that predictions are made with."""
        modules: list[nn.Module] = [*self.there.reading(self.plan.source), self.readout]
        if self.plan.back == "double" and self.back is not None:
            modules += self.back.reading(self.plan.targets[0])
        if self.second is not None:
            modules += self.second.reading(LEVEL)
        return sum(parameter.numel() for module in modules for parameter in module.parameters())


def translated(
    translator: Translator, encoding: Padded, stream: str, true: Joined, term: str, teacher: Teacher | None
) -> Translation:
    """Returns a translation of an encoding, as long as the truth."""
    told = None if teacher is None else teacher.forcing(true)
    decoded = translator.decode(encoding, stream, steps=true.sequences.values.shape[1], told=told)
    return Translation(term, stream, decoded.values, decoded.attention, true)
