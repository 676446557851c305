"""Files that others published: found below the data root, else fetched, else stood in for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from data.files.download import Opener, check_source, data_root, file_or_stand_in


@dataclass(frozen=True)
class Published:
    """Names the files of a published data set. name: also of its folder below the data root. source: what
    `data.source` calls them. address: what a file's name is appended to, over https. checksums: SHA-256 of every
    file, by name."""

    name: str
    source: str
    address: str
    checksums: Mapping[str, str]

    def find(self, root: str | None, *, source: str, opener: Opener, others: tuple[str, ...] = ()) -> list[Path] | None:
        """Returns the paths of the files, whole and in order, or None where a stand-in is to take their place: with
        source=stand_in, and with auto, said in a warning, where one is missing and there is no network.

        others: sources of the loader's own. Raises DataError for a source that is unknown, for a file that is damaged,
        and for one that is missing and cannot be fetched, where the source is not auto.
        """
        check_source(source, ("auto", self.source, "stand_in", *others))
        if source == "stand_in":
            return None
        paths = [data_root(root) / self.name / file for file in self.checksums]
        found = all(
            file_or_stand_in(
                path, address=self.address + path.name, sha256=self.checksums[path.name], data=self.name,
                stand_in="a generated stand-in", required=source == self.source, opener=opener,
            )
            for path in paths
        )  # fmt: skip
        return paths if found else None
