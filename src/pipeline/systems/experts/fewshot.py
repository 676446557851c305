"""New tasks for a translator that has learned others: from few pairs, by all of it or by the parts that are theirs."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm

from data.base import DataError
from data.text_pairs import Pairs, TextPairs
from models.experts.growth import begin_as_nearest, begin_tags, grown, parameters_to_adapt
from models.experts.network import TranslationNetwork
from models.experts.objective import EncodedPairs, measure
from models.experts.scores import corpus_score
from models.runtime.seeding import derived
from pipeline.job import checkpoint
from pipeline.job.shared import forget_states
from pipeline.job.study import Study
from pipeline.systems.experts.arms import idle, tag_of
from pipeline.systems.experts.config import ExpertsConfig, FitConfig
from pipeline.systems.experts.evaluate import TEST, Evaluated, predictor_of
from pipeline.systems.experts.fitting import FittedTranslationNetwork, fit_network, network_of, objective_of
from pipeline.systems.experts.load import Encoded, Loaded
from pipeline.systems.experts.validation import Validation
from pipeline.tracking.run_request import without

BASE = "learned.npz"
VERSION = 3  # of how old tasks are learned, raised where the same settings give other weights


class Split(NamedTuple):
    """Holds data with few training pairs of new tasks, which stand last, and the old tasks alone."""

    whole: TextPairs
    base: TextPairs


def split(settings: ExpertsConfig, data: TextPairs) -> Split:
    """Returns the data with the tasks of new languages behind the others and with `fewshot.pairs` training pairs. Says
    which of them have fewer.

    Raises DataError for a language that no task has, and where no task or every task is new.
    """
    own = settings.fewshot
    for language in own.languages:
        if language not in data.languages:
            known = ", ".join(data.languages)
            raise DataError(
                f"{data.name}: fewshot.languages={own.languages}: no task has {language}; there are {known}"
            )
    new = [task for task in data.tasks if set(task) & set(own.languages)]
    old = [task for task in data.tasks if task not in new]
    if not old:
        raise DataError(f"{data.name}: fewshot.languages={own.languages} leaves no task to learn before; name fewer")
    ordered = data.only([*old, *new])
    train = [
        pairs if place < len(old) else drawn(pairs, own.pairs, derived(settings.seed, f"fewshot/{task.name}"))
        for place, (task, pairs) in enumerate(zip(ordered.tasks, ordered.parts["train"], strict=True))
    ]
    whole = replace(ordered, parts={**ordered.parts, "train": tuple(train)})
    say_fewer(settings, whole)
    return Split(whole, data.only(old))


def new_sizes(settings: ExpertsConfig, data: TextPairs) -> dict[str, int]:
    """Returns how many training pairs each new task has, by its name."""
    sizes = zip(data.tasks, map(len, data.parts["train"]), strict=True)
    return {task.name: size for task, size in sizes if set(task) & set(settings.fewshot.languages)}


def shots_of(settings: ExpertsConfig, data: TextPairs) -> int:
    """Returns how many training pairs the new tasks have, the mean over them: fewer than `fewshot.pairs` where
    there are no more."""
    return round(float(np.mean(list(new_sizes(settings, data).values()))))


def say_fewer(settings: ExpertsConfig, data: TextPairs) -> None:
    """Says which new tasks have fewer training pairs than were asked for."""
    fewer = {name: size for name, size in new_sizes(settings, data).items() if size < settings.fewshot.pairs}
    if fewer:
        found = ", ".join(f"{name} has {size}" for name, size in fewer.items())
        mean = shots_of(settings, data)
        tqdm.write(f"fewshot.pairs={settings.fewshot.pairs}: {found}, which are all taken; tables say {mean}, the mean")


def drawn(pairs: Pairs, most: int, seed: int) -> Pairs:
    """Returns at most so many pairs, in their order; of one seed, more pairs hold the fewer ones."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    return tuple(pairs[place] for place in np.sort(order[:most]))


def of_tasks(pairs: EncodedPairs, first: int, *, old: bool) -> EncodedPairs:
    """Returns the pairs of old tasks, which are before the number `first`, or of new ones."""
    kept = pairs.task < first if old else pairs.task >= first
    return pairs.take(kept.nonzero().squeeze(1))


def of_parts(encoded: Encoded, first: int, *, old: bool) -> Encoded:
    """Returns `of_tasks` of every part."""
    parts = {name: of_tasks(pairs, first, old=old) for name, pairs in encoded.parts.items()}
    return Encoded(parts, encoded.dropped)


