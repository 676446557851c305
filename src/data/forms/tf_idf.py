"""Words that tell documents apart: those of highest tf-idf in the contracts of Kleister-NDA and the forms of FUNSD."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from data.documents import funsd, kleister

WORD = re.compile(r"[a-zäöüß]{3,12}")  # in lower case


def words_in(words: Iterable[str]) -> Counter[str]:
    """Returns the words of 3 to 12 letters of a document, in lower case and counted; others are left out."""
    folded = (word.strip(".,;:()\"'").lower() for word in words)
    return Counter(word for word in folded if WORD.fullmatch(word))


def highest(documents: Iterable[Iterable[str]], letters: frozenset[str], count: int) -> tuple[str, ...]:
    """Returns the words of highest tf-idf that some letters can write, by the alphabet: Σ over the documents of (share
    of the document's words) · ln(documents / documents with the word). Of equals the first of the alphabet is taken."""
    counted = [own for own in map(words_in, documents) if own]
    seen = Counter(word for own in counted for word in own)
    scores: defaultdict[str, float] = defaultdict(float)
    for own in counted:
        total = own.total()
        for word, times in own.items():
            scores[word] += times / total * math.log(len(counted) / seen[word])
    able = sorted((-round(score, 9), word) for word, score in scores.items() if set(word) <= letters)
    return tuple(sorted(word for _, word in able[:count]))


def documents_of(root: str | None, *, source: str) -> list[tuple[str, ...]]:
    """Returns the words of each document of all contracts of Kleister-NDA, and of FUNSD's training forms, of as many of
    both collections as are there; none with source=stand_in. Raises DataError as `Published.find` does."""
    found = list[tuple[str, ...]]()
    if kleister.FILES.find(root, source=source) is not None:
        own = kleister.read_documents(kleister.FILES.folder_below(root) / kleister.BOXES)
        found += [document.words for document in own.values()]
    forms = funsd.FILES.find(root, source=source)
    if forms is not None:
        found += [document.words for document in funsd.read_archive(forms[0])["train"]]
    return found
