"""Scores of what networks that read documents have to beat, on Kleister-NDA and FUNSD.

python benchmarks/document_baselines.py      where PIPELINE_DATA_ROOT has both

Penalties are chosen on the validation part, everything is learned from the training part, and scores are of the test
part. Rules learn nothing; the states that they know are those of the training part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from data.documents.funsd import Funsd
from data.documents.kleister import KleisterNda
from data.documents.values import normalised
from data.pages import OUTSIDE, Document, Documents
from models.documents.clause_rule import NamedState
from models.documents.text_classifier import TextClassifier, commonest
from models.documents.window_tagger import WindowTagger
from models.sequence.entities import Counts, entity_counts, set_counts, values_in
from models.sequence.scores import accuracy

LENGTHS: tuple[int | None, ...] = (None, 512, 2048)
ALPHAS, PENALTIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), (1.0, 10.0, 100.0)
NO_STATE = "none"

Tags = list[tuple[str, ...]]


class Row(NamedTuple):
    """Holds a task, what is scored, the score of the test part, and more about it."""

    task: str
    baseline: str
    score: float
    more: str = ""


def f1_of(counts: dict[str, Counts]) -> float:
    """Returns F1 over all kinds, 0 where there is nothing to be found."""
    return sum(counts.values(), Counts()).f1 or 0.0


def best(choices: Iterable[Any], score: Callable[[Any], float]) -> Any:
    """Returns the choice of the highest score, of equals the first."""
    return max(choices, key=score)


def words_read(most: int | None) -> str:
    return "all words" if most is None else f"first {most} words"


def label_rows(data: Documents) -> Iterator[Row]:
    """Yields accuracies of the class of a document."""
    words = {part: [own.words for own in documents] for part, documents in data.parts.items()}
    labels = {part: [str(own.label) for own in documents] for part, documents in data.parts.items()}
    task, test = f"class, {len(data.classes)}", labels["test"]
    yield Row(task, "majority", accuracy(test, [commonest(labels["train"])] * len(test)))
    for most in LENGTHS:
        fitted = [TextClassifier(penalty, most=most).fit(words["train"], labels["train"]) for penalty in PENALTIES]
        model = best(fitted, lambda own: accuracy(labels["validation"], own.classes(words["validation"])))
        found = model.classes(words["test"])
        yield Row(task, f"TF-IDF, {words_read(most)}", accuracy(test, found), f"C = {model.penalty:g}")


def state_of(document: Document) -> str:
    return next((value.replace("_", " ") for kind, value in document.values if kind == "jurisdiction"), NO_STATE)


def state_rows(data: Documents) -> Iterator[Row]:
    """Yields accuracies of the state whose law governs a contract, by rules."""
    learned = (*data.parts["train"], *data.parts["validation"])
    states = tuple(sorted({state_of(own) for own in learned} - {NO_STATE}))
    test = data.parts["test"]
    for clauses in (False, True):
        for most in LENGTHS:
            rule = NamedState(states, clauses, most)
            found = [rule.state(own.words) or NO_STATE for own in test]
            name = "clause rule" if clauses else "most-named state"
            yield Row(
                f"state, {len(states)}", f"{name}, {words_read(most)}", accuracy(list(map(state_of, test)), found)
            )


def first_words(document: Document, most: int | None) -> Document:
    """Returns the document with so many of its words."""
    return document._replace(
        words=document.words[:most], boxes=document.boxes[:most], pages=document.pages[:most], tags=document.tags[:most]
    )


def predicted(tagger: WindowTagger, documents: Sequence[Document], most: int | None) -> Tags:
    """Returns the tags of all words; those that are not read are outside."""
    found = tagger.tags([first_words(own, most) for own in documents])
    return [(*tags, *[OUTSIDE] * (len(own.words) - len(tags))) for tags, own in zip(found, documents, strict=True)]


def tag_row(data: Documents, *, layout: bool, most: int | None) -> Row:
    """Returns strict F1 of entities, and F1 of values where they are known."""
    parts = data.parts

    def score(tagger: WindowTagger) -> float:
        held = parts["validation"]
        return f1_of(entity_counts([own.tags for own in held], predicted(tagger, held, most)))

    learned = [first_words(own, most) for own in parts["train"]]
    taggers = [WindowTagger(layout=layout, alpha=alpha).fit(learned, [own.tags for own in learned]) for alpha in ALPHAS]
    tagger = best(taggers, score)
    found = predicted(tagger, parts["test"], most)
    counts = entity_counts([own.tags for own in parts["test"]], found)
    more = [f"alpha = {tagger.alpha:g}", *(f"{kind} {own.f1 or 0:.3f}" for kind, own in counts.items())]
    if any(own.values for own in parts["test"]):
        said = [values_in(own.words, tags, normalised) for own, tags in zip(parts["test"], found, strict=True)]
        sets = zip([set(own.values) for own in parts["test"]], said, strict=True)
        more.append(f"values {f1_of(set_counts(sets)):.3f}")
    sees = "text and layout" if layout else "text"
    return Row(f"entities of {data.name}", f"window tagger, {sees}, {words_read(most)}", f1_of(counts), ", ".join(more))


def shown(rows: Iterable[Row]) -> None:
    for row in rows:
        print(f"| {row.task} | {row.baseline} | {row.score:.3f} | {row.more} |", flush=True)


def main() -> None:
    contracts, forms = KleisterNda(source="published").load(), Funsd(source="published").load()
    print("| task | baseline | score | more |\n|---|---|---|---|")
    shown(label_rows(contracts))
    shown(state_rows(contracts))
    shown(tag_row(forms, layout=layout, most=None) for layout in (False, True))
    shown(tag_row(contracts, layout=layout, most=most) for layout, most in ((False, None), (False, 512)))


if __name__ == "__main__":
    main()
