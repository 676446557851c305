"""`recipe=experts`: one translator for several pairs of languages: load, tokenise, fit, evaluate, report."""

from __future__ import annotations

from dataclasses import asdict

from tqdm import tqdm

from data.text_pairs import TextPairs
from models.runtime.collectives import rank
from models.sequence.vocabulary import Vocabulary
from pipeline.compare.arms import MEASURED, of_vocabulary
from pipeline.host.torchrun import refuse_several, refuse_unlike, settings_of_rank
from pipeline.job.clock import Clock
from pipeline.job.study import Named, Study, set_up, study
from pipeline.job.vocabulary import refuse_another
from pipeline.settings.job import Job
from pipeline.systems.experts.arms import idle, tag_of
from pipeline.systems.experts.bars import scored_bars
from pipeline.systems.experts.checks import check_tasks
from pipeline.systems.experts.comparison import TRANSLATION
from pipeline.systems.experts.config import ExpertsConfig
from pipeline.systems.experts.evaluate import evaluate, predictor_of
from pipeline.systems.experts.fewshot import Before, learn_new_tasks, metrics_of, shots_of, split
from pipeline.systems.experts.fitting import FittedTranslationNetwork, fit_network, network_of, objective_of
from pipeline.systems.experts.load import Loaded, encoded, load, vocabulary_of
from pipeline.systems.experts.report import log_fitted, log_pairs, low_resource, score_report
from pipeline.systems.experts.validation import Validation
from pipeline.tracking.run_request import fingerprint


def names_of_run(settings: ExpertsConfig, data: TextPairs, vocabulary: Vocabulary) -> Named:
    """Returns what the run is called and tagged with."""
    own = settings.experts
    names, low = [task.name for task in data.tasks], low_resource(data)
    shots = settings.fewshot
    tags = {"arm": own.arm, "tag": tag_of(settings), "tasks": " ".join(names), "low": " ".join(low)}
    adapt, pairs = (shots.adapt, shots_of(settings, data)) if shots.languages else ("", 0)
    tags |= {"adapt": adapt, "shots": str(pairs), "asked": str(shots.pairs if shots.languages else 0)}
    tags[MEASURED] = of_vocabulary(vocabulary.digest)
    return Named(words=[own.arm], tags=tags, passed_over=passed_over(settings))


def passed_over(settings: ExpertsConfig) -> tuple[str, ...]:
    """Returns the settings that change nothing in this run."""
    unread = () if settings.fewshot.languages else tuple(f"fewshot.{name}" for name in vars(settings.fewshot))
    return (*idle(settings.experts.arm), *unread)


def keep(settings: ExpertsConfig, loaded: Loaded, fitted: FittedTranslationNetwork, here: Study) -> str:
    """Keeps the model, logged as `tracking.log_model` says. Returns words about it."""
    from pipeline.systems.experts.servable import trained_model
    from pipeline.tracking.model import kept_in_words

    predictor = predictor_of(settings, fitted.network, loaded.data, loaded.vocabulary)
    kept = trained_model(predictor, loaded.data, fitted.validation)
    return kept_in_words(here.run, kept, settings.tracking, TRANSLATION)


def learned(
    settings: ExpertsConfig, loaded: Loaded, base: TextPairs | None, here: Study
) -> tuple[FittedTranslationNetwork, Before | None]:
    """Returns the translator of all tasks; where some are new, with what it did before it learned these."""
    if base is not None:
        return learn_new_tasks(settings, loaded, base, here)
    network = network_of(settings, loaded.data, loaded.vocabulary).to(loaded.device)
    validation = Validation(loaded.data, loaded.vocabulary, loaded.encoded.parts["validation"], settings.fit.bleu)
    with here.clock.stage("fit"):
        return fit_network(settings, objective_of(settings, network, loaded.encoded), validation, here), None


def stages(settings: ExpertsConfig, loaded: Loaded, base: TextPairs | None, here: Study) -> float:
    """Fits, evaluates and reports; returns nats for each validation token. Of several processes the first alone
    evaluates and reports.

    base: the data of old tasks, where some are new.
    """
    data = loaded.data
    fitted, before = learned(settings, loaded, base, here)
    if rank() > 0:
        return fitted.validation
    here.run.tags({"validation_error": repr(fitted.validation)})
    with here.clock.stage("evaluate"):
        evaluated = evaluate(predictor_of(settings, fitted.network, data, loaded.vocabulary), data, loaded.encoded)
        evaluated.metrics.update(scored_bars(settings, data))
        if base is not None and before is not None:
            evaluated.metrics.update(metrics_of(before, evaluated, len(base.tasks)))
    with here.clock.stage("report"):
        log_fitted(here, data, fitted, evaluated)
        kept = keep(settings, loaded, fitted, here)
    here.close(score_report(evaluated, data) + kept, f"{fitted.validation:.4g} nats a token on validation")
    return fitted.validation


def said_of_pairs(pairs: int, tasks: int, *, repeated: int = 0, too_long: int = 0, longest: int = 0) -> str:
    """Returns in words how many training pairs there are, of how many tasks, and how many pairs were left out.

    repeated: pairs of all parts that stand twice or share a side with another part. too_long: training pairs with more
    than `longest` tokens on a side.
    """
    reasons = {
        f"{repeated} of all parts as repetitions and overlaps": repeated,
        f"{too_long} with more than vocabulary.longest={longest} tokens on a side": too_long,
    }
    left = ", ".join(said for said, count in reasons.items() if count)
    counts = f"{pairs} training pair{'s' * (pairs != 1)} of {tasks} task{'s' * (tasks != 1)}"
    return counts + (f"; left out: {left}" if left else "")


def pairs_in_words(settings: ExpertsConfig, loaded: Loaded) -> str:
    """Returns what a run says of its pairs before it learns from them."""
    data, own = loaded.data, loaded.encoded
    return said_of_pairs(
        own.parts["train"].count, len(data.tasks), repeated=sum(each.pairs for each in data.removed),
        too_long=sum(own.dropped.values()), longest=settings.vocabulary.longest,
    )  # fmt: skip


def train(settings: ExpertsConfig, job: Job) -> float:
    """Runs the whole recipe and returns −log p of a validation token in nats, mean over tasks, of the model that is
    kept."""
    settings = settings_of_rank(settings)
    if settings.fewshot.languages:
        refuse_several("fewshot.languages")
    device, clock = set_up(settings, job), Clock()
    with clock.stage("load"):
        data, base = load(settings), None
        if settings.fewshot.languages:
            data, base = split(settings, data)
    refuse_unlike(fingerprint(asdict(settings), data.checksum))
    check_tasks(settings, len((base or data).tasks))
    with clock.stage("tokenise"):
        vocabulary = vocabulary_of(settings, base or data, data.tasks)
        loaded = Loaded(data, vocabulary, encoded(settings, data, vocabulary), device)
    tqdm.write(f"{data.name}: {pairs_in_words(settings, loaded)}")
    with study(settings, job, data, device, clock, names_of_run(settings, data, vocabulary)) as here:
        refuse_another(vocabulary, here.folder)
        log_pairs(here, data, loaded.encoded)
        return stages(settings, loaded, base, here)
