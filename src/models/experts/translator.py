"""What a person calls: one translator for several pairs of languages, which learns more of them from few pairs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from models.experts.arms import Adapting, Mixing, parts_of
from models.experts.encoding import encoded, encoded_to_learn
from models.experts.growth import begin_as_nearest, begin_tags, grown, own_part, parameters_to_adapt
from models.experts.network import Architecture, TranslationNetwork
from models.experts.objective import EncodedPairs, Sampling, TranslationObjective
from models.experts.pairs import Pair, pairs_in, split, tasks_of
from models.experts.predictor import TranslationPredictor, cut_in_words, load_with
from models.experts.scores import scores_of
from models.experts.tags import TAGS, Languages, tag_names
from models.experts.training import Training, train
from models.runtime.estimators import left_as_it_was, seed_of
from models.runtime.parameters import not_negative, number, one_of, whole_number, yes_or_no
from models.runtime.threads import threads_for
from models.sequence.saved_estimator import SavedEstimator
from models.sequence.vocabulary import Vocabulary, vocabulary_of

SPARE = tuple(f"+{place}" for place in range(32))  # tags without a language yet; no language has such a name
CUT = "cut them into sentences"  # advice on pairs that are too long


@dataclass(eq=False, repr=False)
class Translator(SavedEstimator):
    """Translates between several pairs of languages by one transformer with experts and adapters (thesis, 3.3).

    A task is a pair of languages, from one into another. Pairs are a table with the columns text, translation, from and
    to, or rows of these four.

    Parameters, which are checked by `fit`:

    arm: ROUTER or ROUTER+ADAPTER, see `models.experts.arms`. Adapters "dynamic" and "shared" need three tasks. count,
    top: experts of a layer, and those that a token meets. adapter_hidden: numbers inside an adapter. width, heads,
    hidden, layers, dropout: of the network. tag: what stands in front of a sentence, its "target" language, both by
    "task", or "none". pieces: numbers of the vocabulary, which the texts must allow; None for 2000, or for as many as
    fewer texts allow, which a warning says. prefix_space: whether every text is read with a space in front, so that a
    word has the same pieces first and later. longest: tokens of a side; longer pairs are not learned from, which a
    warning counts, longer sources are cut. temperature: tasks are drawn with p ∝ n^(1/temperature). tokens: of a batch
    on each side. balance: weight of the loss that evens experts out. epochs, updates (of an epoch), learning_rate,
    warmup, clip: of Adam; a warm-up of more than all updates is warned of. patience: epochs without better validation
    nats that end training, counted from the epoch in which the warm-up ends; the best is kept. Nats are a mean over
    tasks, in which each task counts alike, however few of its pairs are held out. held_out: the share of each task's
    pairs that is held out for that, 0 for none; where it is fewer than 10 pairs in all, all are learned from and the
    last epoch is kept, which a warning says; a warning names tasks of which it is less than one pair. beam: hypotheses,
    1 to 8; it acts in translation alone, so a fitted translator takes another by `set_params`. random_state: the seed
    of all that is drawn; None or a RandomState of NumPy draws one in each `fit`.

    What a fit costs does not depend on the number of pairs: it is at most epochs · updates updates of about `tokens`
    tokens on each side, each some 0.4 seconds on one core. So the defaults take minutes: 80 seconds an epoch, and at
    most half an hour. Of some hundreds of short pairs updates=20 with warmup=40 is enough, and tokens=400 is faster
    still. A terminal shows a bar of the epochs; elsewhere nothing is said.

    After `fit`: `predictor_`, the fitted `models.experts.predictor.TranslationPredictor`, with `beam` as it was then;
    `curve_`, training loss and validation nats of each epoch.
    """

    arm: str = "token+static"
    _: KW_ONLY
    count: int = 4
    top: int = 2
    adapter_hidden: int = 64
    width: int = 96
    heads: int = 4
    hidden: int = 192
    layers: int = 2
    dropout: float = 0.1
    tag: str = "target"
    pieces: int | None = None
    prefix_space: bool = False
    longest: int = 60
    temperature: float = 1.0
    tokens: int = 1600
    balance: float = 0.01
    epochs: int = 20
    updates: int = 200
    learning_rate: float = 3e-3
    warmup: int = 200
    clip: float = 1.0
    patience: int = 2
    held_out: float = 0.05
    beam: int = 4
    random_state: Any = 0

    _read = staticmethod(load_with)

    def fit(self, pairs: Any) -> Self:
        """Learns all tasks of the pairs from nothing, and returns the translator.

        Raises TypeError and ValueError, in one line, for parameters and pairs that make no sense. What was fitted
        before is then still there.
        """
        with left_as_it_was(self):
            seed, share = seed_of(self.random_state), not_negative("held_out", self.held_out, most=0.9)
            how = self._training(self.epochs, self.updates, self.learning_rate, self.warmup)
            learned, held_out = split(pairs_in(pairs), share, seed=seed)
            tasks = tasks_of(learned)
            self._architecture(1, len(tasks))  # what it refuses is said before a vocabulary is learned
            texts = [text for pair in learned for text in (pair.text, pair.translation)]
            space = yes_or_no("prefix_space", self.prefix_space)
            vocabulary = vocabulary_of(
                texts, self.pieces, (*tag_names(tasks), *SPARE), prefix_space=space, stacklevel=3
            )
            network = TranslationNetwork(self._architecture(vocabulary.size, len(tasks)), seed=seed)
            predictor = TranslationPredictor(
                network, vocabulary, tasks, one_of("tag", self.tag, TAGS),
                whole_number("longest", self.longest, least=4), whole_number("beam", self.beam, most=8),
            )  # fmt: skip
            found = encoded_to_learn(predictor, learned, advice=f"{CUT}, or raise longest")
            self.curve_ = self._learn(predictor, found, held_out, how, seed)
            self.predictor_ = predictor
        return self

    def add_language(
        self, pairs: Any, *, adapt: str | None = None, epochs: int = 20, updates: int = 20, learning_rate: float = 1e-3,
        warmup: int = 40,
    ) -> Self:  # fmt: skip
        """Learns tasks that are new, from pairs of them alone, a few hundred say, and returns the translator.

        adapt: what learns, see `models.experts.growth.parameters_to_adapt`; None for what is the new tasks' own, which
        is "adapters" of static ones, and "tasks" of dynamic and shared ones, their embeddings. epochs, updates,
        learning_rate, warmup: as of the class, for these pairs. The embedding of a new task, or its static adapters,
        begin as those of the known task under which its pairs have the least nats; adapters begin as nothing where that
        fits the pairs better. What they begin as is kept where no epoch has fewer nats of the pairs that are held out,
        which are `held_out` of the class: fewer than 190 new pairs of one task hold out fewer than 10 by its default of
        0.05, so none, and a warning says so: all epochs are then made. With adapt=None a task that was
        known translates as before, to the last bit where no new language has a tag: with tag="target" where the targets
        are known ones, with tag="task" where the sources are too. The tag of another language is one more row of the
        softmax in which tokens are written, so scores of known tasks change a little, and a translation may where two
        are about as probable. Raises NotFittedError before `fit`, and ValueError for a task that is known already, for
        more languages than there are tags left, and as `fit`; the translator is then as it was.

        What it costs is bounded by epochs · updates, 400 updates by default, as in `fit`, whose own values do not count
        here: some 0.1 seconds each on one core for 40 short pairs, which are one batch, and up to 0.4 for batches of
        `tokens`. A terminal shows the bar of `fit`; before it stands, the new pairs are measured under each known task.
        """
        check_is_fitted(self)
        with left_as_it_was(self):
            seed, before = seed_of(self.random_state), self.predictor_
            share = not_negative("held_out", self.held_out, most=0.9)
            learned, held_out = split(pairs_in(pairs), share, seed=seed)
            predictor = with_tasks(before, tasks_of(learned), seed=seed)
            found = encoded_to_learn(predictor, learned, advice=CUT)  # as `longest` is what it was in `fit`
            what = own_part(predictor.network) if adapt is None else adapt
            begin_as_nearest(predictor.network, found, len(before.tasks))
            chosen = {id(parameter) for parameter in parameters_to_adapt(predictor.network, what)}
            for parameter in predictor.network.parameters():
                parameter.requires_grad_(id(parameter) in chosen)
            how = self._training(epochs, updates, learning_rate, warmup)._replace(from_start=True)
            self.curve_ = self._learn(predictor, found, held_out, how, seed, first=len(before.tasks))
            predictor.network.requires_grad_(True)
            self.predictor_ = predictor
        return self

    def translate(
        self,
        texts: Sequence[str],
        *,
        source: str,
        target: str,
        decoding_temperature: float | None = None,
        seed: int = 0,
    ) -> list[str]:
        """Returns the translation of each text, in their order; that of an empty one is empty.
        decoding_temperature: in place of a search with `beam` hypotheses each token is drawn with probabilities ∝
        p^(1/temperature), so that another seed gives other translations. No translation depends on the other texts but
        for rounding. Of a text with more than `longest` tokens the beginning alone is translated, and a translation
        that has not ended after 2n + 10 tokens, for n of its text, is cut there; a UserWarning counts both. Raises
        NotFittedError before `fit`, TypeError for one text in place of a list, and ValueError as
        `TranslationPredictor.translate` and, naming those known, for a task that was not learned.
        """
        check_is_fitted(self)
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise TypeError("texts must be a list of texts, as ['ein Haus']")
        own = self._as_set()
        found = own.translate(
            texts, [own.task(source, target)] * len(texts), decoding_temperature=decoding_temperature, seed=seed
        )
        if cut := cut_in_words(found, own.longest):
            warnings.warn(f"{source}-{target}: {cut}", stacklevel=2)
        return [one.text for one in found]

    def score(self, pairs: Any) -> dict[str, dict[str, float]]:
        """Returns BLEU and chrF of each task, by its name as "de-en", with the ends of bootstrap intervals of 95 %, as
        `models.experts.scores.scores_of`: of fewer than 8 pairs the ends are NaN, and BLEU is where no translation of
        the pairs has four words. Each character of Chinese, Japanese or Thai counts as a word. Warns as `translate`,
        and raises as it and `fit`."""
        check_is_fitted(self)
        given, found = pairs_in(pairs), dict[str, dict[str, float]]()
        for source, target in tasks_of(given):
            own = [pair for pair in given if pair.task == (source, target)]
            written = self.translate([pair.text for pair in own], source=source, target=target)
            found[f"{source}-{target}"] = scores_of(written, [pair.translation for pair in own])
        return found

    def _as_set(self) -> TranslationPredictor:
        return replace(self.predictor_, beam=whole_number("beam", self.beam, most=8))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _training(self, epochs: int, updates: int, learning_rate: float, warmup: int) -> Training:
        how = Training(
            whole_number("epochs", epochs), whole_number("updates", updates), number("learning_rate", learning_rate),
            whole_number("warmup", warmup), number("clip", self.clip), whole_number("patience", self.patience),
        )  # fmt: skip
        warn_of_long_warmup(how)
        return how

    def _architecture(self, pieces: int, tasks: int) -> Architecture:
        router, adapter = parts_of(self.arm)
        mixing = Mixing(router, whole_number("count", self.count), whole_number("top", self.top))
        adapting = Adapting(adapter, whole_number("adapter_hidden", self.adapter_hidden))
        sizes = {name: whole_number(name, getattr(self, name)) for name in ("width", "heads", "hidden", "layers")}
        dropout = not_negative("dropout", self.dropout, most=0.95)
        return Architecture(pieces, tasks, **sizes, dropout=dropout, mixing=mixing, adapting=adapting)

    def _learn(
        self, predictor: TranslationPredictor, learned: EncodedPairs, held_out: list[Pair], how: Training, seed: int, *,
        first: int = 0,
    ) -> list[tuple[float, float]]:  # fmt: skip
        """Returns the curve of the predictor's network as it learns its tasks from the number `first` on."""
        tokens, temperature = whole_number("tokens", self.tokens), number("temperature", self.temperature)
        sampling = Sampling(tokens, how.updates, temperature, seed)
        objective = TranslationObjective(
            predictor.network, learned, sampling=sampling, balance=not_negative("balance", self.balance),
            tasks=range(first, len(predictor.tasks)),
        )  # fmt: skip
        validation = encoded(predictor, held_out)
        if held_out:
            warn_of_none_held_out(predictor, validation, first)
        with threads_for(predictor.network):
            return train(objective, validation, how, seed=seed)


