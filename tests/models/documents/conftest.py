"""Generated documents that several files of tests read."""

from __future__ import annotations

import pytest

from data.documents.generator import SyntheticDocuments
from data.pages import Document


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Three documents of 60 words."""
    made = SyntheticDocuments(train=3, validation=1, test=1, words=60, questions=5, values=3).load()
    return list(made.parts["train"])
