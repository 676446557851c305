"""Reads one image of a scan or photograph as greys: whatever it is stored as, upright, dark ink on light paper."""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from data.base import DataError
from data.forms.light_ink import light_ink
from data.greys import PAPER

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP", "PPM")
MOST_PIXELS = 25_000_000  # as many as readers of forms take
MOST_BYTES = 200_000_000  # of a file
LEAST_CONTRAST = 24  # between the darkest and the lightest grey
INVERT = ("auto", "true", "false")
PDF = b"%PDF"
READING = "images.json"  # of a saved model
INVERTED = "light ink on dark paper, {}; they were inverted (invert 'false' keeps them as they are)"
UNSURE = "whether its ink is light or dark is not plain, {}; say invert 'true' for light ink or 'false' for dark ink"
FEWER_BITS = 14  # of 16 that cameras and scanners fill
SIXTEEN_BITS = ("I;16", "I;16L", "I;16B", "I;16N", "I")


@dataclass(frozen=True)
class Reading:
    """Says how images are read. most_pixels: an image of more is refused. invert: "true" for light ink on dark paper,
    "false" for dark ink, "auto" to take as ink what there is less of (`data.forms.light_ink`); True and False are
    taken too. blank: an all white image, such as the back of a form, is taken for paper without ink, and not refused;
    an all black one where invert is "true"."""

    most_pixels: int = MOST_PIXELS
    invert: str = "auto"
    blank: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "invert", str(self.invert).lower())

    def check(self, name: str) -> None:
        """Raises DataError, beginning with the data's name, for settings that are none."""
        if not 1 <= self.most_pixels <= MOST_PIXELS:
            raise DataError(f"{name}: most_pixels must lie from 1 to {MOST_PIXELS}, got {self.most_pixels}")
        if self.invert not in INVERT:
            raise DataError(f"{name}: invert={self.invert} is unknown; choose one of {', '.join(INVERT)}")


AS_FOUND = Reading()


def save_reading(invert: str, folder: Path) -> None:
    """Writes beside a model's parameters whether the images that it reads have light ink, as in `Reading`."""
    (folder / READING).write_text(json.dumps({"invert": invert}) + "\n", encoding="utf-8")


def load_reading(folder: Path) -> Reading:
    """Returns what `save_reading` wrote, `AS_FOUND` where it wrote nothing."""
    file = folder / READING
    return Reading(invert=json.loads(file.read_text(encoding="utf-8"))["invert"]) if file.exists() else AS_FOUND


class Scan(NamedTuple):
    """Holds an image, uint8 (height, width), 0 for black ink and 255 for paper, whether light and dark were exchanged
    without a word of the settings, whether it is paper without ink, and whether its ink was hard to tell."""

    grey: np.ndarray
    inverted: bool
    blank: bool = False
    unsure: bool = False


def read_file(path: Path, *, where: str, reading: Reading = AS_FOUND) -> Scan:
    """Returns the image of a file. Raises DataError, beginning with `where`, for one that is missing, and as
    `read_image` does."""
    return read_image(content_of(path, where), where=where, reading=reading)


def content_of(path: Path, where: str) -> bytes:
    """Returns the bytes of a file. Raises DataError, beginning with `where`, for one that is missing or too large."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"{where}: the file has more than {MOST_BYTES} bytes; give a smaller image")
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{where}: there is no file {path}; mend its name, or drop the row") from None
    except OSError as error:
        raise DataError(f"{where}: {path} cannot be read ({error.strerror}); make it readable") from error


def read_image(content: bytes, *, where: str, reading: Reading = AS_FOUND) -> Scan:
    """Returns the image that the bytes of a file hold.

    16 bits are cut to the upper 8, colours are turned to their luminance, what is transparent shows white paper, and an
    image that its EXIF data calls rotated is put upright.

    Raises DataError, beginning with `where`, for what is no image of one page, is cut short, has no pixels or too many,
    or shows nothing, where `reading.blank` does not allow it.
    """
    if content[:1024].lstrip().startswith(PDF):
        raise DataError(
            f"{where}: this is a PDF and no image; make an image of each page first, as by "
            "`pdftoppm -gray -r 150 -png FILE.pdf page`"
        )
    reading.check(where)
    return inked(decoded(content, where, reading), where, reading)


def decoded(content: bytes, where: str, reading: Reading) -> np.ndarray:
    """Returns the greys of an encoded image. Raises DataError, beginning with `where`, for one that cannot be used."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            warnings.filterwarnings("ignore", category=UserWarning, module="PIL")  # oddities of metadata
            with Image.open(io.BytesIO(content), formats=FORMATS) as image:
                check_size(image, where, reading.most_pixels)
                image.load()
                return greys_of(image, where, dark=reading.invert == "true")
    except UnidentifiedImageError:
        raise DataError(f"{where}: this is no image that can be read; give one of {', '.join(FORMATS)}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataError(f"{where}: {too_many(reading.most_pixels)}") from error
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{where}: the image is damaged or cut short ({reason:.80}); save it anew") from error


def too_many(most_pixels: int) -> str:
    """Returns that an image has more pixels than that, and what to do; `MOST_PIXELS` cannot be raised."""
    raised = ", or raise most_pixels" if most_pixels < MOST_PIXELS else ""
    return f"the image has more than {most_pixels} pixels; make it smaller{raised}"


def check_size(image: Image.Image, where: str, most_pixels: int) -> None:
    """Raises DataError for an image without pixels, with too many of them, or with several pages."""
    check_pixels(image.width, image.height, where, most_pixels)
    frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)  # a photograph with views of smaller size
    if frames > 1:
        raise DataError(f"{where}: the image has {frames} pages or frames; save each as a file of its own")


