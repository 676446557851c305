"""`data=dhsd`: German place and street names of 37 writers (N. Riaz and others, StylusAI, ICDAR 2024; CC BY 4.0).

The images were published as PNG files in colour. Read here are their luminances in one file, which `packed` makes of
the published folder; docs/forms-data.md says how.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from data.base import DataError, check_whole_numbers
from data.files.npz import read_arrays
from data.files.published import PutByHand
from data.files.table_files import TextFormat, read_frame
from data.forms.hand import stand_in_words
from data.forms.images import LEAST_CONTRAST, Reading, content_of, decoded
from data.forms.ink import KINDS, training_words
from data.forms.parts import check_share, check_writers, groups_of, held_out, three_parts
from data.forms.pieces import VOCABULARIES, in_parts
from data.ranges import Count, Seed, Share
from data.source import Source
from data.text_pairs import tidied
from data.word_images import HandwrittenWords, WordImages

NAME = "dhsd"
IMAGES, TABLE, TEST = "images_gray.npz", "data.csv", "test.csv"
CHECKSUMS = {
    TABLE: "3872d3e915b7990cfab21ab81a6e8e71d19caa9d8b9aef3b089d2428e8a0f1bf",
    TEST: "7d44c183ebff39e997f787d6dff31d17673905c2d2f38f61e82919954a50c181",
    IMAGES: "6a05b7c6ddfa57db98663aa22e0bb36e33e0368b170b107f1d4f53e535cdc8b8",  # of the greys themselves
}
SIZE = (64, 256)
TEST_WRITERS = 7  # of 37, with writers=disjoint
COLUMNS = ("file_name", "text", "writer_id")


class Packed(PutByHand):
    """Names the published tables and the file that `packed` makes of the published images."""

    def check(self, path: Path, sha256: str) -> None:
        """Raises DataError for another file. The images are checked when they are read: archives of the same greys
        differ."""
        if path.name != IMAGES:
            super().check(path, sha256)


FILES = Packed(
    NAME, "published", "https://github.com/nauman-riaz/DHSD", CHECKSUMS, stand_in="words that are written by a program"
)


def packed(folder: Path, target: Path) -> None:
    """Makes the file of luminances from the published folder, which holds `data.csv` and `german_hw_data/`.

    Raises DataError for an image that is missing or damaged, or not the published one.
    """
    names = rows_of(folder / TABLE)[COLUMNS[0]]
    images = np.stack([decoded(content_of(folder / name, name), name, Reading()) for name in names])
    check_images(target, images)
    np.savez_compressed(target, allow_pickle=False, images=images)


def read_images(path: Path) -> np.ndarray:
    """Returns the greys, uint8 (image, 64, 256). Raises DataError for a file that does not hold them."""
    try:
        images = read_arrays(path)["images"]
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read ({error}); put the original file there") from error
    check_images(path, images)
    return images


def check_images(path: Path, images: np.ndarray) -> None:
    """Raises DataError for greys that are not the published ones."""
    if hashlib.sha256(np.ascontiguousarray(images).tobytes()).hexdigest() != CHECKSUMS[IMAGES]:
        raise DataError(f"{path}: damaged, or of another version; put the original file there")


def rows_of(path: Path) -> dict[str, list[str]]:
    """Returns the columns of one of the tables. Raises DataError for a table without them."""
    frame = read_frame(path, TextFormat(as_written=True))[0]
    if list(frame.columns) != list(COLUMNS):
        raise DataError(f"{path}: the columns must be {', '.join(COLUMNS)}; put the original file there")
    return {name: [str(cell) for cell in frame[name]] for name in COLUMNS}


def shows_ink(image: np.ndarray) -> bool:
    """Returns whether an image shows anything."""
    return int(image.max()) - int(image.min()) >= LEAST_CONTRAST


def read_words(folder: Path) -> tuple[WordImages, np.ndarray, int]:
    """Returns the images that show ink, which of them are of the published test part, and how many show none."""
    table, images = rows_of(folder / TABLE), read_images(folder / IMAGES)
    tested = set(rows_of(folder / TEST)[COLUMNS[0]])
    kept = [i for i, image in enumerate(images) if shows_ink(image)]
    words = WordImages.of(
        [images[i] for i in kept], [tidied(table["text"][i]) for i in kept], [table["writer_id"][i] for i in kept]
    )
    return words, np.array([table["file_name"][i] in tested for i in kept]), len(images) - len(kept)


def split_words(
    words: WordImages, tested: np.ndarray, *, writers: str, validation: float, seed: int
) -> dict[str, WordImages]:
    """Returns the images in three parts. With writers=disjoint all of a writer are in one, else the test part is as
    published and validation is drawn from the rest."""
    generator = np.random.default_rng(seed)
    groups, rows = groups_of(words, writers), np.arange(len(words))
    if writers == "shared":
        rest, test = rows[~tested], rows[tested]
    else:
        rest, test = held_out(groups, rows, count=TEST_WRITERS, generator=generator)
    train, held = held_out(groups, rest, count=validation, generator=generator)
    return three_parts(NAME, words, (train, held, test))


def every_fifth(words: WordImages) -> np.ndarray:
    """Returns which images stand in for the published test part, bool (image,)."""
    return np.arange(len(words)) % 5 == 4


@dataclass(frozen=True, kw_only=True)
class Dhsd(Source):
    """Loads 5938 images of 64 × 256 with 3 to 37 characters; one published image without ink is left out.

    writers: "shared": the published parts, in which every writer is in both. "disjoint": 7 of the 37 writers, drawn
    under `seed`, are the test part, and no other part has them. validation: the share of the other images, or with
    writers=disjoint of the other writers, that is drawn for validation under `seed`.
    vocabulary: "strings" for whole images, "parts" for what stands between blanks, cut out where the gaps leave no
    doubt. least: with parts, keep the texts that so many training images of DHSD's ink say, in every part of the data,
    so that no `ink` changes the other parts; 1 keeps all.
    ink: of training images, "dhsd"; "synthetic": the same texts by the stand-in hand, those it can write; or "both".
    Other parts have DHSD's ink.
    source: "auto", "published" or "stand_in". root: the folder that holds `dhsd/`.
    Raises DataError for a setting out of range, and for files that are damaged, or missing with source=published.
    """

    writers: str = "shared"
    validation: Share = 0.1
    vocabulary: str = "strings"
    least: Count = 1
    ink: str = "dhsd"
    seed: Seed = 0
    source: str = "auto"
    root: str | None = None

    def load(self) -> HandwrittenWords:
        """Returns the data. Raises DataError as the class says."""
        if self.vocabulary not in VOCABULARIES:
            choices = ", ".join(VOCABULARIES)
            raise DataError(f"{NAME}: vocabulary={self.vocabulary} is unknown; choose one of {choices}")
        if self.least > 1 and self.vocabulary == "strings":
            raise DataError(f"{NAME}: least={self.least} needs vocabulary=parts; strings hardly repeat")
        if self.ink not in KINDS:
            raise DataError(f"{NAME}: ink={self.ink} is unknown; choose one of {', '.join(KINDS)}")
        data = self.strings()
        return self.inked(in_parts(data, self.least) if self.vocabulary == "parts" else data)

    def inked(self, data: HandwrittenWords) -> HandwrittenWords:
        """Returns the data with the training images that `ink` names."""
        if self.ink == "dhsd":
            return data
        real = data.parts["train"]
        train = training_words(real, self.ink, seed=self.seed, most=None)
        written = len(train) - len(real) if self.ink == "both" else len(train)
        return replace(data, parts={**data.parts, "train": train}, counts={**data.counts, "written": written})

    def strings(self) -> HandwrittenWords:
        """Returns whole images. Raises DataError as the class says."""
        check_writers(NAME, self.writers)
        check_share(NAME, validation=self.validation)
        check_whole_numbers(NAME, {"seed": self.seed}, least=0)
        check_whole_numbers(NAME, {"least": self.least})
        how: dict[str, Any] = {"writers": self.writers, "validation": self.validation, "seed": self.seed}
        if FILES.find(self.root, source=self.source) is None:
            words = stand_in_words(seed=self.seed)
            return HandwrittenWords(NAME, split_words(words, every_fifth(words), **how), "stand-in", stand_in=True)
        words, tested, blank = read_words(FILES.folder_below(self.root))
        return HandwrittenWords(NAME, split_words(words, tested, **how), FILES.source, counts={"without_ink": blank})
