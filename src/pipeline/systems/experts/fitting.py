"""The stage that trains a translator: its loss falls on the training part, the validation part says what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tqdm import tqdm

from data.text_pairs import TextPairs
from models.experts.network import TranslationNetwork
from models.experts.objective import Sampling, TranslationObjective
from models.runtime.objective import Loss
from models.runtime.seeding import generator
from models.runtime.threads import threads_for
from models.sequence.vocabulary import Vocabulary
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError, said_of
from pipeline.job.curve import Decision, Measures, Progress
from pipeline.job.curve_report import log_row
from pipeline.job.fit import Fit
from pipeline.job.fit_settings import FitSettings
from pipeline.job.pace import Paced
from pipeline.job.study import Study
from pipeline.systems.experts.arms import architecture_of
from pipeline.systems.experts.config import ExpertsConfig
from pipeline.systems.experts.load import Encoded
from pipeline.systems.experts.validation import Validation

DECIDES = {"nll": Decision("validation"), "bleu": Decision("bleu", "higher")}


class FittedTranslationNetwork(NamedTuple):
    """Holds a network with the weights that are kept, and its curve."""

    network: TranslationNetwork
    progress: Progress

    @property
    def validation(self) -> float:
        """Returns the nats for each validation token, mean over tasks, of the weights that are kept."""
        return self.progress.kept.values["validation"]


class PacedTranslation(Paced):
    """Is the objective that it is made from, and notes how many target tokens a second it meets, and how much of a
    batch is padding."""

    objective: TranslationObjective

    def __init__(self, objective: TranslationObjective) -> None:
        self.lengths = objective.pairs.lengths
        super().__init__(objective, lambda batch: int(self.lengths[batch][:, 1].sum()))

    def begin(self) -> None:
        """Counts from the next batch on."""
        super().begin()
        self.present, self.places = 0, 0

    def begins(self, epoch: int) -> None:
        self.objective.begins(epoch)

    def loss(self, batch: Any) -> Loss:
        lengths = self.lengths[batch]
        self.present += int(lengths.sum())
        self.places += len(lengths) * int(lengths.amax(0).sum())
        return super().loss(batch)

    def pace(self) -> dict[str, float]:
        """Returns target tokens a second, milliseconds a step, and the share of places that are padding; nothing where
        no step was taken."""
        if not self.steps:
            return {}
        per_step = 1000 * self.seconds / self.steps
        return super().pace() | {"ms_per_step": per_step, "padding": 1 - self.present / self.places}


def network_of(settings: ExpertsConfig, data: TextPairs, vocabulary: Vocabulary) -> TranslationNetwork:
    """Returns the network of an arm with its first weights. Raises PipelineError for an arm that the number of tasks
    does not allow."""
    with said_of(f"experts.arm={settings.experts.arm}"):
        architecture = architecture_of(settings, pieces=vocabulary.size, tasks=len(data.tasks))
    return TranslationNetwork(architecture, seed=settings.seed).to(DTYPES[settings.dtype])


def objective_of(
    settings: ExpertsConfig, network: TranslationNetwork, encoded: Encoded, tasks: Sequence[int] | None = None
) -> PacedTranslation:
    """Returns the loss of an arm over the training part of these tasks, None for all."""
    sampling = Sampling(settings.sampling.tokens, settings.fit.updates, settings.sampling.temperature, settings.seed)
    return PacedTranslation(
        TranslationObjective(
            network, encoded.parts["train"], sampling=sampling, balance=settings.experts.balance,
            smoothing=settings.fit.smoothing, tasks=tasks,
        )
    )  # fmt: skip


def fit_network(
    settings: ExpertsConfig, objective: PacedTranslation, validation: Validation, here: Study, *, stage: str = "fit"
) -> FittedTranslationNetwork:
    """Returns the network of a loss with the weights of the epoch that the validation part likes best, and logs each
    epoch.

    A training that was stopped goes on from its checkpoint to the same numbers, those that dropout and routers draw
    among them. stage: begins the names of its metrics, and of its file in the folder of the run.
    """
    network = objective.objective.model
    say_long_warmup(settings, stage)

    def evaluate() -> dict[str, float]:
        pace = objective.pace()
        values = validation.values(network)
        refuse_undefined(settings, values)
        objective.begin()
        return values | pace

    loop = Fit(
        objective,
        fit_settings(settings, title=stage, on_gpu=network.embedding.is_cuda),
        generator=generator(settings.seed, f"experts/{stage}"),
        measures=Measures(
            evaluate, lambda row: log_row(here.run, row, stage), DECIDES[settings.fit.select], training="train"
        ),
        path=here.folder / f"{stage}.npz",
    )
    with threads_for(network):
        return FittedTranslationNetwork(network, loop.run())


def refuse_undefined(settings: ExpertsConfig, values: Mapping[str, float]) -> None:
    """Raises PipelineError where BLEU decides and was not measured, as it is undefined of every task."""
    if DECIDES[settings.fit.select].name not in values:
        raise PipelineError(
            f"fit.select={settings.fit.select}: no validation sentence that is translated has four words, so BLEU is "
            "undefined; take fit.select=nll"
        )


def say_long_warmup(settings: ExpertsConfig, stage: str) -> None:
    """Says where the warm-up is longer than the training, whose last update then has the largest rate."""
    own = settings.fit
    made = own.epochs * own.updates
    if 0 < made < own.warmup:
        section = "fewshot" if settings.fewshot.languages and stage == "fit" else "fit"
        tqdm.write(
            f"{section}.warmup={own.warmup} is more than all {made} updates; the learning rate rises until the last of "
            f"them; lower {section}.warmup"
        )


def fit_settings(settings: ExpertsConfig, *, title: str, on_gpu: bool) -> FitSettings:
    """Returns how to train; patience is counted from the epoch in which the warm-up ends, as every schedule has one."""
    own = settings.fit
    rising = max(own.warmup - 1, 0) // own.updates
    steps = own.epochs * own.updates + 1  # one is left, so that the last epoch ends as the others do
    return FitSettings(
        own.epochs, "adam", own.learning_rate, own.clip, steps=steps, accept="always", schedule=own.schedule,
        warmup=min(1.0, own.warmup / steps), second_beta=0.98, patience=own.patience, rising=rising,
        title=title, seed=settings.seed, autocast=own.autocast and on_gpu,
    )  # fmt: skip
