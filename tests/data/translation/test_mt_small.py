"""Published sentence pairs, from made-up files of their form: parts, overlaps, directions, faults, what stands in."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from data.base import DataError
from data.text_pairs import Removed, Task, TextPairs
from data.translation import mt_small
from data.translation.mt_small import LANGUAGES, MtSmall
from models.sequence.vocabulary import Vocabulary

BESIDE = Path(__file__).parents[4] / "shared" / "data"
ROOT = Path(os.environ.get("PIPELINE_DATA_ROOT") or BESIDE)
COUNTS = {"train": 8, "val": 3, "test_2016_flickr": 4}
Load = Callable[..., TextPairs]


class Files:
    """Writes files of the form of the published ones below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part, count in COUNTS.items():
            for language in ("en", "de", "fr", "cs"):
                self.write(f"multi30k/{part}.{language}.gz", [f"{language} {part} {i}" for i in range(count)])
        self.write("tatoeba_fi/fin.txt", [f"one {i}\tyksi {i}" for i in range(100)])
        self.write("tatoeba_hi/hin.txt", [f"two {i}\tदो {i}\tCC-BY #{i}" for i in range(40)])
        for code in ("est", "lvs", "ron", "deu", "fra", "ces"):
            for side in (code, "eng"):
                self.write(f"tatoeba_1k/tatoeba.{code}-eng.{side}", [f"{side} of {code} {i}" for i in range(300)])

    def write(self, name: str, rows: list[str], *, end: str = "\n") -> None:
        self.raw(name, "".join(row + end for row in rows).encode())

    def raw(self, name: str, content: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "mt_small")


