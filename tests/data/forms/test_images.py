"""Images as people have them: each way of storing gives the same greys, and what cannot be used is said in a line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from data.base import DataError
from data.forms.folder import WordsFolder
from data.forms.images import Reading, Scan, inked, read_file, read_image, said_inverted

GREY = np.full((8, 20), 250, np.uint8)
GREY[2:5, 3:9] = 10


def encoded(image: Image.Image, form: str = "PNG", **settings: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, form, **settings)
    return stream.getvalue()


def read(content: bytes, **settings: Any) -> np.ndarray:
    return read_image(content, where="a.csv, row 2", reading=Reading(**settings)).grey


def with_alpha() -> Image.Image:
    """The image as an opaque black with holes where the paper is."""
    alpha = np.where(GREY < 128, 245, 5).astype(np.uint8)
    return Image.fromarray(np.dstack([np.zeros_like(GREY)] * 3 + [alpha]))


def palette() -> Image.Image:
    image = Image.fromarray((GREY < 128).astype(np.uint8)).convert("P")
    image.putpalette([250, 250, 250, 10, 10, 10])
    return image


KINDS = {
    "png": lambda: encoded(Image.fromarray(GREY)),
    "tiff": lambda: encoded(Image.fromarray(GREY), "TIFF"),
    "webp": lambda: encoded(Image.fromarray(GREY).convert("RGB"), "WEBP", lossless=True),
    "sixteen bits": lambda: encoded(Image.fromarray(GREY.astype(np.uint16) * 257)),
    "alpha": lambda: encoded(with_alpha()),
    "palette": lambda: encoded(palette()),
    "cmyk": lambda: encoded(Image.fromarray(GREY).convert("RGB").convert("CMYK"), "TIFF"),
    "colour": lambda: encoded(Image.fromarray(GREY).convert("RGB"), "BMP"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_an_image_is_stored_as_its_greys_are_the_same(kind: str) -> None:
    np.testing.assert_allclose(read(KINDS[kind]()).astype(int), GREY, atol=1)


def test_a_photograph_that_exif_calls_rotated_is_put_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = Image.fromarray(np.ascontiguousarray(np.rot90(GREY)))
    np.testing.assert_array_equal(read(encoded(turned, exif=exif)), GREY)


def test_light_ink_is_turned_dark_and_can_be_kept() -> None:
    dark = encoded(Image.fromarray(255 - GREY))
    assert read_image(dark, where="x").inverted
    np.testing.assert_array_equal(read(dark), GREY)
    np.testing.assert_array_equal(read(dark, invert="false"), 255 - GREY)
    for true in ("true", True):
        np.testing.assert_array_equal(read(encoded(Image.fromarray(GREY)), invert=true), 255 - GREY)
    with pytest.raises(DataError, match=r"^a.csv, row 2: invert=maybe is unknown; choose one of auto, true, false"):
        read(dark, invert="maybe")


def frames() -> bytes:
    other = Image.fromarray(255 - GREY)
    return encoded(Image.fromarray(GREY), "GIF", save_all=True, append_images=[other])


def fractions() -> bytes:
    return encoded(Image.fromarray(GREY.astype(np.float32)), "TIFF")


BAD = {
    "no image": (lambda: b"file,text\n", "this is no image"),
    "nothing": (lambda: b"", "this is no image"),
    "no pixels": (lambda: KINDS["png"]()[:16] + bytes(8) + KINDS["png"]()[24:], "damaged|no pixels|no image"),
    "cut short": (lambda: encoded(Image.fromarray(np.tile(GREY, (9, 9))), "JPEG")[:-200], "damaged or cut short"),
    "cut png": (lambda: KINDS["png"]()[:60], "damaged or cut short"),
    "pdf": (lambda: b"%PDF-1.7\n", "this is a PDF and no image; make an image of each page first, as by `pdftoppm"),
    "frames": (frames, "the image has 2 pages or frames; save each as a file of its own"),
    "fractions": (fractions, "its pixels are fractions"),
    "lab": (lambda: encoded(Image.new("LAB", (9, 9)), "TIFF"), "its colours are CIELAB, .*; save it as RGB or grey"),
    "white": (lambda: encoded(Image.fromarray(np.full_like(GREY, 250))), r"all pixels are white \(250 to 250\)"),
    "black": (lambda: encoded(Image.fromarray(GREY // 50)), r"all pixels are black \(0 to 5\)"),
    **{
        f"{bits} bits": (
            lambda bits=bits: encoded(Image.fromarray(GREY.astype(np.uint16) << (bits - 8))),
            r"its 16 bits hold values up to \d+ of 65535 alone, .*; stretch them to 16 bits, or save it with 8",
        )
        for bits in (10, 12, 14)
    },
    "beyond sixteen bits": (
        lambda: encoded(Image.fromarray(GREY.astype(np.int32) * 70_000), "TIFF"),
        r"its pixels go from 700000 to 17500000, beyond 16 bits; save it with 8 or 16 bits",
    ),
    "black with sixteen bits": (
        lambda: encoded(Image.fromarray(GREY.astype(np.uint16) // 50)),
        r"all pixels are black \(0 to 0\)",
    ),
    "clear": (lambda: encoded(Image.new("RGBA", (9, 9))), r"all pixels are white"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_cannot_be_used_is_said_in_one_line_that_names_the_place(kind: str) -> None:
    make, said = BAD[kind]
    with pytest.raises(DataError, match=said) as found:
        read(make())
    assert str(found.value).startswith("a.csv, row 2: ")
    assert "\n" not in str(found.value)


def test_a_dark_page_of_sixteen_bits_is_read_where_its_ink_is_said_to_be_light() -> None:
    dark = encoded(Image.fromarray((60 - GREY // 5).astype(np.uint16) << 8))
    np.testing.assert_array_equal(read(dark, invert="true"), 195 + GREY // 5)
    for other in ("auto", "false"):
        with pytest.raises(DataError, match=r"\d+ of 65535 alone, .* \(light ink on paper .*: say invert 'true'\)$"):
            read(dark, invert=other)


def test_an_image_of_too_many_pixels_is_refused_before_it_is_unpacked() -> None:
    content = KINDS["png"]()
    with pytest.raises(DataError, match=r"20 × 8: the image has more than 100 pixels; make it smaller, or raise"):
        read(content, most_pixels=100)
    bomb = encoded(Image.new("1", (12_000, 12_000)))  # Pillow warns of it
    with pytest.raises(DataError, match=r"more than 25000000 pixels; make it smaller$"):
        read(bomb)


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 2: there is no file"):
        read_file(tmp_path / "a.png", where="row 2")
    with pytest.raises(DataError, match=r"row 2: .* cannot be read"):
        read_file(tmp_path, where="row 2")


def words_folder(folder: Path, rows: list[str], images: int = 12, header: str = "file,text,writer") -> dict[str, Any]:
    """A folder with images 0.png, 1.png and so on, and a table with a row of each and then those."""
    for i in range(images):
        image = GREY.copy()
        image[6, i] = 90
        Image.fromarray(image).save(folder / f"{i}.png")
    own = [f"{i}.png,wort {i},w{i % 4}" for i in range(images)]
    (folder / "words.csv").write_text("\n".join([header, *own, *rows]) + "\n", encoding="utf-8")
    return {"path": str(folder / "words.csv"), "validation": 0.25, "test": 0.25}


@pytest.mark.parametrize("writers", ["shared", "disjoint"])
def test_a_folder_of_words_is_drawn_into_three_parts(tmp_path: Path, writers: str) -> None:
    settings = words_folder(tmp_path, [])
    data = WordsFolder(**settings, writers=writers).load()
    assert [len(part) for part in data.parts.values()] == [6, 3, 3]
    assert not data.stand_in
    assert data.source == "words.csv"
    for own in (data, data.shortened(train=2, held=1)):
        assert {part: tuple(f"{text.split()[1]}.png" for text in words.texts) for part, words in own.parts.items()} == (
            own.files
        )
    if writers == "disjoint":
        assert [row["writers"] for row in data.sizes()] == [2, 1, 1]
    assert WordsFolder(**settings, writers=writers).load().checksum == data.checksum


def test_a_table_without_writers_or_beside_another_folder_is_read(tmp_path: Path) -> None:
    settings = words_folder(tmp_path, [], header="file,text,other")
    (tmp_path / "tables").mkdir()
    table = (tmp_path / "words.csv").rename(tmp_path / "tables" / "words.csv")
    data = WordsFolder(**{**settings, "path": str(table)}, images=str(tmp_path)).load()
    assert data.parts["test"].writers is None
    with pytest.raises(DataError, match="no column 'writer'; there are file, text, other"):
        WordsFolder(**{**settings, "path": str(table)}, images=str(tmp_path), writers="disjoint").load()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("no.png,x,w", "row 14, file 'no.png': there is no file"),
        (",x,w", "row 14, file '': column 'file' is empty"),
        ("4.png,x,w", "row 14, file '4.png': it is the same image as that of row 6, with another text; leave one out"),
        ("4.png,wort 4,w", "it is the same image as that of row 6, with another writer; leave one out"),
        ("new.png,,w", "row 14, file 'new.png': column 'text' is empty"),
        ("new.png,x,", "row 14, file 'new.png': column 'writer' is empty"),
        ("new.png,שלום,w", "text 'שלום' is written from right to left"),
        ("new.png,a\u0001b,w", "holds a character that is no text"),
        ("words.csv,x,w", "row 14, file 'words.csv': this is no image"),
    ],
)
def test_each_bad_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    Image.fromarray(GREY[:, ::-1]).save(tmp_path / "new.png")
    with pytest.raises(DataError, match=said):
        WordsFolder(**words_folder(tmp_path, [row])).load()


@pytest.mark.parametrize("writers", ["shared", "disjoint"])
def test_the_same_images_of_one_text_are_in_one_part(tmp_path: Path, writers: str) -> None:
    settings = words_folder(tmp_path, ["4.png,wort 4,w0", "5.png,wort 5,w1", "4.png,wort 4,w0"])
    for seed in range(4):
        with pytest.warns(UserWarning, match=r"words.csv: 3 of 15 images are the same as another; each stays in one"):
            data = WordsFolder(**settings, writers=writers, seed=seed).load()
        holding = [set(part.texts) for part in data.parts.values()]
        assert sum(map(len, holding)) == 12
        assert sum(len(part) for part in data.parts.values()) == 15


def test_texts_are_composed_and_light_ink_is_said_once(tmp_path: Path) -> None:
    settings = words_folder(tmp_path, ["dark.png,Ko\u0308ln,w"])
    Image.fromarray(255 - GREY).save(tmp_path / "dark.png")
    with pytest.warns(
        UserWarning,
        match=r"row 14, file 'dark.png': light ink on dark paper, in 1 of 13 images; .* .invert 'false' keeps",
    ):
        data = WordsFolder(**settings).load()
    assert "Köln" in {text for part in data.parts.values() for text in part.texts}
    with pytest.raises(DataError, match=r"^words_folder: invert=maybe is unknown"):
        WordsFolder(**settings, invert="maybe").load()
    with pytest.raises(DataError, match="leave nothing to train on"):
        WordsFolder(**{**settings, "validation": 0.5, "test": 0.5}).load()
    with pytest.raises(DataError, match=r"there is no such folder; give images='FOLDER'$"):
        WordsFolder(**settings, images=str(tmp_path / "none")).load()


@pytest.mark.parametrize(("invert", "paper", "failed"), [("auto", 250, 0), ("false", 250, 100), ("true", 0, 255)])
def test_an_image_as_its_paper_is_blank_and_one_as_its_ink_is_refused(invert: str, paper: int, failed: int) -> None:
    reading = Reading(invert=invert, blank=True)
    scan = inked(np.full((9, 9), paper, np.uint8), "back", reading)
    assert (scan.blank, scan.inverted, int(scan.grey.min())) == (True, False, 255)
    with pytest.raises(DataError, match=r"^back: nothing is to be seen, all pixels are (black|white) \("):
        inked(np.full((9, 9), failed, np.uint8), "back", reading)


def page(paper: int, ink: int, beside: int, margin: int) -> np.ndarray:
    """A page with rows of short strokes, on something of another grey that is seen around it."""
    grey = np.full((384, 288), paper, np.uint8)
    for top in range(60, 320, 30):
        for left in range(40, 240, 12):
            grey[top : top + 9, left : left + 3] = ink
    return np.pad(grey, margin, constant_values=beside)


@pytest.mark.parametrize("margin", [6, 20, 90])
@pytest.mark.parametrize(
    ("paper", "ink", "beside"),
    [(110, 20, 255), (90, 30, 250), (240, 40, 0), (240, 60, 30), (50, 230, 255), (110, 200, 0)],
)
def test_ink_is_told_by_the_paper_around_it_whatever_the_page_lies_on(
    paper: int, ink: int, beside: int, margin: int
) -> None:
    grey = page(paper, ink, beside, margin)
    scan = inked(grey, "page", Reading())
    assert (scan.inverted, scan.unsure) == (ink > paper, False)
    np.testing.assert_array_equal(scan.grey, 255 - grey if ink > paper else grey)


@pytest.mark.parametrize("dust", [0, 10])
@pytest.mark.parametrize("paper", [190, 215, 235])
@pytest.mark.parametrize("flips", [72, 144])
def test_noise_on_blank_paper_is_not_taken_for_ink(paper: int, flips: int, dust: int) -> None:
    """Noise of 4 and of 6 greys; the dust is two by two pixels, black or missing."""
    generator = np.random.default_rng(1)
    grey = (paper + generator.binomial(flips, 0.5, (400, 300)) - flips // 2).clip(0, 255).astype(np.uint8)
    grey[200 : 200 + dust // 5, 150 : 150 + dust // 5] = dust
    scan = inked(grey, "back", Reading())
    assert (scan.inverted, scan.unsure) == (False, False)
    assert inked(255 - grey, "back", Reading()).inverted


def test_ink_that_cannot_be_told_is_warned_of_with_what_to_say() -> None:
    """Half a page has light strokes and the other half dark ones, one more of these, on a table as dark as ink."""
    grey = np.full((600, 400), 10, np.uint8)
    grey[100:500, 130:270] = 120
    for top in range(180, 420, 20):
        grey[top : top + 6, 180:183], grey[top : top + 6, 220:223] = 20, 220
    grey[300:302, 200:203] = 20
    scan = inked(grey, "page", Reading())
    assert scan.unsure
    with pytest.warns(
        UserWarning, match=r"^b: whether its ink is light or dark is not plain, in 1 of 2 images; say inv"
    ):
        said_inverted({"a": Scan(grey, inverted=False), "b": scan})
    assert not inked(grey, "page", Reading(invert="false")).unsure
