"""What a person calls: sentiment from one modality, learned with others beside it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from models.mctn.arms import plan_of
from models.mctn.held_out import LEAST_HELD_OUT, split, warn_of_few
from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.objective import Learning, SentimentObjective, Weights, check_something_to_read
from models.mctn.predictor import SentimentPredictor, load_predictor, streams_of
from models.mctn.samples import Samples, Stream, in_units, units_of
from models.mctn.training import Training, train
from models.runtime.estimators import left_as_it_was, seed_of
from models.runtime.parameters import not_negative, number, one_of, shown, whole_number
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from models.sequence.saved_estimator import SavedEstimator
from models.sequence.scores import accuracy, correlation, f1, mean_absolute_error


@dataclass(eq=False, repr=False)
class SentimentReader(SavedEstimator):
    """Reads sentiment from a source modality, and learns it with the help of others, which it translates into
    (Pham, Liang, Manzini, Morency and Póczos 2019, AAAI; thesis, section 2.1).

    Samples are a mapping: "text", "video" and "audio" each hold one array (step, number) a sample, as word vectors of a
    sentence, and "labels" holds a score or a class a sample. To predict, the source is enough; whatever else is there
    is not looked at.

    Parameters, which are checked by `fit`:

    arm: KIND-SOURCE-TARGET in letters t (text), v (video), a (audio), as "cyclic-t-a": text is read, and translated
    into audio and back while learning. "none-t" learns from text alone. See `models.mctn.arms`.
    labels: "score" for numbers, "class" for anything else. units, layers, share, feedback, attention, dropout: see
    `models.mctn.network.Architecture`. teacher_forcing: the share of steps at which decoders are told the truth while
    learning, with feedback="teacher". modality_dropout: the probability with which a modality is missing from a sample
    while learning, for arms that read several, as none-tva. translation, cycle, second: weights of these losses beside
    that of predictions. l2: of the penalty, this times the sum of squares of the last map's weights. epochs,
    learning_rate, batch_size, clip: of Adam. patience: epochs without a better validation loss that end training; the
    best epoch is kept. held_out: the share of the samples that are held out for that, 0 for none; samples that hold the
    same are held out together, or learned from, and some of every class are learned from. With fewer than 5 held out
    all are learned from, every epoch is taken and the last is kept; a warning says so.
    Errors of scores are learned from in standard deviations of the scores, so that scores in another unit give the same
    predictions in that unit, but for rounding.
    random_state: the seed of all that is drawn, a whole number, by which equal samples give equal numbers; None or a
    RandomState of NumPy draws a seed in each `fit`.

    After `fit`: `predictor_`, the fitted `models.mctn.predictor.SentimentPredictor`; `classes_`, in order, for classes;
    `curve_`, training and validation loss of each epoch.
    """

    arm: str = "cyclic-t-a"
    _: KW_ONLY
    labels: str = "score"
    units: int = 32
    layers: int = 1
    share: Any = "core"
    feedback: Any = "prediction"
    attention: Any = "additive"
    dropout: float = 0.0
    teacher_forcing: float = 1.0
    modality_dropout: float = 0.0
    translation: float = 0.1
    cycle: float = 0.1
    second: float = 0.1
    l2: float = 0.0
    epochs: int = 50
    learning_rate: float = 1e-3
    batch_size: int = 32
    clip: float = 1.0
    patience: int = 5
    held_out: float = 0.15
    random_state: Any = 0

    _read = staticmethod(load_predictor)

    def fit(self, samples: Mapping[str, Sequence[Any]], groups: Sequence[Any] | None = None) -> Self:
        """Learns from samples with "labels" and every modality of the arm, and returns the reader.

        groups: of each sample, as the video that it is cut from or its speaker, None where each is one of its own.
        Samples of a group are held out together or learned from together.

        Raises TypeError and ValueError, in one line, for parameters and samples that make no sense: an arm that does
        not exist, a modality that is missing, a sample without a step to read, a number that is not finite. What was
        fitted before is then still there.
        """
        with left_as_it_was(self):
            how, weights, seed = self._training(), self._weights(), seed_of(self.random_state)
            streams = streams_of(samples, plan_of(self.arm).letters, dtype=torch.float64)
            labels, classes = self._labels(samples, next(iter(streams.values())).steps.count)
            check_something_to_read(Samples(streams), plan_of(self.arm))
            parts = split(
                streams, labels, share=not_negative("held_out", self.held_out, most=0.9), seed=seed,
                groups=None if groups is None else numbers_of(groups, len(labels)),
            )  # fmt: skip
            units = {letter: units_of(stream) for letter, stream in parts[0].streams.items()}
            learned, validation = (
                Samples({k: in_units(part.streams[k], own, torch.float32) for k, own in units.items()}, part.labels)
                for part in parts
            )
            network = self._network(streams, len(classes), seed)
            if not classes and learned.labels is not None:
                network.centre_on(learned.labels)
            learning = self._learning()._replace(unit=float(network.scale))
            objective = SentimentObjective(
                network, learned, weights=weights, learning=learning, shuffle=generator(seed, "mctn/shuffle")
            )
            warn_of_few(self.held_out, len(labels))
            with threads_for(network):
                held_out = validation if validation.count >= LEAST_HELD_OUT else None
                self.curve_ = train(objective, held_out, how, seed=seed)
            read = {letter: units[letter] for letter in network.plan.read}
            self.predictor_ = SentimentPredictor(network, read, tuple(classes))
        return self

    def predict(self, samples: Mapping[str, Sequence[Any]]) -> np.ndarray:
        """Returns a score, or the most probable class, of each sample: (sample,).

        A sample without a step to read has the score NaN, as a class None, and a warning says so. Raises ValueError for
        samples that make no sense, and NotFittedError before `fit`.
        """
        check_is_fitted(self)
        outputs = self.predictor_.outputs(samples)
        if outputs.ndim == 1:
            return outputs
        known = np.asarray(~np.isnan(outputs).any(1))
        if known.all():
            return self.classes_[outputs.argmax(1)]
        return np.array([self.classes_[row.argmax()] if own else None for row, own in zip(outputs, known, strict=True)])

    def predict_proba(self, samples: Mapping[str, Sequence[Any]]) -> np.ndarray:
        """Returns the probability of each of `classes_`, (sample, class). Raises as `predict`, and ValueError where
        scores were learned."""
        check_is_fitted(self)
        if not self.predictor_.classes:
            raise ValueError("scores have no probabilities; fit with labels='class'")
        return self.predictor_.outputs(samples)

    def score(self, samples: Mapping[str, Sequence[Any]]) -> dict[str, float]:
        """Returns how well samples with "labels" are read: of scores mae, the mean absolute error in their unit, and
        Pearson's correlation, where it is defined; of classes accuracy and f1, the mean of F1 weighted by the share of
        each class.

        A sample without a step to read counts for nothing, and a warning of `predict` names it; a class that was not
        learned counts as missed. Raises NotFittedError before `fit`, and ValueError as that, where no sample can be
        read, and where no label is a class that was learned.
        """
        found = self.predict(samples)
        wanted = labels_of(samples, len(found))
        self._refuse_other_labels(wanted, samples["labels"])
        known = np.array([not is_missing(own) for own in found.tolist()])
        if not known.any():
            raise ValueError("no sample has a step to read; there is nothing to score")
        if self.predictor_.classes:
            numbers = {name: place for place, name in enumerate(self.predictor_.classes)}
            true, named = ([numbers.get(own, -1) for own in each[known].tolist()] for each in (wanted, found))
            return {"accuracy": accuracy(true, named), "f1": f1(true, named)}
        true, read = scores_in(wanted).double().numpy()[known], found[known]
        related = correlation(true, read)
        return {"mae": mean_absolute_error(true, read)} | ({} if related is None else {"correlation": related})

    def _refuse_other_labels(self, given: np.ndarray, labels: Sequence[Any]) -> None:
        """Raises ValueError for missing labels of classes, and where none of them is a class that was learned."""
        if not self.predictor_.classes:
            return
        refuse_missing(labels)
        if not set(given.tolist()) & set(self.predictor_.classes):
            raise ValueError(
                f"no label is one of the classes that were learned: {given.tolist()[0]!r} is none of "
                f"{', '.join(map(repr, self.predictor_.classes[:5]))}; give labels of the same type"
            )

    @property
    def classes_(self) -> np.ndarray:
        """Returns the classes in the order of their probabilities."""
        return np.array(self.predictor_.classes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _training(self) -> Training:
        return Training(
            whole_number("epochs", self.epochs), number("learning_rate", self.learning_rate),
            number("clip", self.clip), whole_number("patience", self.patience),
        )  # fmt: skip

    def _weights(self) -> Weights:
        return Weights(*(not_negative(name, getattr(self, name)) for name in Weights._fields))

    def _learning(self) -> Learning:
        return Learning(
            whole_number("batch_size", self.batch_size), not_negative("teacher_forcing", self.teacher_forcing, most=1),
            not_negative("modality_dropout", self.modality_dropout, most=1), not_negative("l2", self.l2),
        )  # fmt: skip

    def _labels(self, samples: Mapping[str, Sequence[Any]], count: int) -> tuple[torch.Tensor, list[Any]]:
        """Returns scores, or numbers of classes and the classes."""
        kind, given = one_of("labels", self.labels, ("score", "class")), labels_of(samples, count)
        if kind == "class":
            refuse_missing(samples["labels"])
            return classes_in(given)
        return scores_in(given), []

    def _network(self, streams: Mapping[str, Stream], classes: int, seed: int) -> SentimentNetwork:
        widths = {letter: stream.width for letter, stream in streams.items()}
        architecture = Architecture(
            self.arm, widths, max(1, classes), whole_number("units", self.units), whole_number("layers", self.layers),
            self.share, self.feedback, self.attention, not_negative("dropout", self.dropout, most=0.95),
        )  # fmt: skip
        return SentimentNetwork(architecture, seed=seed)


def labels_of(samples: Mapping[str, Sequence[Any]], count: int) -> np.ndarray:
    """Returns the labels of so many samples, (sample,). Raises ValueError where there is not one for each."""
    given = np.asarray(samples.get("labels", ()))
    if given.shape != (count,):
        raise ValueError(f"samples['labels'] must hold one label for each of {count} samples, got {given.shape}")
    return given


def numbers_of(groups: Any, count: int) -> torch.Tensor:
    """Returns the number of the group of each of so many samples, (sample,). Raises ValueError where there is not one
    for each, and, naming the sample, for one that is missing or that is no name."""
    given: Any = groups.tolist() if hasattr(groups, "tolist") else groups
    wanted, numbers = f"groups must hold one group for each of {count} samples", dict[Any, int]()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ValueError(f"{wanted}, got {shown(groups)}")
    if len(given) != count:
        raise ValueError(f"{wanted}, got {len(given)}")
    for place, group in enumerate(given):
        parts = group if isinstance(group, tuple) else (group,)
        if not all(isinstance(part, Hashable) and not isinstance(part, tuple) for part in parts):
            raise ValueError(
                f"sample {place}: a group must be a text, a number or a tuple of these, got {shown(group)}"
            )
        if any(map(is_missing, parts)):
            raise ValueError(f"sample {place}: its group is missing; name it, or leave the sample out")
        numbers.setdefault(group, len(numbers))
    return torch.tensor([numbers[group] for group in given])


def refuse_missing(labels: Sequence[Any]) -> None:
    """Raises ValueError, naming the sample, for a label of a class that is missing: None, NaN or an empty text, and the
    text "nan" in an array of texts, which NumPy makes of NaN beside texts."""
    made_texts = np.asarray(labels).dtype.kind == "U" and isinstance(labels, np.ndarray)
    for place, label in enumerate(np.asarray(labels, dtype=object).tolist()):
        if is_missing(label) or (isinstance(label, str) and (not label.strip() or (made_texts and label == "nan"))):
            raise ValueError(f"sample {place}: its label is missing; give the name of its class, or leave it out")


def is_missing(label: Any) -> bool:
    """Says whether a label is None, or is not equal to itself, as NaN, NaT and the missing value of pandas are."""
    same: Any = label == label
    return label is None or not (isinstance(same, bool | np.bool_) and bool(same))


def classes_in(given: np.ndarray) -> tuple[torch.Tensor, list[Any]]:
    """Returns the number of the class of each sample, and the classes. Raises ValueError for a single class."""
    names, numbers = np.unique(given, return_inverse=True)
    if len(names) < 2:
        raise ValueError("there is one class alone; give samples of two at least")
    return torch.from_numpy(numbers), names.tolist()


def scores_in(given: np.ndarray) -> torch.Tensor:
    """Returns scores, float32 (sample,). Raises ValueError for a label that is no finite number."""
    for place, label in enumerate(given.tolist()):
        if isinstance(label, str) or label is None:
            raise ValueError(f"sample {place}: its label {label!r} is not a number; labels='class' learns names")
    scores = torch.from_numpy(given.astype(np.float64))
    if not bool(scores.isfinite().all()):
        raise ValueError(f"sample {int((~scores.isfinite()).nonzero()[0])}: its label is not a finite number")
    return scores.float()
