"""`data=mt_small`: captions of Multi30k in German, French and Czech, and sentences of Tatoeba in five more languages,
each beside English.

Multi30k (D. Elliott and others 2016; L. Barrault and others 2018): github.com/multi30k/dataset. Tatoeba: CC BY 2.0 FR.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data.base import DataError, check_whole_numbers
from data.files.published import Published
from data.files.textfile import fail, read_rows
from data.ranges import Count, Seed
from data.source import Source
from data.text_pairs import PARTS, Pair, Pairs, Part, Removed, Task, TextPairs, fault_of, tidied
from data.translation.ciphers import Ciphers
from data.translation.directions import DIRECTIONS, check_choice, directed, tasks_into_english
from data.translation.overlaps import scored_once, split_connected, without_overlaps

GITHUB = "https://raw.githubusercontent.com/"
# Public copies over https, each pinned to a commit.
FOLDERS = {
    "multi30k": GITHUB + "multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw/",
    "tatoeba_fi": GITHUB + "7dev7/finnish_seq2seq/cd9374c8f6fa6a0ae66d3af15c9e4aab9a5d41fb/",
    "tatoeba_hi": GITHUB
    + "devpatel0005/Hindi-English-Language-Translation/e1e9682ff81f20d744904e316e7049fb4f4b8320/",
    "tatoeba_1k": GITHUB + "facebookresearch/LASER/74bc6ae7ffb7cba670fe0f428d0ede9f666fb821/data/tatoeba/v1/",
}  # fmt: skip


def address_of(file: str) -> str:
    """Returns the https address of a file by its path below `mt_small/`."""
    folder, _, name = file.partition("/")
    return FOLDERS[folder] + name


CHECKSUMS = {
    "multi30k/test_2016_flickr.cs.gz": "200a4a74cc9560f051924abb9803be008d1908d77f747e9141aeb86dfd2797f1",
    "multi30k/test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "multi30k/test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "multi30k/test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "multi30k/train.cs.gz": "a65adb8b32e3bc664f21ecba7a6e7f6950fd1f405e135f7c312faabdb6255077",
    "multi30k/train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "multi30k/train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "multi30k/train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "multi30k/val.cs.gz": "b63226e05c4bd5dd6a42897d74b86a1b9d2c31498252c572b1ea7f7996927fcc",
    "multi30k/val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "multi30k/val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "multi30k/val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
    "tatoeba_1k/tatoeba.ces-eng.ces": "0ca1f07a72f547df79288f0c6a1642176009d0b878a75534ed018fe715946f6b",
    "tatoeba_1k/tatoeba.ces-eng.eng": "ac195f54f697faaae84e9ea3e395c5c20c46d5b5bf97f4a9840fdfd2a6b183f0",
    "tatoeba_1k/tatoeba.deu-eng.deu": "edfa6f75a42554df388f45891735d5e4214158a99def4b73b5908af4a3054551",
    "tatoeba_1k/tatoeba.deu-eng.eng": "eb9cc83a42f2c4b22f310d05311207e41abb56c2a084666cac3ee0f84d2d0b84",
    "tatoeba_1k/tatoeba.est-eng.eng": "bb033b10596178452aecf2d97ad25580251375e7d224d8b38dad3d93d69b1e4f",
    "tatoeba_1k/tatoeba.est-eng.est": "94856999ef35e5357502d7ecf50419d0108b99270e507d9c57f8b283bd1be9c5",
    "tatoeba_1k/tatoeba.fra-eng.eng": "5634220f8a26a9a23b84753a9aec0b0832e6bdaa9da3f83e0bd84c928c3f46e3",
    "tatoeba_1k/tatoeba.fra-eng.fra": "644172ff9642fefa9e41c29b7d6f44196518e84350dc44d4992e943c0cca92b6",
    "tatoeba_1k/tatoeba.lvs-eng.eng": "c380ec2f70065ff30fb1fc33ac2cb4f26c312e03ed289248d4198a838bf39964",
    "tatoeba_1k/tatoeba.lvs-eng.lvs": "04032a8c22640a773e7ea482eab1ddde76952ed17df6c6bf172204a8ec91612e",
    "tatoeba_1k/tatoeba.ron-eng.eng": "1064c638220dc9de0868baee327e091ae815214674295b62b13448ef442c448d",
    "tatoeba_1k/tatoeba.ron-eng.ron": "ad5c4a9f4920718203534d1f8271e27021b9af54b2c908dec66851d4dc681fd4",
    "tatoeba_fi/fin.txt": "cc00216f54c0562a11d4692a2fb901c45da4ff11bfa4f18e4b07d6f52af69165",
    "tatoeba_hi/hin.txt": "d67859600040fd07f9c61351d3e508e9e5bea928fc0a3bede75e1aaefda4f3c4",
}
PUBLISHED = Published("mt_small", "published", address_of, CHECKSUMS, stand_in="generated ciphers in their place")

CAPTIONS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}  # the files of Multi30k
CAPTIONED = ("de", "fr", "cs")
LISTS = {"fi": ("tatoeba_fi/fin.txt", 0.02), "hi": ("tatoeba_hi/hin.txt", 0.05)}  # with the share of each held-out part
FEW = {"et": "est", "lv": "lvs", "ro": "ron"}  # a thousand pairs each
HELD = 100  # of them in validation, and as many in the test part
ELSEWHERE = {"de": "deu", "fr": "fra", "cs": "ces"}  # sentences of another kind than captions, in a test part
OTHER_TEST = "tatoeba"
LANGUAGES = (*CAPTIONED, "fi", "hi", *FEW)
LOW_RESOURCE = ("hi", *FEW)
# What the generators of different draws under one seed are told apart by.
SPLIT, SHOTS = range(2)


def read_texts(path: Path) -> list[str]:
    """Returns the sentences of a file, one a line. Raises DataError, naming the line, for one that is none."""
    return [text_in(path, i, row) for i, row in enumerate(read_rows(path), start=1)]


def text_in(path: Path, line: int, text: str) -> str:
    fault = fault_of(text)
    if fault:
        fail(path, line, fault)
    return tidied(text)


def read_side_by_side(foreign: Path, english: Path) -> Pairs:
    """Returns the pairs (foreign, English) of two files of as many lines. Raises DataError where they have not."""
    texts = read_texts(foreign), read_texts(english)
    if len(texts[0]) != len(texts[1]):
        raise DataError(
            f"{foreign}: {len(texts[0])} lines, and {len(texts[1])} in {english.name}; put the original files there"
        )
    return tuple(zip(*texts, strict=True))


def read_list(path: Path) -> Pairs:
    """Returns the pairs (foreign, English) of a file with English, the other language and what else there is in
    columns parted by tabs. Raises DataError, naming the line, for one with a single column."""
    pairs: list[Pair] = []
    for i, row in enumerate(read_rows(path), start=1):
        columns = row.split("\t")
        if len(columns) < 2:
            fail(path, i, "one column; English and its translation are needed, with a tab between them")
        pairs.append((text_in(path, i, columns[1]), text_in(path, i, columns[0])))
    return tuple(pairs)


def read_thousand(paths: Mapping[str, Path], code: str) -> Pairs:
    """Returns the pairs of a file of LASER's, in its order."""
    stem = f"tatoeba_1k/tatoeba.{code}-eng."
    return read_side_by_side(paths[stem + code], paths[stem + "eng"])


