"""The record that loaders of utterances return: several modalities a sample, a label, and a split."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from data.base import DataError, Sequences, spread

PARTS = ("train", "validation", "test")
LABEL_KINDS = ("score", "binary", "class")
MOST_STEPS = 10_000
WORD = re.compile(r"[a-z0-9']+")  # in lower case
APOSTROPHE = re.compile(r"(?<=[a-z0-9])[\u2019\u02bc](?=[a-z0-9])")  # of print, in a word in lower case


def words_of(text: str) -> list[str]:
    """Returns the words of a text in lower case: runs of letters a to z, digits and apostrophes. One as it is printed,
    ’, is one as it is typed, where it stands in a word and is no quotation mark."""
    return WORD.findall(APOSTROPHE.sub("'", text.lower()))


@dataclass(frozen=True, eq=False)
class Words:
    """Holds a vector for each word that is known.

    words: each of them once, in lower case. vectors: float32 (word + 1, entry); row 0 is zero and stands for every
    word that is not known, row i is of `words[i − 1]`. All values are those of float16.
    source: where the vectors come from. Raises DataError for shapes that do not agree.
    """

    words: tuple[str, ...]
    vectors: Tensor
    source: str

    def __post_init__(self) -> None:
        if len(self.vectors) != len(self.words) + 1 or bool(self.vectors[0].any()):
            raise DataError(f"words: {len(self.vectors)} vectors of {len(self.words)} words need a row 0 of zeros")

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each known word."""
        return {word: i for i, word in enumerate(self.words, start=1)}

    def ids(self, text: str) -> np.ndarray:
        """Returns the rows of the words of a text, int64 (word,): 0 for a word that is not known."""
        return np.array([self.rows.get(word, 0) for word in words_of(text)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Part:
    """Holds the samples of one part.

    modalities: by name the sequences of all samples; a length of 0 says that the sample lacks the modality. Lengths
    may differ between modalities. No step has a gap.
    labels: float64 (sample,) scores, or int64 (sample,) numbers of classes.
    groups: one a sample, as the video it is cut from: samples of a group are not independent.
    names: one a sample. texts: what was said, where it is known.
    Raises DataError, naming sample, modality and step, for numbers that are not finite, shapes that do not agree,
    names that stand twice and more than `MOST_STEPS` steps.
    """

    modalities: Mapping[str, Sequences]
    labels: Tensor
    groups: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        counts = {len(self.labels), len(self.groups), len(self.names), *map(len, self.modalities.values())}
        if len(counts) > 1 or (self.texts is not None and len(self.texts) != len(self)):
            raise DataError(f"labels, groups, names, texts and modalities of {len(self)} samples differ in number")
        if len(set(self.names)) < len(self):
            twice = next(name for i, name in enumerate(self.names) if name in self.names[:i])
            raise DataError(f"sample {twice} stands twice; give each sample a name of its own")
        bad = (~self.labels.isfinite()).nonzero()
        if len(bad):
            raise DataError(f"sample {self.names[int(bad[0])]}: its label is not a finite number")
        for modality, sequences in self.modalities.items():
            self.check_steps(modality, sequences)

    def __len__(self) -> int:
        return len(self.names)

    def check_steps(self, modality: str, sequences: Sequences) -> None:
        steps = torch.arange(sequences.values.shape[1])
        if len(steps) > MOST_STEPS and int(sequences.lengths.max()) > MOST_STEPS:
            sample = self.names[int(sequences.lengths.argmax())]
            raise DataError(f"sample {sample}, {modality}: {int(sequences.lengths.max())} steps; at most {MOST_STEPS}")
        present = (steps < sequences.lengths[:, None]).unsqueeze(-1)
        bad = ((~sequences.mask & present) | ~sequences.values.isfinite()).nonzero()
        if len(bad):
            sample, step, column = bad[0].tolist()
            raise DataError(
                f"sample {self.names[sample]}, {modality}, step {step + 1}, number {column + 1}: not a finite number; "
                "mend it, or leave the whole step out"
            )

    @classmethod
    def of(
        cls, arrays: Mapping[str, Sequence[np.ndarray]], labels: np.ndarray, names: Sequence[str], *,
        groups: Sequence[str] | None = None, texts: Sequence[str] | None = None,
    ) -> Part:  # fmt: skip
        """Pads arrays (step, number), one a sample, of each modality; without groups each sample is one of its own.

        Labels are scores where they are floating, else numbers of classes. Raises DataError as the class does.
        """
        modalities = {name: Sequences.from_arrays(list(own), names) for name, own in arrays.items()}
        scores = np.issubdtype(labels.dtype, np.floating)
        kept = torch.from_numpy(labels.astype(np.float64 if scores else np.int64))
        return cls(modalities, kept, tuple(groups or names), tuple(names), None if texts is None else tuple(texts))

    def pick(self, rows: Sequence[int] | np.ndarray) -> Part:
        """Returns some of the samples, in the order of `rows`, padded to the longest of them."""
        index = np.asarray(rows, dtype=np.int64)
        modalities = {name: own.pick(index).trimmed() for name, own in self.modalities.items()}
        groups, names = (tuple(own[i] for i in index) for own in (self.groups, self.names))
        texts = None if self.texts is None else tuple(self.texts[i] for i in index)
        return Part(modalities, self.labels[index], groups, names, texts)

    def shortened(self, *, samples: int | None, steps: int | None) -> Part:
        """Returns at most `samples` samples, spread evenly over all, with at most `steps` steps of each modality; None
        keeps all."""
        part = self.pick(spread(len(self), samples))
        short = {name: own.shortened(sequences=None, steps=steps) for name, own in part.modalities.items()}
        return replace(part, modalities=short)

    def only(self, modalities: Iterable[str]) -> Part:
        """Returns the same samples with some of their modalities."""
        return replace(self, modalities={name: self.modalities[name] for name in modalities})


@dataclass(frozen=True, eq=False)
class Utterances:
    """Holds samples of several modalities with a label, in training, validation and test part.

    parts: by `PARTS`. label_kind: "score" for numbers, "binary" for 0 and 1, "class" for numbers of `classes`.
    source: what `data.source` is tagged with. stand_in: generated in place of real data; no claim is made from it.
    positive_from: a score counts as positive from here on.
    words: where it is given, the modality `text` has one number a step, the row of a word in `words.vectors`.
    contaminated: modalities whose features were made with labels that are to be predicted: they are no source, unless
    `allow_contaminated` says so. lacking: why the data has no such modality, by its name.
    columns: what the numbers of a step are called, by modality; see `columns_of`.
    most_steps: how many steps of each modality `shortened` kept at most, None for all.
    Raises DataError for parts that do not agree.
    """

    kind: ClassVar[str] = "utterances"

    name: str
    parts: Mapping[str, Part]
    label_kind: str
    source: str
    stand_in: bool = False
    positive_from: float = 0.0
    classes: tuple[str, ...] = ()
    words: Words | None = None
    contaminated: frozenset[str] = frozenset()
    allow_contaminated: bool = False
    lacking: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most_steps: int | None = None

    def __post_init__(self) -> None:
        if tuple(self.parts) != PARTS or self.label_kind not in LABEL_KINDS:
            raise DataError(f"{self.name}: parts {', '.join(self.parts)} or labels {self.label_kind} are not known")
        self.check_parts()
        names = [name for part in self.parts.values() for name in part.names]
        if len(set(names)) < len(names):
            raise DataError(f"{self.name}: a sample is in two of training, validation and test part")
        if self.label_kind != "score":
            self.check_classes()

    def check_parts(self) -> None:
        """Checks that no part is empty, and that all have the same modalities with as many numbers a step."""
        widths = None
        for name, part in self.parts.items():
            if not len(part):
                raise DataError(f"{self.name}: the {name} part has no sample; change the split or give more")
            own = {modality: sequences.values.shape[2] for modality, sequences in part.modalities.items()}
            widths = own if widths is None else widths
            if own != widths:
                raise DataError(f"{self.name}: the {name} part has {own} numbers a step, the training part {widths}")

    def check_classes(self) -> None:
        if len(self.classes) < 2 or (self.label_kind == "binary" and len(self.classes) != 2):
            raise DataError(f"{self.name}: {len(self.classes)} classes for {self.label_kind} labels")
        for name, part in self.parts.items():
            bad = ((part.labels < 0) | (part.labels >= len(self.classes)) | part.labels.is_floating_point()).nonzero()
            if len(bad):
                raise DataError(f"{self.name}: sample {part.names[int(bad[0])]} of the {name} part has no class")

    @property
    def train(self) -> Part:
        return self.parts["train"]

    @property
    def validation(self) -> Part:
        return self.parts["validation"]

    @property
    def test(self) -> Part:
        return self.parts["test"]

    @property
    def modalities(self) -> tuple[str, ...]:
        """The names of the modalities that every part has."""
        return tuple(self.train.modalities)

    def columns_of(self, modality: str) -> tuple[str, ...]:
        """Returns what the numbers of a step of a modality are called: without names, `t_1`, `t_2` and so on of text,
        `v_1` of video, `a_1` of audio."""
        width = self.train.modalities[modality].values.shape[2]
        return self.columns.get(modality, tuple(f"{modality[0]}_{number}" for number in range(1, width + 1)))

    def positive(self, part: Part) -> Tensor:
        """Returns which samples of a part are positive, bool (sample,): by score, or the second of two classes."""
        return part.labels >= (self.positive_from if self.label_kind == "score" else 1)

    def arrays(self, part: Part) -> dict[str, list[np.ndarray]]:
        """Returns arrays (step, number), one a sample, of each modality, with vectors in place of the rows of words."""
        values = {name: own.to_arrays() for name, own in part.modalities.items()}
        if self.words is not None:
            vectors = self.words.vectors.numpy()
            values["text"] = [vectors[own[:, 0].astype(np.int64)] for own in values["text"]]
        return values

    def shortened(self, *, samples: int | None = None, steps: int | None = None) -> Utterances:
        """Returns fewer samples of each part and fewer steps, as `Part.shortened`."""
        parts = {name: part.shortened(samples=samples, steps=steps) for name, part in self.parts.items()}
        most = min((own for own in (self.most_steps, steps) if own is not None), default=None)
        return replace(self, parts=parts, most_steps=most)

    def only(self, modalities: Iterable[str]) -> Utterances:
        """Returns the same samples with some of their modalities."""
        chosen = tuple(modalities)
        return replace(self, parts={name: part.only(chosen) for name, part in self.parts.items()})

    def check_modalities(self, names: Iterable[str], *, advice: str = "choose another arm or other data") -> None:
        """Raises DataError for the first of the modalities that the data lack. advice: what to do then."""
        for name in names:
            if name not in self.modalities:
                are = "is" if len(self.modalities) == 1 else "are"
                why = self.lacking.get(name, f"there {are} {', '.join(self.modalities)}")
                raise DataError(f"{self.name}: no modality {name} ({why}); {advice}")

    def check_roles(self, sources: Iterable[str], targets: Iterable[str] = ()) -> None:
        """Checks that a model can be trained that reads `sources` at test time and learns to translate to `targets`.

        Raises DataError, naming modality, sample or class: a modality that the data lacks, a contaminated source that
        is not allowed, a training sample without a step of any source, a class without a training sample.
        """
        read = tuple(sources)
        self.check_modalities((*read, *targets))
        self.check_sources(read)
        if self.label_kind != "score":
            seen = set(self.train.labels.tolist())
            missing = [name for i, name in enumerate(self.classes) if i not in seen]
            if missing:
                raise DataError(f"{self.name}: class {missing[0]} has no training sample; give some or leave it out")

    def check_sources(self, read: tuple[str, ...]) -> None:
        taught = [name for name in read if name in self.contaminated]
        if taught and not self.allow_contaminated:
            raise DataError(
                f"{self.name}: the {taught[0]} features were trained on labels, so they are no source; take them "
                "as a target, or give",
                give={"allow_contaminated": True},
            )
        lengths = [self.train.modalities[name].lengths for name in read]
        absent = (torch.stack(lengths).amax(0) == 0).nonzero() if lengths else []
        if len(absent):
            sample = self.train.names[int(absent[0])]
            raise DataError(
                f"{self.name}: training sample {sample} (and {len(absent) - 1} more) has no step of "
                f"{' or '.join(read)}, which is to be read; leave it out"
            )

    @cached_property
    def checksum(self) -> str:
        """Returns the SHA-256 over names, split, values, labels and word vectors: equal data, equal checksums."""
        digest = hashlib.sha256(repr((self.label_kind, self.classes, self.positive_from)).encode())
        for name, part in self.parts.items():
            digest.update(repr((name, part.names, part.groups, part.texts)).encode())
            digest.update(part.labels.numpy().tobytes())
            for modality, own in part.modalities.items():
                digest.update(repr((modality, tuple(own.values.shape), own.lengths.tolist())).encode())
                digest.update(np.ascontiguousarray(own.values.numpy()).tobytes())
        if self.words is not None:
            digest.update(repr(self.words.words).encode())
            digest.update(np.ascontiguousarray(self.words.vectors.numpy()).tobytes())
        return digest.hexdigest()
