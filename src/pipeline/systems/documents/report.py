"""What a run leaves: curves, scores by document, predictions and figures, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from data.pages import OUTSIDE, Documents
from pipeline.compare.markdown import markdown_table
from pipeline.host.devices import DTYPES
from pipeline.host.errors import PipelineError
from pipeline.job.curve_report import log_curve
from pipeline.job.study import Study, log_metrics
from pipeline.systems.documents.baselines import TAGGERS
from pipeline.systems.documents.config import DocumentsConfig
from pipeline.systems.documents.cost import costs_of, plans_table
from pipeline.systems.documents.drawn import ENDS
from pipeline.systems.documents.figures import confusion_figure
from pipeline.systems.documents.fitting import FittedDocumentNetwork
from pipeline.systems.documents.load import Loaded, chunks_by_document, outputs_of
from pipeline.systems.documents.scores import LENGTHS, SCORES, Scored, confusion_of, scores_by_length, worth_a_row
from pipeline.systems.documents.sight import sight_of
from pipeline.systems.documents.tagged_page import page_figure, tagged_page
from pipeline.tracking.run import is_metric_name

BY_DOCUMENT, PREDICTIONS, BASELINES = "by_document.csv", "predictions.csv", "baselines.csv"
VOCABULARY, PLANS = "vocabulary.json", "plans.csv"
CONFUSION, CORNER = "confusion.csv", "true \\ named"
LABELS = {  # of the panels of a stage; its table has more
    "pretrain": {
        "train_loss": "training loss\n(nats)", "validation_loss": "validation loss\n(nats a hidden token)",
        "validation_accuracy": "validation accuracy\nof hidden tokens",
    },
    "finetune": {
        "train_loss": "training loss\n(nats)", "validation_error": "validation error",
        "validation_log_loss": "validation log loss\n(nats an answer)",
    },
}  # fmt: skip
NAMED = {
    "test_entity_f1": "F1 of entities, strict", "test_token_accuracy": "accuracy of tagged words",
    "test_value_f1": "F1 of values",
    "test_accuracy": "accuracy", "test_macro_f1": "F1, each class alike", "test_mlm_loss": "nats a hidden token",
    "test_mlm_accuracy": "accuracy of hidden tokens",
}  # fmt: skip

NAMED |= {
    f"test_{score}_{end}": f"{NAMED[f'test_{score}']}: {end.removeprefix('interval_')} end of its 95 % interval"
    for score in SCORES.values() for end in ENDS
}  # fmt: skip


def refuse_taken_kinds(settings: DocumentsConfig, data: Documents) -> None:
    """Raises PipelineError, with the metric, for a kind of entities whose F1 would be logged under a name that MLflow
    refuses, or under that of another metric: of the interval of F1, of a length of documents, or of a simple model."""
    if settings.documents.task != "entities":
        return
    kinds = sorted({tag[2:] for tag in data.tags if tag != OUTSIDE})
    taken = names_beside_kinds(kinds, simple=settings.documents.baselines)
    for kind in kinds:
        metric = f"evaluate/test_entity_f1_{kind}"
        fault = taken.get(kind, None if is_metric_name(metric) else "a name that MLflow does not take")
        if fault is not None:
            of_letters = "" if kind in taken else " of letters, digits, spaces and _ - ."
            raise PipelineError(
                f"documents.task=entities: {data.name} has entities of the kind {kind!r}, whose F1 would be the metric "
                f"{metric}, {fault}; give the kind another name{of_letters}"
            )


def names_beside_kinds(kinds: Sequence[str], *, simple: bool) -> dict[str, str]:
    """Returns what stands behind `test_entity_f1_` in the names of metrics that are not the F1 of a kind, with what
    each of them is. kinds: of entities. simple: whether there are simple models."""
    ends = dict.fromkeys(ENDS, "which is an end of the interval of test_entity_f1")
    taken = ends | dict.fromkeys(LENGTHS, "which is F1 of documents of that length")
    fronts = ["", *(f"{own}_" for own in (*ENDS, *kinds))]
    for name in TAGGERS if simple else ():
        said = f"which is that of the simple model {name!r}"
        taken |= {f"{front}{marked(name)}": said for front in fronts}
    return taken


def log_data(here: Study, loaded: Loaded) -> None:
    """Logs the sizes of the parts, which stand for the data set in MLflow, with the digest of all words, boxes and
    tags. A tag says how many pieces the vocabulary has, which may be fewer than were asked for."""
    data = loaded.data
    sizes = pd.DataFrame(data.sizes())
    here.run.dataset(sizes, name=data.name, source=data.source, digest=data.checksum, context="training")
    here.run.table(sizes, "documents.csv")
    here.run.tags({"documents.pieces": str(loaded.reading.vocabulary.size)})
    metrics = {"words": sizes["words"].sum(), "documents": sizes["documents"].sum(), **data.counts}
    metrics["words_without_box"] = sizes["without_box"].sum()
    metrics["later_chunks"] = sum(chunk.stretch.first > 0 for own in loaded.parts.values() for _, chunk in own)
    metrics["documents_cut"] = cut_of(loaded)
    log_metrics(here.run, {f"data/{name}": float(value) for name, value in metrics.items()})


def log_attention(here: Study, loaded: Loaded, settings: DocumentsConfig) -> None:
    """Logs what attention sees of the test part and what it costs; with all details the vocabulary, and the tokens and
    plans of each part."""
    own = settings.encoder
    costs = costs_of(loaded, heads=own.heads, width=own.width // own.heads, dtype=DTYPES[settings.dtype])
    log_metrics(here.run, {f"attention/{name}": value for name, value in (sight_of(loaded) | costs).items()})
    if here.full:
        here.run.text(loaded.reading.vocabulary.to_json(), VOCABULARY)
        here.run.table(plans_table(loaded), PLANS)


def cut_of(loaded: Loaded) -> int:
    """Returns how many documents of all parts are not read to their end."""
    ends = [(chunks[-1].stretch.end, len(loaded.data.parts[part][place].words))
            for part, own in loaded.parts.items() for place, chunks in chunks_by_document(own)]  # fmt: skip
    return sum(end < words for end, words in ends)


def log_fitted(
    here: Study, fitted: FittedDocumentNetwork, tested: Scored, others: Mapping[str, Scored], task: str, noise: str
) -> None:
    """Logs metrics and tables; with all details the curves too.

    noise: how documents are read worse than they are. It is a part of the names of simple models in tables, as these
    are fitted to such documents too.
    """
    lengths = {f"test_{name}": value for name, value in scores_by_length(task, tested.by_document).items()}
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in (metrics_of(tested) | lengths).items()})
    parameters = sum(parameter.numel() for parameter in fitted.network.parameters())
    log_metrics(here.run, {"model/parameters": float(parameters)})
    here.run.table(tested.by_document, BY_DOCUMENT)
    for name, own in others.items():
        log_metrics(here.run, {f"evaluate/{key}_{marked(name)}": value for key, value in metrics_of(own).items()})
    if others:
        tables = [own.by_document.assign(baseline=f"{name} {noise}".strip()) for name, own in others.items()]
        here.run.table(pd.concat(tables, ignore_index=True), BASELINES)
    predictions = worth_a_row(tested.predictions)
    if len(predictions):
        here.run.table(predictions, PREDICTIONS)
    for stage, progress in fitted.curves.items() if here.full else ():
        log_curve(here, progress, LABELS[stage], stage)


def log_pictures(here: Study, tested: Scored, data: Documents, task: str) -> None:
    """Logs, with all details, what was taken for what, as a table and as a figure; and a page of the test part with its
    tags, where words have boxes. Logs nothing of a network that guesses hidden words."""
    if not here.full or task == "mlm":
        return
    counts = confusion_of(tested.predictions, outputs_of(task, data))
    here.run.table(counts.rename_axis(index=CORNER).reset_index(), CONFUSION)
    unit = "words" if task == "entities" else "documents"
    title = f"{here.title}: {unit} of the test part"
    here.run.figure(confusion_figure(counts, unit=unit, title=title), "figures/confusion")
    shown = tagged_page(data.parts["test"], tested.predictions) if task == "entities" else None
    if shown is not None:
        here.run.figure(page_figure(shown, title=here.title), "figures/page")


def metrics_of(tested: Scored) -> dict[str, float]:
    """Returns the scores of the test part by the names of metrics."""
    return {"test_error": tested.error, **{f"test_{name}": value for name, value in tested.scores.items()}}


def marked(name: str) -> str:
    """Returns the name of a baseline as it ends that of a metric."""
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def score_report(tested: Scored, others: Mapping[str, Scored], data: Documents) -> str:
    """Returns the scores of the test part as a table, those of simple models beside them, where the data come from, and
    words about a simple model that is ahead."""
    columns = {"network": metrics_of(tested), **{name: metrics_of(own) for name, own in others.items()}}
    table = pd.DataFrame(columns).loc[list(columns["network"])]
    names = [NAMED.get(name, name.removeprefix("test_").replace("_", " ")) for name in table.index]
    table.insert(0, f"{data.name}, test part", names)
    source = f"Data: {data.name}, source {data.source}"
    return "\n\n".join([markdown_table(table, digits=4), source, *behind(tested, others)])


def behind(tested: Scored, others: Mapping[str, Scored]) -> list[str]:
    """Returns one line about the simple model of least error on the test part, of equals the first, where it is ahead
    of the network; else none."""
    name = min(others, key=lambda other: others[other].error, default="")
    if not name or others[name].error >= tested.error:
        return []
    least = others[name].error
    return [f"The network is behind a simple model, {name}: test error {tested.error:.4g} and {least:.4g}, "
            f"{tested.error - least:.4g} more (one seed)"]  # fmt: skip
