"""What a run is opened with, and the fingerprint by which one that was stopped is found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOT_IN_FINGERPRINT = ("resume", "run_name", "tracking", "compare")


@dataclass(frozen=True)
class RunRequest:
    """Holds what a run is opened with. settings: the resolved configuration; tags: beside those that every run has.

    passed_over: settings, by dotted keys, that change nothing in this run: jobs of a multirun that differ in them alone
    come to the same, and only the first of them is run. content: of files beside the data that settings name.
    """

    settings: Mapping[str, Any]
    experiment: str
    name: str
    checksum: str
    tags: Mapping[str, str]
    passed_over: tuple[str, ...] = ()
    content: str = ""

    @property
    def mark(self) -> str:
        """Returns the `fingerprint` of what the run follows from."""
        return fingerprint(without(self.settings, self.passed_over), self.checksum + self.content)


def without(settings: Mapping[str, Any], keys: Sequence[str], prefix: str = "") -> dict[str, Any]:
    """Returns nested settings less those that the dotted keys name."""
    return {
        name: without(value, keys, f"{prefix}{name}.") if isinstance(value, Mapping) else value
        for name, value in settings.items()
        if f"{prefix}{name}" not in keys
    }


def fingerprint(settings: Mapping[str, Any], checksum: str) -> str:
    """Returns the SHA-256 of data and configuration without `NOT_IN_FINGERPRINT`: with one version of the code, equal
    means equal results."""
    kept = {key: value for key, value in settings.items() if key not in NOT_IN_FINGERPRINT}
    return hashlib.sha256(json.dumps([kept, checksum], sort_keys=True, default=str).encode()).hexdigest()
