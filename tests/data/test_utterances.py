"""Utterances: the checks of the record, its checksum, what may be read, samples that are picked and shortened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from data.base import DataError, Sequences
from data.utterances import MOST_STEPS, Part, Utterances, Words


def part(name: str, count: int = 4, *, text: int = 3) -> Part:
    generator = np.random.default_rng([count, len(name)])
    arrays = {
        "text": [generator.standard_normal((text + i % 2, 2)) for i in range(count)],
        "audio": [generator.standard_normal((1, 5)) for _ in range(count)],
    }
    names = [f"{name}_{i}" for i in range(count)]
    return Part.of(arrays, np.linspace(-1, 1, count), names, groups=[f"{name}{i // 2}" for i in range(count)])


def utterances(**changes) -> Utterances:
    parts = {"train": part("train", 6), "validation": part("validation"), "test": part("test")}
    return Utterances(**{"name": "made", "parts": parts, "label_kind": "score", "source": "test", **changes})


def rows_of(part: Part) -> Sequences:
    """One known word for each sample of a part."""
    return Sequences.from_arrays([np.ones((1, 1))] * len(part), part.names)


def classes(*labels: int, kind: str = "binary", names: tuple[str, ...] = ("no", "yes")) -> Utterances:
    data = utterances()
    train = replace(data.train.pick(range(len(labels))), labels=torch.tensor(labels))
    held = {name: replace(data.parts[name], labels=torch.tensor([0, 1, 0, 1])) for name in ("validation", "test")}
    return Utterances("made", {"train": train, **held}, kind, "test", classes=names)


def test_parts_are_padded_and_keep_the_lengths_of_each_modality() -> None:
    train = utterances().train
    assert train.modalities["text"].lengths.tolist() == [3, 4, 3, 4, 3, 4]
    assert train.modalities["audio"].values.shape == (6, 1, 5)
    assert utterances().modalities == ("text", "audio")
    assert train.groups == ("train0", "train0", "train1", "train1", "train2", "train2")


def test_picked_samples_are_padded_to_the_longest_of_them() -> None:
    train = replace(utterances().train, texts=tuple("abcdef"))
    chosen = train.pick([4, 0])
    assert (chosen.names, chosen.texts) == (("train_4", "train_0"), ("e", "a"))
    assert chosen.modalities["text"].values.shape == (2, 3, 2)
    assert torch.equal(chosen.modalities["text"].values[1], train.modalities["text"].values[0, :3])
    assert torch.equal(chosen.labels, train.labels[[4, 0]])


def test_shortened_spreads_the_samples_and_cuts_the_steps() -> None:
    short = utterances().shortened(samples=3, steps=2)
    assert short.train.names == ("train_0", "train_2", "train_5")
    assert short.train.modalities["text"].lengths.tolist() == [2, 2, 2]
    assert short.train.modalities["text"].values.shape == (3, 2, 2)
    assert short.train.modalities["audio"].lengths.tolist() == [1, 1, 1]
    assert utterances().shortened().checksum == utterances().checksum


def test_the_checksum_sees_values_labels_names_and_words() -> None:
    data = utterances()
    sums = {data.checksum}
    train = data.train
    changed = [
        replace(train, labels=train.labels + 1e-9),
        replace(train, groups=train.names),
        replace(train, texts=train.names),
        train.pick([1, 0, 2, 3, 4, 5]),
        train.only(["text"]),
    ]
    for own in changed[:4]:
        sums.add(utterances(parts={**data.parts, "train": own}).checksum)
    sums.add(data.only(["text"]).checksum)
    sums.add(utterances(words=Words(("a",), torch.zeros(2, 3), "test")).checksum)
    sums.add(utterances(words=Words(("b",), torch.zeros(2, 3), "test")).checksum)
    sums.add(utterances(positive_from=3.0).checksum)
    assert len(sums) == 9
    assert data.checksum == utterances().checksum


def test_numbers_that_are_not_finite_are_named() -> None:
    for bad in (np.nan, np.inf):
        arrays = [np.zeros((2, 3)), np.array([[0, 0, 0], [0, bad, 0]])]
        with pytest.raises(DataError, match="sample b, audio, step 2, number 2: not a finite number"):
            Part.of({"audio": arrays}, np.zeros(2), ["a", "b"])
    with pytest.raises(DataError, match="sample b: its label is not a finite number"):
        Part.of({}, np.array([0.0, np.nan]), ["a", "b"])


def test_a_sample_may_lack_a_modality_but_not_have_too_many_steps() -> None:
    own = Part.of({"audio": [np.zeros((0, 3)), np.ones((1, 3))]}, np.zeros(2), ["a", "b"])
    assert own.modalities["audio"].lengths.tolist() == [0, 1]
    with pytest.raises(DataError, match=f"sample b, audio: {MOST_STEPS + 1} steps; at most {MOST_STEPS}"):
        Part.of({"audio": [np.zeros((1, 1)), np.zeros((MOST_STEPS + 1, 1))]}, np.zeros(2), ["a", "b"])


def test_names_and_counts_must_agree() -> None:
    with pytest.raises(DataError, match="sample a stands twice"):
        Part.of({}, np.zeros(2), ["a", "a"])
    with pytest.raises(DataError, match="of 2 samples differ in number"):
        Part.of({}, np.zeros(3), ["a", "b"])
    with pytest.raises(DataError, match="of 2 samples differ in number"):
        Part.of({}, np.zeros(2), ["a", "b"], texts=["one"])


def test_parts_must_agree() -> None:
    data = utterances()
    with pytest.raises(DataError, match="made: a sample is in two of training, validation and test part"):
        utterances(parts={**data.parts, "test": data.validation})
    with pytest.raises(DataError, match="made: the test part has no sample"):
        utterances(parts={**data.parts, "test": data.test.pick([])})
    with pytest.raises(DataError, match=r"the test part has \{'text': 2\} numbers a step, the training part"):
        utterances(parts={**data.parts, "test": data.test.only(["text"])})
    with pytest.raises(DataError, match="labels rank are not known"):
        utterances(label_kind="rank")


def test_labels_of_classes_are_numbers_of_classes() -> None:
    assert classes(0, 1, 1).positive(classes(0, 1, 1).train).tolist() == [False, True, True]
    with pytest.raises(DataError, match="sample train_2 of the train part has no class"):
        classes(0, 1, 2)
    with pytest.raises(DataError, match="1 classes for class labels"):
        classes(0, 0, kind="class", names=("only",))
    with pytest.raises(DataError, match="sample train_0 of the train part has no class"):
        utterances(label_kind="binary", classes=("no", "yes"))


def test_scores_are_positive_from_a_bound_on() -> None:
    data = utterances(positive_from=0.2)
    assert data.positive(data.train).tolist() == [False, False, False, True, True, True]


def test_arrays_have_vectors_in_place_of_words() -> None:
    words = Words(("a", "b"), torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]), "test")
    rows = {"text": [np.array([[2.0], [0.0], [1.0]]), np.zeros((0, 1))], "audio": [np.ones((1, 5)), np.ones((2, 5))]}
    held = {name: utterances().parts[name] for name in ("validation", "test")}
    one = {name: replace(own, modalities={**own.modalities, "text": rows_of(own)}) for name, own in held.items()}
    train = Part.of(rows, np.zeros(2), ["p", "q"])
    data = utterances(parts={"train": train, **one}, words=words)
    arrays = data.arrays(data.train)
    assert [own.tolist() for own in arrays["text"]] == [[[3, 4], [0, 0], [1, 2]], []]
    assert arrays["text"][1].shape == (0, 2)
    assert [own.shape for own in arrays["audio"]] == [(1, 5), (2, 5)]


def test_what_may_be_read_is_checked() -> None:
    data = utterances(contaminated=frozenset({"audio"}), lacking={"video": "it was not recorded"})
    data.check_roles(["text"], ["audio"])
    with pytest.raises(DataError, match=r"the audio features were trained on labels.*or give allow_contaminated=True$"):
        data.check_roles(["text", "audio"])
    replace(data, allow_contaminated=True).check_roles(["audio"])
    with pytest.raises(DataError, match=r"made: no modality video \(it was not recorded\); choose another arm"):
        data.check_roles(["text"], ["video"])
    with pytest.raises(DataError, match=r"no modality smell \(there are text, audio\)"):
        data.check_roles(["smell"])


def test_training_samples_need_a_step_of_the_source_and_every_class() -> None:
    data = utterances()
    arrays = {"audio": [np.zeros((int(i != 1), 5)) for i in range(6)]}
    train = Part.of(arrays, np.zeros(6), data.train.names)
    lost = utterances(parts={**data.only(["audio"]).parts, "train": train})
    with pytest.raises(DataError, match=r"training sample train_1 \(and 0 more\) has no step of audio, which is"):
        lost.check_roles(["audio"])
    beside = replace(data.train, modalities={**data.train.modalities, **train.modalities})
    utterances(parts={**data.parts, "train": beside}).check_roles(["text", "audio"])
    with pytest.raises(DataError, match="class yes has no training sample"):
        classes(0, 0).check_roles(["text"])


def test_words_are_looked_up_in_lower_case() -> None:
    words = Words(("don't", "go"), torch.tensor([[0.0], [1.0], [2.0]]), "test")
    assert words.ids("Don't -- GO now!").tolist() == [1, 2, 0]
    assert words.ids("…").tolist() == []
    with pytest.raises(DataError, match="2 vectors of 2 words need a row 0 of zeros"):
        Words(("a", "b"), torch.zeros(2, 1), "test")
    with pytest.raises(DataError, match="need a row 0 of zeros"):
        Words(("a",), torch.ones(2, 1), "test")