def read_language(
    paths: Mapping[str, Path], language: str, *, seed: int
) -> tuple[dict[str, Pairs], tuple[Removed, ...]]:
    """Returns the parts of a language, and what was removed within them. Raises DataError for damaged files."""
    if language in CAPTIONED:
        name = "multi30k/{}.{}.gz"
        parts = {
            part: read_side_by_side(paths[name.format(file, language)], paths[name.format(file, "en")])
            for part, file in CAPTIONS.items()
        }
        return {**parts, OTHER_TEST: read_thousand(paths, ELSEWHERE[language])}, ()
    if language in FEW:
        pairs = read_thousand(paths, FEW[language])
        cuts = len(pairs) - 2 * HELD, len(pairs) - HELD
        return {"train": pairs[: cuts[0]], "validation": pairs[cuts[0] : cuts[1]], "test": pairs[cuts[1] :]}, ()
    file, share = LISTS[language]
    return read_and_split(paths[file], tasks_into_english([language])[0], share=share, seed=seed)


def read_and_split(path: Path, task: Task, *, share: float, seed: int) -> tuple[dict[str, Pairs], tuple[Removed, ...]]:
    """Returns a list in three parts without a text in common, drawn under the seed."""
    shares = {"validation": share, "test": share}
    split = split_connected([task], [read_list(path)], shares, name=str(path), seed=[seed, SPLIT])
    parts, removed = scored_once([task], split)
    return {name: own[0] for name, own in parts.items()}, removed


