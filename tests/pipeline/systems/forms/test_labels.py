"""Jobs of a multirun are told apart by what differs within their arm."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pandas as pd

from pipeline.compare.words import Summary
from pipeline.systems.forms.labels import labelled, said_of_repeats
from pipeline.systems.forms.multirun import summary_of
from pipeline.systems.forms.recognition.multirun import words_read

UNITS = [f"recogniser.units={units}" for units in (64, 96)]


def jobs_of(*rows: tuple[Any, ...]) -> pd.DataFrame:
    columns = ["run_id", "data", "arm", "seed", "model", "augment", "varied"]
    return pd.DataFrame([(f"run{number}", *row) for number, row in enumerate(rows)], columns=columns)


def test_settings_are_part_of_the_arm_where_its_jobs_differ_in_them() -> None:
    jobs = jobs_of(*[("dhsd", arm, seed, arm, "thesis", units)
                     for arm in ("crnn", "moran") for units in UNITS for seed in (0, 1)])  # fmt: skip
    found = labelled(jobs)
    assert found["arm"].tolist() == [f"{arm}, {units}" for arm in ("crnn", "moran") for units in UNITS for _ in (0, 1)]
    assert set(found["data"]) == {"dhsd"}
    read = pd.concat([pd.DataFrame({"run_id": run, "image": range(6), "faults": [0, 0, 1, 1, 0, 1]})
                      for run in found["run_id"]])  # fmt: skip
    pairs = words_read(found.assign(seconds=1.0, parameters=1.0), read, {"data": "dhsd", "part": "test"})
    assert len(pairs) == 6
    assert set(pairs["images"]) == {6}  # two seeds read the same six images


def test_settings_that_a_variant_stands_for_are_not_named_twice_and_others_are() -> None:
    words = [(f"ctc {share:g}", f"forms.variant=ctc {share:g}, recogniser.ctc_share={share:g}") for share in (0, 0.5)]
    jobs = jobs_of(*[("dhsd", arm, 0, "crnn", "thesis", varied) for arm, varied in words])
    assert labelled(jobs)["arm"].tolist() == ["ctc 0", "ctc 0.5"]
    more = jobs_of(*[("dhsd", arm, 0, "crnn", "thesis", f"{varied}, {units}")
                     for arm, varied in words for units in UNITS])  # fmt: skip
    assert labelled(more)["arm"].tolist() == [f"{arm}, {units}" for arm, _ in words for units in UNITS]


def test_models_and_changes_of_images_are_named_where_a_variant_hides_them() -> None:
    jobs = jobs_of(*[("composed_forms", "up to 10 degrees", 0, model, augment, "data.slant=10")
                     for model in ("r_fcn + crnn", "components + crnn") for augment in ("none", "thesis")])  # fmt: skip
    assert labelled(jobs)["arm"].tolist() == [
        f"up to 10 degrees, {model}, {augment}"
        for model in ("r_fcn + crnn", "components + crnn") for augment in ("none", "thesis")
    ]  # fmt: skip


def test_settings_of_the_data_stand_behind_its_name() -> None:
    jobs = jobs_of(*[("composed_forms", "r_fcn", 0, "r_fcn", "thesis", f"data.forms={forms}, fit.epochs={forms // 50}")
                     for forms in (200, 400)])  # fmt: skip
    found = labelled(jobs)
    assert found["data"].tolist() == ["composed_forms, data.forms=200", "composed_forms, data.forms=400"]
    assert found["arm"].tolist() == ["r_fcn", "r_fcn"]  # each alone on its data


def test_jobs_of_unlike_alphabets_are_apart_as_their_errors_are_of_other_texts() -> None:
    jobs = jobs_of(*[("dhsd", "crnn", seed, "crnn", "thesis", f"forms.alphabet={alphabet}")
                     for alphabet in ("texts", "alphanumeric") for seed in (0, 1)])  # fmt: skip
    found = labelled(jobs)
    assert found["data"].tolist() == [
        f"dhsd, forms.alphabet={alphabet}" for alphabet in ("texts", "alphanumeric") for _ in "ab"
    ]
    assert set(found["arm"]) == {"crnn"}
    said = "Jobs of unlike forms.alphabet are compared apart, as their errors are of unlike true texts.\n\n"
    assert text_about(jobs, found) == f"{said}of 4 jobs"
    alike = labelled(jobs[:2])
    assert set(alike["data"]) == {"dhsd"}
    assert text_about(jobs[:2], alike) == "of 2 jobs"


def counted(jobs: pd.DataFrame, *_: Any) -> Summary:
    return Summary({}, {}, f"of {len(jobs)} jobs")


def text_about(jobs: Any, named: pd.DataFrame, known: int | None = None) -> str:
    """What is said of jobs of a stage of which the first `known` have rows."""
    stage = SimpleNamespace(CASES="read.csv", TRUTH=(), SETS=("data",), summary_of=counted)
    return summary_of(stage, jobs, named, {"read.csv": named[["run_id"]][:known]}, "t").text


def test_jobs_without_readings_are_left_out_and_named() -> None:
    jobs = jobs_of(*[("dhsd", arm, seed, arm, "none", "") for arm in ("crnn", "moran") for seed in (0, 1)])
    said = text_about(jobs, labelled(jobs), known=3)
    assert said.startswith("1 of 4 jobs have nothing in read.csv, and are left out: dhsd: moran, seed 1.\n\n")
    assert "arms have unequal seeds (crnn: 0, 1; moran: 0)" in said
    assert said.endswith("of 3 jobs")
    assert text_about(jobs, labelled(jobs), known=0) == "of 0 jobs"


def test_jobs_that_are_alike_count_once() -> None:
    jobs = jobs_of(*[("composed_forms", "true boxes + crnn", seed, "true boxes + crnn", "thesis", "forms.boxes=truth")
                     for seed in (0, 1) for _ in ("r_fcn", "pixel_link")],
                   *[("composed_forms", "components", 0, "components", augment, "")
                     for augment in ("none", "thesis")])  # fmt: skip
    found = labelled(jobs)
    assert found[["arm", "seed"]].to_numpy().tolist() == [
        ["true boxes + crnn", 0], ["true boxes + crnn", 1], ["components", 0]
    ]  # fmt: skip


def test_how_found_words_are_placed_tells_no_jobs_apart_that_read_in_true_boxes() -> None:
    jobs = jobs_of(*[("composed_forms", arm, 0, arm, "thesis", f"forms.edges={edges}, forms.most_shared={most}")
                     for arm in ("r_fcn + crnn", "true boxes + crnn") for edges in ("found", "ink")
                     for most in (0.2, 1)])  # fmt: skip
    found = labelled(jobs)["arm"].tolist()
    assert (len(found), found.count("true boxes + crnn")) == (5, 1)


def test_tables_of_older_versions_lack_the_model() -> None:
    jobs = jobs_of(*[("dhsd", "crnn", seed, "", "thesis", "") for seed in (0, 1)]).drop(columns=["model", "varied"])
    assert labelled(jobs)["arm"].tolist() == ["crnn", "crnn"]


def test_data_and_contenders_that_have_one_name_are_told_apart() -> None:
    jobs = jobs_of(*[("dhsd", "crnn", seed, "crnn", "thesis", "") for _ in "ab" for seed in (0, 1)])
    found = labelled(jobs.assign(overrides=[f"data={data} seed={seed}" for data in ("dhsd", "dhsd_parts")
                                            for seed in (0, 1)]))  # fmt: skip
    assert found["data"].tolist() == ["dhsd, data=dhsd"] * 2 + ["dhsd, data=dhsd_parts"] * 2
    mine = labelled(jobs.assign(overrides=[f"contender=mine/{own} seed={seed}" for own in "ab" for seed in (0, 1)]))
    assert mine["arm"].tolist() == ["crnn, contender=mine/a"] * 2 + ["crnn, contender=mine/b"] * 2


def test_settings_of_the_data_are_told_among_all_its_jobs() -> None:
    jobs = jobs_of(*[("forms", arm, 0, arm, "thesis", f"data.slant={slant}")
                     for arm, slant in (("found", 0), ("found", 10), ("given", 10))])  # fmt: skip
    assert labelled(jobs)["data"].tolist() == ["forms, data.slant=0", "forms, data.slant=10", "forms, data.slant=10"]


def test_jobs_that_are_left_out_are_said() -> None:
    jobs = jobs_of(*[("forms", "true boxes + crnn", 0, "true boxes + crnn", "thesis", "") for _ in range(3)])
    assert said_of_repeats(jobs, labelled(jobs)).startswith("2 of 3 jobs repeat others")
    assert said_of_repeats(jobs[:1], labelled(jobs[:1])) == ""
