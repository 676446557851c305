"""Claims about arms: which can be made of those that ran, and what the drawn differences say of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.bootstrap import DRAWS
from pipeline.systems.forms.claims import SWAPS, claimed, claims_on, cost_of_boxes, swapped
from pipeline.systems.forms.reading.multirun import costs_of

NOISE = np.random.default_rng(0).normal(size=DRAWS)


@pytest.mark.parametrize(
    ("arms", "made"),
    [
        (["crnn", "crnn, none"], [("crnn", "crnn, none")]),
        (["r_fcn", "faster_rcnn", "components"],
         [("r_fcn", "faster_rcnn"), ("r_fcn", "components"), ("faster_rcnn", "components")]),
        (["pixel_link + word", "r_fcn + word", "r_fcn + ctc_seq2seq", "convolve_attend_spell"],
         [("r_fcn + word", "pixel_link + word"), ("r_fcn + ctc_seq2seq", "r_fcn + word"),
          *[(arm, "convolve_attend_spell") for arm in ("pixel_link + word", "r_fcn + word", "r_fcn + ctc_seq2seq")]]),
        (["true boxes + word", "true boxes + crnn"], []),
    ],
)  # fmt: skip
def test_claims_are_made_of_the_arms_that_ran(arms: list[str], made: list[tuple[str, str]]) -> None:
    assert sorted((own.challenger, own.against) for own in claims_on(arms)) == sorted(made)


def test_a_model_is_exchanged_by_its_whole_name_alone() -> None:
    (swap,) = (own for own in SWAPS if own.second == "word")
    assert swapped("r_fcn + ctc_seq2seq, none", swap) == "r_fcn + word, none"
    assert swapped("my_ctc_seq2seq2", swap) is None


def test_a_claim_holds_where_the_whole_interval_is_below_zero_and_stand_ins_give_none() -> None:
    whole = {"ctc_seq2seq": 10.0, "word": 20.0, "moran": 10.1}
    drawn = {arm: rate + 0.1 * (place + 1) * NOISE for place, (arm, rate) in enumerate(whole.items())}
    table = claimed(whole, drawn, stand_in=False)
    assert table[["claim", "whose", "arm", "against", "verdict"]].to_numpy().tolist() == [
        ["CTC-Seq2Seq is ahead of a word model", "thesis", "ctc_seq2seq", "word", "holds"],
        ["CTC-Seq2Seq is ahead of MORAN", "thesis", "ctc_seq2seq", "moran", "undecided"],
    ]
    assert table["difference"].tolist() == pytest.approx([-10.0, -0.1])
    other = {"ctc_seq2seq": drawn["word"], "word": drawn["ctc_seq2seq"]}
    assert claimed({"ctc_seq2seq": 20.0, "word": 10.0}, other, stand_in=False)["verdict"].tolist() == ["does not hold"]
    assert set(claimed(whole, drawn, stand_in=True)["verdict"]) == {"no claim (stand-in data)"}
    assert claimed({"crnn": 1.0}, {"crnn": NOISE}, stand_in=False).empty


def test_finding_the_words_costs_what_their_rates_differ_by() -> None:
    readings = (("read", 2), ("true boxes", 1), ("corrected", 0))
    rows = [("a", form, reading, faults * (1 + form % 2), 8) for form in range(20) for reading, faults in readings]
    columns = ["run_id", "form", "reading", "word_faults", "words"]
    read = pd.DataFrame(rows, columns=columns).assign(part="test", faults=0, characters=9, out_of_order=0, pairs=0)
    jobs = pd.DataFrame({"run_id": ["a"], "arm": ["r_fcn + crnn"], "stand_in": [False]})
    (row,) = costs_of(jobs, read, "forms")
    assert (row["part"], row["arm"], row["found"], row["true boxes"]) == ("test", "r_fcn + crnn", 37.5, 18.75)
    assert (row["difference"], row["verdict"]) == (18.75, "does not hold")
    assert row["low"] < 18.75 < row["high"]
    near = np.append(21.0, 21.0 + 0.1 * NOISE)
    assert cost_of_boxes(near, np.append(20.0, 20.0 + 0.1 * NOISE[::-1]), stand_in=False)["verdict"] == "holds"
    assert costs_of(jobs, read[read["reading"] == "read"], "forms") == []