@pytest.fixture
def load(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    def loaded(**settings) -> TextPairs:
        read = {file: (files.folder / file).read_bytes() for file in mt_small.CHECKSUMS}
        sums = {file: hashlib.sha256(content).hexdigest() for file, content in read.items()}
        monkeypatch.setattr(mt_small, "PUBLISHED", replace(mt_small.PUBLISHED, checksums=sums))
        return MtSmall(root=str(tmp_path), **{"source": "published", "languages": LANGUAGES, **settings}).load()

    return loaded


def test_parts_are_those_published_or_the_last_pairs_or_drawn(load: Load) -> None:
    data = load()
    assert [task.name for task in data.tasks] == [f"{language}-en" for language in LANGUAGES]
    assert [list(row.values())[1:] for row in data.sizes()] == [
        *[[8, 3, 4, 300, 0]] * 3, [96, 2, 2, 0, 0], [36, 2, 2, 0, 0], *[[100, 100, 100, 0, 0]] * 3,
    ]  # fmt: skip
    assert data.pairs("test", Task("cs", "en"))[3] == ("cs test_2016_flickr 3", "en test_2016_flickr 3")
    assert data.pairs("tatoeba", Task("fr", "en"))[0] == ("fra of fra 0", "eng of fra 0")
    assert data.pairs("validation", Task("lv", "en"))[0] == ("lvs of lvs 100", "eng of lvs 100")
    assert data.pairs("train", Task("hi", "en"))[0][0].startswith("दो")
    assert (data.name, data.source, data.stand_in) == ("mt_small", "published", False)


def test_training_loses_what_any_other_task_is_tested_on(load: Load, files: Files) -> None:
    rows = [f"one {i}\tyksi {i}" for i in range(100)]
    files.write("tatoeba_fi/fin.txt", [*rows, "eng of est 250\tx", "eng of deu 0\ty", "eng of ron 0\tz"])
    files.write("multi30k/train.en.gz", ["en test_2016_flickr 2", *(f"en train {i}" for i in range(7))])
    files.write("multi30k/train.fr.gz", ["a", "fr val 1", *(f"fr train {i}" for i in range(6))])
    data = load()
    removed = {(own.task.source, own.reason): own.pairs for own in data.removed}
    assert removed[("de", "en side held out")] == removed[("cs", "en side held out")] == 1
    assert removed[("fr", "en side held out")] == removed[("fr", "fr side held out")] == 1
    held_there = sum(text in ("x", "y") for part in data.held for text, _ in data.pairs(part, Task("fi", "en")))
    assert removed.get(("fi", "en side held out"), 0) + held_there == 2
    assert [row["train"] for row in data.sizes()][:3] == [7, 6, 7]
    few = load(languages=["fr"])  # the same, whichever languages are chosen
    assert few.parts["train"][0] == data.parts["train"][1]
    assert few.removed == tuple(own for own in data.removed if own.task.source == "fr")


def test_lists_are_split_by_connected_sides_and_tested_once(load: Load, files: Files) -> None:
    files.write("tatoeba_fi/fin.txt", [f"one {i // 2}\tyksi {i}" for i in range(200)])
    data, fi = load(), Task("fi", "en")
    english = [{pair[1] for pair in data.pairs(part, fi)} for part in ("train", "validation", "test")]
    assert sum(map(len, english)) == 100
    assert [len(data.pairs(part, fi)) for part in ("train", "validation", "test")] == [192, 2, 2]
    reason = "a side stands there already"
    assert {own for own in data.removed if own.task == fi} == {
        Removed(fi, "validation", reason, 2),
        Removed(fi, "test", reason, 2),
    }
    assert load(seed=1).checksum != load(seed=0).checksum == data.checksum


def test_directions_are_of_the_same_pairs_and_counts(load: Load, files: Files) -> None:
    files.write("multi30k/train.en.gz", ["en val 0", *(f"en train {i}" for i in range(7))])
    both = load(languages=["fi", "de"], direction="both")
    assert [task.name for task in both.tasks] == ["fi-en", "de-en", "en-fi", "en-de"]
    assert both.pairs("test", Task("en", "de")) == tuple((b, a) for a, b in both.pairs("test", Task("de", "en")))
    assert [row["removed"] for row in both.sizes()] == [0, 1, 0, 1]
    assert [task.name for task in load(languages=["fi"], direction="ex").tasks] == ["en-fi"]


def test_fewer_shots_are_among_more_and_of_the_small_languages_alone(load: Load) -> None:
    some, fewer = load(shots=50), load(shots=20)
    assert [row["train"] for row in fewer.sizes()] == [8, 8, 8, 96, 36, 20, 20, 20]
    for language in ("et", "lv", "ro"):
        task = Task(language, "en")
        assert set(fewer.pairs("train", task)) < set(some.pairs("train", task)) < set(load().pairs("train", task))
    assert load(shots=1000).checksum == load().checksum


def test_line_ends_marks_and_spaces_are_passed_over(load: Load, files: Files) -> None:
    before = load().checksum
    files.raw("multi30k/val.de.gz", "\ufeffde val 0\r\n de  val 1\t\r\nde val\u00a02".encode())
    assert load().checksum == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("multi30k/val.de.gz", b"a\nb\n", r"val\.de\.gz: 2 lines, and 3 in val\.en\.gz; put the original files"),
        ("multi30k/val.de.gz", b"a\n\xff\nc\n", r"val\.de\.gz, line 2: no UTF-8 \(invalid start byte\)"),
        ("multi30k/val.de.gz", b"a\nb\n \n", r"val\.de\.gz, line 3: it is empty; fill it in or leave the pair out"),
        ("multi30k/val.de.gz", b"a\nb\x00\nc\n", r"val\.de\.gz, line 2: it holds the character U\+0000"),
        ("multi30k/val.de.gz", b"", r"val\.de\.gz: the file is empty; put the original file there"),
        ("tatoeba_fi/fin.txt", b"a\tb\nc\n", r"fin\.txt, line 2: one column; English and its translation are needed"),
        ("tatoeba_fi/fin.txt", b"a\tb\n", r"fin\.txt: of 1 pairs of fi-en none can go to the train part"),
    ],
)
def test_files_that_are_not_the_originals_are_named(load: Load, files: Files, name, content, message) -> None:
    files.raw(name, content)
    with pytest.raises(DataError, match=message) as raised:
        load()
    assert "\n" not in str(raised.value)


