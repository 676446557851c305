"""Passwords inside addresses, taken out of all that is printed or logged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
# what stands between :// and @ in the address of a user with a password, up to the last @ of the word; in http a slash
# ends what may be one
IN_USER = re.compile(
    r"(?P<before>\b(?:(?P<http>https?)|(?!https?:)[a-z][\w+.-]*)://[^\s:/@]*:)(?(http)[^\s/]*|\S*)@", re.I
)
IN_QUERY = re.compile(r"(?P<before>[?&]\w*(?:password|passwd|pwd|token|secret)=)[^\s&'\"]*", re.I)


def masked(text: str) -> str:
    """Returns `postgresql://user:***@host/db` for any password, also for one in the address's query
    (`?password=***`)."""
    if "://" not in text:
        return text
    return IN_QUERY.sub(rf"\g<before>{MASK}", IN_USER.sub(rf"\g<before>{MASK}@", text))


def masked_settings(value: Any) -> Any:
    """Masks passwords in every text of nested settings, as `masked` does."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: masked_settings(inner) for key, inner in value.items()}
    return [masked_settings(inner) for inner in value] if isinstance(value, list | tuple) else value
