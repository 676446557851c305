"""The stage that trains a network: its loss falls on the training part, the validation error says what is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

from data.utterances import Utterances
from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.objective import Learning, SentimentObjective, Weights
from models.mctn.samples import Samples
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from pipeline.host.devices import DTYPES
from pipeline.job.curve import Decision, Measures, Progress
from pipeline.job.curve_report import log_row
from pipeline.job.dropout import drops_units
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.study import Study
from pipeline.systems.mctn.config import MctnConfig
from pipeline.systems.mctn.load import Prepared
from pipeline.systems.mctn.scores import error_of, outputs_of

ERROR, LOSS = "validation", "prediction"  # on the validation part; the second is of predictions alone
DECIDES = {"score": Decision(ERROR), "binary": Decision(ERROR, ties=LOSS), "class": Decision(ERROR, ties=LOSS)}


class FittedSentimentNetwork(NamedTuple):
    """Holds a network with the weights that are kept, its curve, and the terms of the loss that it learned from."""

    network: SentimentNetwork
    progress: Progress
    terms: frozenset[str]

    @property
    def validation(self) -> float:
        """Returns the validation error of the weights that are kept."""
        return self.progress.kept.values[ERROR]


def weights_of(settings: MctnConfig) -> Weights:
    """Returns the weights of the terms of the loss."""
    own = settings.mctn.weights
    return Weights(own.translation, own.cycle, own.second)


def network_of(settings: MctnConfig, data: Utterances, samples: Prepared) -> SentimentNetwork:
    """Returns the network of an arm with its first weights. Where labels are scores, its score begins at the median of
    the training scores."""
    own: Any = settings.mctn  # its words were checked
    architecture = Architecture(
        own.arm, samples.widths, max(1, len(data.classes)), own.units, own.layers, own.share, own.feedback,
        dropout=own.dropout,
    )  # fmt: skip
    network = SentimentNetwork(architecture, seed=settings.seed).to(DTYPES[settings.dtype])
    if not data.classes:
        network.centre_on(data.train.labels)
    return network


def objective_of(settings: MctnConfig, network: SentimentNetwork, samples: Prepared) -> SentimentObjective:
    """Returns the loss of an arm over the training part. No modality is dropped where one alone is read."""
    own = settings.mctn
    dropout = own.modality_dropout if len(network.plan.read) > 1 else 0.0
    return SentimentObjective(
        network, samples.train, weights=weights_of(settings),
        learning=Learning(settings.fit.batch_size, own.teacher_forcing, dropout, settings.fit.l2),
        shuffle=generator(settings.seed, "mctn/shuffle"),
    )  # fmt: skip


def fit_network(settings: MctnConfig, data: Utterances, samples: Prepared, here: Study) -> FittedSentimentNetwork:
    """Returns the network of an arm with the weights of the epoch of least validation error, and logs each epoch.

    Of epochs with as many wrong classes the one with the least cross-entropy of predictions on the validation part is
    kept. A training that was stopped goes on from its checkpoint to the same numbers, those that dropout draws among
    them.
    """
    network = network_of(settings, data, samples)
    objective, decides = objective_of(settings, network, samples), DECIDES[data.label_kind]

    def evaluate() -> dict[str, float]:
        return validation_values(network, samples.parts["validation"], data, objective.terms)

    loop = Fit(
        objective,
        fit_settings(settings, network),
        generator=generator(settings.seed, "mctn/batches"),
        measures=Measures(evaluate, lambda row: log_row(here.run, row, "fit"), decides, training="train"),
        path=here.folder / "fit.npz",
    )
    with threads_for(network):
        return FittedSentimentNetwork(network, loop.run(), objective.terms)


def fit_settings(settings: MctnConfig, network: SentimentNetwork) -> FitSettings:
    """Returns how the network is trained. It has a seed for the dropout where the network drops units."""
    own = settings.fit
    return FitSettings(
        own.epochs, "adam", own.learning_rate, own.clip, accept="always", patience=own.patience, title="fit",
        seed=settings.seed if drops_units(network) else None,
    )  # fmt: skip


def validation_values(
    network: SentimentNetwork, samples: Samples, data: Utterances, terms: frozenset[str]
) -> dict[str, float]:
    """Returns the error on the validation part, which decides, and the losses there."""
    outputs, found = outputs_of(network, samples, terms=terms)
    return {ERROR: error_of(data, data.validation, outputs), **found.losses}
