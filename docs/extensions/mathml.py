"""Formulas as MathML, which browsers draw by themselves: no script, no font and no server is needed to read them.

An extension of Python-Markdown that follows `pymdownx.arithmatex` with `generic: true`, which finds $…$ and $$…$$ and
leaves the TeX in elements of class `arithmatex`; here latex2mathml turns it into MathML while the site is built.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\[(\[](?P<tex>.*?)\\[)\]]\s*</\1>', re.DOTALL)


def as_mathml(found: re.Match[str]) -> str:
    display = "block" if found[1] == "div" else "inline"
    mathml = convert(html.unescape(found["tex"]).strip(), display=display)
    return f'<div class="formula">{mathml}</div>' if display == "block" else mathml


class MathMLPostprocessor(Postprocessor):
    def run(self, text: str) -> str:
        return FORMULA.sub(as_mathml, text)


class MathMLExtension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        md.postprocessors.register(MathMLPostprocessor(md), "mathml", priority=-100)  # after everything else


def makeExtension(**settings: Any) -> MathMLExtension:
    """The name that Python-Markdown looks for."""
    return MathMLExtension(**settings)