def read_all(paths: Mapping[str, Path], *, seed: int) -> TextPairs:
    """Returns all tasks into English, without overlaps between any of them. Raises DataError for damaged files."""
    tasks = tasks_into_english(LANGUAGES)
    read = [read_language(paths, language, seed=seed) for language in LANGUAGES]
    whole: dict[str, Part] = {
        part: tuple(parts.get(part, ()) for parts, _ in read) for part in (*PARTS, OTHER_TEST)
    }  # fmt: skip
    parts, overlaps = without_overlaps(tasks, whole)
    removed = (*(own for _, lost in read for own in lost), *overlaps)
    return TextPairs("mt_small", tasks, parts, PUBLISHED.source, removed=removed)


@dataclass(frozen=True, kw_only=True)
class MtSmall(Source):
    """Is the section `data=mt_small`: eight languages and English.

    languages: some of de, fr, cs (29,000 captions each), fi (59,000 sentences), hi (3000), and et, lv, ro (1000 each).
    direction: see `data.translation.directions`.
    shots: training pairs of et, lv and ro at most, drawn under the seed; those of a smaller number are among those of
    a larger one.
    seed: draws the split of fi and hi, and the shots. The other languages have the parts that were published, or the
    last hundred pairs for test and the hundred before them for validation. A further test part "tatoeba" has a
    thousand sentences in de, fr and cs that are no captions.
    source: "auto", "published" or "stand_in". root: the folder that holds `mt_small/`.

    Whatever languages are chosen, no training part of any language has a text that a validation or test part of any
    has, and no validation part one of a test part.
    Raises DataError for a parameter out of range, and for files that are damaged or missing and cannot be fetched.
    """

    languages: Sequence[str] = ("de", "fr", "et", "fi")
    direction: str = "xe"
    shots: Count | None = None
    seed: Seed = 0
    source: str = "auto"
    root: str | None = None

    def load(self) -> TextPairs:
        """Returns the data. Raises DataError as the class says."""
        self.check()
        files = PUBLISHED.find(self.root, source=self.source)
        if files is None:
            whole = Ciphers(seed=self.seed).generate("mt_small", LANGUAGES, LOW_RESOURCE, stand_in=True)
        else:
            whole = read_all(dict(zip(CHECKSUMS, files, strict=True)), seed=self.seed)
        return directed(self.few(whole.only(tasks_into_english(self.languages))), self.direction)

    def check(self) -> None:
        """Raises DataError for a parameter out of range."""
        check_whole_numbers("mt_small", {"seed": self.seed}, least=0)
        if self.shots is not None:
            check_whole_numbers("mt_small", {"shots": self.shots})
        if isinstance(self.languages, str):
            raise DataError(
                f"mt_small: languages={self.languages} must be a list:", give={"languages": [self.languages]}
            )
        if not self.languages or len(set(self.languages)) < len(self.languages):
            raise DataError(f"mt_small: languages={list(self.languages)} must name languages, each once")
        for language in self.languages:
            check_choice("mt_small", "languages", language, LANGUAGES)
        check_choice("mt_small", "direction", self.direction, DIRECTIONS)

    def few(self, data: TextPairs) -> TextPairs:
        """Returns the data with `shots` training pairs of each language of which few are at hand."""
        train = tuple(
            self.drawn(pairs, LANGUAGES.index(task.source)) if task.source in FEW else pairs
            for task, pairs in zip(data.tasks, data.parts["train"], strict=True)
        )
        return replace(data, parts={**data.parts, "train": train})

    def drawn(self, pairs: Pairs, place: int) -> Pairs:
        if self.shots is None or self.shots >= len(pairs):
            return pairs
        order = np.random.default_rng([self.seed, SHOTS, place]).permutation(len(pairs))
        return tuple(pairs[i] for i in np.sort(order[: self.shots]))
