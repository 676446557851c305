"""Numbers of the result files in the pages, read while the site is built: an extension of Python-Markdown.

What a reference looks like: `references`. Paths begin at docs/.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from references import with_numbers

DOCS = Path(__file__).resolve().parent.parent


class NumbersPreprocessor(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return with_numbers("\n".join(lines), DOCS).split("\n")


class NumbersExtension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.preprocessors.register(NumbersPreprocessor(md), "numbers_from_files", priority=100)


def makeExtension(**settings: Any) -> NumbersExtension:
    """The name that Python-Markdown looks for."""
    return NumbersExtension(**settings)
