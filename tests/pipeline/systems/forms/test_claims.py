"""Claims about arms: which can be made of those that ran, and what the drawn differences say of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pipeline.compare.bootstrap import DRAWS, claimed_rows
from pipeline.systems.forms.claims import Arm, claims_on, cost_of_boxes
from pipeline.systems.forms.reading.multirun import costs_of

NOISE = np.random.default_rng(0).normal(size=DRAWS)


def arms(*models: str, augment: str = "thesis", settings: tuple[str, ...] = ()) -> dict[str, Arm]:
    return {", ".join([model, *settings, augment]): Arm(model, augment, settings) for model in models}


def made(known: dict[str, Arm], *, finds: bool = True) -> list[tuple[str, str]]:
    return sorted((own.challenger.removesuffix(", thesis"), own.against.removesuffix(", thesis"))
                  for own in claims_on(known, finds=finds))  # fmt: skip


def test_changed_images_are_claimed_to_help_the_same_model_with_the_same_settings() -> None:
    both = arms("crnn") | arms("crnn", augment="none")
    assert made(both) == [("crnn", "crnn, none")]
    swept = [arms("crnn", augment=augment, settings=(f"recogniser.units={units}",))
             for augment in ("thesis", "none") for units in (64, 96)]  # fmt: skip
    assert made({name: arm for own in swept for name, arm in own.items()}) == [
        (f"crnn, recogniser.units={units}", f"crnn, recogniser.units={units}, none") for units in (64, 96)
    ]
    assert made(arms("crnn") | arms("moran", augment="none")) == []


def test_detectors_are_claimed_to_be_ahead_of_others_and_of_ink_whatever_settings_of_theirs_were_swept() -> None:
    known = arms("r_fcn", settings=("detector.bins=3",)) | arms("faster_rcnn", "components")
    assert made(known) == [("faster_rcnn", "components"), ("r_fcn, detector.bins=3", "components"),
                           ("r_fcn, detector.bins=3", "faster_rcnn")]  # fmt: skip
    assert made(arms("r_fcn", settings=("forms.moved=0.2",)) | arms("faster_rcnn")) == []


def test_readers_are_compared_by_their_models_where_words_are_found() -> None:
    known = arms("pixel_link + word", "r_fcn + word", "r_fcn + ctc_seq2seq", "true boxes + word", "true boxes + crnn",
                 "convolve_attend_spell")  # fmt: skip
    of_recognisers = [("r_fcn + ctc_seq2seq", "r_fcn + word")]
    assert made(known) == sorted([
        ("r_fcn + word", "pixel_link + word"), *of_recognisers,
        *[(arm, "convolve_attend_spell") for arm in ("pixel_link + word", "r_fcn + word", "r_fcn + ctc_seq2seq")],
    ])  # fmt: skip
    assert made(known, finds=False) == of_recognisers


def test_a_claim_holds_where_the_whole_interval_is_below_zero_and_stand_ins_give_none() -> None:
    whole = {"ctc_seq2seq": 10.0, "word": 20.0, "moran": 10.1}
    drawn = {arm: rate + 0.1 * (place + 1) * NOISE for place, (arm, rate) in enumerate(whole.items())}
    claims = claims_on({arm: Arm(arm, "thesis") for arm in whole})
    table = claimed_rows(claims, whole, drawn, stand_in=False)
    assert table[["claim", "whose", "arm", "against", "verdict"]].to_numpy().tolist() == [
        ["CTC-Seq2Seq is ahead of a word model", "thesis", "ctc_seq2seq", "word", "holds"],
        ["CTC-Seq2Seq is ahead of MORAN", "thesis", "ctc_seq2seq", "moran", "undecided"],
    ]
    assert table["difference"].tolist() == pytest.approx([-10.0, -0.1])
    other = {"ctc_seq2seq": drawn["word"], "word": drawn["ctc_seq2seq"]}
    assert claimed_rows(claims[:1], {"ctc_seq2seq": 20.0, "word": 10.0}, other, stand_in=False)["verdict"].tolist() == [
        "does not hold"
    ]
    assert set(claimed_rows(claims, whole, drawn, stand_in=True)["verdict"]) == {"no claim (stand-in data)"}
    assert claimed_rows([], {"crnn": 1.0}, {"crnn": NOISE}, stand_in=False).empty


def test_finding_the_words_costs_what_their_rates_differ_by() -> None:
    readings = (("read", 2), ("true boxes", 1), ("corrected", 0))
    rows = [("a", form, reading, faults * (1 + form % 2), 8) for form in range(20) for reading, faults in readings]
    columns = ["run_id", "form", "reading", "word_faults", "words"]
    read = pd.DataFrame(rows, columns=columns).assign(part="test", faults=0, characters=9, out_of_order=0, pairs=0)
    jobs = pd.DataFrame({"run_id": ["a"], "arm": ["r_fcn + crnn"], "stand_in": [False]})
    (row,) = costs_of(jobs, read, "forms")
    assert (row["part"], row["arm"], row["found"], row["true boxes"]) == ("test", "r_fcn + crnn", 37.5, 18.75)
    assert (row["difference"], row["verdict"]) == (18.75, "undecided: one seed")
    assert row["low"] < 18.75 < row["high"]
    thrice = pd.concat([read.assign(run_id=run) for run in "abc"])
    (again,) = costs_of(pd.concat([jobs.assign(run_id=run) for run in "abc"]), thrice, "forms")
    assert again == {**row, "verdict": "does not hold"}
    near = np.append(21.0, 21.0 + 0.1 * NOISE)
    assert cost_of_boxes(near, np.append(20.0, 20.0 + 0.1 * NOISE[::-1]), stand_in=False)["verdict"] == "holds"
    assert costs_of(jobs, read[read["reading"] == "read"], "forms") == []
