"""Files that others published: found below the data root, else fetched, else stood in for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from data.base import DataError
from data.files import download

PUBLISHED = "published"  # the published files of any data set, whatever their own `data.source`


@dataclass(frozen=True)
class Published:
    """Names the files of a published data set.

    name: of the data set, which begins every message. source: what `data.source` calls the published files.
    address: what a file's path is appended to, or a function from that path to the address; https alone is opened.
    checksums: SHA-256 of every file, by its path below the folder. folder: below the data root; "" is the name.
    stand_in: what takes the files' place, in the words of the warning.
    """

    name: str
    source: str
    address: str | Callable[[str], str]
    checksums: Mapping[str, str]
    folder: str = ""
    stand_in: str = "a generated stand-in"

    def address_of(self, file: str) -> str:
        """Returns the https address of one of the files."""
        return self.address + file if isinstance(self.address, str) else self.address(file)

    def folder_below(self, root: str | None) -> Path:
        """Returns the folder of the files, which need not be there."""
        return download.data_root(root) / (self.folder or self.name)

    def check_source(self, source: str, others: tuple[str, ...] = ()) -> None:
        """Raises DataError, naming the choices, for a `data.source` that is not one of them, nor "published"."""
        choices = ("auto", self.source, "stand_in", *others)
        if source not in (*choices, PUBLISHED):
            raise DataError(f"{self.name}: source={source} is unknown; choose one of {', '.join(choices)}")

    def find(
        self,
        root: str | None,
        *,
        source: str,
        opener: download.Opener = download.open_https,
        others: tuple[str, ...] = (),
    ) -> list[Path] | None:
        """Returns the paths of the files, whole and in order, or None where a stand-in is to take their place: with
        source=stand_in, and with auto, said in a warning, where one is missing and there is no network.

        "published" asks for the files in every data set. others: sources of the loader's own.

        Raises DataError for a source that is unknown, for a file that is damaged, for a download that fails, and
        for a file that is missing without a network, where the source is not auto.
        """
        self.check_source(source, others)
        if source == "stand_in":
            return None
        folder = self.folder_below(root)
        missing = [file for file in self.checksums if not (folder / file).exists()]
        for file in (file for file in self.checksums if file not in missing):
            self.check(folder / file, self.checksums[file])
        if missing and not self.fetched(missing, folder, opener=opener):
            self.say_lack(missing, folder, required=source in (self.source, PUBLISHED))
            return None
        return [folder / file for file in self.checksums]

    def check(self, path: Path, sha256: str) -> None:
        """Raises DataError for a file that is not the published one."""
        download.check_file(path, sha256)

    def fetched(self, missing: list[str], folder: Path, *, opener: download.Opener) -> bool:
        """Fetches the missing files. Returns False where there is no network."""
        addresses = {file: self.address_of(file) for file in missing}
        if not download.network_available(addresses[missing[0]], opener=opener):
            return False
        download.download_all(addresses, folder, checksums=self.checksums, opener=opener)
        return True

    def say_lack(self, missing: list[str], folder: Path, *, required: bool) -> None:
        """Warns that a stand-in takes the place of the files. Raises DataError where they are required."""
        lack, remedy = self.lack_and_remedy(missing, folder)
        if required:
            raise DataError(f"{self.name}: {lack}; {remedy}, or choose", give={"source": "stand_in"})
        warnings.warn(f"{self.name}: NOT REAL DATA: {lack}; using {self.stand_in}", stacklevel=4)

    def lack_and_remedy(self, missing: list[str], folder: Path) -> tuple[str, str]:
        """Returns in words what is missing and why it was not fetched, and what to do."""
        first, several = missing[0], len(missing) > 1
        lack = f"{folder / first} is missing"
        if several:
            lack = f"{len(missing)} of {len(self.checksums)} files are missing in {folder} (the first: {first})"
        remedy = f"put {'them' if several else 'it'} there (from {self.address_of(first)}{' …' if several else ''})"
        return f"{lack} and there is no network", remedy


@dataclass(frozen=True)
class PutByHand(Published):
    """Names files that are not to be had, as they are, from an address: a person puts them below the data root.

    address: where to find what they were made of.
    """

    def check(self, path: Path, sha256: str) -> None:
        """Raises DataError for a file that is another one."""
        if download.sha256_of(path) != sha256:
            raise DataError(f"{path}: damaged, or of another version; put the original file there")

    def fetched(self, missing: list[str], folder: Path, *, opener: download.Opener) -> bool:  # noqa: ARG002
        """Returns False: there is nothing to fetch."""
        return False

    def lack_and_remedy(self, missing: list[str], folder: Path) -> tuple[str, str]:
        """Returns in words what is missing, and what to do."""
        return f"{folder / missing[0]} is missing", f"put it there (from {self.address})"
