"""One vocabulary of verdicts: every combination of what may be found, and tables of where each was found."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.compare.claims import DOES_NOT_HOLD, HOLDS, NO_CLAIM, UNDECIDED, VERDICTS, places_of, verdict

PIPELINE = Path(__file__).resolve().parents[3] / "src" / "pipeline"


@pytest.mark.parametrize(
    ("supported", "contradicted", "expected"),
    [(True, False, HOLDS), (False, True, DOES_NOT_HOLD), (False, False, UNDECIDED), (True, True, UNDECIDED)],
)
def test_a_verdict_by_what_the_data_show(supported: bool, contradicted: bool, expected: str) -> None:
    assert verdict(supported=supported, contradicted=contradicted) == expected
    assert verdict(supported=supported, contradicted=contradicted, stand_in=True) == NO_CLAIM


def test_words_that_committed_tables_hold() -> None:
    assert VERDICTS == ("holds", "does not hold", "undecided", "no claim (stand-in data)")


def test_places_of_each_verdict() -> None:
    found = places_of([HOLDS, UNDECIDED, HOLDS], [10, 30, 50])
    assert found == {HOLDS: "10, 50", DOES_NOT_HOLD: "–", UNDECIDED: "30", NO_CLAIM: "–"}
    assert list(places_of([], []).values()) == ["–"] * 4
    with pytest.raises(ValueError, match="shorter than argument 1"):
        places_of([HOLDS, HOLDS], [10])


def test_only_one_module_writes_the_verdicts() -> None:
    written = {
        path.relative_to(PIPELINE).as_posix()
        for path in PIPELINE.rglob("*.py")
        if any(f'"{word}"' in path.read_text(encoding="utf-8") for word in VERDICTS)
    }
    assert written == {"compare/claims.py"}
