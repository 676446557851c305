"""A fitted network with its vocabulary and tasks: sentences in, translations out, and back from disk without pickle."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from models.experts.arms import Adapting, Mixing
from models.experts.network import Architecture, TranslationNetwork
from models.experts.search import Chance, Search, translate
from models.experts.tags import Languages, sources_of, tags_of
from models.runtime.saved import read_tensors, readable, refuse_missing
from models.runtime.seeding import generator
from models.runtime.whole_folder import folder_written_whole
from models.sequence.decoding import Written, check_temperature
from models.sequence.tokens import TokenLists
from models.sequence.vocabulary import Vocabulary, read_vocabulary

DESCRIPTION, ARRAYS, VOCABULARY = "translator.json", "translator.npz", "vocabulary.json"
MOST_BEAM = 8
# Control characters that are no white space, byte order marks, halves of pairs, and what Unicode calls noncharacters.
UNWANTED = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Translation(NamedTuple):
    """Holds a translation, its mean log p for each token, whether its source was cut, and whether it has ended by
    itself: it is cut at 2n + 10 tokens, for n tokens of the source (`models.experts.search.Search`)."""

    text: str
    score: float
    truncated: bool
    finished: bool = True


def cut_in_words(found: Sequence[Translation], longest: int) -> str | None:
    """Returns how many texts and translations were cut, and why, in one line; None where none was. longest: tokens of a
    text, after which it was cut."""
    long, endless = sum(one.truncated for one in found), sum(not one.finished for one in found)
    beyond, ends = f"more than longest={longest} tokens", "at twice the tokens of their source and ten more"
    faults = [
        *([f"{endless} of {len(found)} translations did not end and were cut, {ends}"] if endless else []),
        *([f"{long} of {len(found)} texts have {beyond} and were translated up to there; cut them into sentences"]
          if long else []),
    ]  # fmt: skip
    return "; ".join(faults) or None


def texts_of(vocabulary: Vocabulary, written: Sequence[Written]) -> list[str]:
    """Returns what a network wrote as texts, with a single space wherever there is white space and none at the ends."""
    return [" ".join(text.split()) for text in vocabulary.decode(own.tokens.tolist() for own in written)]


def tidied(text: str) -> str:
    """Returns a text in Unicode's form NFC, with a single space wherever it has white space and none at its ends, and
    without spaces of no width (U+200B), as the sentences that were learned from. Raises ValueError for a character that
    is no text."""
    unwanted = UNWANTED.search(text)
    if unwanted:
        raise ValueError(f"it holds the character U+{ord(unwanted.group()):04X}, which is no text; remove it")
    return " ".join(unicodedata.normalize("NFC", text.replace("\u200b", "")).split())


def check_search(beam: int, longest: int, learned: int) -> None:
    """Raises ValueError for a beam outside 1 to 8, and for sources of fewer than 4 tokens or of more than were
    learned from."""
    for name, value, least, most in (("beam", beam, 1, MOST_BEAM), ("longest", longest, 4, learned)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            too_long = name == "longest" and isinstance(value, int) and value > most
            why = "; the model learned from no longer texts, so cut yours into sentences" if too_long else ""
            raise ValueError(f"{name} must be a whole number from {least} to {most}, got {value}{why}")


@dataclass(frozen=True, eq=False)
class TranslationPredictor:
    """Translates sentences of the tasks that a network has learned.

    network: fitted. vocabulary: with the tags of the tasks. tasks: the languages of each, by their numbers in the
    network. tag: see `models.experts.tags.tags_of`. longest: tokens of a source, tags and end among them, of the
    longest pairs that were learned from; what is longer is cut. penalty: see `models.sequence.decoding.beam`.
    """

    network: TranslationNetwork
    vocabulary: Vocabulary
    tasks: tuple[Languages, ...]
    tag: str = "target"
    longest: int = 60
    beam: int = 4
    penalty: float = 1.0

    def task(self, source: str, target: str) -> int:
        """Returns the number of a task. Raises ValueError, naming those known, for one that was not learned."""
        if (source, target) not in self.tasks:
            known = ", ".join("-".join(task) for task in self.tasks)
            raise ValueError(f"this model does not translate from {source} into {target}; it knows {known}")
        return self.tasks.index((source, target))

    def translate(
        self,
        texts: Sequence[str],
        tasks: Sequence[int],
        *,
        beam: int | None = None,
        longest: int | None = None,
        decoding_temperature: float | None = None,
        seed: int = 0,
    ) -> list[Translation]:
        """Returns the translation of each text, in their order; that of an empty one is empty, with a score of 0.

        tasks: their numbers. beam: 1 to 8, 1 is greedy search; longest: 4 to that of the class, as no longer text was
        learned from; None takes the model's own. decoding_temperature: where it is given, no beam is searched, and
        each token is drawn with probabilities ∝ p^(1/temperature), by chance that depends on the seed and the place of
        the text (`models.sequence.decoding.sample`). No translation depends on the other texts but for rounding, which
        may decide between two experts, or two translations, that score about the same. Raises ValueError, naming the
        text by its place from 0, for a character that is no text, and as `check_search` and
        `models.sequence.decoding.sample`.
        """
        beam, longest = self.beam if beam is None else beam, self.longest if longest is None else longest
        check_search(beam, longest, self.longest)
        if decoding_temperature is not None:
            check_temperature(decoding_temperature)
        clean = [self._clean(place, text) for place, text in enumerate(texts)]
        present = [place for place, text in enumerate(clean) if text]
        found = [Translation("", 0.0, truncated=False)] * len(clean)
        own = [tasks[place] for place in present]
        sources, cut = self.sources([clean[place] for place in present], own, longest)
        chance = None
        if decoding_temperature is not None:
            chance = Chance(decoding_temperature, lambda row: generator(seed, f"translation/{present[row]}"))
        how = Search(self.vocabulary.first, beam=beam, penalty=self.penalty, chance=chance)
        written = translate(self.network, sources, torch.tensor(own, dtype=torch.int64), how)
        named = zip(present, self.texts(written), written, cut, strict=True)
        for place, text, one, truncated in named:
            found[place] = Translation(text, one.mean_log_p, truncated, one.finished)
        return found

    def sources(self, texts: Sequence[str], tasks: Sequence[int], longest: int) -> tuple[TokenLists, list[bool]]:
        """Returns each text as its tags, its pieces and an end, with at most so many tokens, and whether it was cut."""
        tags = [tags_of(self.vocabulary, task, self.tag) for task in self.tasks]
        return sources_of(self.vocabulary, texts, [tags[task] for task in tasks], longest=longest)

    def texts(self, written: Sequence[Written]) -> list[str]:
        """Returns what was written as texts, tidied."""
        return texts_of(self.vocabulary, written)

    def _clean(self, place: int, text: str) -> str:
        try:
            return tidied(text)
        except ValueError as error:
            raise ValueError(f"text {place}: {error}") from error

    def save(self, folder: str | Path, *, more: Mapping[str, Any] | None = None) -> None:
        """Writes translator.json (architecture, tasks, SHA-256 of the vocabulary, `more` plain values), vocabulary.json
        and translator.npz (the weights) into a new folder, which appears under its name when it is whole. Raises
        FileExistsError where something is there."""
        own = ("tasks", "tag", "longest", "beam", "penalty")
        description = {"architecture": asdict(self.network.architecture)} | {name: getattr(self, name) for name in own}
        description |= {"vocabulary": self.vocabulary.digest, **({"more": dict(more)} if more else {})}
        arrays: dict[str, Any] = {name: value.cpu().numpy() for name, value in self.network.state_dict().items()}
        with folder_written_whole(Path(folder)) as partial:
            (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
            (partial / VOCABULARY).write_text(self.vocabulary.to_json(), encoding="utf-8")
            np.savez(partial / ARRAYS, allow_pickle=False, **arrays)


def load_predictor(folder: str | Path) -> TranslationPredictor:
    """Returns the predictor that `save` wrote into a folder; it writes the same translations. Nothing is unpickled.
    Raises ValueError for a folder without one, for files that are damaged, and for another vocabulary than the one that
    was saved, and ImportError without the package tokenizers."""
    return load_with(folder)[0]


def load_with(folder: str | Path) -> tuple[TranslationPredictor, dict[str, Any]]:
    """Returns the predictor that `save` wrote into a folder, and the values that were written with it. Raises as
    `load_predictor`."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION, VOCABULARY, ARRAYS))
    with readable(folder):
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        network = TranslationNetwork(architecture_of(described.pop("architecture")), seed=0)
        state = read_tensors(folder / ARRAYS)
        network.to(state["embedding"].dtype).load_state_dict(state)
        vocabulary = read_vocabulary(folder / VOCABULARY, described.pop("vocabulary", None))
        if vocabulary.size != network.architecture.vocabulary:
            sizes = f"{vocabulary.size} pieces and the network {network.architecture.vocabulary}"
            raise ValueError(f"{folder}: {VOCABULARY} has {sizes}; the folder must hold what one save wrote")
        tasks = tuple((str(source), str(target)) for source, target in described.pop("tasks"))
        more = described.pop("more", {})
        return TranslationPredictor(network.eval(), vocabulary, tasks, **described), more


def architecture_of(described: dict[str, Any]) -> Architecture:
    """Returns the architecture that `dataclasses.asdict` described."""
    parts = {"mixing": Mixing(**described["mixing"]), "adapting": Adapting(**described["adapting"])}
    return Architecture(**{**described, **parts})
