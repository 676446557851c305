"""Alphabets: symbols and their numbers."""

from __future__ import annotations

import pytest

from models.forms.recognise.alphabet import Alphabet


def test_a_letter_with_a_combining_accent_is_one_symbol() -> None:
    own = Alphabet.of_texts(["Straße", "Grün"])
    assert own.encode(["Gru\u0308n"]) == own.encode(["Grün"])
    assert [own.decode(numbers) for numbers in own.encode(["Straße", "Grün"])] == ["Straße", "Grün"]
    assert 0 not in own.encode(["Straße"])[0]


def test_the_folded_alphabet_has_35_symbols_and_leaves_out_the_rest() -> None:
    own = Alphabet.alphanumeric()
    assert len(own) == 35
    assert own.decode(own.encode(["AB-12z!"])[0]) == "ab12"


def test_unknown_characters_are_named_and_counted() -> None:
    own = Alphabet(tuple("ab"))
    with pytest.raises(ValueError, match=r"text 'axb' has .* in all texts these are 'x' \(2\), 'y' \(1\)"):
        own.encode(["ab", "axb", "xy"])
    with pytest.raises(ValueError, match=r"text 1 \('!'\) has no symbol"):
        Alphabet.alphanumeric().encode(["a", "!"])


@pytest.mark.parametrize(
    ("symbols", "said"),
    [((), "a symbol at least"), (("ab",), "'ab'; give single"), (("a", "a"), "'a' comes twice"), (("א",), "right to")],
)
def test_what_is_no_alphabet_is_refused(symbols: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Alphabet(symbols)
