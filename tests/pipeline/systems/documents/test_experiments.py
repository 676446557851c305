"""The experiments of `recipe=documents`, tiny: each leaves tables and words of its jobs at its parent."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from logged import artifacts, table
from models import DocumentReader
from pipeline.export import export, export_again
from pipeline.host.paths import conf_folder
from pipeline.systems.documents.load import learned_of, load, reading_of
from pipeline.systems.registry import checked, prepare_composition

SMALL = ("size=tiny", "seed=0", "encoder.width=16", "encoder.heads=2", "encoder.hidden=16", "encoder.layers=1",
         "documents.vocabulary=300", "pretrain.steps=1", "documents.baselines=false")  # fmt: skip
STAND_IN = "data.source=stand_in"
FEW = ("data.train=150", "data.validation=20", "data.test=20")  # each document is drawn by itself


@pytest.mark.parametrize(
    ("experiment", "asked"),
    [
        ("documents_classes", (STAND_IN, "reader=text_full_512_static")),
        ("documents_entities", (STAND_IN, "reader=boxes_literal")),
        ("documents_funsd", (STAND_IN, "pretrain_on.source=stand_in", "reader=boxes_window_random")),
        ("documents_pretrain", (STAND_IN, "reader=boxes_spatial_window")),
        ("documents_max_length", (STAND_IN, "attention=distance")),
        ("documents_noise", (STAND_IN, "attention=distance", "documents.jitter=2", "documents.shuffle=true")),
    ],
)
def test_every_experiment_runs_tiny_without_files(
    experiment: str, asked: tuple[str, ...], run_pipeline: Callable, client
) -> None:
    result = run_pipeline(f"+experiment={experiment}", *SMALL, *asked)
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert len(table(parent, "means.csv")) == 1
    assert {"jobs.csv", "documents.csv", "figures"} <= {item.path for item in client.list_artifacts(parent.info.run_id)}


def test_cues_stand_apart_and_a_page_is_made_again_from_its_files(run_pipeline: Callable, tmp_path) -> None:
    asked = ("reader=near_distance", "data.cue=spatial,none", "data.words=100", "data.questions=5", "run_name=cues",
             "documents.baselines=true")  # fmt: skip
    result = run_pipeline("+experiment=documents_cue", *SMALL, *asked)
    assert result.status == 0, result.err
    export("cues", tmp_path)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "cues").iterdir()}
    means = pd.read_csv(tmp_path / "cues" / "means.csv")
    assert means["cue"].tolist() == ["none"] * 3 + ["spatial"] * 3
    seen = means.dropna(subset=["reach"])
    assert seen["ceiling"].tolist() == pytest.approx((seen["reach"] + (1 - seen["reach"]) / 8).tolist())
    assert seen["short_of_ceiling"].tolist() == pytest.approx((seen["ceiling"] - seen["test_token_accuracy"]).tolist())
    assert len(seen) == 2
    assert seen.set_index("cue")["reach"]["none"] == 0  # no word tells
    assert seen.set_index("cue")["reach"]["spatial"] > 0
    export_again(tmp_path / "cues")
    claims = pd.read_csv(tmp_path / "cues" / "claims.csv")
    assert claims["claim"].tolist() == ["a network is ahead of a simple model"] * 4
    assert {said.partition(": ")[0] for said in claims["verdict"]} <= {"holds", "does not hold", "undecided"}
    for name in ("means.csv", "paired.csv", "claims.csv"):
        assert (tmp_path / "cues" / name).read_bytes() == kept[name]


def test_a_multirun_says_what_holds_of_claims_whose_arms_both_ran(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=documents_entities", *SMALL, STAND_IN, "reader=boxes_distance,boxes_full_512")
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    (claim,) = table(parent, "claims.csv").to_dict("records")
    assert (claim["arm"], claim["against"]) == ("full 512 (LayoutLM)", "distance")
    assert (claim["claim"], claim["whose"]) == ("512 tokens are ahead on short documents", "thesis")
    assert claim["verdict"] == "no claim (stand-in data)"
    assert claim["claim"] in parent.data.tags["mlflow.note.content"]


def test_errors_by_how_many_tokens_are_read_are_drawn(run_pipeline: Callable, client) -> None:
    asked = (STAND_IN, "attention=distance", "documents.max_length=32,64")
    result = run_pipeline("+experiment=documents_max_length", *SMALL, *asked)
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    assert table(parent, "means.csv")["arm"].tolist() == ["distance @32", "distance @64"]
    assert "figures/by_most.svg" in artifacts(client, parent, "figures")


def test_the_command_and_the_reader_from_python_learn_by_the_same_settings() -> None:
    prepare_composition()
    with initialize_config_dir(str(conf_folder()), version_base=None):
        settings = compose("config", ["recipe=documents", "data=documents_table", "data.path=words.csv"])
    reader = DocumentReader()
    assert settings.documents.lower_case == reader.lower_case
    assert settings.pretrain.steps == reader.guessing == 0
    for section, names in (
        (settings.encoder, ("layers", "heads", "dropout", "adjacent", "places", "spelling")),
        (settings.finetune, ("learning_rate", "epochs", "class_weight", "patience")),
    ):
        assert {name: section[name] for name in names} == {name: getattr(reader, name) for name in names}


def test_late_cues_stand_in_the_chunk_that_is_read() -> None:
    prepare_composition()
    with initialize_config_dir(str(conf_folder()), version_base=None):
        asked = ["+experiment=documents_cue", "data.cue=late", *FEW]
        settings = checked(compose("config", asked))
    read = load(settings)
    reading = reading_of(settings, learned_of(settings, read))
    longest = max(len(reading.tokens(document).ids) for _, document in read.data.all())
    assert longest <= settings.documents.max_length
    assert settings.finetune.patience is None


def test_long_documents_are_scored_apart(run_pipeline: Callable, client) -> None:
    result = run_pipeline("+experiment=documents_by_length", *SMALL, STAND_IN, "reader=boxes_distance",
                          "documents.baselines=true")  # fmt: skip
    assert result.status == 0, result.err
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    (parent,) = (run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    lengths, means = table(parent, "by_length.csv"), table(parent, "means.csv")
    assert set(lengths["least_words"]) >= {0}
    own = lengths[lengths["least_words"] == 0]
    assert own["error"].tolist() == pytest.approx(means["error"].tolist())
    assert lengths.groupby("arm")["documents"].apply(lambda own: own.is_monotonic_decreasing).all()
