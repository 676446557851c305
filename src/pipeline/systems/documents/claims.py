"""What may be claimed of networks that read documents, of the thesis (section 2.3) and of this project.

A claim is that one arm of a multirun has a lower error than another. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.compare.claims import HERE, THESIS, Claim
from pipeline.systems.documents.labels import Arm, of_simple, parts_of, without_pretraining

SHORT = 512  # words; data without a longer document are short
WINDOW, RANDOM, DISTANCE, UNION = "sliding window", "window + random", "distance", "distance + window"
PRINTED, APPROXIMATE = "distance keys, window values", "distance, approximate"
RECTANGLE = "spatial window"
CUT, CUT_LARGE = "full 512 (LayoutLM)", "full 512, large (LayoutLM large)"
TEXT, TEXT_LARGE = "full 512, text (RoBERTa)", "full 512, text, large (RoBERTa large)"
STATIC, STATIC_LARGE = "full 512, text, static (BERT)", "full 512, text, static, large (BERT large)"
TEXT_WINDOW, TEXT_RANDOM = "sliding window, text (Longformer)", "window + random, text (BigBird)"
TEXT_WINDOW_LARGE = "sliding window, text, large (Longformer large)"
PLACES = "looking at places is ahead of looking along the text"
MIXED = "the page and the text together are ahead of the page alone"
NEAREST = "the nearest words are ahead of all words in a rectangle"
UNITED = "the union of page and text is ahead of the printed form"
WHOLE = "seeing a whole document is ahead of 512 tokens"
ENOUGH = "512 tokens are ahead on short documents"
BOXES = "boxes are ahead of words alone"
ANEW = "hiding other words each time is ahead of the same ones"
EXACT = "exact neighbours are ahead of approximate ones"
BEATEN = "a network is ahead of a simple model"
GUESSED = "guessing hidden words first helps"
FARTHER = "reading 4096 tokens is ahead of 512"
NETWORKS = (WINDOW, RANDOM, DISTANCE, UNION)  # the four of the thesis
SIMPLE = ("window tagger", "window tagger, layout", "clause rule", "TF-IDF")
NEVER, LEAST, MOST = "no pretraining", "@512", "@4096"


CUTS = (*[(own, CUT) for own in NETWORKS], *[(own, CUT_LARGE) for own in NETWORKS])
TEXTS = ((TEXT_WINDOW, TEXT), (TEXT_RANDOM, TEXT), (TEXT_WINDOW_LARGE, TEXT_LARGE))
PATTERNS = (  # claims that name a pattern each in place of an arm
    Claim(PLACES, DISTANCE, WINDOW),
    Claim(PLACES, UNION, WINDOW),
    Claim(PLACES, UNION, RANDOM, HERE),
    Claim(MIXED, UNION, DISTANCE, HERE),
    Claim(NEAREST, DISTANCE, RECTANGLE, HERE),
    Claim(UNITED, UNION, PRINTED, HERE),
    Claim(BOXES, CUT, TEXT),
    Claim(BOXES, CUT_LARGE, TEXT_LARGE),
    Claim(BOXES, WINDOW, TEXT_WINDOW),
    Claim(BOXES, RANDOM, TEXT_RANDOM),
    Claim(ANEW, TEXT, STATIC),
    Claim(ANEW, TEXT_LARGE, STATIC_LARGE),
    Claim(EXACT, DISTANCE, APPROXIMATE),
)
LONG = tuple(Claim(WHOLE, whole, cut) for whole, cut in (*CUTS, *TEXTS))
BRIEF = tuple(Claim(ENOUGH, cut, whole) for whole, cut in CUTS)  # table 2.15


def claims_on(names: Sequence[str], *, short: bool) -> Iterator[Claim]:
    """Yields every claim of which both arms are there. short: no document has more than `SHORT` words."""
    there = {parts_of(name): name for name in names}
    for own, name in there.items():
        for words, whose, other in counterparts(own, (*PATTERNS, *(BRIEF if short else LONG))):
            if other in there:
                yield Claim(words, challenger=name, against=there[other], whose=whose)


def counterparts(own: Arm, patterns: Sequence[Claim]) -> Iterator[tuple[str, str, Arm]]:
    """Yields what an arm is claimed to be ahead of, whether the other arm ran or not: the claim in words, whose it is,
    and the other arm. patterns: claims of what arms attend to."""
    for claim in patterns:
        if claim.challenger == own.pattern:
            yield claim.words, claim.whose, own._replace(pattern=claim.against)
    if own.pattern in NETWORKS:
        for model in SIMPLE:
            yield BEATEN, HERE, Arm(model, own.noise, "", "", "", of_simple(own.settings))
    if own.most == MOST:
        yield FARTHER, THESIS, own._replace(most=LEAST)
    if own.guessing != NEVER:
        yield GUESSED, HERE, own._replace(guessing=NEVER, settings=without_pretraining(own.settings))
