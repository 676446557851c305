"""What an arm minimises: L = L_p + λ_t L_t + λ_c L_c + λ_2 L_2 (thesis, equations 2.15 to 2.19 and 2.26)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from models.mctn.arms import Plan
from models.mctn.network import SentimentNetwork, Teacher, Translation
from models.mctn.samples import Samples, dropped
from models.runtime.objective import Loss
from models.runtime.seeding import generator
from models.sequence.losses import absolute_error, masked_squared_error
from models.sequence.packing import Padded, batches_by_length
from models.sequence.scores import explained, explained_by_column


class Weights(NamedTuple):
    """Holds λ_t, λ_c and λ_2: of translations into targets, of those back into the source, and of the second level."""

    translation: float = 0.1
    cycle: float = 0.1
    second: float = 0.1

    @property
    def terms(self) -> frozenset[str]:
        """Returns the names of the terms that count. Raises ValueError for a weight below 0."""
        for name, value in self._asdict().items():
            if not value >= 0:
                raise ValueError(f"the weight of {name} must be a number of 0 or more, got {value}")
        return frozenset(name for name, value in self._asdict().items() if value > 0)


class Learning(NamedTuple):
    """Says how an arm learns. batch_size: samples of a batch. teacher_forcing: the share of steps at which decoders are
    told the truth, with feedback=teacher. modality_dropout: the probability with which a modality that is read is
    missing from a sample, for arms that read several; see `models.mctn.samples.dropped`. What is to be translated into
    is whole. l2: κ of the penalty κ Σ A², over the weights of the last map (`network.Readout`). unit: what errors of
    scores are divided by."""

    batch_size: int = 32
    teacher_forcing: float = 1.0
    modality_dropout: float = 0.0
    l2: float = 0.0
    unit: float = 1.0


class Batch(NamedTuple):
    """Holds the numbers of its samples (sample,), and a seed of what decoders are told."""

    rows: Tensor
    seed: int


class SentimentObjective:
    """Is the loss of an arm over training samples, an `Objective` of the gradient loop.

    L_p is the mean of |ŷ − y| / `Learning.unit`, or the cross-entropy of classes in nats. L_t, L_c and L_2 are means
    of squared errors over the present entries of a batch, in the units of the streams; where an arm translates into
    two streams, their means are added. A term of weight 0 is not computed. samples: with labels, and every
    modality that the arm learns from. shuffle: draws whose targets a sample gets, for arms that shuffle them.

    Raises ValueError for samples without labels or without a step of what is read, weights and penalties below 0,
    teacher forcing outside [0, 1], and modality dropout outside [0, 1) or of an arm that reads one modality.
    """

    def __init__(
        self,
        model: SentimentNetwork,
        samples: Samples,
        *,
        weights: Weights,
        learning: Learning,
        shuffle: torch.Generator | None = None,
    ) -> None:
        self.model, self.weights, self.learning = model, weights, checked(learning, model.plan)
        self.terms = weights.terms
        self.samples = samples if shuffle is None or not model.plan.shuffled else shuffled(samples, model, shuffle)
        if samples.labels is None:
            raise ValueError("samples to learn from need labels")
        self.labels = samples.labels
        self.lengths = samples.lengths(model.plan.read)
        check_something_to_read(samples, model.plan)

    def parameters(self) -> list[nn.Parameter]:
        """Returns the parameters of the network; those that no term reaches get no gradient."""
        return list(self.model.parameters())

    def batches(self, generator: torch.Generator) -> Iterator[Batch]:
        """Yields batches of like lengths, in a random order."""
        for rows in batches_by_length(self.lengths, size=self.learning.batch_size, generator=generator):
            yield Batch(rows, int(torch.randint(2**62, (), generator=generator)))

    def loss(self, batch: Batch) -> Loss:
        """Returns the loss of a batch times its number of samples, with that number as its weight."""
        teacher = None
        if self.model.architecture.feedback == "teacher":
            teacher = Teacher(self.learning.teacher_forcing, torch.Generator().manual_seed(batch.seed))
        inputs = self.samples.pick(batch.rows, self._letters())
        found = self.model(inputs, terms=self.terms, teacher=teacher, read=self._read(inputs, batch))
        whole = prediction_loss(found.outputs, self.labels[batch.rows]).mean / self.learning.unit
        for each in found.translations:
            whole = whole + getattr(self.weights, each.term) * translation_loss(each).mean
        if self.learning.l2:
            whole = whole + self.learning.l2 * self.model.readout.affine.weight.square().sum()
        return Loss(whole * len(batch.rows), float(len(batch.rows)))

    def _read(self, inputs: dict[str, Padded], batch: Batch) -> dict[str, Padded] | None:
        """Returns what is read with some modalities missing, None where nothing is dropped."""
        share = self.learning.modality_dropout
        if not share:
            return None
        own = {letter: inputs[letter] for letter in self.model.plan.read}
        return dropped(own, share, generator(batch.seed, "mctn/modalities"))

    def _letters(self) -> str:
        return self.model.plan.letters if self.terms else self.model.plan.read


def check_something_to_read(samples: Samples, plan: Plan) -> None:
    """Raises ValueError, with its number from 0, for a sample without a step of what an arm reads."""
    absent = (samples.lengths(plan.source) == 0).nonzero()
    if len(absent):
        raise ValueError(f"sample {int(absent[0])} has no step of what is read; leave it out")


def checked(how: Learning, plan: Plan) -> Learning:
    """Returns how an arm learns. Raises ValueError as `SentimentObjective`."""
    if not 0 <= how.modality_dropout < 1:
        raise ValueError(f"modality_dropout must be a number from 0 to below 1, got {how.modality_dropout}")
    if how.modality_dropout and len(plan.read) == 1:
        raise ValueError(f"modality_dropout needs an arm that reads several modalities, as none-tva; got {plan.arm}")
    if not 0 <= how.teacher_forcing <= 1:
        raise ValueError(f"teacher_forcing must be a number from 0 to 1, got {how.teacher_forcing}")
    if not how.l2 >= 0:
        raise ValueError(f"l2 must be a number of 0 or more, got {how.l2}")
    return how


def shuffled(samples: Samples, model: SentimentNetwork, chance: torch.Generator) -> Samples:
    """Returns the samples with the streams that are translated into in a random order, one for all of them."""
    order, read = torch.randperm(samples.count, generator=chance), model.plan.read
    moved = {letter: stream.take(order) for letter, stream in samples.streams.items() if letter not in read}
    return Samples({**samples.streams, **moved}, samples.labels)


def prediction_loss(outputs: Tensor, labels: Tensor) -> Loss:
    """Returns Σ |ŷ − y| for scores (sample,), or Σ −log p(class) for logits (sample, class), with the number of
    samples."""
    if outputs.ndim == 1:
        return absolute_error(outputs, labels.to(outputs))
    total = nn.functional.cross_entropy(outputs, labels.long(), reduction="sum")
    return Loss(total, float(len(labels)))


def translation_loss(translation: Translation) -> Loss:
    """Returns the squared errors of a translation over its present entries, with their number."""
    true = translation.true
    return masked_squared_error(translation.values, true.sequences.values, true.entries)


@dataclass(frozen=True, eq=False)
class Measured:
    """Holds what a network does on samples, in their order.

    outputs: scores (sample,) or probabilities (sample, class). encodings: E averaged over steps (sample, unit). Both
    NaN of a sample without a step to read. losses: means by name, "prediction" where labels are known, and the terms.
    steps: true and translated steps (step, width) of each translation by term and stream, as "translation a".
    """

    outputs: Tensor
    encodings: Tensor
    losses: dict[str, float]
    steps: dict[str, tuple[np.ndarray, ...]]

    @cached_property
    def explained(self) -> dict[str, float]:
        """Returns R² of each translation over all its steps; one without a step or without variance is left out."""
        found = {name: explained(*pair) for name, pair in self.steps.items() if len(pair[0])}
        return {name: share for name, share in found.items() if share is not None}

    @cached_property
    def by_feature(self) -> dict[str, np.ndarray]:
        """Returns R² of each number of a step, float64 (width,), NaN for one that is constant, of the translations that
        have R²."""
        return {name: explained_by_column(*self.steps[name]) for name in self.explained}


@torch.no_grad()
def measure(model: SentimentNetwork, samples: Samples, *, terms: frozenset[str], batch_size: int = 256) -> Measured:
    """Returns what the network does on samples, in evaluation mode; decoders are told nothing. A sample without a step
    of what is read has NaN, and counts for nothing in losses and R².

    terms: which translations are made; without any, only the modalities that are read are looked at.
    """
    was, plan = model.training, model.plan
    model.eval()
    outputs, encodings = blank(model, samples.count)
    sums, pairs = dict[str, list[Loss]](), dict[str, list[tuple[Tensor, Tensor]]]()
    known = (samples.lengths(plan.read) > 0).nonzero().squeeze(1)
    for rows in known.split(batch_size) if len(known) else ():
        found = model(samples.pick(rows, plan.letters if terms else plan.read), terms=terms)
        outputs[rows] = found.outputs if found.outputs.ndim == 1 else found.outputs.softmax(1)
        encodings[rows] = found.encoding.values.sum(1) / found.encoding.lengths.unsqueeze(1)
        if samples.labels is not None:
            sums.setdefault("prediction", []).append(prediction_loss(found.outputs, samples.labels[rows]))
        for each in found.translations:
            sums.setdefault(f"{each.term} {each.stream}", []).append(translation_loss(each))
            pairs.setdefault(f"{each.term} {each.stream}", []).append(present_pairs(each))
    model.train(was)
    steps = {
        name: tuple(torch.cat(each).double().numpy() for each in zip(*own, strict=True)) for name, own in pairs.items()
    }
    return Measured(outputs, encodings, means_of(sums), steps)


def blank(model: SentimentNetwork, count: int) -> tuple[Tensor, Tensor]:
    """Returns outputs and encodings of so many samples, all NaN."""
    scores, width = model.architecture.outputs == 1, model.readout.lstm.input_size
    outputs = model.scale.new_full((count,) if scores else (count, model.architecture.outputs), torch.nan)
    return outputs, model.scale.new_full((count, width), torch.nan)


def present_pairs(translation: Translation) -> tuple[Tensor, Tensor]:
    """Returns true and translated steps, (step, width) each, of which every entry is present."""
    true, _ = translation.true.sequences, translation.true.entries
    present = translation.true.entries.expand_as(true.values).all(-1)
    return true.values[present], translation.values[present]


def means_of(sums: dict[str, list[Loss]]) -> dict[str, float]:
    """Returns the mean of each loss over all batches, terms of several streams added."""
    means = dict[str, float]()
    for name, losses in sums.items():
        term = name.split(" ")[0]
        total, weight = (float(sum(float(part[place]) for part in losses)) for place in (0, 1))
        means[term] = means.get(term, 0.0) + total / (weight or 1.0)
    return means


@torch.no_grad()
def attention_of(model: SentimentNetwork, samples: Samples, rows: Tensor) -> list[np.ndarray]:
    """Returns the weights of attention of the first translation of some samples, (step written, step read) each, in
    evaluation mode; both are the sample's own steps. Raises ValueError for an arm that does not translate."""
    if not model.plan.targets:
        raise ValueError(f"arm {model.plan.arm} does not translate, so that it has no attention")
    was, plan = model.training, model.plan
    model.eval()
    found = model(samples.pick(rows, plan.letters), terms=frozenset({"translation"}))
    model.train(was)
    first = found.translations[0]
    sizes = zip(first.true.sequences.lengths.tolist(), samples.lengths(plan.source)[rows].tolist(), strict=True)
    return [own[:written, :read].numpy() for own, (written, read) in zip(first.attention, sizes, strict=True)]