def mark_of(settings: ExpertsConfig, loaded: Loaded, base: TextPairs) -> str:
    """Returns the fingerprint of all that the network of the old tasks follows from. The type of device is among it:
    a GPU may train in bfloat16."""
    sections = asdict(settings)
    named = {name: sections[name] for name in ("experts", "adapter", "translator", "vocabulary", "sampling", "fit")}
    own = without(named, ("experts.variant", *idle(settings.experts.arm)))
    parts = (
        own, settings.seed, settings.dtype, base.checksum, loaded.vocabulary.digest, loaded.device.type,
        torch.get_num_threads(),  # sums are rounded by them
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def base_network(settings: ExpertsConfig, loaded: Loaded, base: TextPairs, here: Study) -> TranslationNetwork:
    """Returns the network that has learned the old tasks. It is trained once for all runs that want it; one that was
    stopped goes on."""
    with here.place_of("translator", mark_of(settings, loaded, base), version=VERSION) as folder:
        return network_in(folder, settings, loaded, base, here)


def network_in(
    folder: Path, settings: ExpertsConfig, loaded: Loaded, base: TextPairs, here: Study
) -> TranslationNetwork:
    """Returns the network that is in a folder; trains it where there is none."""
    network, path = network_of(settings, base, loaded.vocabulary).to(loaded.device), folder / BASE
    saved = checkpoint.find(path)
    if saved is not None:
        tqdm.write(f"translator of {len(base.tasks)} tasks: found, trained before ({folder})")
        with checkpoint.fitting(path):
            network.load_state_dict(saved.tensors)
        forget_states(folder, result=BASE)
        return network.eval()
    encoded = of_parts(loaded.encoded, len(base.tasks), old=True)
    validation = Validation(base, loaded.vocabulary, encoded.parts["validation"], settings.fit.bleu)
    objective = objective_of(settings, network, encoded)
    fitted = fit_network(settings, objective, validation, here._replace(folder=folder), stage="base")
    checkpoint.save(path, fitted.network.state_dict(), {})
    forget_states(folder, result=BASE)
    return fitted.network.eval()


def adapted(
    settings: ExpertsConfig, network: TranslationNetwork, loaded: Loaded, old: int, here: Study
) -> FittedTranslationNetwork:
    """Returns a grown network after it has learned the new tasks by the parts that `fewshot.adapt` names."""
    own = settings.fewshot
    encoded = of_parts(loaded.encoded, old, old=False)
    validation = Validation(loaded.data, loaded.vocabulary, encoded.parts["validation"], sentences=0)
    epochs = 0 if own.adapt == "none" else own.epochs
    chosen = {id(part) for part in parameters_to_adapt(network, "all" if own.adapt == "none" else own.adapt)}
    for parameter in network.parameters():
        parameter.requires_grad_(id(parameter) in chosen)
    now, tasks = replace(settings, fit=fit_of(settings, epochs)), range(old, network.architecture.tasks)
    return fit_network(now, objective_of(now, network, encoded, tasks), validation, here)


def fit_of(settings: ExpertsConfig, epochs: int) -> FitConfig:
    """Returns how new tasks are learned: as `fit` says, but with the numbers of `fewshot`."""
    own = settings.fewshot
    return replace(
        settings.fit, epochs=epochs, updates=own.updates, learning_rate=own.learning_rate, warmup=own.warmup,
        select="nll",
    )  # fmt: skip


def grown_network(
    settings: ExpertsConfig, loaded: Loaded, base: TextPairs, here: Study
) -> tuple[TranslationNetwork, dict[int, int]]:
    """Returns the network of the old tasks with room for the new ones, and which task each of them begins as."""
    old = len(base.tasks)
    trained = base_network(settings, loaded, base, here)
    network = grown(trained, len(loaded.data.tasks) - old, seed=settings.seed).eval()
    begin_tags(network, loaded.vocabulary, base.tasks, loaded.data.tasks[old:], tag_of(settings))
    return network, begin_as_nearest(network, of_tasks(loaded.encoded.parts["train"], old, old=False), old)


class Before(NamedTuple):
    """Holds what a translator does before it learns the new tasks, on the test part: nats a token by the number of a
    task, and chrF by the numbers of new ones; and which task each new one begins as, see `begin_as_nearest`."""

    nats: dict[int, float]
    chrf: dict[int, float]
    nearest: dict[int, int]


def learn_new_tasks(
    settings: ExpertsConfig, loaded: Loaded, base: TextPairs, here: Study
) -> tuple[FittedTranslationNetwork, Before]:
    """Returns a translator of the old tasks that has learned the new ones too, and what it did before that."""
    old = len(base.tasks)
    with here.clock.stage("base"):
        network, nearest = grown_network(settings, loaded, base, here)
        nats = measure(network, loaded.encoded.parts[TEST]).nats
        predictor, chrf = predictor_of(settings, network, loaded.data, loaded.vocabulary), dict[int, float]()
        for task in range(old, len(loaded.data.tasks)):
            texts, references = zip(*loaded.data.parts[TEST][task], strict=True)
            written = [one.text for one in predictor.translate(texts, [task] * len(texts))]
            chrf[task] = corpus_score("chrf", written, references)
    with here.clock.stage("fit"):
        return adapted(settings, network, loaded, old, here), Before(nats, chrf, nearest)


def metrics_of(before: Before, evaluated: Evaluated, old: int) -> dict[str, float]:
    """Returns the scores of new tasks, after and before they were learned, and what was forgotten of the old ones.

    test_error: nats a token, mean over new tasks. old_equal: 1 where old tasks have the same nats to the last bit.
    """
    after = evaluated.measured.nats
    new = [task for task in after if task >= old]
    test = evaluated.scores[evaluated.scores["part"] == TEST]
    forgotten = [after[task] - before.nats[task] for task in range(old)]
    return {
        "test_error": sum(after[task] for task in new) / len(new),
        "zero_shot_error": sum(before.nats[task] for task in new) / len(new),
        "new_chrf": float(np.asarray(test["chrf"], np.float64)[old:].mean()),
        "zero_shot_chrf": sum(before.chrf.values()) / len(before.chrf),
        "forgotten": sum(forgotten) / old,
        "old_equal": float(all(change == 0 for change in forgotten)),
    }
