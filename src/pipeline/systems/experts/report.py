"""What a run leaves: curve, scores, translations and shares as data and figures, and words."""

from __future__ import annotations

from typing import Any

import pandas as pd
from torch import Tensor, nn

from data.text_pairs import TextPairs
from models.experts.network import TranslationNetwork
from pipeline.compare.markdown import escaped, markdown_table
from pipeline.job.curve_report import epoch_table
from pipeline.job.study import Study, log_metrics
from pipeline.systems.experts import figures
from pipeline.systems.experts.bars import BARS
from pipeline.systems.experts.evaluate import TEST, Evaluated, sizes_of
from pipeline.systems.experts.fitting import FittedTranslationNetwork
from pipeline.systems.experts.load import Encoded
from pipeline.systems.experts.scores import NO_BLEU
from pipeline.systems.experts.side_by_side import SHOWN

ADAPTER = ".adapter"


def log_pairs(here: Study, data: TextPairs, encoded: Encoded) -> None:
    """Logs how many pairs each task has, which is the thesis's table 3.2 and stands for the data set in MLflow, with
    the digest of all texts. What was left out, and why, is a table of its own."""
    sizes = pd.DataFrame(data.sizes())
    sizes["too_long"] = [encoded.dropped[name] for name in sizes["task"]]
    here.run.dataset(sizes, name=data.name, source=data.source, digest=data.checksum, context="training")
    here.run.table(sizes, "pairs.csv")
    removed = [{**vars(own), "task": own.task.name} for own in data.removed]
    if removed:
        here.run.table(pd.DataFrame(removed), "removed.csv")
    log_metrics(here.run, {f"data/pairs_{row['task']}": row["train"] for row in data.sizes()})  # pyright: ignore[reportArgumentType]
    log_metrics(here.run, {"data/pairs": encoded.parts["train"].count, "data/too_long": sum(encoded.dropped.values())})


def low_resource(data: TextPairs) -> list[str]:
    """Returns the tasks with less than a third of the training pairs of the largest."""
    sizes = [len(pairs) for pairs in data.parts["train"]]
    return [task.name for task, size in zip(data.tasks, sizes, strict=True) if size < max(sizes) / 3]


def share_table(counts: dict[str, Tensor], data: TextPairs) -> pd.DataFrame:
    """Returns a row per layer, task and expert or adapter: how many tokens it had, and which share of the task's."""
    rows = []
    for name, own in counts.items():
        for task, numbers in zip(data.tasks, own.tolist(), strict=True):
            kind, total = "adapter" if name.endswith(ADAPTER) else "expert", max(1, sum(numbers))
            front = {"layer": name.removesuffix(ADAPTER), "kind": kind, "task": task.name}
            rows += [front | {"expert": i, "tokens": own, "share": own / total} for i, own in enumerate(numbers)]
    return pd.DataFrame(rows)


def cosine_table(network: TranslationNetwork, data: TextPairs) -> pd.DataFrame | None:
    """Returns the cosines between the embeddings of tasks, a row and a column a task; None of a network without."""
    if network.table is None:
        return None
    unit = nn.functional.normalize(network.table.detach().double().cpu(), dim=1)
    names = [task.name for task in data.tasks]
    return pd.DataFrame((unit @ unit.T).numpy(), index=pd.Index(names, name="task"), columns=pd.Index(names))


def log_fitted(here: Study, data: TextPairs, fitted: FittedTranslationNetwork, evaluated: Evaluated) -> None:
    """Logs metrics, tables and translations; with all details the curve and figures too."""
    log_metrics(here.run, {f"evaluate/{name}": value for name, value in evaluated.metrics.items()})
    log_metrics(here.run, {f"model/{name}": value for name, value in sizes_of(fitted.network).items()})
    log_metrics(here.run, {"fit/updates": float(fitted.progress.steps)})
    here.run.table(evaluated.scores, "scores.csv")
    here.run.table(evaluated.translations, "translations.csv")
    here.run.text(shown_translations(evaluated.translations), "translations.md")
    shares = share_table(evaluated.measured.counts, data)
    if len(shares):
        here.run.table(shares, "shares.csv")
    cosines = cosine_table(fitted.network, data)
    if cosines is not None:
        here.run.table(cosines.reset_index(), "embeddings.csv")
    if here.full:
        here.run.table(epoch_table(fitted.progress), "curves/fit.csv")
        draw(here, fitted, shares, cosines)


def draw(here: Study, fitted: FittedTranslationNetwork, shares: Any, cosines: pd.DataFrame | None) -> None:
    """Logs the figures."""
    curve, title = epoch_table(fitted.progress), here.title
    here.run.figure(figures.learning(curve, fitted.progress.kept.epoch, title=title), "figures/learning")
    for kind in shares["kind"].unique() if len(shares) else ():
        own = shares[shares["kind"] == kind]
        drawn = figures.share_maps(own, title=f"{title}: {kind}s by task, test part", what=str(kind))
        here.run.figure(drawn, f"figures/{kind}s")
    if cosines is not None:
        here.run.figure(figures.cosine_maps({"": cosines}, title=title), "figures/embeddings")


def shown_translations(translations: Any) -> str:
    """Returns some translations of each task of the test part as Markdown."""
    test, parts = translations[translations["part"] == TEST], ["# Translations of the test part"]
    for task, own in test.groupby("task", sort=False):
        columns = ["source", "translation", "reference"]
        parts += [f"## {escaped(str(task))}", markdown_table(own[columns].head(SHOWN).map(escaped))]
    return "\n\n".join(parts) + "\n"


def score_report(evaluated: Evaluated, data: TextPairs) -> str:
    """Returns the scores as a table, with BLEU of the simple translations beside those of the test part, why a BLEU is
    missing, and where the data come from."""
    named = {"nll": "nats a token", "bleu": "BLEU", "chrf": "chrF"}
    table: Any = evaluated.scores.rename(columns=named)[["part", "task", "pairs", *named.values()]]
    for bar in BARS:
        scores = table["task"].map(lambda task, bar=bar: evaluated.metrics.get(f"bleu_{bar}_{task}"))
        table[f"BLEU, {bar}"] = scores.where(table["part"] == TEST).astype(float)
    reason = [NO_BLEU] if table["BLEU"].isna().any() else []
    return "\n\n".join([markdown_table(table, digits=4), *reason, f"Data: {data.name}, source {data.source}"])
