"""Scores of what networks that read documents have to beat, on Kleister-NDA and FUNSD.

python benchmarks/document_baselines.py      where PIPELINE_DATA_ROOT has both

Penalties are chosen on the validation part, everything is learned from the training part, and scores are of the test
part. Rules learn nothing; the states that they know are those of the training and validation part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from data.documents.funsd import Funsd
from data.documents.kleister import KleisterNda
from data.documents.values import normalised
from data.pages import Documents
from models.documents.clause_rule import NamedState
from models.documents.text_classifier import commonest
from models.sequence.entities import Counts, entity_counts, set_counts, values_in
from models.sequence.scores import accuracy
from pipeline.systems.documents.baselines import (
    best_classifier,
    best_tagger,
    first_words,
    lengthened,
    state_of,
    states_of,
)

LENGTHS: tuple[int | None, ...] = (None, 512, 2048)
NO_STATE = "none"


class Row(NamedTuple):
    """Holds a task, what is scored, the score of the test part, and more about it."""

    task: str
    baseline: str
    score: float
    more: str = ""


def f1_of(counts: dict[str, Counts]) -> float:
    """Returns F1 over all kinds, 0 where there is nothing to be found."""
    return sum(counts.values(), Counts()).f1 or 0.0


def words_read(most: int | None) -> str:
    return "all words" if most is None else f"first {most} words"


def label_rows(data: Documents) -> Iterator[Row]:
    """Yields accuracies of the class of a document."""
    train, test = ([str(own.label) for own in data.parts[part]] for part in ("train", "test"))
    task = f"class, {len(data.classes)}"
    yield Row(task, "majority", accuracy(test, [commonest(train)] * len(test)))
    for most in LENGTHS:
        model = best_classifier(data, most=most)
        found = model.classes([own.words for own in data.parts["test"]])
        yield Row(task, f"TF-IDF, {words_read(most)}", accuracy(test, found), f"C = {model.penalty:g}")


def state_rows(data: Documents) -> Iterator[Row]:
    """Yields accuracies of the state whose law governs a contract, by rules."""
    states, test = states_of(data), data.parts["test"]
    true = [state_of(own) or NO_STATE for own in test]
    for clauses in (False, True):
        for most in LENGTHS:
            rule = NamedState(states, clauses, most)
            found = [rule.state(own.words) or NO_STATE for own in test]
            name = "clause rule" if clauses else "most-named state"
            yield Row(f"state, {len(states)}", f"{name}, {words_read(most)}", accuracy(true, found))


def tag_row(data: Documents, *, layout: bool, most: int | None) -> Row:
    """Returns strict F1 of entities, and F1 of values where they are known."""
    parts, tagger = data.parts, best_tagger(data, layout=layout, most=most)
    found = lengthened(tagger.tags([first_words(own, most) for own in parts["test"]]), parts["test"])
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