def test_a_damaged_archive_and_a_changed_file_are_named(load: Load, files: Files, tmp_path: Path) -> None:
    (files.folder / "multi30k/val.de.gz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"val\.de\.gz: cannot be read \("):
        load()
    files.write("multi30k/val.de.gz", ["a", "b", "c"])
    with pytest.raises(DataError, match="SHA-256"):
        MtSmall(root=str(tmp_path), source="auto").load()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"languages": ["de", "xx"]},
            r"^mt_small: languages=xx is unknown; choose one of de, fr, cs, fi, hi, et, lv, ro",
        ),
        ({"languages": ["de", "de"]}, r"^mt_small: languages=\['de', 'de'\] must name languages, each once"),
        ({"languages": []}, r"^mt_small: languages=\[\] must name languages"),
        ({"languages": "de"}, r"^mt_small: languages=de must be a list: languages=\['de'\]$"),
        ({"direction": "en"}, r"mt_small: direction=en is unknown; choose one of xe, ex, both"),
        ({"shots": 0}, r"mt_small: shots must be a whole number of at least 1, got 0"),
        ({"seed": -1}, r"mt_small: seed must be a whole number of at least 0"),
        ({"source": "web"}, "choose one of auto, published, stand_in"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message) -> None:
    with pytest.raises(DataError, match=message):
        MtSmall(**{"source": "stand_in", **settings}).load()


def test_missing_files_are_said_aloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data.files.download.network_available", lambda *_, **__: False)
    with pytest.warns(UserWarning, match="mt_small: NOT REAL DATA: 26 of 26 files are missing .*generated ciphers"):
        data = MtSmall(root=str(tmp_path), direction="both", shots=16).load()
    assert (data.stand_in, data.source) == (True, "stand-in")
    assert [row["train"] for row in data.sizes()] == [600, 600, 16, 600] * 2
    assert [task.name for task in data.tasks][3:5] == ["fi-en", "en-de"]
    with pytest.raises(DataError, match="put them there"):
        MtSmall(root=str(tmp_path), source="published").load()


def test_addresses_are_pinned_to_a_commit() -> None:
    for file in mt_small.CHECKSUMS:
        *_, commit, rest = mt_small.address_of(file).removeprefix("https://raw.githubusercontent.com/").split("/", 3)
        assert len(commit) == 40
        assert rest.endswith(file.partition("/")[2])


@pytest.fixture(scope="module")
def published() -> TextPairs:
    """All eight languages, from the files themselves."""
    if not (ROOT / "mt_small" / "tatoeba_fi" / "fin.txt").is_file():
        pytest.skip("the files of mt_small are not there; set PIPELINE_DATA_ROOT to the folder that holds mt_small/")
    return MtSmall(root=str(ROOT), source="published", languages=LANGUAGES).load()


def test_the_published_files(published: TextPairs) -> None:
    assert [tuple(row.values()) for row in published.sizes()] == [
        ("de-en", 28_998, 1_014, 1_000, 1_000, 2),
        ("fr-en", 28_997, 1_014, 1_000, 1_000, 3),
        ("cs-en", 28_998, 1_014, 1_000, 1_000, 2),
        ("fi-en", 56_014, 924, 897, 0, 1_655),
        ("hi-en", 2_709, 122, 140, 0, 146),
        ("et-en", 768, 99, 100, 0, 33),
        ("lv-en", 758, 94, 100, 0, 48),
        ("ro-en", 778, 99, 100, 0, 23),
    ]
    assert all(
        text == " ".join(text.split()) for part in published.parts.values() for own in part for p in own for text in p
    )


@pytest.mark.slow
def test_every_training_sentence_of_the_published_files_comes_back_from_its_pieces(published: TextPairs) -> None:
    """With pieces of every twentieth sentence: what was not met while they were learned comes back as well."""
    texts = sorted({text for own in published.parts["train"] for pair in own for text in pair})
    assert len(texts) > 200_000
    vocabulary = Vocabulary.train(texts[::20], pieces=4000)
    for start in range(0, len(texts), 20_000):
        some = texts[start : start + 20_000]
        assert vocabulary.decode(vocabulary.encode(some)) == some