def warn_of_long_warmup(how: Training) -> None:
    """Warns of a warm-up that is longer than the training, in which the rate does not reach `learning_rate`."""
    made = how.epochs * how.updates
    if how.warmup > made:
        warnings.warn(
            f"warmup={how.warmup} is more than all {made} updates (epochs · updates), so that the rate rises to "
            f"{made / how.warmup:.0%} of learning_rate={how.learning_rate:g} at most; lower warmup",
            stacklevel=4,
        )


def warn_of_none_held_out(predictor: TranslationPredictor, held_out: EncodedPairs, first: int) -> None:
    """Warns of tasks, from the number `first` on, without a pair by which an epoch is chosen."""
    known = set(held_out.task.tolist())
    missing = ["-".join(task) for place, task in enumerate(predictor.tasks) if place >= first and place not in known]
    if missing:
        what = "other tasks alone choose the epoch" if known else "no epoch is chosen"
        warnings.warn(
            f"no pair of {', '.join(missing)} is held out, so that {what}; give more pairs, or raise held_out",
            stacklevel=4,
        )


def with_tasks(predictor: TranslationPredictor, tasks: Sequence[Languages], *, seed: int) -> TranslationPredictor:
    """Returns a copy with more tasks, before it has learned them. Raises ValueError for a task that is known, and
    without tags left."""
    known = next((task for task in tasks if task in predictor.tasks), None)
    if known is not None:
        raise ValueError(f"task {'-'.join(known)} is learned already; give pairs of new tasks alone")
    before, every = predictor.vocabulary, (*predictor.tasks, *tasks)
    added = [name for name in tag_names(every) if name not in before.tags]
    spare = [name for name in before.tags if name in SPARE]
    if len(added) > len(spare):
        raise ValueError(f"{len(added)} tags of new languages are needed and {len(spare)} are left; fit all tasks anew")
    names = dict(zip(spare, added, strict=False))
    vocabulary = Vocabulary(before.tokeniser, [names.get(name, name) for name in before.tags])
    network = grown(predictor.network, len(tasks), seed=seed)
    begin_tags(network, vocabulary, predictor.tasks, tasks, predictor.tag)
    return replace(predictor, network=network, vocabulary=vocabulary, tasks=every)