def check_pixels(width: int, height: int, where: str, most_pixels: int) -> None:
    """Raises DataError for a size without pixels, and for one with too many of them."""
    if width < 1 or height < 1:
        raise DataError(f"{where}: the image has no pixels ({width} × {height}); leave it out")
    if width * height > most_pixels:
        raise DataError(f"{where}: {width} × {height}: {too_many(most_pixels)}")


def greys_of(image: Image.Image, where: str, *, dark: bool = False) -> np.ndarray:
    """Returns the greys of a loaded image, upright, uint8 (height, width). dark: its paper is said to be dark."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode in SIXTEEN_BITS:
        return upper_eight(np.asarray(upright, np.int64), where, dark=dark)
    if upright.mode == "F":
        raise DataError(f"{where}: its pixels are fractions; save it with 8 or 16 bits")
    if upright.mode == "LAB":
        raise DataError(f"{where}: its colours are CIELAB, which cannot be turned into greys; save it as RGB or grey")
    if upright.has_transparency_data:
        seen = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)
    return np.array(upright.convert("L"))


def upper_eight(values: np.ndarray, where: str, *, dark: bool = False) -> np.ndarray:
    """Returns the upper 8 of 16 bits, uint8. Raises DataError for values beyond 16 bits, and where fewer bits seem to
    have been used: something is to be seen in them, and none is of the upper two bits. dark: its paper is said so."""
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= 1 << 16:
        raise DataError(f"{where}: its pixels go from {low} to {high}, beyond 16 bits; save it with 8 or 16 bits")
    if not dark and high - low >= LEAST_CONTRAST and high < 1 << FEWER_BITS:
        raise DataError(
            f"{where}: its 16 bits hold values up to {high} of 65535 alone, as scanners of 10 to {FEWER_BITS} bits "
            "write them; stretch them to 16 bits, or save it with 8 (light ink on paper as dark: say invert 'true')"
        )
    return (values >> 8).astype(np.uint8)


def inked(grey: np.ndarray, where: str, reading: Reading) -> Scan:
    """Returns greys with dark ink. Raises DataError where nothing is to be seen, but for what `reading.blank` allows:
    an image as light as paper, and where its ink is light, one as dark as paper."""
    low, high = int(grey.min()), int(grey.max())
    if high - low < LEAST_CONTRAST:
        white = low > PAPER / 2
        if reading.blank and white == (reading.invert != "true"):
            return Scan(np.full_like(grey, PAPER), inverted=False, blank=True)
        shade = "white" if white else "black"
        raise DataError(f"{where}: nothing is to be seen, all pixels are {shade} ({low} to {high}); leave it out")
    if reading.invert != "auto":
        return Scan(PAPER - grey if reading.invert == "true" else grey, inverted=False)
    found = light_ink(grey)
    return Scan(PAPER - grey if found.light else grey, found.light, unsure=not found.sure)


def as_in_a_file(grey: np.ndarray, invert: str) -> np.ndarray:
    """Returns greys with dark ink as a file has them from which they are read with that `invert`."""
    return PAPER - grey if invert == "true" else grey


def said_inverted(scans: Mapping[str, Scan]) -> None:
    """Warns of the images whose light and dark were exchanged, and of those whose ink was hard to tell, if there are
    any. scans: by where they stand."""
    for own, said in (
        ([name for name, scan in scans.items() if scan.inverted and not scan.unsure], INVERTED),
        ([name for name, scan in scans.items() if scan.unsure], UNSURE),
    ):
        if own:
            warnings.warn(f"{own[0]}: {said.format(f'in {len(own)} of {len(scans)} images')}", stacklevel=4)
