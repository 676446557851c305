"""What a person calls: a reader of documents that learns tags of words, or classes of documents, of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import torch
from sklearn.utils.validation import check_is_fitted

from models.documents.chunks import SPATIAL, AnyPattern, Reading, check_places
from models.documents.examples import Example, examples_in, outputs_of, split, warn_of_unknown
from models.documents.network import Architecture, network_over
from models.documents.objective import GuessingObjective, Prepared, ReadingObjective
from models.documents.predictor import CLASSES, HEADS, TAGS, DocumentPredictor, load_with, share_of_places, warn_of
from models.documents.tables import predicted_table
from models.documents.training import Training, tokens_for, train, warn_of_nothing_found
from models.runtime.estimators import left_as_it_was, seed_of
from models.runtime.parameters import not_negative, number, one_of, whole_number, yes_or_no
from models.runtime.threads import threads_for
from models.sequence.entities import entity_counts, entity_f1
from models.sequence.masking import Masking
from models.sequence.paired import DistanceKeysWindowValues
from models.sequence.patterns import (
    Distance,
    DistanceWindow,
    Full,
    SlidingWindow,
    SpatialWindow,
    WindowRandom,
    has_global_token,
)
from models.sequence.saved_estimator import SavedEstimator
from models.sequence.scores import accuracy, f1
from models.sequence.vocabulary import UNKNOWN, vocabulary_of

ATTENTION = ("distance_window", "distance", "sliding_window", "window_random", "full")
LAYOUTS = ("boxes", "text")
PATTERNS = (Distance, DistanceWindow, DistanceKeysWindowValues, Full, SlidingWindow, SpatialWindow, WindowRandom)


@dataclass(eq=False, repr=False)
class DocumentReader(SavedEstimator):
    """Reads documents by attention to what is near on the page and in the text (Nguyen et al.; thesis, section 2.3).

    Documents are a table with a word a row in reading order: document, page, word, x0, y0, x1, y1, page_width and
    page_height, boxes and pages in one unit, the four numbers of a box empty for a word without one. To learn there is
    a column `tag` (O, B-kind, I-kind) or `label`, the class. Or they are a list of `models.documents.words.PageWords`.

    Parameters, which are checked by `fit`:

    task: "tags" of words or "classes" of documents. attention: what a token attends to, by name with `neighbours` on
    the page and a `window` in the text, or a pattern of `models.sequence.patterns` with settings of its own; a list has
    one of these for each layer. layout: "boxes", or "text" for a network that does not see where words stand. width,
    heads, hidden, layers, dropout: of the network. adjacent: tokens on each side that are mixed into each before the
    first layer, 0 for none. places: how the embeddings of positions and coordinates begin, "drawn" each by itself, or
    "smooth", near places alike. spelling: whether pieces of words that are spelt alike share a part of their embeddings
    (small letters, first and last three, shape). pieces: numbers of the vocabulary, which the texts must allow; None
    for 2000, or for as many as fewer texts allow, which a warning says. lower_case: whether words are read in small
    letters, so that capitals are not seen. max_length: tokens that are read together; longer documents are read in
    chunks that share `stride` tokens. tokens: of a batch, at least max_length; None for 4096, or for so many fewer that
    an epoch has 10 updates. guessing: epochs in which hidden words are learned before. class_weight: α of the weights
    (N / (C n_c))^α that classes and tags have in the loss, 0 for equal ones; probabilities stay those of the documents.
    epochs, learning_rate, warmup, clip: of AdamW. patience: epochs without a better validation loss that end training;
    the best is kept. held_out: the share of the documents that is held out for that, those with the same words
    together, 0 for none. Some documents of every class, or kind of entity, are learned from; a warning says where none
    is left to hold out.
    repeated: the least share of the places of the same words in a document, of which all are then an entity, and else
    none (see `models.documents.repeated`); None for places by themselves. It acts in prediction alone, so a fitted
    reader takes another by `set_params`; with classes it is refused.
    random_state: the seed of all that is drawn; None or a RandomState of NumPy draws one in each `fit`.

    After `fit`: `predictor_`, the fitted `models.documents.predictor.DocumentPredictor`, with `repeated` as it was
    then; `curve_`, training and validation loss of each epoch.
    """

    task: str = "tags"
    _: KW_ONLY
    attention: Any = "distance_window"
    neighbours: int = 64
    window: int = 64
    layout: str = "boxes"
    width: int = 96
    heads: int = 4
    hidden: int = 192
    layers: int = 2
    dropout: float = 0.1
    adjacent: int = 4
    places: str = "drawn"
    spelling: bool = True
    pieces: int | None = None
    lower_case: bool = True
    max_length: int = 2048
    stride: int = 256
    tokens: int | None = None
    guessing: int = 0
    class_weight: float = 0.5
    epochs: int = 20
    learning_rate: float = 1e-3
    warmup: int = 50
    clip: float = 1.0
    patience: int = 5
    held_out: float = 0.15
    repeated: float | None = None
    random_state: Any = 0

    BEFORE: ClassVar[Mapping[str, Any]] = {"adjacent": 0, "places": "drawn", "spelling": False, "repeated": None}
    _read = staticmethod(load_with)

    def fit(self, documents: Any, answers: Sequence[Any] | None = None) -> Self:
        """Learns from documents with their tags or classes, and returns the reader.

        answers: beside a list of documents, the tags of each, or its class; a table has them in a column. Raises
        TypeError and ValueError, in one line, for parameters and documents that make no sense. What was fitted before
        is then still there. Warns of words without a box, and where no entity of the held-out documents is found.
        """
        with left_as_it_was(self):
            seed, task = seed_of(self.random_state), one_of("task", self.task, HEADS)
            share = not_negative("held_out", self.held_out, most=0.9)
            how, epochs = self._training(), whole_number("guessing", self.guessing, least=0)
            patterns = self._patterns(task)
            examples = examples_in(documents, answers, task)
            outputs = outputs_of(examples, task)
            pages = [own.document for own in examples]
            check_places(patterns, pages, "set layout='text' and attention='sliding_window'")
            warn_of(pages, boxes=self.layout == "boxes", stacklevel=3)
            learned, held_out = split(examples, share, task, seed=seed)
            predictor = self._predictor(learned, patterns, task, outputs, seed)
            prepared = [self._prepared(predictor, part) for part in (learned, held_out)]
            with threads_for(predictor.network):
                if epochs:
                    self._guess(predictor, prepared[0], how._replace(epochs=epochs), seed)
                objective = self._objective(predictor, prepared[0])
                validation = objective.on(prepared[1]) if held_out else None
                self.curve_ = train(objective, validation, how, seed=seed, name="reading")
                if task == TAGS:
                    warn_of_nothing_found(predictor, held_out, how)
            self.predictor_ = predictor
        return self

    def predict(self, documents: Any) -> Any:
        """Returns what is read in a table of documents, as a table: of tags its rows with label, probability, entity
        and chunks, of classes a row a document, see `models.documents.tables.predicted_table`.

        Raises NotFittedError before `fit`, TypeError for what is no table, and ValueError, in one line, for one that
        holds no documents.
        """
        check_is_fitted(self)
        if not hasattr(documents, "columns"):
            raise TypeError("documents must be a table with a word a row; predictor_ takes lists of PageWords")
        return predicted_table(self._as_set(), documents)

    def score(self, documents: Any, answers: Sequence[Any] | None = None) -> dict[str, float]:
        """Returns entity_f1, strict, that of each kind as entity_f1_<kind>, and token_accuracy of tags; or accuracy and
        macro_f1 of classes. A kind that neither is there nor was named has none. Kinds and classes that the reader did
        not learn count as missed, and a warning names them. Raises as `fit` and `predict`."""
        check_is_fitted(self)
        own = self._as_set()
        examples = examples_in(documents, answers, own.head)
        warn_of_unknown(examples, own.outputs, own.head)
        pages, true = [each.document for each in examples], [each.answer for each in examples]
        if own.head != TAGS:
            named = [str(found.label) for found in own.classes(pages)]
            return {"accuracy": accuracy(true, named), "macro_f1": f1(true, named, average="macro")}
        found = [each.labels for each in own.tags(pages)]
        by_kind = {f"entity_f1_{kind}": counts.f1 for kind, counts in entity_counts(true, found).items()}
        every = {"entity_f1": entity_f1(true, found), **by_kind}
        scores = {name: value for name, value in every.items() if value is not None}
        pairs = [(one, other) for tags, named in zip(true, found, strict=True)
                 for one, other in zip(tags, named, strict=True)]  # fmt: skip
        return {**scores, "token_accuracy": accuracy(*zip(*pairs, strict=True))}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def _training(self) -> Training:
        return Training(
            whole_number("epochs", self.epochs), number("learning_rate", self.learning_rate),
            whole_number("warmup", self.warmup), number("clip", self.clip), whole_number("patience", self.patience),
        )  # fmt: skip

    def _patterns(self, task: str) -> tuple[AnyPattern, ...]:
        """Returns what tokens attend to in all layers, or in each."""
        each = isinstance(self.attention, list | tuple)
        patterns = tuple(self._pattern(own) for own in (self.attention if each else [self.attention]))
        if each and len(patterns) != self.layers:
            raise ValueError(
                f"attention lists {len(patterns)}, and layers={self.layers}; list as many, or give no list"
            )
        near = [type(own).__name__ for own in patterns if isinstance(own, SPATIAL)]
        if one_of("layout", self.layout, LAYOUTS) == "text" and near:
            raise ValueError(f"attention looks at the page ({near[0]}), and layout=text does not; take sliding_window")
        if task == CLASSES and not any(map(has_global_token, patterns)):
            raise ValueError("a class is read off the first token, which is not global in any layer; leave it global")
        return patterns

    def _pattern(self, given: Any) -> AnyPattern:
        """Returns a pattern as it is, or that of a name with `neighbours` and `window`."""
        if isinstance(given, PATTERNS):
            return given
        neighbours = whole_number("neighbours", self.neighbours, most=100_000)
        window = whole_number("window", self.window, least=2, most=100_000)
        if given not in ATTENTION:
            wanted = f"one of {', '.join(ATTENTION)}, a pattern such as Distance(32), or a list of these"
            raise ValueError(f"attention must be {wanted}; got {given!r}")
        if window % 2:
            raise ValueError(f"window must be an even number of at least 2, got {window}")
        made: dict[str, AnyPattern] = {
            "distance_window": DistanceWindow(neighbours, window), "distance": Distance(neighbours),
            "sliding_window": SlidingWindow(window), "window_random": WindowRandom(), "full": Full(),
        }  # fmt: skip
        return made[given]

    def _predictor(
        self, learned: Sequence[Example], patterns: tuple[AnyPattern, ...], task: str, outputs: tuple[str, ...],
        seed: int,
    ) -> DocumentPredictor:  # fmt: skip
        sizes: dict[str, Any] = {name: whole_number(name, getattr(self, name), most=10_000)
                 for name in ("width", "heads", "hidden", "layers")}  # fmt: skip
        longest = whole_number("max_length", self.max_length, least=2, most=1_000_000)
        lower = yes_or_no("lower_case", self.lower_case)
        stride = whole_number("stride", self.stride, least=0)
        dropout = not_negative("dropout", self.dropout, most=0.95)
        texts = (" ".join(own.document.words) for own in learned)
        vocabulary = vocabulary_of((text.lower() if lower else text for text in texts), self.pieces, stacklevel=4)
        architecture = Architecture(vocabulary.size, **sizes, longest=longest, boxes=self.layout == "boxes",
                                    dropout=dropout, outputs=len(outputs), places=self.places,
                                    spelling=yes_or_no("spelling", self.spelling),
                                    adjacent=whole_number("adjacent", self.adjacent, least=0, most=1000))  # fmt: skip
        network = network_over(vocabulary, architecture, seed=seed)
        reading = Reading(vocabulary, patterns, architecture.layers, longest, stride, lower, seed)
        return DocumentPredictor(network, reading, task, outputs, self._share_of_places(task))

    def _share_of_places(self, task: str) -> float | None:
        """Returns `repeated` as it is set. Raises as `share_of_places`, and ValueError where classes are told."""
        least = share_of_places(self.repeated)
        if least is not None and task == CLASSES:
            raise ValueError(f"repeated={least:g} is for tags of words, and this reader tells classes; set it to None")
        return least

    def _as_set(self) -> DocumentPredictor:
        own: DocumentPredictor = self.predictor_
        return replace(own, repeated=self._share_of_places(own.head))

    def _prepared(self, predictor: DocumentPredictor, examples: Sequence[Example]) -> list[Prepared]:
        """Returns the chunks of documents with their targets."""
        numbers = {name: place for place, name in enumerate(predictor.outputs)}
        found = list[Prepared]()
        for document, answer in examples:
            names = (answer,) if isinstance(answer, str) else answer
            targets = torch.tensor([numbers[name] for name in names])
            found += [chunk.document for chunk in predictor.reading.chunks(document, targets)]
        return found

    def _tokens(self, part: Sequence[Prepared]) -> int:
        return tokens_for(part) if self.tokens is None else whole_number("tokens", self.tokens, least=self.max_length)

    def _objective(self, predictor: DocumentPredictor, part: Sequence[Prepared]) -> ReadingObjective:
        power = not_negative("class_weight", self.class_weight, most=4)
        return ReadingObjective(predictor.network, part, tokens=self._tokens(part), head=predictor.head, power=power)

    def _guess(self, predictor: DocumentPredictor, part: Sequence[Prepared], how: Training, seed: int) -> None:
        """Learns to guess hidden words."""
        own = predictor.reading.vocabulary
        masking = Masking(mask=UNKNOWN, first=own.first, vocabulary=own.size)
        objective = GuessingObjective(predictor.network, part, tokens=self._tokens(part), masking=masking)
        train(objective, None, how, seed=seed, name="guessing")
